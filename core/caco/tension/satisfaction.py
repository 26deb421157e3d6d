"""U_SAT: the least share of a formula's clauses that every assignment leaves unsatisfied."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from caco.errors import MissingExtraError

__all__ = ["Satisfaction", "unsatisfied_share"]

_SECONDS = 0.8
"""Time for the exact solver; MaxSAT is NP-hard, and some small formulas would take it days."""
_SOLVER = "m22"  # minisat; glucose does not hear an interrupt while it searches
_WORK = 1_500_000
"""Clauses that local search looks at before it settles for what it has, some 0.3 s."""
_NOISE = 0.3

_Clause = tuple[int, ...]


@dataclass(frozen=True)
class Satisfaction:
    """How much of a formula can be satisfied.

    Attributes:
        share: Clauses left unsatisfied by the best assignment, over all clauses, in [0, 1].
        exact: True when no assignment is better. False: the solver's time was up, and ``share`` is
            an upper bound from local search.
    """

    share: float
    exact: bool


def unsatisfied_share(constraints: Sequence[Sequence[int]]) -> Satisfaction:
    """Solve MaxSAT on a formula in conjunctive normal form, every clause of weight 1.

    Args:
        constraints: Clauses; each a sequence of literals, signed ints other than 0 as in DIMACS.

    Returns:
        The share, exact if found within 0.8 s; (0, exact) for no clauses, without the solver.

    Raises:
        ValueError: A clause is empty, or holds 0.
        TypeError: The formula or a clause is no sequence, or a literal is no int.
        MissingExtraError: python-sat is not installed.
    """
    clauses = _checked(constraints)
    if not clauses:
        return Satisfaction(0.0, exact=True)
    # A clause with x and not x is always satisfied.
    live = [clause for clause in clauses if not any(-literal in clause for literal in clause)]
    numbers: dict[int, int] = {}
    for clause in live:
        for literal in clause:
            numbers.setdefault(abs(literal), len(numbers) + 1)
    # Solvers reserve memory up to the largest variable: give them consecutive numbers.
    dense = [tuple(numbers[abs(x)] * (1 if x > 0 else -1) for x in clause) for clause in live]
    cost = _least_cost(dense)
    if cost is not None:
        return Satisfaction(cost / len(clauses), exact=True)
    cost = _local_search(dense, len(numbers))
    return Satisfaction(cost / len(clauses), exact=cost == 0)


def _checked(constraints: Sequence[Sequence[int]]) -> list[_Clause]:
    if isinstance(constraints, (str, bytes)) or not isinstance(constraints, Sequence):
        raise TypeError(f"constraints must be a list of clauses, not {type(constraints).__name__}")
    clauses = []
    for position, clause in enumerate(constraints):
        if isinstance(clause, (str, bytes)) or not isinstance(clause, Sequence):
            raise TypeError(f"clause {position} must be a list of ints, not {clause!r}")
        for literal in clause:
            if isinstance(literal, bool) or not isinstance(literal, int):
                raise TypeError(f"clause {position} holds {literal!r}, which is no int")
            if literal == 0:
                raise ValueError(f"clause {position} holds 0, which is no literal")
        if not clause:
            raise ValueError(f"clause {position} is empty")
        clauses.append(tuple(dict.fromkeys(clause)))
    return clauses


def _least_cost(clauses: Sequence[_Clause]) -> int | None:
    """Return the fewest unsatisfied clauses; None when time ran out."""
    if not clauses:
        return 0
    try:
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF
    except ImportError as error:
        raise MissingExtraError("Constraints", "sat") from error
    formula = WCNF()
    for clause in clauses:
        formula.append(list(clause), weight=1)
    with RC2(formula, solver=_SOLVER) as solver, _Deadline(solver, _SECONDS) as deadline:
        model = solver.compute(expect_interrupt=True)
        return int(solver.cost) if model is not None and not deadline.passed else None


class _Deadline:
    """Interrupts a solver when its time is up, again and again: one request can go unheard."""

    def __init__(self, solver: Any, seconds: float) -> None:  # noqa: ANN401 (python-sat is untyped)
        self._solver = solver
        self._seconds = seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.passed = False

    def _watch(self) -> None:
        wait = self._seconds
        while not self._done.wait(wait):
            self.passed = True
            self._solver.interrupt()
            wait = 0.01

    def __enter__(self) -> _Deadline:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def _local_search(clauses: Sequence[_Clause], variables: int) -> int:
    """Return how many clauses the best assignment found by WalkSAT leaves unsatisfied."""
    walk = _Walk(clauses, variables)
    best = len(walk.broken)
    while walk.broken and walk.work < _WORK:
        walk.step()
        best = min(best, len(walk.broken))
    return best


class _Walk:
    """A random walk over assignments, the same one every time.

    Attributes:
        broken: The clauses that do not hold, in no meaningful order.
        work: Clauses looked at so far.
    """

    def __init__(self, clauses: Sequence[_Clause], variables: int) -> None:
        self._clauses = clauses
        self._chance = random.Random(0)
        self._true = {v if self._chance.random() < 0.5 else -v for v in range(1, variables + 1)}
        self._holding: dict[int, list[int]] = {v: [] for v in range(-variables, variables + 1)}
        for index, clause in enumerate(clauses):
            for literal in clause:
                self._holding[literal].append(index)
        self._count = [len(self._true.intersection(clause)) for clause in clauses]
        self.broken = [index for index, count in enumerate(self._count) if count == 0]
        self._place = {index: place for place, index in enumerate(self.broken)}
        self.work = 0

    def step(self) -> None:
        """Make one broken clause hold: by the flip that breaks least, or now and then by any."""
        clause = self._clauses[self._chance.choice(self.broken)]
        noisy = self._chance.random() < _NOISE
        self._flip(self._chance.choice(clause) if noisy else min(clause, key=self._breaks))

    def _breaks(self, literal: int) -> int:
        """How many clauses would no longer hold if ``literal`` became true."""
        self.work += len(self._holding[-literal])
        return sum(self._count[index] == 1 for index in self._holding[-literal])

    def _flip(self, literal: int) -> None:
        self._true.discard(-literal)
        self._true.add(literal)
        self.work += len(self._holding[literal]) + len(self._holding[-literal])
        for index in self._holding[literal]:
            self._count[index] += 1
            if self._count[index] == 1:
                self._mend(index)
        for index in self._holding[-literal]:
            self._count[index] -= 1
            if self._count[index] == 0:
                self._place[index] = len(self.broken)
                self.broken.append(index)

    def _mend(self, index: int) -> None:
        place = self._place.pop(index)
        last = self.broken.pop()
        if last != index:
            self.broken[place] = last
            self._place[last] = place
