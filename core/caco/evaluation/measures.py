"""Measures of risks and verdicts against labels, each with a bootstrap interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from caco.errors import MissingExtraError

__all__ = [
    "BINS",
    "MEASURES",
    "RESAMPLES",
    "Bin",
    "Estimate",
    "Measured",
    "area",
    "mean_of",
    "measure",
    "reliability",
    "require_sklearn",
    "wilson_interval",
]

MEASURES = ("auroc", "balanced_accuracy", "precision", "recall", "f1", "accuracy", "ece")
"""What `measure` measures, in order; ``pair_accuracy`` comes on top for pairs."""

BINS = 10
"""Equal-width bins of the expected calibration error, which is Naeini, Cooper and Hauskrecht's,
Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI 2015."""

RESAMPLES = 1000
"""Bootstrap resamples behind every interval."""

_AT_A_TIME = 100
"""Resamples computed together: each takes an array as long as the data."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A measured value and its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Return plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Bin:
    """One bin of the reliability table.

    Attributes:
        low: Its lowest risk; the bin holds risks over it (the first also 0).
        high: Its highest risk.
        rows: How many rows have such a risk.
        mean_risk: Their mean risk; None for an empty bin.
        bad_share: The share of them that are labelled 1; None for an empty bin.
    """

    low: float
    high: float
    rows: int
    mean_risk: float | None
    bad_share: float | None


@dataclass(frozen=True)
class Measured:
    """The measures of one set.

    Attributes:
        estimates: From a measure's name to its estimate.
        resampled: From a measure's name to its values in the resamples, float64 [RESAMPLES], NaN
            where not defined.
    """

    estimates: Mapping[str, Estimate]
    resampled: Mapping[str, Array]


def require_sklearn() -> None:
    """Raise `MissingExtraError` unless scikit-learn is installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Measuring", "eval") from error


def measure(
    risks: Sequence[float],
    flagged: Sequence[bool],
    labels: Sequence[bool],
    right: Sequence[bool] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Measured:
    """Measure risks and verdicts against labels.

    "Positive" is label 1: something is not supported. AUROC and balanced accuracy are not defined
    where only one label occurs, precision where nothing is flagged, recall where nothing is bad.

    Args:
        risks: Risk of each row, in [0, 1].
        flagged: Whether each row is called bad.
        labels: Whether each row is bad.
        right: Whether the class of each pair is right; adds ``pair_accuracy``.
        resamples: How many times rows are drawn again, with replacement; the 95 % intervals are the
            2.5th and 97.5th percentiles (resamples where a measure is not defined left out).
        seed: Of the resamples.

    Returns:
        The estimates.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        ValueError: No rows.
    """
    require_sklearn()
    risk, flag, label = _arrays(risks, flagged, labels)
    values = _point(risk, flag, label)
    rng = np.random.default_rng(seed)
    hits = None if right is None else np.asarray(right, dtype=np.float64)
    if hits is not None:
        values["pair_accuracy"] = float(hits.mean())
    parts = []
    for start in range(0, resamples, _AT_A_TIME):
        size = min(_AT_A_TIME, resamples - start)
        drawn = rng.multinomial(len(risk), np.full(len(risk), 1 / len(risk)), size=size)
        counts = drawn.astype(np.float64)
        parts.append(_weighted(risk, flag, label, counts))
        if hits is not None:
            parts[-1]["pair_accuracy"] = counts @ hits / len(hits)
    resampled = {name: np.concatenate([part[name] for part in parts]) for name in values}
    return Measured(
        {name: _estimate(value, resampled[name]) for name, value in values.items()}, resampled
    )


def area(risks: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the area under the ROC curve; None where only one label occurs."""
    from sklearn.metrics import roc_auc_score

    if len(set(map(bool, labels))) < 2:
        return None
    return float(roc_auc_score(list(labels), list(risks)))


def mean_of(measured: Sequence[Measured]) -> dict[str, Estimate]:
    """Return the means over sets of what every set has, with intervals from their resamples."""
    names = [n for n in measured[0].estimates if all(n in m.estimates for m in measured)]
    means = {}
    for name in names:
        values = [m.estimates[name].value for m in measured]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            means[name] = Estimate(None)
            continue
        together = np.mean([m.resampled[name] for m in measured], axis=0)
        means[name] = _estimate(float(np.mean(known)), together)
    return means


