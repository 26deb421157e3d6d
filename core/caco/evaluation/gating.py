"""What a gating policy does to labelled answers: all shown, and those that pass, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from caco.evaluation.evaluate import DatasetReport
from caco.evaluation.judging import Judgement, Progress, Validators
from caco.evaluation.measures import require_sklearn
from caco.evaluation.report import Table, number
from caco.evaluation.rows import Row
from caco.gate import GatingPolicy

__all__ = ["GateReport", "Run", "gate_report", "gate_table"]


@dataclass(frozen=True)
class Run:
    """What a reader meets.

    Attributes:
        unsupported_rate: Share of unsupported claims among those in the answers shown (where the
            data label claims; else each answer counts as one claim). None when no answer is shown.
        task_accuracy: Share of right decisions: faithful answers shown, others withheld.
        abstention_rate: Share of the answers withheld.
        reads_per_find: How many answers a reviewer has read, on average over the bad answers, when
            a bad one is found: of all answers, in the order in which they are read (unsorted: in
            any order; gated: highest tension first). None without bad answers.
    """

    unsupported_rate: float | None
    task_accuracy: float
    abstention_rate: float
    reads_per_find: float | None


@dataclass(frozen=True)
class GateReport:
    """A set without and with a policy.

    Attributes:
        name: The set's name.
        rows: How many answers it has.
        bad: How many of them are labelled 1.
        baseline: Every answer is shown.
        gated: Answers that the policy withholds are not.
        good_shown: Share of the faithful answers that are shown under the policy; None without any.
        bad_withheld: Share of the other answers that are withheld; None without any.
    """

    name: str
    rows: int
    bad: int
    baseline: Run
    gated: Run
    good_shown: float | None
    bad_withheld: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes."""
        return {**vars(self), "baseline": vars(self.baseline), "gated": vars(self.gated)}


def gate_report(
    report: DatasetReport,
    validators: Validators,
    policy: GatingPolicy,
    progress: Progress | None = None,
) -> GateReport:
    """Measure what a policy does to a set of answers that was evaluated.

    An answer that could not be checked is withheld, as under every policy.

    Args:
        report: How the engine does on the set.
        validators: The engines that judged it; their own policies are not used.
        policy: The policy.
        progress: Is told how far it is.

    Raises:
        ValueError: The set holds pairs, not answers.
        MissingExtraError: scikit-learn is not installed.
    """
    require_sklearn()
    rows, name = report.dataset.rows, report.dataset.name
    if report.dataset.kind == "pairs":
        raise ValueError(f"{name} holds pairs of sentences; a policy decides on answers")
    tensions, shown = [], []
    for row, judgement in zip(rows, report.judgements, strict=True):
        tension, withheld = _decision(row, judgement, validators, policy)
        tensions.append(tension)
        shown.append(not withheld)
        if progress is not None:
            progress(f"{name}, tension", len(shown), len(rows))
    bad = [row.label for row in rows]
    unsorted = (len(rows) + 1) / 2 if any(bad) else None
    return GateReport(
        name,
        len(rows),
        sum(bad),
        _run(rows, [True] * len(rows), unsorted),
        _run(rows, shown, _mean_place(tensions, bad)),
        _share([is_shown for is_shown, label in zip(shown, bad, strict=True) if not label]),
        _share([not is_shown for is_shown, label in zip(shown, bad, strict=True) if label]),
    )


def gate_table(reports: Sequence[GateReport], policy: GatingPolicy) -> Table:
    """Return the runs as a table: for each set, the baseline's number and the gated run's."""
    rows = [
        (
            report.name,
            f"{report.bad} of {report.rows}",
            _pair(report.baseline.unsupported_rate, report.gated.unsupported_rate),
            _pair(report.baseline.task_accuracy, report.gated.task_accuracy),
            _pair(report.baseline.abstention_rate, report.gated.abstention_rate),
            _pair(report.baseline.reads_per_find, report.gated.reads_per_find, digits=1),
            number(report.good_shown),
            number(report.bad_withheld),
        )
        for report in reports
    ]
    notes = (
        f"Baseline (every answer is shown) → gated (tau_star {policy.tau_star:g}, abstains if "
        f"{', '.join(policy.abstain_if) or 'a check failed'}).",
        "Unsupported claims: among those in the answers shown; an answer whose claims are not "
        "labelled counts as one. Task accuracy: faithful answers shown and others withheld. Reads "
        "per find, for time to review: answers read when a bad one is found, on average over the "
        "bad ones; read in any order → with the highest tension first.",
    )
    columns = (
        "set",
        "bad answers",
        "unsupported claims",
        "task accuracy",
        "abstention",
        "reads per find",
        "good shown",
        "bad withheld",
    )
    return Table("With a gating policy", columns, tuple(rows), notes)


def _decision(
    row: Row, judgement: Judgement, validators: Validators, policy: GatingPolicy
) -> tuple[float, bool]:
    """Return an answer's tension and whether it is withheld."""
    result = judgement.result
    if result is None:  # a blank response: nothing could be checked
        return 1.0, True
    tension = validators[validators.language_of(row)].tension(result, row.context)
    return tension.value, policy.decide(result, tension).abstained


def _run(rows: Sequence[Row], shown: Sequence[bool], reads: float | None) -> Run:
    claims = [
        label
        for row, is_shown in zip(rows, shown, strict=True)
        if is_shown
        for label in ([label for _, label in row.claims] or [row.label])
    ]
    right = sum(is_shown != row.label for row, is_shown in zip(rows, shown, strict=True))
    return Run(_share(claims), right / len(rows), 1 - sum(shown) / len(rows), reads)


def _mean_place(tensions: Sequence[float], bad: Sequence[bool]) -> float | None:
    """Return the mean place of the bad answers, the highest tension first; ties share a place."""
    from scipy.stats import rankdata

    if not any(bad):
        return None
    places = rankdata([-tension for tension in tensions])
    return float(places[[index for index, label in enumerate(bad) if label]].mean())


def _share(items: Sequence[bool]) -> float | None:
    return sum(items) / len(items) if items else None


def _pair(before: float | None, after: float | None, digits: int = 3) -> str:
    return f"{number(before, digits)} → {number(after, digits)}"
