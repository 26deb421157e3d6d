"""A progress bar on a terminal, in plain ASCII."""

from __future__ import annotations

import shutil
import time
from typing import TextIO

from caco.batch import Progress

__all__ = ["ProgressBar"]

REDRAW_SECONDS = 0.1
_MOST_CELLS = 30


class ProgressBar:
    """One line that is drawn over itself; nothing where there is no terminal.

    Args:
        stream: Where to draw.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._started = time.monotonic()
        self._drawn = 0.0
        self._width = 0

    def update(self, progress: Progress) -> None:
        """Draw how far a run has come, unless that was done just now."""
        now = time.monotonic()
        if self._stream is None or now - self._drawn < REDRAW_SECONDS:
            return
        self._drawn = now
        columns = shutil.get_terminal_size((80, 24)).columns - 1
        line = progress_line(progress, now - self._started)[:columns]
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def close(self) -> None:
        """Wipe the line."""
        if self._stream is not None and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


def progress_line(progress: Progress, seconds: float) -> str:
    """Return how far a run has come, in one line: share, rows, rate, time left, bad rows.

    Args:
        progress: How far it has come.
        seconds: How long this run has taken.
    """
    parts = []
    if progress.share is not None:
        cells = int(progress.share * _MOST_CELLS)
        parts.append(f"[{'#' * cells}{'-' * (_MOST_CELLS - cells)}] {progress.share:4.0%}")
    parts += [f"{progress.rows} rows", f"{progress.new_rows / max(seconds, 1e-9):.1f} rows/s"]
    if progress.share is not None and progress.share > progress.first_share:
        left = (1 - progress.share) / (progress.share - progress.first_share) * seconds
        parts.append(f"{_duration(left)} left")
    if progress.errors:
        parts.append(f"{progress.errors} bad")
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
