"""Who checks the chunks: threads of this process, or actors of a Ray cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Protocol

from caco.batch.checker import BatchValidator
from caco.batch.rows import Outcome, Row, chunks

__all__ = ["Checker", "Engine", "LocalEngine", "Rows", "check_rows"]

Rows = Callable[[], Iterable[Row]]
"""Gives the rows that are to be checked; picklable, and the same rows each time."""

Checker = Callable[[BatchValidator, Sequence[Row]], list[Outcome]]
"""Checks the rows of a chunk."""

AHEAD = 2
"""Chunks that are checked at a time: while one is with the model, the other's text is read."""


class Engine(Protocol):
    """What checks rows."""

    def run(
        self, rows: Rows, skipped: Iterable[Row], validator: BatchValidator, check: Checker
    ) -> Iterator[list[Outcome]]:
        """Yield what became of the rows, in order and in chunks.

        Args:
            rows: Gives the rows.
            skipped: The iterator of rows from which those that are done with were taken.
            validator: What checks them.
            check: How it is used.
        """


def check_rows(validator: BatchValidator, rows: Sequence[Row]) -> list[Outcome]:
    """Check the rows of a chunk together; one without an answer keeps its reason."""
    ready = [row.answer for row in rows if row.answer is not None]
    found = iter(validator.check(ready) if ready else [])
    return [
        Outcome(row, reason=row.reason) if row.answer is None else as_outcome(row, next(found))
        for row in rows
    ]


def as_outcome(row: Row, found: dict[str, Any] | str) -> Outcome:
    """Return a row's outcome from what `BatchValidator.check` gave for it."""
    done = replace(row, answer=None, added=None)
    if isinstance(found, str):
        return Outcome(done, reason=found)
    return Outcome(done, results=found)


@dataclass(frozen=True)
class LocalEngine:
    """Checks chunks in this process.

    Attributes:
        chunk_rows: Rows in a chunk, at most; no result depends on it.
    """

    chunk_rows: int = 32

    def __post_init__(self) -> None:
        if type(self.chunk_rows) is not int or self.chunk_rows < 1:
            raise ValueError(f"chunk_rows must be a positive int, not {self.chunk_rows!r}")

    def run(
        self, rows: Rows, skipped: Iterable[Row], validator: BatchValidator, check: Checker
    ) -> Iterator[list[Outcome]]:
        """Yield what became of the rows; see `Engine`."""
        pool = ThreadPoolExecutor(AHEAD, thread_name_prefix="caco-batch")
        waiting: deque[Future[list[Outcome]]] = deque()
        try:
            for chunk in chunks(skipped, self.chunk_rows):
                waiting.append(pool.submit(check, validator, chunk))
                if len(waiting) > AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
