"""Lanes: a bounded queue each, and a thread that works on what waits there, many jobs at a time."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Lane", "OverloadedError", "TimedOutError"]

_Job = TypeVar("_Job")
_Outcome = TypeVar("_Outcome")

_QUIET_S = 0.003
"""A batch is closed when no job came for so long, …"""
_GATHER_S = 0.02
"""… or when its first one has waited for this."""
_BATCH_SHARE = 0.25
"""A batch takes at most about this share of the time that a job has."""
_SMOOTHING = 0.2
_MAX_RETRY_AFTER_S = 60


class OverloadedError(Exception):
    """Too many jobs wait; ``retry_after`` says in how many seconds to try again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("too many requests are waiting")
        self.retry_after = retry_after


class TimedOutError(Exception):
    """A job was not done in time."""


@dataclass(eq=False)
class _Entry(Generic[_Job, _Outcome]):
    job: _Job
    future: Future[_Outcome] = field(default_factory=Future)
    abandoned: bool = False


class Lane(Generic[_Job, _Outcome]):
    """Hands jobs to one thread, in batches of those that came while it was busy.

    Args:
        name: The thread's name.
        work: Does a batch: (jobs, whether nobody waits for any of them any more) to one outcome for
            each job; an exception among the outcomes is raised to its own job only. If it raises,
            each job of the batch is tried alone.
        max_batch: Jobs in a batch, at most; fewer where they take long.
        max_waiting: Jobs that may wait, besides those that are worked on.
        timeout_s: Seconds that a job has, waiting included.
        on_batch: Told the size of each batch.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[_Job], Callable[[], bool]], Sequence[_Outcome | Exception]],
        *,
        max_batch: int,
        max_waiting: int,
        timeout_s: float,
        on_batch: Callable[[int], None] = lambda _size: None,
    ) -> None:
        self._work = work
        self._max_batch = max_batch
        self._max_waiting = max_waiting
        self._timeout_s = timeout_s
        self._on_batch = on_batch
        self._waiting: deque[_Entry[_Job, _Outcome]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._seconds_per_job = 0.01
        self._name = name
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """Jobs that wait."""
        return len(self._waiting)

    def start(self) -> None:
        """Start the thread; after `close`, a new one."""
        self._closed = False
        # A daemon: a check that takes hours must not keep the process from ending.
        self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """Take no more jobs, and wait for those that are here for at most ``timeout_s`` seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout_s)

    async def submit(self, job: _Job) -> _Outcome:
        """Do one job.

        Raises:
            OverloadedError: Too many wait already, or the lane is closed.
            TimedOutError: It was not done in time.

        An exception of the work itself surfaces as it is.
        """
        entry: _Entry[_Job, _Outcome] = _Entry(job)
        with self._changed:
            if self._closed or len(self._waiting) >= self._max_waiting:
                raise OverloadedError(self._retry_after())
            self._waiting.append(entry)
            self._changed.notify_all()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(entry.future), self._timeout_s)
        except asyncio.TimeoutError:
            raise TimedOutError(f"not done within {self._timeout_s:g} s") from None
        finally:
            self._abandon(entry)

    def _abandon(self, entry: _Entry[_Job, _Outcome]) -> None:
        with self._changed:
            entry.abandoned = True
            if entry in self._waiting:
                self._waiting.remove(entry)

    def _retry_after(self) -> int:
        seconds = math.ceil(len(self._waiting) * self._seconds_per_job)
        return max(1, min(_MAX_RETRY_AFTER_S, seconds))

    def _serve(self) -> None:
        while batch := self._next_batch():
            started = time.monotonic()
            self._on_batch(len(batch))
            self._run(batch)
            spent = (time.monotonic() - started) / len(batch)
            self._seconds_per_job += _SMOOTHING * (spent - self._seconds_per_job)

    def _next_batch(self) -> list[_Entry[_Job, _Outcome]]:
        """Wait for a job and for those that come right behind it; none when the lane is closed."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._gather()
                if self._waiting or self._closed:
                    break  # else the only one was given up meanwhile
            size = min(self._batch_limit(), len(self._waiting))
            return [self._waiting.popleft() for _ in range(size)]

    def _gather(self) -> None:
        """Wait until no more jobs come in a row, or the first one has waited long enough."""
        last = time.monotonic() + _GATHER_S
        while 0 < len(self._waiting) < self._batch_limit() and not self._closed:
            before = len(self._waiting)
            self._changed.wait(_QUIET_S)
            if len(self._waiting) <= before or time.monotonic() > last:
                break

    def _batch_limit(self) -> int:
        """Return how many jobs a batch may have: where one takes long, all would time out."""
        in_time = int(_BATCH_SHARE * self._timeout_s / self._seconds_per_job)
        return max(1, min(self._max_batch, in_time))

    def _run(self, batch: Sequence[_Entry[_Job, _Outcome]]) -> None:
        live = [entry for entry in batch if not entry.abandoned]
        if not live:
            return
        try:
            outcomes = self._work(
                [entry.job for entry in live], lambda: all(entry.abandoned for entry in live)
            )
        except Exception as error:  # noqa: BLE001 (it is the job's: handed to who waits for it)
            if len(live) > 1:
                for entry in live:
                    self._run([entry])
                return
            outcomes = [error]
        for entry, outcome in zip(live, outcomes, strict=True):
            if not entry.future.set_running_or_notify_cancel():
                continue
            if isinstance(outcome, Exception):
                entry.future.set_exception(outcome)
            else:
                entry.future.set_result(outcome)
