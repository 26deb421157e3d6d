"""Choosing ``tau_star``: the tension over which an answer is withheld, from data."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["TradeOff", "Tuning", "trade_offs", "tune_tau_star"]

_TABLE_ROWS = 11


@dataclass(frozen=True)
class TradeOff:
    """What one ``tau_star`` would do to the data.

    Attributes:
        tau_star: The highest tension that passes, in [0, 1].
        abstention_rate: Share of all answers withheld.
        miss_rate: Share of the bad answers that pass. None without labels, or without bad answers.
        bad_among_answered: Share of bad answers among those that pass; 0 when none passes. None
            without labels.
        good_withheld: Share of the good answers that are withheld. None without labels, or without
            good answers.
    """

    tau_star: float
    abstention_rate: float
    miss_rate: float | None
    bad_among_answered: float | None
    good_withheld: float | None


@dataclass(frozen=True)
class Tuning:
    """A ``tau_star`` and the choices around it.

    Attributes:
        chosen: The trade-off chosen.
        table: Trade-offs from the lowest ``tau_star`` to the highest, the chosen one among them.
        rows: How many answers there were.
        bad: How many were labelled bad; None without labels.
    """

    chosen: TradeOff
    table: tuple[TradeOff, ...]
    rows: int
    bad: int | None

    @property
    def tau_star(self) -> float:
        """The threshold chosen, for `GatingPolicy`."""
        return self.chosen.tau_star

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes."""
        return {
            "tau_star": self.tau_star,
            "rows": self.rows,
            "bad": self.bad,
            "table": [vars(row) for row in self.table],
        }


def tune_tau_star(
    tensions: Sequence[float],
    labels: Sequence[bool] | None = None,
    *,
    target_abstention: float | None = None,
    target_miss_rate: float | None = None,
) -> Tuning:
    """Choose ``tau_star`` by the share of answers to withhold, or of bad ones to let pass.

    Args:
        tensions: The tension of each answer, in [0, 1].
        labels: True for each bad answer (something in it is not supported).
        target_abstention: The most of all answers to withhold, in [0, 1]: the lowest ``tau_star``
            that keeps to it is chosen.
        target_miss_rate: The most of the bad answers to let pass, in [0, 1]: the highest
            ``tau_star`` that keeps to it is chosen, so that as few as possible are withheld. Needs
            labels.

    Returns:
        The choice, with a table of others.

    Raises:
        ValueError: No tensions; a number outside [0, 1]; not exactly one target; labels missing, of
            another number, or none bad where a miss rate is asked for; or no ``tau_star`` keeps to
            the miss rate (bad answers whose tension is 0).
    """
    values = [_share("a tension", value) for value in tensions]
    if not values:
        raise ValueError("there are no answers to tune on")
    if labels is not None and len(labels) != len(values):
        raise ValueError(f"{len(values)} tensions, but {len(labels)} labels")
    if (target_abstention is None) == (target_miss_rate is None):
        raise ValueError("give either target_abstention or target_miss_rate")
    candidates = trade_offs(values, labels)
    if target_abstention is not None:
        most = _share("target_abstention", target_abstention)
        chosen = next(row for row in candidates if row.abstention_rate <= most)
    else:
        chosen = _within_miss_rate(candidates, _share("target_miss_rate", target_miss_rate), labels)
    last = len(candidates) - 1
    spread = [candidates[step * last // (_TABLE_ROWS - 1)] for step in range(_TABLE_ROWS)]
    shown = {row.tau_star: row for row in (*spread, chosen)}
    return Tuning(
        chosen=chosen,
        table=tuple(shown[tau] for tau in sorted(shown)),
        rows=len(values),
        bad=None if labels is None else sum(map(bool, labels)),
    )


def trade_offs(values: Sequence[float], labels: Sequence[bool] | None = None) -> list[TradeOff]:
    """Return what each threshold that makes a difference would do, from the lowest to the highest.

    Args:
        values: The tension, or the risk, of each answer, in [0, 1].
        labels: True for each bad answer; as many as there are values.
    """
    table = _Sorted.of(values, labels)
    return [table.trade_off(tau) for tau in sorted({0.0, *values})]


def _within_miss_rate(
    candidates: Sequence[TradeOff], most: float, labels: Sequence[bool] | None
) -> TradeOff:
    if labels is None or not any(labels):
        raise ValueError("a miss rate needs labels, and at least one answer labelled bad")
    fitting = [row for row in candidates if row.miss_rate is not None and row.miss_rate <= most]
    if not fitting:
        least = candidates[0].miss_rate
        raise ValueError(
            f"no tau_star keeps to a miss rate of {most}: even at 0 it is {least}, as so many bad "
            "answers show no tension"
        )
    return fitting[-1]


@dataclass(frozen=True)
class _Sorted:
    """The tensions of all answers, of the bad ones and of the good ones, each in order."""

    everyone: list[float]
    bad: list[float] | None
    good: list[float] | None

    @classmethod
    def of(cls, values: Sequence[float], labels: Sequence[bool] | None) -> _Sorted:
        if labels is None:
            return cls(sorted(values), None, None)
        pairs = list(zip(values, labels, strict=True))
        return cls(
            sorted(values),
            sorted(value for value, label in pairs if label),
            sorted(value for value, label in pairs if not label),
        )

    def trade_off(self, tau: float) -> TradeOff:
        passing = bisect_right(self.everyone, tau)
        abstention_rate = (len(self.everyone) - passing) / len(self.everyone)
        if self.bad is None or self.good is None:
            return TradeOff(tau, abstention_rate, None, None, None)
        missed = bisect_right(self.bad, tau)
        withheld = len(self.good) - bisect_right(self.good, tau)
        return TradeOff(
            tau_star=tau,
            abstention_rate=abstention_rate,
            miss_rate=missed / len(self.bad) if self.bad else None,
            bad_among_answered=missed / passing if passing else 0.0,
            good_withheld=withheld / len(self.good) if self.good else None,
        )


def _share(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number in [0, 1], not {value!r}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], not {value!r}")
    return float(value)
