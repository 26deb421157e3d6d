"""``caco eval``: how good the checks are, on labelled data or on claims made from documents."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caco.cli.base import EXIT_PASSED, Command
from caco.cli.terminal import Terminal

if TYPE_CHECKING:
    from caco.evaluation import Dataset, Evaluation, MutationReport, Table, Validators
    from caco.gate import GatingPolicy
    from caco.validator import Validator

__all__ = ["COMMAND"]

_DEFAULT_POLICY = "default"
_ONLY_FOR_DATA = ("tune", "policy", "fit", "without_prompt", "without_baselines", "plots")
_CLAIMS_OF_A_KIND = 50


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="JSON lines (also .gz), CSV or Parquet with context, response, label (1: something in "
        "the response is not supported) and perhaps question or prompt, language, claims; or with "
        "premise, hypothesis, label",
    )
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="the files are documents (text, or a table with text or context): make supported and "
        "wrong claims from them, and say what share is caught",
    )
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="only N rows of each file, after a seeded shuffle; with --mutate, N claims of a kind "
        f"(default: {_CLAIMS_OF_A_KIND})",
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, help="highest risk that passes (default: 0.5)"
    )
    parser.add_argument(
        "--language",
        help="english or portuguese, for all rows (default: what a row says, else english)",
    )
    parser.add_argument("--model", metavar="FOLDER", help="another model's folder")
    parser.add_argument(
        "--tune",
        type=_target,
        metavar="TARGET",
        help="choose a threshold: miss-rate=0.05, alarm-rate=0.1 or balanced-accuracy",
    )
    parser.add_argument(
        "--policy",
        metavar="FILE",
        help="also show what a gating policy does (YAML or JSON; default: the default policy)",
    )
    parser.add_argument(
        "--fit", metavar="FILE", help="fit the baselines there (default: on folds of each file)"
    )
    parser.add_argument(
        "--without-prompt", action="store_true", help="do not use the questions in the data"
    )
    parser.add_argument("--without-baselines", action="store_true", help="measure no baselines")
    parser.add_argument("--json", action="store_true", help="print the measures as JSON")
    parser.add_argument("--html", metavar="FILE", help="also write the measures there, as a page")
    parser.add_argument("--plots", metavar="FOLDER", help="also write plots there, as PNG")


def _target(text: str) -> tuple[str, float | None]:
    name, sign, value = text.partition("=")
    try:
        return name, float(value) if sign else None
    except ValueError:
        raise ArgumentTypeError(f"{value!r} is not a number") from None


def _run(options: Namespace, terminal: Terminal) -> int:
    if options.mutate:
        _mutate(options, terminal)
    else:
        _evaluate(options, terminal)
    return EXIT_PASSED


def _mutate(options: Namespace, terminal: Terminal) -> None:
    from caco.evaluation import mutation_report, read_corpus

    given = [name for name in _ONLY_FOR_DATA if getattr(options, name)]
    if given:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(f"--mutate makes claims from documents and does not go with {names}")
    language = options.language or "english"
    report = mutation_report(
        read_corpus(options.files),
        _validator(options.model, options.threshold, language),
        language=language,
        limit=_CLAIMS_OF_A_KIND if options.limit is None else options.limit,
        progress=_show_progress,
    )
    _write_page(options, [report.table()])
    if options.json:
        terminal.raw(json.dumps(report.to_dict(), indent=2))
        return
    _print_table(report.table(), terminal)
    _print_wrong(report, terminal)


def _evaluate(options: Namespace, terminal: Terminal) -> None:
    from caco.evaluation import (
        evaluate,
        evaluation_tables,
        gate_report,
        gate_table,
        read_dataset,
        save_plots,
        tune_threshold,
    )
    from caco.evaluation.threshold import check_target

    policy = _policy(options.policy) if options.policy else None
    if options.tune:
        check_target(*options.tune)  # now, not after everything has been judged
    datasets = _datasets(options)
    validators = _validators(options)
    evaluation = evaluate(
        datasets,
        validators,
        fit_on=read_dataset(options.fit) if options.fit else None,
        baselines=not options.without_baselines,
        progress=_show_progress,
    )
    data: dict[str, Any] = evaluation.to_dict()
    tables = list(evaluation_tables(evaluation))
    untuned = None
    if options.tune:
        try:
            tuning = tune_threshold(*_pooled(evaluation), *options.tune)
        except ValueError as error:  # Too few rows, say; told after what was measured.
            untuned = error
        else:
            data["tuning"] = tuning.to_dict()
            tables.append(tuning.table())
    if policy is not None:
        gated = [
            gate_report(report, validators, policy, _show_progress)
            for report in evaluation.reports
            if report.dataset.kind == "answers" and not report.dataset.of_claims
        ]
        data["gate"] = [report.to_dict() for report in gated]
        tables.append(gate_table(gated, policy))
    # Printed first: a file that cannot be written must not cost what took long to measure.
    if options.json:
        terminal.raw(json.dumps(data, indent=2))
    else:
        for table in tables:
            _print_table(table, terminal)
    if options.plots:
        save_plots(evaluation, options.plots)
    _write_page(options, tables, evaluation)
    if untuned is not None:
        raise untuned


def _datasets(options: Namespace) -> list[Dataset]:
    from caco.evaluation import read_dataset, take

    with_prompt = not options.without_prompt
    datasets = [
        take(read_dataset(file, with_prompt=with_prompt), options.limit) for file in options.files
    ]
    if options.policy and all(dataset.kind == "pairs" for dataset in datasets):
        raise ValueError("a policy decides on answers; the files hold only pairs of sentences")
    return datasets


def _pooled(evaluation: Evaluation) -> tuple[list[float], list[bool]]:
    """Return the risks and labels of all files' rows that were judged, without claims' own sets."""
    wholes = [report for report in evaluation.reports if not report.dataset.of_claims]
    return (
        [risk for report in wholes for risk in report.risks],
        [label for report in wholes for label in report.labels],
    )


def _policy(name: str) -> GatingPolicy:
    from caco.gate import GatingPolicy

    if name == _DEFAULT_POLICY:
        return GatingPolicy()
    read = GatingPolicy.from_json if name.lower().endswith(".json") else GatingPolicy.from_yaml
    return read(Path(name))


def _validators(options: Namespace) -> Validators:
    from caco.evaluation import Validators

    make = partial(_validator, options.model, options.threshold)
    return Validators(make, options.language or "english", only=options.language is not None)


def _validator(folder: str | None, threshold: float, language: str) -> Validator:
    from caco.classifier.nli import NLIClassifier
    from caco.classifier.onnx import OnnxScorer
    from caco.validator import Validator

    classifier = NLIClassifier(OnnxScorer(folder), language=language)
    return Validator(classifier=classifier, threshold=threshold, language=language)


def _show_progress(name: str, done: int, total: int) -> None:
    # On a terminal only: a log file would hold one line for each step.
    if sys.stderr is not None and sys.stderr.isatty():
        end = "\n" if done == total else ""
        shown = "".join(char if char.isprintable() else "?" for char in name)
        sys.stderr.write(f"\r{shown}: {done} of {total}{end}")
        sys.stderr.flush()


def _write_page(
    options: Namespace, tables: Sequence[Table], evaluation: Evaluation | None = None
) -> None:
    from caco.evaluation import plot, render_page

    if not options.html:
        return
    reports = () if evaluation is None else evaluation.reports
    images = [
        (report.dataset.name, plot(report, evaluation.threshold))
        for report in reports
        if evaluation is not None and report.judged
    ]
    page = render_page("caco eval", tables, images)
    Path(options.html).write_text(page, encoding="utf-8")


def _print_table(table: Table, terminal: Terminal) -> None:
    """Print a table; its first column to the left, the others to the right."""
    terminal.line(table.title, "bold")
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    for number, row in enumerate((table.columns, *table.rows)):
        first, *others = zip(row, widths, strict=True)
        cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        terminal.line("  ".join(cells).rstrip(), None if number else "dim")
    for note in table.notes:
        terminal.paragraph(note, style="dim")
    terminal.line()


def _print_wrong(report: MutationReport, terminal: Terminal) -> None:
    for kind in report.kinds:
        for claim, judgement in kind.wrong:
            what = "false alarm" if claim.supported else "missed"
            said = f"risk {judgement.risk:.2f}" if judgement.judged else str(judgement.status)
            terminal.line(f"{what} ({kind.kind}, {claim.document.id}, {said})", "yellow")
            terminal.paragraph(claim.claim, indent=2)
            if claim.claim != claim.sentence:
                terminal.paragraph(claim.sentence, first="made from: ", indent=2, style="dim")


COMMAND = Command(
    name="eval",
    help="measure how good the checks are, on labelled data",
    add_arguments=_add_arguments,
    run=_run,
)
