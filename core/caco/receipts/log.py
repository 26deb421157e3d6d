"""Where receipts go: a file that many processes append to, and other sinks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from caco.receipts.lines import ReceiptCheck, append_line, check_lines
from caco.receipts.record import Receipt, receipt_from_dict
from caco.receipts.sinks import Sink

__all__ = ["ReceiptLog", "verify_receipts"]


class ReceiptLog:
    """Takes receipts to a file and to other sinks.

    A line is appended to the file as a whole, by any number of threads and processes at once; a
    process that dies while it writes loses at most its own line, which the next append removes.
    What the operating system had not yet put on the disk when the machine itself fails is lost.

    Instances are callable, and so sinks themselves.

    Args:
        path: The file, made when the first receipt comes. None: only the sinks.
        hash_chain: Each line carries its SHA-256 and that of the line before it, so that a line
            that is changed, removed or put in later shows (`verify`). Lines cut off at the end show
            only if the last hash was noted elsewhere.
        sinks: Called with each receipt, in order, after the file. What one raises surfaces.

    Raises:
        ValueError: Nowhere to write, or a hash chain without a file.
        TypeError: A sink is not callable.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        hash_chain: bool = False,  # noqa: FBT001, FBT002 (a documented position)
        sinks: Sequence[Sink] = (),
    ) -> None:
        if path is None and not sinks:
            raise ValueError("give a path, or at least one sink")
        if path is None and hash_chain:
            raise ValueError("a hash chain needs a file: give a path")
        for sink in sinks:
            if not callable(sink):
                raise TypeError(f"a sink must be callable, not {type(sink).__name__}")
        self.path = None if path is None else Path(path)
        self.hash_chain = hash_chain
        self.sinks = tuple(sinks)

    def append(self, receipt: Receipt) -> None:
        """Write one receipt.

        Raises:
            OSError: The file cannot be written.
            ValueError: The file's last line is not part of a hash chain, where there should be one.
        """
        if self.path is not None:
            append_line(self.path, receipt.to_dict(), hash_chain=self.hash_chain)
        for sink in self.sinks:
            sink(receipt)

    __call__ = append

    def verify(self) -> ReceiptCheck:
        """Check the file: see `verify_receipts`.

        Raises:
            ValueError: There is no file.
            OSError: It cannot be read.
        """
        if self.path is None:
            raise ValueError("this log has no file to verify")
        return verify_receipts(self.path, chained=self.hash_chain)


def verify_receipts(path: str | os.PathLike[str], *, chained: bool = False) -> ReceiptCheck:
    """Check every line of a file of receipts: its form, and the hash chain if it has one.

    A line at the end that was torn by a crash is reported, but is no problem: no receipt was
    promised for it yet.

    Args:
        path: The file.
        chained: True: a file without a hash chain does not pass.

    Raises:
        OSError: The file cannot be read.
    """

    def check_form(data: Any) -> None:  # noqa: ANN401 (any JSON)
        receipt_from_dict(data)

    return check_lines(Path(path), check_form, chained=chained)
