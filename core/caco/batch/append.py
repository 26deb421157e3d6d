"""Files that are only appended to, and can be cut back to what is known to be on the disk."""

from __future__ import annotations

import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Protocol

__all__ = ["AppendFile", "ByteSink", "StandardOutput"]

_GZIP = zlib.MAX_WBITS | 16


class ByteSink(Protocol):
    """What takes bytes for good at each commit."""

    def write(self, data: bytes) -> None:
        """Append bytes."""

    def commit(self) -> int:
        """Make sure that what was written stays; return how many bytes there are in all."""

    def close(self) -> None:
        """Let go; what was not committed may be lost."""


class AppendFile:
    """A file that is appended to.

    Args:
        path: The file. It is locked: a second run cannot write to it at the same time.
        size: Bytes to keep and to go on after. None: none.
        packed: Pack with gzip: each commit is a member of its own.

    Raises:
        OSError: The file cannot be written, or another run writes to it.
        ValueError: It has fewer bytes than ``size``.
    """

    def __init__(self, path: Path, size: int | None, *, packed: bool = False) -> None:
        self._file = path.open("ab")
        try:
            _lock(self._file.fileno(), path)
            there = os.fstat(self._file.fileno()).st_size
            if there < (size or 0):
                raise ValueError(f"{path} has {there} bytes; the run had written {size}")
            self._file.truncate(size or 0)
        except (OSError, ValueError):
            self._file.close()
            raise
        self._packed = packed
        self._member = zlib.compressobj(wbits=_GZIP) if packed else None
        self._fresh = False

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._fresh = True
        self._file.write(self._member.compress(data) if self._member is not None else data)

    def commit(self) -> int:
        """Put what was written on the disk; return the file's size."""
        if self._member is not None and self._fresh:
            self._file.write(self._member.flush())
            self._member = zlib.compressobj(wbits=_GZIP)
        if self._fresh:
            self._file.flush()
            os.fsync(self._file.fileno())
        self._fresh = False
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class StandardOutput:
    """Standard output; nothing can be taken back.

    Raises:
        OSError: It is closed.
    """

    def __init__(self) -> None:
        if sys.stdout is None or sys.stdout.closed:
            raise OSError("standard output is closed")
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._size += len(data)
        sys.stdout.buffer.write(data)

    def commit(self) -> int:
        """Hand everything over; return how many bytes there were."""
        sys.stdout.buffer.flush()
        return self._size

    def close(self) -> None:
        """Hand everything over."""
        with suppress(OSError):
            sys.stdout.buffer.flush()


def _lock(descriptor: int, path: Path) -> None:
    if sys.platform == "win32":
        return  # there, a file that is being written cannot be removed or renamed anyway
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(f"another run is writing to {path}") from error
