"""The tension of one text: its value, what it is made of, and with what weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CONTRADICTION", "CTS", "DEFAULT_WEIGHTS", "STRAIN", "Parts", "checked_weights"]

STRAIN = ("delta_L_pred", "KL", "E_res")
CONTRADICTION = ("P_NLI", "U_SAT", "H_halluc")


@dataclass(frozen=True)
class Parts(Mapping[str, float]):
    """A read-only, hashable mapping from a component's name to a number in [0, 1]."""

    items_: tuple[tuple[str, float], ...]

    def __getitem__(self, key: str) -> float:
        for name, value in self.items_:
            if name == key:
                return value
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items_)

    def __len__(self) -> int:
        return len(self.items_)

    def __eq__(self, other: object) -> bool:
        return dict(self.items_) == other if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self.items_))

    def __repr__(self) -> str:
        return repr(dict(self.items_))


DEFAULT_WEIGHTS = Parts(
    (
        ("delta_L_pred", 0.5),
        ("KL", 0.25),
        ("E_res", 0.25),
        ("P_NLI", 0.5),
        ("U_SAT", 0.25),
        ("H_halluc", 0.25),
    )
)
"""The weight of each component when no others are given; each of the two heads sums to 1."""


@dataclass(frozen=True)
class CTS:
    """The cognitive tension of a text.

    Attributes:
        S: Compression strain, the weighted sum of ``strain``, in [0, 1].
        C: Contradiction magnitude, the weighted sum of ``contradiction``, in [0, 1].
        value: S x C, in [0, 1].
        strain: ``delta_L_pred``, ``KL`` and ``E_res``, each in [0, 1].
        contradiction: ``P_NLI``, ``U_SAT`` and ``H_halluc``, each in [0, 1].
        weights: The weight of each of the six; the first three sum to 1, and so do the others.
        mode: "heuristic" or "model": how the components were computed.
        exact: False when the solver ran out of its time, so that ``U_SAT`` is only an upper bound:
            the share that the best assignment found leaves unsatisfied.
    """

    S: float
    C: float
    value: float
    strain: Parts
    contradiction: Parts
    weights: Parts
    mode: str
    exact: bool = True

    @classmethod
    def combine(
        cls,
        strain: Mapping[str, float],
        contradiction: Mapping[str, float],
        weights: Mapping[str, float],
        mode: str,
        *,
        exact: bool = True,
    ) -> CTS:
        """Weigh the components; values are clipped to [0, 1]."""
        strain_score = _clipped(sum(weights[name] * strain[name] for name in STRAIN))
        conflict_score = _clipped(sum(weights[n] * contradiction[n] for n in CONTRADICTION))
        return cls(
            S=strain_score,
            C=conflict_score,
            value=strain_score * conflict_score,
            strain=_in_order(STRAIN, strain),
            contradiction=_in_order(CONTRADICTION, contradiction),
            weights=_in_order((*STRAIN, *CONTRADICTION), weights),
            mode=mode,
            exact=exact,
        )

    @property
    def components(self) -> Parts:
        """All six components: a row of features for `fit_weights`."""
        return Parts((*self.strain.items_, *self.contradiction.items_))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes."""
        return {
            "S": self.S,
            "C": self.C,
            "value": self.value,
            "strain": dict(self.strain),
            "contradiction": dict(self.contradiction),
            "weights": dict(self.weights),
            "mode": self.mode,
            "exact": self.exact,
        }


def checked_weights(weights: Mapping[str, float] | None) -> Parts:
    """Complete and check weights.

    Args:
        weights: By component's name; a head (strain, contradiction) is given whole or not at all.
            None: `DEFAULT_WEIGHTS`.

    Raises:
        ValueError: An unknown name, a missing one, a negative weight, or a head that does not sum
            to 1.
    """
    if weights is None:
        return DEFAULT_WEIGHTS
    unknown = set(weights) - set(DEFAULT_WEIGHTS)
    if unknown:
        raise ValueError(f"unknown weights {sorted(unknown)}; known are {list(DEFAULT_WEIGHTS)}")
    complete = dict(DEFAULT_WEIGHTS)
    for head in (STRAIN, CONTRADICTION):
        given = {name: float(weights[name]) for name in head if name in weights}
        if not given:
            continue
        if len(given) < len(head):
            raise ValueError(f"give the weights {list(head)} together, not only {list(given)}")
        if not all(0.0 <= value <= 1.0 for value in given.values()):
            raise ValueError(f"weights must be in [0, 1], not {given}")
        if not math.isclose(sum(given.values()), 1.0, abs_tol=1e-6):
            raise ValueError(f"the weights {list(head)} must sum to 1, not {sum(given.values())}")
        complete.update(given)
    return Parts(tuple(complete.items()))


def _in_order(names: tuple[str, ...], values: Mapping[str, float]) -> Parts:
    return Parts(tuple((name, float(values[name])) for name in names))


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
