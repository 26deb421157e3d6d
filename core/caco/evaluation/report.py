"""An evaluation as tables, for a terminal, a page or a README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from caco.evaluation.evaluate import DatasetReport, Evaluation
from caco.evaluation.measures import BINS, RESAMPLES, Estimate

__all__ = ["Table", "evaluation_tables", "interval", "number", "share_with_interval"]

MEASURE_TITLES = {
    "auroc": "AUROC",
    "balanced_accuracy": "balanced accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "ece": "ECE",
}


@dataclass(frozen=True)
class Table:
    """A table for people.

    Attributes:
        title: What it shows.
        columns: Titles of the columns; the first holds names, the others numbers.
        rows: As many cells each.
        notes: Sentences that go with it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(self.columns)} columns, but {len(row)} cells: {row}")

    def markdown(self) -> str:
        """Return the table in Markdown, without its title and notes."""
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def evaluation_tables(evaluation: Evaluation) -> Iterator[Table]:
    """Yield the tables of an evaluation: measures, classes of pairs, statuses, baselines, bins."""
    yield _measures(evaluation)
    pairs = [report for report in evaluation.reports if report.dataset.kind == "pairs"]
    if pairs:
        yield Table(
            "Classes of pairs",
            ("set", "accuracy", "of the model without rules"),
            tuple(
                (
                    report.dataset.name,
                    interval(report.estimate("pair_accuracy")),
                    number(report.model_accuracy),
                )
                for report in pairs
            ),
        )
    yield _statuses(evaluation.reports)
    if any(report.baselines for report in evaluation.reports):
        yield _baselines(evaluation)
    for report in evaluation.reports:
        if report.judged:
            yield _reliability(report)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number for a cell; a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def interval(estimate: Estimate, digits: int = 3) -> str:
    """Return a value with its interval for a cell; a dash where it is not defined."""
    if estimate.low is None or estimate.high is None:
        return number(estimate.value, digits)
    ends = f"[{number(estimate.low, digits)}, {number(estimate.high, digits)}]"
    return f"{number(estimate.value, digits)} {ends}"


def share_with_interval(right: int, total: int, ends: tuple[float, float]) -> str:
    """Return a share of a count with its interval for a cell; a dash for a share of nothing."""
    if not total:
        return "-"
    return f"{right / total:.1%} [{ends[0]:.1%}, {ends[1]:.1%}]"


def _measures(evaluation: Evaluation) -> Table:
    rows = [
        (
            report.dataset.name,
            str(len(report.dataset.rows)),
            str(report.bad),
            *(interval(report.estimate(name)) for name in MEASURE_TITLES),
            # Claims are read after their answers, whose pairs are remembered.
            "" if report.dataset.of_claims else f"{report.milliseconds:.0f}",
        )
        for report in evaluation.reports
    ]
    if len(rows) > 1 and evaluation.mean:
        means = (interval(evaluation.mean[name]) for name in MEASURE_TITLES)
        rows.append(("mean", "", "", *means, ""))
    notes = (
        f"Model {evaluation.model}, threshold {evaluation.threshold:g}. Positive: label 1, "
        f"something is not supported. 95 % intervals from {RESAMPLES} bootstrap resamples of the "
        f"rows. ECE: {BINS} equal-width bins of the risk (Naeini et al. 2015).",
    )
    columns = ("set", "rows", "label 1", *MEASURE_TITLES.values(), "ms/row")
    return Table("Measures", columns, tuple(rows), notes)


def _statuses(reports: Sequence[DatasetReport]) -> Table:
    names = sorted({str(status) for report in reports for status in report.statuses})
    rows, notes = [], []
    for report in reports:
        shares = {str(status): share for status, share in report.statuses.items()}
        rows.append((report.dataset.name, *(f"{shares.get(name, 0):.1%}" for name in names)))
        left = len(report.dataset.rows) - report.judged
        if left:
            notes.append(
                f"{report.dataset.name}: {left} rows were not judged (ABSTAINED or ERROR) and are "
                "in no measure; with all of them counted as wrong, the balanced accuracy is "
                f"{number(report.as_wrong)}."
            )
    return Table("Statuses", ("set", *names), tuple(rows), tuple(notes))


def _baselines(evaluation: Evaluation) -> Table:
    names = list(evaluation.reports[0].baselines)
    rows, notes = [], [f"AUROC / balanced accuracy. Fitted on: {evaluation.fitted}."]
    for report in evaluation.reports:
        own = _two(report.estimate("auroc"), report.estimate("balanced_accuracy"))
        beside = report.baselines.values()
        cells = (_two(one.auroc, one.balanced_accuracy) for one in beside)
        rows.append((report.dataset.name, own, *cells))
        notes += sorted({f"{report.dataset.name}: {one.note}." for one in beside if one.note})
    return Table("Baselines", ("set", "caco", *names), tuple(rows), tuple(notes))


def _two(one: Estimate, other: Estimate) -> str:
    return f"{number(one.value)} / {number(other.value)}"


def _reliability(report: DatasetReport) -> Table:
    return Table(
        f"Reliability of {report.dataset.name}",
        ("risk", "rows", "mean risk", "share of label 1"),
        tuple(
            (
                f"{row.low:.1f} to {row.high:.1f}",
                str(row.rows),
                number(row.mean_risk),
                number(row.bad_share),
            )
            for row in report.reliability
        ),
    )
