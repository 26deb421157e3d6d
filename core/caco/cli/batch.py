"""``caco batch``: many answers, from a file or a database into a file."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from caco.cli.base import EXIT_ERROR, EXIT_PASSED, Command
from caco.cli.batch_arguments import add_arguments, check_arguments
from caco.cli.terminal import Terminal

if TYPE_CHECKING:
    from caco.batch import BatchReport, BatchValidator, LocalEngine, NewSources, RayEngine
    from caco.batch.rows import RowSource

__all__ = ["COMMAND"]

_SHOWN_REPAIRS = 20


def _run(options: Namespace, terminal: Terminal) -> int:
    from caco.batch import BatchJob, ColumnNames, parse_condition, run_batch, write_review
    from caco.cli.progress import ProgressBar

    check_arguments(options)
    condition = None if options.where is None else parse_condition(options.where)
    columns = (options.response_column, options.context_column, options.prompt_column)
    validator = _validator(options)
    with _new_sources(options) as new_sources:
        job = BatchJob(
            source=_source(options),
            output=options.output,
            output_format=options.output_format,
            names=ColumnNames(*columns, options.id_column),
            validator=validator,
            engine=_engine(options),
            errors=options.errors,
            max_errors=options.max_errors,
            resume=options.resume,
            restart=options.restart,
            new_sources=new_sources,
        )
        bar = ProgressBar(sys.stderr)
        try:
            report = run_batch(job, bar.update)
        finally:
            bar.close()
    reviewed = None
    if condition is not None:
        place = options.review or _review_name(options.output)
        count = write_review(
            options.output,
            place,
            condition,
            output_format=options.output_format,
            prefix=options.prefix,
        )
        reviewed = (place, count)
    _print_report(report, job.errors_path, reviewed, options, terminal)
    return EXIT_PASSED if report.verdicts or not report.rows else EXIT_ERROR


def _source(options: Namespace) -> RowSource:
    from caco.batch import SqlQuery, open_source

    if options.sql is not None:
        return SqlQuery(options.sql, options.url)
    return open_source(options.input, options.input_format)


def _validator(options: Namespace) -> BatchValidator:
    from caco.batch import BatchValidator

    threads = None
    if options.engine == "ray" and options.model is None:
        threads = max(1, int(options.cpus_per_actor or 1))
    return BatchValidator(
        threshold=options.threshold,
        language=options.language,
        max_claims=options.max_claims,
        threads=threads,
        model=options.model,
        device=options.device,
        tension=options.cts,
        prefix=options.prefix,
    )


def _engine(options: Namespace) -> LocalEngine | RayEngine:
    from caco.batch import LocalEngine, RayEngine

    if options.engine == "local":
        return LocalEngine(options.chunk_rows)
    cpus = 1.0 if options.cpus_per_actor is None else options.cpus_per_actor
    return RayEngine(
        actors=options.actors or max(1, int((os.cpu_count() or 1) / (cpus or 1))),
        cpus_per_actor=cpus,
        gpus_per_actor=options.gpus_per_actor or 0.0,
        chunk_rows=options.chunk_rows,
        address=options.ray_address,
    )


@contextmanager
def _new_sources(options: Namespace) -> Iterator[NewSources | None]:
    from caco.batch import read_new_sources

    if options.fix is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="caco-sources-") as folder:
        yield read_new_sources(options.fix, Path(folder), options.id_column, options.context_column)


def _review_name(output: str) -> str:
    """Return "out.review.jsonl.gz" for "out.jsonl.gz"."""
    path = Path(output)
    endings = path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]
    ending = "".join(endings)
    return str(path.with_name(f"{path.name.removesuffix(ending)}.review{ending}"))


def _print_report(
    report: BatchReport,
    errors: Path,
    reviewed: tuple[str, int] | None,
    options: Namespace,
    terminal: Terminal,
) -> None:
    if options.output == "-":
        terminal = Terminal(sys.stderr)
    if options.json:
        plain = {**asdict(report), "reviewed": None if reviewed is None else reviewed[1]}
        terminal.raw(json.dumps(plain, indent=2, ensure_ascii=not terminal.is_unicode))
        return
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.verdicts.items())
    rate = report.new_rows / report.seconds if report.seconds else 0.0
    terminal.paragraph(
        f"{report.rows} rows: {counts or 'none checked'} "
        f"({report.new_rows} in {report.seconds:.1f} s, {rate:.1f} rows/s)"
    )
    if report.errors:
        terminal.paragraph(f"{report.errors} bad rows: see {errors}", style="yellow")
    if options.fix is not None:
        names = list(report.repaired_rows[:_SHOWN_REPAIRS])
        names += ["…"] if report.repaired > len(names) else []
        said = f": {', '.join(names)}" if names else ""
        terminal.paragraph(
            f"{report.repaired} of {report.failed_before} failed rows repaired{said}", style="green"
        )
    if reviewed is not None:
        terminal.paragraph(f"{reviewed[1]} rows to review: see {reviewed[0]}")


COMMAND = Command(
    name="batch",
    help="check many answers: JSON lines, CSV, Parquet or a database",
    add_arguments=add_arguments,
    run=_run,
)