def reliability(risks: Sequence[float], labels: Sequence[bool]) -> tuple[Bin, ...]:
    """Return the reliability table: `BINS` bins of equal width over the risk."""
    risk, bad = np.asarray(risks, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    place = _bin_of(risk)
    table = []
    for number in range(BINS):
        inside = place == number
        rows = int(inside.sum())
        table.append(
            Bin(
                number / BINS,
                (number + 1) / BINS,
                rows,
                float(risk[inside].mean()) if rows else None,
                float(bad[inside].mean()) if rows else None,
            )
        )
    return tuple(table)


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    if total == 0:
        return 0.0, 1.0
    z, share = 1.959964, right / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total)
    half *= (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    return max(middle - half, 0.0), min(middle + half, 1.0)  # rounding may leave [0, 1]


def _arrays(
    risks: Sequence[float], flagged: Sequence[bool], labels: Sequence[bool]
) -> tuple[Array, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    if not len(risks) == len(flagged) == len(labels):
        raise ValueError(f"{len(risks)} risks, {len(flagged)} verdicts, {len(labels)} labels")
    if not len(risks):
        raise ValueError("there is nothing to measure")
    return (
        np.asarray(risks, dtype=np.float64),
        np.asarray(flagged, dtype=np.bool_),
        np.asarray(labels, dtype=np.bool_),
    )


def _point(
    risk: Array, flag: npt.NDArray[np.bool_], label: npt.NDArray[np.bool_]
) -> dict[str, float | None]:
    from sklearn import metrics

    both = 0 < label.sum() < len(label)
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        label, flag, average="binary", zero_division=0.0
    )
    return {
        "auroc": area(risk.tolist(), label.tolist()),
        "balanced_accuracy": float(metrics.balanced_accuracy_score(label, flag)) if both else None,
        "precision": float(precision) if flag.any() else None,
        "recall": float(recall) if label.any() else None,
        "f1": float(f1) if flag.any() or label.any() else None,
        "accuracy": float(metrics.accuracy_score(label, flag)),
        "ece": float(_ece(risk, label, np.ones((1, len(risk))))[0]),
    }


def _weighted(
    risk: Array, flag: npt.NDArray[np.bool_], label: npt.NDArray[np.bool_], counts: Array
) -> dict[str, Array]:
    """Return the measures for each row of ``counts`` [resamples, rows]: how often a row occurs.

    The same numbers as scikit-learn's, for all resamples at once.
    """
    hit, miss = counts @ (flag & label), counts @ (~flag & label)
    alarm, pass_ = counts @ (flag & ~label), counts @ (~flag & ~label)
    with np.errstate(invalid="ignore", divide="ignore"):
        recall, specificity = hit / (hit + miss), pass_ / (pass_ + alarm)
        return {
            "auroc": _areas(risk, label, counts),
            "balanced_accuracy": (recall + specificity) / 2,
            "precision": hit / (hit + alarm),
            "recall": recall,
            "f1": 2 * hit / (2 * hit + miss + alarm),
            "accuracy": (hit + pass_) / counts.sum(axis=1),
            "ece": _ece(risk, label, counts),
        }


def _areas(risk: Array, label: npt.NDArray[np.bool_], counts: Array) -> Array:
    """Areas under the ROC curve: the chance that a bad row's risk is over a good one's."""
    order = np.argsort(risk)
    starts = np.flatnonzero(np.diff(risk[order], prepend=-1.0))  # of each run of equal risks
    bad, good = (
        np.add.reduceat((counts * these)[:, order], starts, axis=1) for these in (label, ~label)
    )
    below = np.cumsum(good, axis=1) - good
    wins = (bad * (below + good / 2)).sum(axis=1)
    return np.asarray(wins / (bad.sum(axis=1) * good.sum(axis=1)))


def _bin_of(risk: Array) -> npt.NDArray[np.intp]:
    return np.clip(np.ceil(risk * BINS).astype(np.intp) - 1, 0, BINS - 1)


def _ece(risk: Array, label: npt.NDArray[np.bool_], counts: Array) -> Array:
    """Expected calibration error: mean over bins, by size, of |mean risk - share of bad rows|."""
    member = _bin_of(risk)[:, None] == np.arange(BINS)
    gaps = np.abs((counts * risk) @ member - (counts * label) @ member)
    return np.asarray(gaps.sum(axis=1) / counts.sum(axis=1))


def _estimate(value: float | None, resampled: Array) -> Estimate:
    known = resampled[np.isfinite(resampled)]
    if value is None or not len(known):
        return Estimate(value)
    low, high = np.percentile(known, (2.5, 97.5))
    return Estimate(value, float(low), float(high))


def to_plain(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return estimates as plain data."""
    return {name: estimate.to_dict() for name, estimate in estimates.items()}
