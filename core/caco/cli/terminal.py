"""Text for a person: wrapped, coloured on a terminal only, never more than the stream can take."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import textwrap
import unicodedata
from typing import TextIO

__all__ = ["Terminal"]

MAX_WIDTH = 80
MIN_WIDTH = 40

_COLOURS = {"green": "32", "yellow": "33", "red": "31", "bold": "1", "dim": "2"}

# For streams that cannot print the character itself.
_ASCII = str.maketrans(
    {
        "✓": "+",
        "✗": "x",
        "→": "->",
        "—": "-",
        "–": "-",
        "…": "...",
        "“": '"',
        "”": '"',
        "‘": "'",
        "’": "'",
        "\u00a0": " ",
        "º": "o",
        "ª": "a",
    }
)

# An answer or a document must not be able to move the cursor, recolour the terminal or reorder it.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """A text stream to print on.

    Args:
        stream: Where to print. When it is closed at the other end, the rest is dropped silently.

    Attributes:
        encoding: The stream's encoding.
        width: Columns to wrap at, from 40 to 80.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = True
        self._colour = _wants_colour(stream)
        self.encoding = stream.encoding or "utf-8"
        self.width = MAX_WIDTH
        if stream.isatty():
            columns = shutil.get_terminal_size((MAX_WIDTH, 24)).columns
            self.width = max(MIN_WIDTH, min(MAX_WIDTH, columns))

    @property
    def is_unicode(self) -> bool:
        """True when the stream takes every character."""
        return self.encoding.lower().replace("-", "").replace("_", "").startswith("utf")

    def line(self, text: str = "", style: str | None = None) -> None:
        """Print one line as it is, but for control characters."""
        self._write(self._styled(self._printable(text), style) + "\n")

    def paragraph(
        self,
        text: str,
        *,
        first: str = "",
        indent: int = 0,
        style: str | None = None,
        max_lines: int | None = None,
    ) -> None:
        """Print text wrapped to `width`.

        Args:
            text: Runs of white space in it count as one space.
            first: What stands before the text on its first line; the others are indented as far.
            indent: Columns before everything.
            style: "green", "yellow", "red", "bold" or "dim".
            max_lines: Cut the text after so many lines.
        """
        margin = " " * indent
        lead = self._printable(first)
        lines = textwrap.wrap(
            " ".join(self._printable(text).split()),
            self.width,
            initial_indent=margin + lead,
            subsequent_indent=margin + " " * len(lead),
            max_lines=max_lines,
            placeholder=self._printable("…"),
            break_on_hyphens=False,
        )
        for line in lines:
            self.line(line, style)

    def raw(self, text: str) -> None:
        """Print text for a program, as it is.

        A lone surrogate, which no encoding takes, becomes the escape that JSON has for it.
        """
        self._write(text.encode(self.encoding, "backslashreplace").decode(self.encoding) + "\n")

    def flush(self) -> None:
        """Hand everything over to the stream.

        Raises:
            OSError: It could not be written (a full disk; not a reader that has gone).
        """
        if self._open:
            try:
                self._stream.flush()
            except BrokenPipeError:
                self.abandon()

    def abandon(self) -> None:
        """Keep what is complete, drop what the stream no longer takes, and print nothing more."""
        if not self._open:
            return
        self._open = False
        try:
            self._stream.flush()
        except OSError:
            # What stays in the buffer would fail again when the interpreter ends, with another
            # exit status.
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
                self._stream.flush()

    def _write(self, text: str) -> None:
        if not self._open:
            return
        try:
            self._stream.write(text)
        except BrokenPipeError:
            self.abandon()

    def _styled(self, text: str, style: str | None) -> str:
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if style and self._colour else text

    def _printable(self, text: str) -> str:
        text = _CONTROLS.sub(" ", text.expandtabs())
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            plain = unicodedata.normalize("NFKD", text.translate(_ASCII))
            plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
            return plain.encode(self.encoding, "replace").decode(self.encoding)
        return text


def _wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
