"""The arguments of ``caco batch``, and which of them go together."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

__all__ = ["add_arguments", "check_arguments"]

URL_VARIABLE = "CACO_DATABASE_URL"
_FORMATS = ("jsonl", "csv", "parquet")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "input",
        metavar="IN",
        help="a file of rows; - is standard input; left out with --sql",
    )
    output = parser.add_argument(
        "output", metavar="OUT", help="the same rows with the verdicts; - is standard output"
    )
    output.required = False  # with --sql the only file is the output
    for name in ("input", "output"):
        parser.add_argument(
            f"--{name}-format",
            choices=_FORMATS,
            help="(default: by the file's ending; .gz may follow that of jsonl and csv)",
        )
    _add_column_arguments(parser)
    _add_check_arguments(parser)
    _add_run_arguments(parser)
    _add_engine_arguments(parser)


def _add_column_arguments(parser: ArgumentParser) -> None:
    columns = parser.add_argument_group("columns")
    columns.add_argument(
        "--response-column", metavar="NAME", help="the answer (default: response, answer or text)"
    )
    columns.add_argument(
        "--context-column",
        metavar="NAME",
        help="its documents: a text, a list, or a list as JSON text; an empty one is no document "
        "(default: context, contexts, documents or sources)",
    )
    columns.add_argument(
        "--prompt-column", metavar="NAME", help="the question (default: prompt or question)"
    )
    columns.add_argument("--id-column", metavar="NAME", help="what a row is called (default: id)")
    columns.add_argument(
        "--prefix", default="", metavar="TEXT", help="put before the names of the added columns"
    )


def _add_check_arguments(parser: ArgumentParser) -> None:
    check = parser.add_argument_group("the check")
    check.add_argument(
        "--language", default="english", help="english or portuguese (default: %(default)s)"
    )
    check.add_argument(
        "--threshold", type=float, default=0.5, help="highest risk that passes (default: 0.5)"
    )
    check.add_argument(
        "--max-claims", type=int, metavar="N", help="check no more claims of an answer"
    )
    check.add_argument(
        "--cts",
        choices=("model", "heuristic"),
        default="model",
        help="how tension is computed (default: %(default)s)",
    )
    check.add_argument(
        "--model",
        metavar="NAME",
        help="name or folder of a cross-encoder that runs with torch, on a GPU if there is one "
        "(default: the embedded model, on CPUs)",
    )
    check.add_argument("--device", help="where such a model runs: cuda, cpu")
    check.add_argument(
        "--fix",
        metavar="FILE",
        help="new documents: rows that failed are checked again with them beside their own. A "
        "table has the documents of the row with the same id (without an id: of all rows); any "
        "other file is one document for all. IN may be the output of an earlier run",
    )


def _add_run_arguments(parser: ArgumentParser) -> None:
    run = parser.add_argument_group("the run")
    run.add_argument(
        "--sql", metavar="QUERY", help="read the rows of a query instead of IN (SQLAlchemy)"
    )
    run.add_argument(
        "--url",
        help=f"the database's URL, sqlite:///file.db (default: the variable {URL_VARIABLE}, "
        "which other users of the machine cannot see)",
    )
    again = run.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true", help="go on with a run that was killed, if there is one"
    )
    again.add_argument("--restart", action="store_true", help="begin anew, even if there is one")
    run.add_argument(
        "--errors",
        metavar="FILE",
        help="bad rows: row number, id and reason, as JSON lines (default: OUT.errors.jsonl)",
    )
    run.add_argument(
        "--max-errors",
        type=int,
        default=1000,
        metavar="N",
        help="bad rows to bear; one more ends the run with status 2 (default: %(default)s)",
    )
    run.add_argument(
        "--where",
        metavar="CONDITION",
        help='also write a list of the rows to review, tensest first: "cts > 0.7", '
        "\"score >= 0.5 and verdict = 'hallucination'\"",
    )
    run.add_argument(
        "--review", metavar="FILE", help="where that list goes (default: OUT with .review)"
    )
    run.add_argument("--json", action="store_true", help="print what was done as JSON")


def _add_engine_arguments(parser: ArgumentParser) -> None:
    engine = parser.add_argument_group("who does the work")
    engine.add_argument("--engine", choices=("local", "ray"), default="local")
    engine.add_argument(
        "--chunk-rows",
        type=int,
        default=32,
        metavar="N",
        help="rows that are checked together (default: %(default)s); no result depends on it",
    )
    engine.add_argument(
        "--actors", type=int, metavar="N", help="of Ray (default: as many as CPUs allow)"
    )
    engine.add_argument("--cpus-per-actor", type=float, metavar="N", help="(default: 1)")
    engine.add_argument("--gpus-per-actor", type=float, metavar="N", help="(default: 0)")
    engine.add_argument(
        "--ray-address", metavar="ADDRESS", help="of a cluster (default: one for this run alone)"
    )


def check_arguments(options: Namespace) -> None:
    """Put the arguments in their places.

    Raises:
        ValueError: Some do not go together.
    """
    if options.sql is not None:
        if options.output is not None:
            raise ValueError("give IN or --sql, not both")
        options.input, options.output = None, options.input
        options.url = options.url or os.environ.get(URL_VARIABLE)
        if not options.url:
            raise ValueError(f"--sql needs --url, or the variable {URL_VARIABLE}")
    elif options.output is None:
        raise ValueError("give IN and OUT, or --sql and OUT")
    wrong = [message for holds, message in _conflicts(options) if holds]
    if wrong:
        raise ValueError(wrong[0])
    _check_files(options)


def _conflicts(options: Namespace) -> list[tuple[bool, str]]:
    """Return what would be wrong, and whether it is."""
    ray = options.engine == "ray"
    found = [
        (
            getattr(options, name) is not None and getattr(options, needed) is None,
            f"--{name} has no effect without --{needed}",
        )
        for name, needed in (("url", "sql"), ("review", "where"), ("device", "model"))
    ]
    found += [
        (
            getattr(options, name) is not None and not ray,
            f"--{name.replace('_', '-')} has no effect without --engine ray",
        )
        for name in ("actors", "cpus_per_actor", "gpus_per_actor", "ray_address")
    ]
    return [
        *found,
        (
            options.input_format is not None and options.sql is not None,
            "--input-format has no effect with --sql",
        ),
        (
            bool(options.gpus_per_actor) and options.model is None,
            "--gpus-per-actor needs a --model that runs on GPUs: the embedded one does in the form "
            "that caco.export_cross_encoder writes",
        ),
        (
            options.output == "-" and options.where is not None,
            "--where needs an OUT that is a file",
        ),
        (
            "-" in (options.input, options.output) and ray,
            "--engine ray reads and writes files, not the standard streams",
        ),
    ]


def _check_files(options: Namespace) -> None:
    """See to it that nothing is written over what is still to be read, or written twice."""
    named = {
        "IN": options.input,
        "--fix": options.fix,
        "OUT": options.output,
        "--errors": options.errors,
        "--review": options.review,
    }
    seen: dict[str, str] = {}
    for name, file in named.items():
        if file is None or file == "-":
            continue
        place = os.path.realpath(file)
        if place in seen and not {name, seen[place]} <= {"IN", "--fix"}:
            raise ValueError(f"{seen[place]} and {name} are the same file")
        seen[place] = name
