"""A threshold for the user's own data, with an honest estimate of what it will give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from caco.evaluation.measures import Estimate, area, require_sklearn, wilson_interval
from caco.evaluation.report import Table, interval, number
from caco.models import unit_interval
from caco.tuning import TradeOff, trade_offs

__all__ = ["Rates", "Target", "ThresholdTuning", "check_target", "tune_threshold"]

Target = Literal["miss-rate", "alarm-rate", "balanced-accuracy"]

FOLDS = 5
LEAST_ROWS = 10
"""Rows of each label that a threshold is chosen from at least."""


@dataclass(frozen=True)
class Rates:
    """What a threshold gives on some rows.

    Attributes:
        miss_rate: Share of the bad answers that pass.
        alarm_rate: Share of the good answers that are flagged.
        balanced_accuracy: 1 minus the mean of the two.
    """

    miss_rate: Estimate
    alarm_rate: Estimate
    balanced_accuracy: float

    @classmethod
    def count(cls, missed: int, bad: int, alarms: int, good: int) -> Rates:
        """Make rates of counts; the intervals are Wilson's."""
        return cls(
            Estimate(missed / bad, *wilson_interval(missed, bad)),
            Estimate(alarms / good, *wilson_interval(alarms, good)),
            1 - (missed / bad + alarms / good) / 2,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "miss_rate": self.miss_rate.to_dict(),
            "alarm_rate": self.alarm_rate.to_dict(),
            "balanced_accuracy": self.balanced_accuracy,
        }


@dataclass(frozen=True)
class ThresholdTuning:
    """A threshold, and what to expect of it.

    Attributes:
        threshold: Answers with a higher risk are to be flagged.
        target: What was asked for.
        value: The rate to keep to; None for balanced accuracy.
        fitted: What it gives on the rows it was chosen on: too good to expect of others.
        held_out: Each row judged by a threshold that was chosen without it: what to expect.
        rows: How many rows there were.
        bad: How many of them were bad.
        notes: What to be careful about.
    """

    threshold: float
    target: Target
    value: float | None
    fitted: Rates
    held_out: Rates
    rows: int
    bad: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes."""
        return {
            **vars(self),
            "fitted": self.fitted.to_dict(),
            "held_out": self.held_out.to_dict(),
            "notes": list(self.notes),
        }

    def table(self) -> Table:
        """Return what to expect as a table."""
        rows = [
            (
                name,
                interval(rates.miss_rate),
                interval(rates.alarm_rate),
                number(rates.balanced_accuracy),
            )
            for name, rates in (
                ("on these rows", self.fitted),
                (f"held out, {FOLDS} folds", self.held_out),
            )
        ]
        asked = self.target if self.value is None else f"{self.target} {self.value:g}"
        notes = (
            f"For {asked}, from {self.rows} answers, {self.bad} of them label 1. Expect the second "
            "row: there, each answer is judged by a threshold chosen without it. 95 % intervals "
            "(Wilson).",
            *(f"{note}." for note in self.notes),
        )
        columns = ("", "miss rate", "alarm rate", "balanced accuracy")
        return Table(f"Threshold {self.threshold:.4f}", columns, tuple(rows), notes)


def tune_threshold(
    scores: Sequence[float],
    labels: Sequence[bool],
    target: Target = "balanced-accuracy",
    value: float | None = None,
    *,
    seed: int = 0,
) -> ThresholdTuning:
    """Choose the risk over which answers are flagged.

    "miss-rate": the highest threshold under which at most ``value`` of the bad answers pass, so
    that as few good ones as possible are flagged. "alarm-rate": the lowest under which at most
    ``value`` of the good answers are flagged. "balanced-accuracy": the best on these rows. Between
    two neighbouring scores that do the same, the middle is taken.

    Args:
        scores: Risk of each answer, in [0, 1].
        labels: True for each bad answer (something in it is not supported).
        target: What to keep to.
        value: The rate to keep to, in [0, 1]; None for balanced accuracy.
        seed: Of the folds of the held-out estimate.

    Returns:
        The threshold and what to expect of it, held out in five folds.

    Raises:
        ValueError: An argument outside its range; or data that give no threshold: fewer than ten
            rows of a label, the same score everywhere, scores that order bad and good no better
            than chance, or a miss rate that even a threshold of 0 does not keep to.
        MissingExtraError: scikit-learn is not installed.
    """
    require_sklearn()
    check_target(target, value)
    rate = None if value is None else float(value)
    risks = [unit_interval("a score", score) for score in scores]
    bad = [bool(label) for label in labels]
    _check_data(risks, bad)
    table = trade_offs(risks, bad)
    chosen = _CHOICES[target](table, rate or 0.0)
    if chosen is None:
        raise ValueError(
            f"no threshold keeps to a miss rate of {rate}: even at 0 it is "
            f"{table[0].miss_rate:.3f}, as so many bad answers have a risk of 0"
        )
    threshold = _middle(table, chosen)
    notes = _notes(target, rate, sum(bad), len(bad) - sum(bad))
    return ThresholdTuning(
        threshold,
        target,
        rate,
        _rates([risk > threshold for risk in risks], bad),
        _held_out(risks, bad, target, rate or 0.0, seed),
        len(bad),
        sum(bad),
        notes,
    )


def check_target(target: str, value: float | None) -> None:
    """Raise ``ValueError`` unless `tune_threshold` takes this target with this value."""
    if target not in get_args(Target):
        raise ValueError(f"target must be one of {get_args(Target)}, not {target!r}")
    if (value is None) != (target == "balanced-accuracy"):
        raise ValueError(
            "balanced-accuracy takes no value" if value is not None else f"{target} needs a value"
        )
    if value is not None:
        unit_interval(target, value)


def _check_data(risks: Sequence[float], bad: Sequence[bool]) -> None:
    if len(risks) != len(bad):
        raise ValueError(f"{len(risks)} scores, but {len(bad)} labels")
    count = sum(bad)
    if min(count, len(bad) - count) < LEAST_ROWS:
        raise ValueError(
            f"a threshold needs at least {LEAST_ROWS} rows of each label; there are {count} of "
            f"label 1 and {len(bad) - count} of label 0"
        )
    if len(set(risks)) < 2:
        raise ValueError(f"every score is {risks[0]}: no threshold tells the rows apart")
    auroc = area(risks, bad)
    if auroc is not None and auroc <= 0.5:
        raise ValueError(
            f"the scores order bad and good answers no better than chance (AUROC {auroc:.3f}); "
            "is label 1 the answer with something unsupported?"
        )


def _by_miss_rate(table: Sequence[TradeOff], most: float) -> TradeOff | None:
    fitting = [row for row in table if row.miss_rate is not None and row.miss_rate <= most]
    return fitting[-1] if fitting else None


def _by_alarm_rate(table: Sequence[TradeOff], most: float) -> TradeOff | None:
    return next(row for row in table if row.good_withheld is not None and row.good_withheld <= most)


def _by_balanced_accuracy(table: Sequence[TradeOff], most: float) -> TradeOff | None:
    return min(table, key=lambda row: (row.miss_rate or 0.0) + (row.good_withheld or 0.0))


_CHOICES = MappingProxyType(
    {
        "miss-rate": _by_miss_rate,
        "alarm-rate": _by_alarm_rate,
        "balanced-accuracy": _by_balanced_accuracy,
    }
)


def _middle(table: Sequence[TradeOff], chosen: TradeOff) -> float:
    """Return the middle of the gap over a threshold: no row's own score, so safe to round."""
    place = table.index(chosen)
    after = table[place + 1].tau_star if place + 1 < len(table) else 1.0
    middle = (chosen.tau_star + after) / 2
    return middle if middle < after else chosen.tau_star


