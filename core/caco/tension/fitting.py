"""Weights of the tension's components, learned from examples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caco.tension.parts import CONTRADICTION, CTS, STRAIN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Array = NDArray[np.float64]

__all__ = ["FeatureRow", "FittedWeights", "fit_weights"]

FeatureRow = Sequence[float] | Mapping[str, float] | CTS
_FOLDS = 5
_ROUNDS = 500
_TOLERANCE = 1e-12
_RANK_TOLERANCE = 1e-6


@dataclass(frozen=True)
class FittedWeights:
    """Weights that were learned.

    Attributes:
        weights: In the order of the features' columns; each head is non-negative and sums to 1.
        names: The columns' names; "0", "1", … where the rows had none.
        error: Root mean square of what the weights miss the targets by, over all rows.
        held_out_error: The same over rows that the weights were not fitted on: cross-validated in
            up to five parts.
        rows: How many examples there were.
    """

    weights: tuple[float, ...]
    names: tuple[str, ...]
    error: float
    held_out_error: float
    rows: int

    def as_mapping(self) -> dict[str, float]:
        """Return the weights by name; `caco.cts` takes them as ``weights`` if the names are its."""
        return dict(zip(self.names, self.weights, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes."""
        return {
            "weights": self.as_mapping(),
            "error": self.error,
            "held_out_error": self.held_out_error,
            "rows": self.rows,
        }


def fit_weights(features: Sequence[FeatureRow], target_cts: Sequence[float]) -> FittedWeights:
    """Learn weights by least squares on the simplex: non-negative, summing to 1.

    Rows of numbers, or mappings with names of your own, make one head: target ~ features · weights.
    Rows that are `CTS`, or mappings with its six component names, make two, the strain's and the
    contradiction's: target ~ (strain · weights) x (contradiction · weights), from equal weights on,
    one head at a time until neither changes.

    Args:
        features: One row for each example; all alike, at least two columns, finite.
        target_cts: The tension that each should have, in [0, 1].

    Returns:
        The weights, their error and their held-out error.

    Raises:
        ValueError: Another number of targets than rows; a number that is not finite, or a target
            outside [0, 1]; or degenerate input, with the reason: too few rows, targets or columns
            that do not differ, columns that explain each other.
        TypeError: A row is of a wrong type.
    """
    import numpy as np

    names, rows = _table(features)
    table = np.asarray(rows, dtype=np.float64).reshape(len(rows), len(names))
    targets = np.asarray(_numbers(target_cts, "target_cts"), dtype=np.float64)
    _check(table, targets, names)
    heads = _heads(names)
    weights = _fitted(table, targets, heads, names)
    fold = np.arange(len(rows)) % min(_FOLDS, len(rows))
    missed = np.empty(len(rows))
    for number in range(int(fold.max()) + 1):
        rest, held = fold != number, fold == number
        try:
            part = _fitted(table[rest], targets[rest], heads, names)
        except ValueError as error:
            raise ValueError(f"there are too few different rows to hold any out: {error}") from None
        missed[held] = _predicted(table[held], part, heads) - targets[held]
    return FittedWeights(
        weights=tuple(map(float, weights)),
        names=names,
        error=_root_mean_square(_predicted(table, weights, heads) - targets),
        held_out_error=_root_mean_square(missed),
        rows=len(rows),
    )


def _table(features: Sequence[FeatureRow]) -> tuple[tuple[str, ...], list[list[float]]]:
    """Return the columns' names and the rows."""
    if isinstance(features, (str, bytes, Mapping)) or not hasattr(features, "__len__"):
        raise TypeError(f"features must be a list of rows, not {type(features).__name__}")
    if not len(features):
        raise ValueError("there are no rows to learn from")
    plain = [row.components if isinstance(row, CTS) else row for row in features]
    first = plain[0]
    if isinstance(first, Mapping):
        names = tuple(first)
        if set(names) == {*STRAIN, *CONTRADICTION}:
            names = (*STRAIN, *CONTRADICTION)
        for position, row in enumerate(plain):
            if not isinstance(row, Mapping) or set(row) != set(names):
                raise ValueError(f"row {position} does not have the names of row 0: {list(names)}")
        return names, [_numbers([row[n] for n in names], "features") for row in plain]  # type: ignore[call-overload]
    rows = [_numbers(row, f"row {position}") for position, row in enumerate(plain)]
    for position, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {position} has {len(row)} numbers, row 0 has {len(rows[0])}")
    return tuple(str(column) for column in range(len(rows[0]))), rows


