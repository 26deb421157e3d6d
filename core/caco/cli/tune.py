"""``caco tune``: the tension threshold of a gating policy, from data."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caco.cli.base import EXIT_PASSED, Command
from caco.cli.inputs import read_text
from caco.cli.terminal import Terminal

if TYPE_CHECKING:
    from caco.tuning import TradeOff, Tuning

__all__ = ["COMMAND"]

_COLUMNS = ("tau*", "withheld", "missed", "bad among answered", "good withheld")
_BATCH = 64


@dataclass(frozen=True)
class _Row:
    """One line of the data: an answer with its documents, or its tension; perhaps its label."""

    response: str
    context: Any
    tension: float | None
    label: bool | None


def _add_arguments(parser: ArgumentParser) -> None:
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--target-abstention",
        type=float,
        metavar="SHARE",
        help="the most of all answers to withhold, from 0 to 1",
    )
    target.add_argument(
        "--target-miss-rate",
        type=float,
        metavar="SHARE",
        help="the most of the bad answers to let pass, from 0 to 1; needs labels",
    )
    parser.add_argument(
        "--mode",
        choices=("model", "heuristic"),
        default="model",
        help="how tension is computed; a validator's policy uses the model (default)",
    )
    parser.add_argument(
        "--language", default="english", help="english or portuguese (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the choice as JSON")
    parser.add_argument(
        "data",
        metavar="FILE",
        help='one JSON object a line: {"response", "context", "label"?}, or {"cts", "label"?}; '
        "label 1 or true: something in the answer is not supported; - is standard input",
    )


def _run(options: Namespace, terminal: Terminal) -> int:
    from caco.tuning import tune_tau_star

    rows = list(_rows(read_text(options.data)))
    labelled = [row.label for row in rows if row.label is not None]
    if labelled and len(labelled) < len(rows):
        raise ValueError(f"{len(labelled)} of {len(rows)} rows have a label: give all or none")
    tuning = tune_tau_star(
        _tensions(rows, options.mode, options.language),
        labelled or None,
        target_abstention=options.target_abstention,
        target_miss_rate=options.target_miss_rate,
    )
    if options.json:
        terminal.raw(json.dumps(tuning.to_dict(), indent=2))
    else:
        _print_tuning(tuning, terminal)
    return EXIT_PASSED


def _rows(text: str) -> Iterator[_Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number} is not JSON: {error}") from error
        if not isinstance(data, Mapping):
            raise ValueError(f"line {number} is not a JSON object")
        if "cts" not in data and not isinstance(data.get("response"), str):
            raise ValueError(f'line {number} has neither a text "response" nor "cts"')
        if "cts" not in data and "context" not in data:
            raise ValueError(f'line {number} has no "context"')
        yield _Row(
            data.get("response", ""), data.get("context"), data.get("cts"), _label(data, number)
        )


def _label(data: Mapping[str, Any], number: int) -> bool | None:
    label = data.get("label")
    if label is None:
        return None
    if label not in (0, 1):  # True and False are 1 and 0
        raise ValueError(f"line {number}: label must be 0, 1, true or false, not {label!r}")
    return bool(label)


def _tensions(rows: list[_Row], mode: str, language: str) -> list[float]:
    """Return the tension of each row; what the data give is taken as it is."""
    from caco.tension import cts
    from caco.validator import Validator

    tensions = {index: row.tension for index, row in enumerate(rows) if row.tension is not None}
    rest = [index for index in range(len(rows)) if index not in tensions]
    if mode == "heuristic":
        for index in rest:
            row = rows[index]
            tensions[index] = cts(row.response, row.context, mode="heuristic").value
        return [tensions[index] for index in range(len(rows))]
    validator = Validator(language=language)
    for start in range(0, len(rest), _BATCH):
        part = rest[start : start + _BATCH]
        results = validator.validate_batch([(rows[i].response, rows[i].context) for i in part])
        for index, result in zip(part, results, strict=True):
            tensions[index] = validator.tension(result, rows[index].context).value
    return [tensions[index] for index in range(len(rows))]


def _print_tuning(tuning: Tuning, terminal: Terminal) -> None:
    labels = "no labels" if tuning.bad is None else f"{tuning.bad} labelled bad"
    terminal.line(f"tau_star: {tuning.tau_star:.4f}", "bold")
    terminal.line(f"{tuning.rows} answers, {labels}", "dim")
    terminal.line()
    shown = _COLUMNS if tuning.bad is not None else _COLUMNS[:2]
    widths = [max(8, len(name)) for name in shown]
    terminal.line("  " + "  ".join(name.rjust(w) for name, w in zip(shown, widths, strict=True)))
    for row in tuning.table:
        cells = zip(_cells(row), widths, strict=False)
        chosen = row == tuning.chosen
        text = "  ".join(cell.rjust(width) for cell, width in cells)
        terminal.line(f"{'→' if chosen else ' '} {text}", "green" if chosen else None)


def _cells(row: TradeOff) -> list[str]:
    shares = (row.abstention_rate, row.miss_rate, row.bad_among_answered, row.good_withheld)
    return [f"{row.tau_star:.4f}", *("-" if s is None else f"{s:.1%}" for s in shares)]


COMMAND = Command(
    name="tune",
    help="choose a gating policy's tau_star from data",
    add_arguments=_add_arguments,
    run=_run,
)