def _rates(flagged: Sequence[bool], bad: Sequence[bool]) -> Rates:
    pairs = list(zip(flagged, bad, strict=True))
    return Rates.count(
        pairs.count((False, True)), sum(bad), pairs.count((True, False)), len(bad) - sum(bad)
    )


def _held_out(
    risks: Sequence[float], bad: Sequence[bool], target: Target, rate: float, seed: int
) -> Rates:
    from sklearn.model_selection import StratifiedKFold

    risk, label = np.asarray(risks), np.asarray(bad)
    flagged = np.zeros(len(risk), dtype=np.bool_)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for known, asked in folds.split(risk, label):
        table = trade_offs(risk[known].tolist(), label[known].tolist())
        # Where four fifths of the rows cannot keep to a miss rate that all rows can, the lowest
        # threshold comes nearest.
        chosen = _CHOICES[target](table, rate) or table[0]
        flagged[asked] = risk[asked] > _middle(table, chosen)
    return _rates(flagged.tolist(), bad)


def _notes(target: Target, rate: float | None, bad: int, good: int) -> tuple[str, ...]:
    counts: Mapping[str, tuple[str, int]] = {
        "miss-rate": ("bad", bad),
        "alarm-rate": ("good", good),
    }
    if target not in counts or not rate:
        return ()
    kind, rows = counts[target]
    if rate * rows >= 5:
        return ()
    return (
        f"{target} {rate:g} of {rows} {kind} answers is {rate * rows:.1f} answers: with so few, "
        "the threshold hangs on chance; more rows make it firm",
    )
