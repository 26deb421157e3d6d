"""Work that is done later, by a thread that lives only as long as there is some."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["BackgroundQueue"]

logger = logging.getLogger(__name__)

_Item = TypeVar("_Item")


class BackgroundQueue(Generic[_Item]):
    """Hands items to a function, one at a time and in order, off the caller's thread.

    The thread ends when the queue is empty and is started again when needed; it is not a daemon, so
    the interpreter waits for what is queued when it exits.

    Args:
        work: What is done with an item; what it raises is logged.
        size: The most items that may wait, at least 1.
    """

    def __init__(self, work: Callable[[_Item], None], size: int) -> None:
        self._work = work
        self._size = size
        self._waiting: deque[_Item] = deque()
        self._idle = threading.Condition()
        self._thread: threading.Thread | None = None

    def put(self, item: _Item) -> bool:
        """Queue an item; False when the queue is full and the item was not taken."""
        with self._idle:
            if len(self._waiting) >= self._size:
                return False
            self._waiting.append(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._drain, name="caco-monitor")
                self._thread.start()
            return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do.

        Args:
            timeout: The most seconds to wait; None: as long as it takes.

        Returns:
            False when something is left.

        Raises:
            RuntimeError: Called by the work itself, which would wait for its own end.
        """
        with self._idle:
            if self._thread is threading.current_thread():
                raise RuntimeError("flush() was called from the monitor's own thread")
            return self._idle.wait_for(lambda: self._thread is None, timeout)

    def _drain(self) -> None:
        while True:
            with self._idle:
                if not self._waiting:
                    self._thread = None
                    self._idle.notify_all()
                    return
                item = self._waiting.popleft()
            try:
                self._work(item)
            except Exception:  # a dead thread would leave flush() waiting for ever
                logger.exception("work in the background failed")
