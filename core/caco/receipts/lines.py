"""Lines of JSON in a file that many processes append to: whole, in order, and chained if wanted."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FIRST_HASH", "ReceiptCheck", "append_line", "check_lines"]

FIRST_HASH = "0" * 64
"""What the first line of a chain has as the hash of the line before it."""

_BLOCK = 8192
_MAX_PROBLEMS = 100


@dataclass(frozen=True)
class ReceiptCheck:
    """What a check of a file found.

    Attributes:
        lines: Whole lines in the file.
        chained: Whether they carry a hash chain.
        last_hash: The hash of the last line of the chain; note it elsewhere to notice later that
            lines were cut off. None without a chain.
        torn_bytes: Length of an unfinished line at the end, left by a crash; the next append
            removes it.
        problems: What is wrong, at most 100 entries, each beginning with the line's number.
    """

    lines: int
    chained: bool
    last_hash: str | None
    torn_bytes: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.problems


def append_line(path: Path, data: Mapping[str, Any], *, hash_chain: bool) -> None:
    """Append one JSON object as a line, whole or not at all, however many processes do so.

    Under an exclusive lock on the file: what a crash left unfinished is removed, then the line is
    written. The lock goes with the process that holds it.

    Raises:
        OSError: The file cannot be written; nothing of the line is left in it.
        ValueError: The last line is not part of a hash chain, where there should be one.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o644)
    try:
        with _locked(descriptor):
            end = _repaired_end(descriptor)
            line = _line(data, _last_hash(descriptor, end, path) if hash_chain else None)
            try:
                _write(descriptor, line)
            except OSError:
                os.ftruncate(descriptor, end)
                raise
    finally:
        os.close(descriptor)


def _line(data: Mapping[str, Any], previous: str | None) -> bytes:
    """Return a line as bytes, with its link of the chain unless ``previous`` is None."""
    if previous is None:
        return json.dumps(data, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    linked = {**data, "chain": {"previous": previous}}
    linked["chain"]["hash"] = _hash(linked)
    return json.dumps(linked, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _hash(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a line's content, its own hash apart; the order of keys is no part."""
    chain = {"previous": data["chain"]["previous"]}
    plain = json.dumps({**data, "chain": chain}, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _write(descriptor: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _repaired_end(descriptor: int) -> int:
    """Remove an unfinished last line, and return where the file ends then."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    whole = end - len(_tail(descriptor, end))
    if whole != end:
        os.ftruncate(descriptor, whole)
    return whole


def _tail(descriptor: int, end: int) -> bytes:
    """Return what stands before ``end`` and after the last line break before it."""
    tail = b""
    while end:
        start = max(0, end - _BLOCK)
        os.lseek(descriptor, start, os.SEEK_SET)
        block = os.read(descriptor, end - start)
        place = block.rfind(b"\n")
        if place >= 0:
            return block[place + 1 :] + tail
        tail = block + tail
        end = start
    return tail


def _last_hash(descriptor: int, end: int, path: Path) -> str:
    if end == 0:
        return FIRST_HASH
    try:
        found = json.loads(_tail(descriptor, end - 1))["chain"]["hash"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"the last line of {path} has no hash to go on from; start a chain in a new file"
        ) from error
    return str(found)


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Hold an exclusive lock on an open file; each opening of it counts, so threads wait too."""
    if sys.platform == "win32":
        import msvcrt

        # A byte far beyond the end: a locked byte cannot be read by others on Windows.
        os.lseek(descriptor, 1 << 40, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            os.lseek(descriptor, 1 << 40, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def check_lines(
    path: Path, check_form: Callable[[Any], None], *, chained: bool = False
) -> ReceiptCheck:
    """Check each line of a file: that it is JSON, its form, and its link of the chain.

    Args:
        path: The file.
        check_form: Raises ``ValueError`` for a line that is not of its form.
        chained: True: every line has to carry a link, the first one too.

    Raises:
        OSError: The file cannot be read.
    """
    problems: list[str] = []
    lines, torn = 0, 0
    previous: str | None = FIRST_HASH if chained else None
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.endswith(b"\n"):
                torn = len(raw)
                break
            lines = number
            try:
                data = json.loads(raw)
                check_form(data)
                if number == 1 and "chain" in data:
                    previous = FIRST_HASH
                previous = _linked(data, previous)
            except (ValueError, RecursionError) as error:
                if len(problems) < _MAX_PROBLEMS:
                    problems.append(f"line {number}: {error}")
                previous = _claimed_hash(raw, previous)
    is_chained = previous is not None and lines > 0
    return ReceiptCheck(
        lines=lines,
        chained=is_chained,
        last_hash=previous if is_chained else None,
        torn_bytes=torn,
        problems=tuple(problems),
    )


def _linked(data: Mapping[str, Any], previous: str | None) -> str | None:
    """Check a line's link and return its hash; ``previous`` is None in a file without a chain."""
    if "chain" not in data:
        if previous is not None:
            raise ValueError("it has no hash")
        return None
    if previous is None:
        raise ValueError("it has a hash, the lines before it have none")
    chain = data["chain"]
    if not isinstance(chain, Mapping) or set(chain) != {"previous", "hash"}:
        raise ValueError("its hash is not of the right form")
    if chain["hash"] != _hash(data):
        raise ValueError("it was changed: its hash is not that of its content")
    if chain["previous"] != previous:
        raise ValueError("the line before it was removed, put in or moved: the hashes do not meet")
    return str(chain["hash"])


def _claimed_hash(raw: bytes, previous: str | None) -> str | None:
    """Return the hash that a bad line says it has, so that one bad line is one problem."""
    if previous is None:
        return None
    try:
        return str(json.loads(raw)["chain"]["hash"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return previous