def _numbers(values: Any, name: str) -> list[float]:  # noqa: ANN401 (checked here)
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be a sequence of numbers, not {type(values).__name__}")
    numbers = []
    for value in values:
        if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
            raise TypeError(f"{name} holds {value!r}, which is no number")
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{name} holds {number}, which is not finite")
        numbers.append(number)
    return numbers


def _check(table: _Array, targets: _Array, names: Sequence[str]) -> None:
    rows, columns = table.shape
    if len(targets) != rows:
        raise ValueError(f"{rows} rows of features, but {len(targets)} targets")
    if targets.min() < 0.0 or targets.max() > 1.0:
        worst = targets[abs(targets - 0.5).argmax()]
        raise ValueError(f"targets must be in [0, 1]; one is {worst}")
    if columns < 2:
        raise ValueError(f"a weight alone is always 1: give two columns or more, not {list(names)}")
    if rows <= columns:
        raise ValueError(f"{rows} rows are too few for {columns} weights: give more than {columns}")
    if targets.max() - targets.min() < _TOLERANCE:
        raise ValueError(f"all targets are {targets[0]}: there is nothing to learn")


def _heads(names: Sequence[str]) -> tuple[slice, ...]:
    if tuple(names) == (*STRAIN, *CONTRADICTION):
        return slice(0, len(STRAIN)), slice(len(STRAIN), len(names))
    return (slice(0, len(names)),)


def _predicted(table: _Array, weights: _Array, heads: Sequence[slice]) -> _Array:
    result = table[:, heads[0]] @ weights[heads[0]]
    for head in heads[1:]:
        result = result * (table[:, head] @ weights[head])
    return result


def _fitted(table: _Array, targets: _Array, heads: Sequence[slice], names: Sequence[str]) -> _Array:
    """Fit each head in turn, the others fixed, until no weight changes."""
    import numpy as np

    weights = np.concatenate(
        [np.full(head.stop - head.start, 1.0 / (head.stop - head.start)) for head in heads]
    )
    for _ in range(_ROUNDS):
        before = weights.copy()
        for head in heads:
            others = [other for other in heads if other != head]
            scale = _predicted(table, weights, others)[:, None] if others else 1.0
            weights[head] = _on_simplex(table[:, head] * scale, targets, names[head])
        if len(heads) == 1 or np.abs(weights - before).max() < _TOLERANCE:
            break
    return weights


def _on_simplex(table: _Array, targets: _Array, names: Sequence[str]) -> _Array:
    """Least squares with non-negative weights that sum to 1, by an active set.

    With the sum fixed, only the differences of the columns matter: if these depend on each other,
    many weights are equally good, and the input is refused.
    """
    import numpy as np

    differences = table[:, 1:] - table[:, :1]
    scale = max(float(np.abs(table).max()), np.finfo(float).tiny)
    tolerance = _RANK_TOLERANCE * scale * math.sqrt(len(table))
    if np.linalg.matrix_rank(differences, tol=tolerance) < len(names) - 1:
        raise ValueError(
            f"the columns {list(names)} do not tell their weights apart: some are equal, constant "
            "or sums of others"
        )
    free = list(range(len(names)))
    weights = np.full(len(names), 1.0 / len(names))
    for _ in range(10 * len(names) + 10):
        wanted = _equality_constrained(table[:, free], targets)
        if wanted.min() >= 0.0:
            weights[:] = 0.0
            weights[free] = wanted
            # What each weight would gain by growing, against those that are free.
            slope = table.T @ (table @ weights - targets)
            level = slope[free].mean()
            gains = level - slope
            gains[free] = 0.0
            best = int(gains.argmax())
            if gains[best] <= _TOLERANCE * max(1.0, scale * scale * len(table)):
                return weights
            free = sorted([*free, best])
            continue
        current = weights[free]
        falling = wanted < 0.0
        step = np.min(current[falling] / (current[falling] - wanted[falling]))
        moved = current + step * (wanted - current)
        keep = moved > _TOLERANCE
        keep[np.argmin(np.where(falling, moved, np.inf))] = False
        weights[:] = 0.0
        weights[free] = np.where(keep, moved, 0.0)
        free = [column for column, kept in zip(free, keep, strict=True) if kept]
    return weights


def _equality_constrained(table: _Array, targets: _Array) -> _Array:
    """Least squares with weights that sum to 1, of any sign."""
    import numpy as np

    if table.shape[1] == 1:
        return np.ones(1)
    rest = np.linalg.lstsq(table[:, 1:] - table[:, :1], targets - table[:, 0], rcond=None)[0]
    return np.concatenate([[1.0 - rest.sum()], rest])


def _root_mean_square(values: _Array) -> float:
    return math.sqrt(float((values * values).mean()))
