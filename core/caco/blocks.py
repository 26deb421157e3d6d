"""The lines of a text, read into blocks: paragraphs, list items, headings, tables, code, sheets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from caco.phrases import ANY_VERB, FINITE_FORM

__all__ = ["Block", "read_blocks", "row_cells"]


@dataclass(frozen=True)
class Block:
    """A run of whole lines of one kind.

    Attributes:
        kind: "prose", "list_item", "heading", "table_header", "table_row", "code" or "key_value".
        outer: Where its first line starts in the text.
        start: Where its content starts: after indentation, bullet, number or quotation mark.
        end: One past its last character that is not blank.
        indent: Columns before its content's marker.
        key: Length of the key of a "Key: value" line, in characters; else 0.
        lines: Number of lines.
        apart: Whether a blank line, or nothing, precedes it.
    """

    kind: str
    outer: int
    start: int
    end: int
    indent: int = 0
    key: int = 0
    lines: int = 1
    apart: bool = False


_FENCE = re.compile(r"[ \t]{0,12}(?P<fence>```+|~~~+)")
_RULE = re.compile(r"[ \t]*(?:[-*_=─—][ \t]?){3,}$")
_TABLE_RULE = re.compile(r"[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*(?::?-+:?[ \t]*)?)*$")
_TABLE_LINE = re.compile(r"[ \t]*\|.*\|$")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+(?=\S)")
_BOLD_HEADING = re.compile(r"[ \t]{0,3}(?P<mark>\*\*|__)(?P<title>[^*_\n]{1,80})(?P=mark):?[ \t]*$")
_QUOTE = re.compile(r"[ \t]{0,3}(?:>[ \t]?)+")
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)"
    r"(?:[-*+•‣◦▪●○·–—✓✔✅➤►→]|\d{1,3}[.)]|\(\d{1,3}\)|\(?[a-zA-Z]\)|[ivx]{1,5}\))"
    r"[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)"
)
_KEY = re.compile(
    r"(?P<key>[*_]{0,2}`[^`\n]{1,60}`[*_]{0,2}|[*_]{0,2}[^\W\d_a-zà-ÿ][^\n:|.!?;,]{0,38}?[*_]{0,2})"
    r"[ \t]?:[*_]{0,2}[ \t]+(?=\S)"
)
_TERMINAL = tuple('.!?:;…"”)')
_MAX_KEY_WORDS = 5
_MAX_LONE_KEY_VALUE = 60
"""Characters; hard-wrapped prose has longer lines."""
_MAX_TITLE_WORDS = 6


@dataclass(frozen=True)
class _Line:
    start: int
    end: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()


def _lines(text: str) -> list[_Line]:
    lines = []
    position = 0
    for raw in text.splitlines(keepends=True):
        content = raw.rstrip()
        lines.append(_Line(position, position + len(content), content))
        position += len(raw)
    return lines


def row_cells(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    r"""Yield the trimmed spans of a table row's cells; ``\|`` is part of a cell."""
    row = text[start:end]
    first = 1 if row.startswith("|") else 0
    closed = len(row) > 1 and row.endswith("|") and not row.endswith("\\|")
    last = len(row) - closed
    position = first
    for match in [*re.finditer(r"(?<!\\)\|", row[first:last]), None]:
        stop = last if match is None else first + match.start()
        cell = row[position:stop]
        left = len(cell) - len(cell.lstrip())
        yield start + position + left, start + position + left + len(cell.strip())
        position = stop + 1


def read_blocks(text: str) -> list[Block]:
    """Read a text's lines into blocks, in order; rules and blank lines belong to none."""
    return _titles(text, _Scanner(text).scan())


class _Scanner:
    """Reads lines one by one; ``open`` is the block that the next line may continue."""

    def __init__(self, text: str) -> None:
        self.lines = _lines(text)
        self.blocks: list[Block] = []
        self.open: Block | None = None
        self.index = 0
        self.after_blank = True

    def scan(self) -> list[Block]:
        while self.index < len(self.lines):
            line = self.lines[self.index]
            if line.blank:
                self._close()
                self.after_blank = True
                self.index += 1
                continue
            taken = (
                self._fence(line)
                or self._table(line)
                or self._rule(line)
                or self._heading(line)
                or self._item(line)
                or self._key_value(line)
                or self._prose(line)
            )
            self.index += taken
            self.after_blank = False
        self._close()
        return self.blocks

    def _close(self) -> None:
        if self.open is not None:
            self.blocks.append(self.open)
            self.open = None

    def _emit(self, kind: str, line: _Line, skipped: int, **more: int) -> None:
        """Add a block of one line whose content starts after ``skipped`` characters."""
        self._close()
        self.blocks.append(
            Block(kind, line.start, line.start + skipped, line.end, apart=self.after_blank, **more)
        )

    def _fence(self, line: _Line) -> int:
        match = _FENCE.match(line.text)
        if not match:
            return 0
        last = self.index + 1
        while last < len(self.lines):
            if self.lines[last].text.lstrip().startswith(match["fence"]):
                break
            last += 1
        inside = [item for item in self.lines[self.index + 1 : last] if not item.blank]
        self._close()
        if inside:
            start = inside[0].start + len(inside[0].text) - len(inside[0].text.lstrip())
            block = Block("code", line.start, start, inside[-1].end, apart=self.after_blank)
            self.blocks.append(block)
        return last + 1 - self.index

    def _table(self, line: _Line) -> int:
        following = self.lines[self.index + 1].text if self.index + 1 < len(self.lines) else ""
        ruled = "|" in line.text and "|" in following + "|" and bool(_TABLE_RULE.match(following))
        if not ruled and not (_TABLE_LINE.match(line.text) and _TABLE_LINE.match(following)):
            return 0
        if ruled and "-" not in following:
            return 0
        taken = 0
        rows = []
        while self.index + taken < len(self.lines):
            row = self.lines[self.index + taken]
            if row.blank or "|" not in row.text:
                break
            if not _TABLE_RULE.match(row.text):
                rows.append(row)
            taken += 1
        kind = "table_row" if len(rows) == 1 and _says_something(rows[0].text) else "table_header"
        for row in rows:
            self._emit(kind, row, len(row.text) - len(row.text.lstrip()))
            kind, self.after_blank = "table_row", False
        return taken

    def _rule(self, line: _Line) -> int:
        if not _RULE.match(line.text):
            return 0
        underlined = self.open is not None and self.open.kind == "prose" and self.open.lines == 1
        if self.open is not None and underlined and set(line.text.strip()) <= {"-", "="}:
            title = self.lines[self.index - 1].text
            if not title.endswith(_TERMINAL):
                self.open = replace(self.open, kind="heading")
        self._close()
        return 1

    def _heading(self, line: _Line) -> int:
        match = _HEADING.match(line.text)
        if match:
            self._emit("heading", line, match.end())
            return 1
        if _BOLD_HEADING.match(line.text) and (self.open is None or self.after_blank):
            self._emit("heading", line, len(line.text) - len(line.text.lstrip()))
            return 1
        return 0

    def _item(self, line: _Line) -> int:
        match = _ITEM.match(line.text)
        if not match:
            return 0
        self._close()
        self.open = Block(
            "list_item",
            line.start,
            line.start + match.end(),
            line.end,
            indent=len(match["indent"].expandtabs(4)),
            apart=self.after_blank,
        )
        return 1

    def _key_value(self, line: _Line) -> int:
        key = _key_length(line.text)
        if not key:
            return 0
        indent = len(line.text) - len(line.text.lstrip())
        previous = self.blocks[-1] if self.blocks and self.open is None else None
        in_sheet = previous is not None and previous.kind == "key_value" and not self.after_blank
        following = self.lines[self.index + 1].text if self.index + 1 < len(self.lines) else ""
        in_sheet = in_sheet or bool(_key_length(following))
        if not in_sheet and not _lone_key_value(line.text, following):
            return 0
        if self.open is not None and not self.lines[self.index - 1].text.endswith(_TERMINAL):
            return 0
        self._emit("key_value", line, indent, key=key)
        return 1

    def _prose(self, line: _Line) -> int:
        if self.open is not None and self.open.kind == "list_item":
            indent = len(line.text) - len(line.text.lstrip())
            if indent <= self.open.indent and not line.text[indent].islower():
                self._close()
        if self.open is not None:
            self.open = replace(self.open, end=line.end, lines=self.open.lines + 1)
            return 1
        quote = _QUOTE.match(line.text)
        skipped = quote.end() if quote else 0
        skipped += len(line.text[skipped:]) - len(line.text[skipped:].lstrip())
        if skipped < len(line.text):
            start = line.start + skipped
            apart = self.after_blank
            self.open = Block("prose", line.start, start, line.end, indent=skipped, apart=apart)
        return 1


def _says_something(row: str) -> bool:
    """Whether a header without rows under it is read as a row: it holds a figure or a verb."""
    words = [word.strip("*_`|.,;:").lower() for word in row.split()]
    if any(word in ANY_VERB or any(c.isdigit() for c in word) for word in words):
        return True
    return bool(FINITE_FORM.search(" ".join(words)))


def _lone_key_value(line: str, following: str) -> bool:
    """Whether a "Key: value" line between lines of another kind stands for itself."""
    if line.lstrip("*_ \t").startswith("`"):
        return True
    if following.strip() and not following.lstrip()[:1].isupper():
        return False
    return len(line) <= _MAX_LONE_KEY_VALUE


def _key_length(line: str) -> int:
    """Return the length of the key of a "Key: value" line, without its indentation; else 0."""
    content = line.lstrip()
    match = _KEY.match(content)
    if not match:
        return 0
    words = [word.strip("*_") for word in match["key"].split()]
    if "`" not in match["key"] and len(words) > _MAX_KEY_WORDS:
        return 0
    if any(word.lower() in ANY_VERB for word in words[1:]):
        return 0
    return match.end("key")


def _titles(text: str, blocks: list[Block]) -> list[Block]:
    """Make short lines that stand alone above something headings, and lone headings prose."""
    result = []
    for index, block in enumerate(blocks):
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        line = text[block.start : block.end] if block.lines == 1 else ""
        if block.kind == "heading" and following is None:
            prose = len(blocks) == 1 or line[:1] in "*_"
            block = replace(block, kind="prose" if prose else "heading")
        elif block.kind == "prose" and line and _stands_above(block, following) and _is_title(line):
            block = replace(block, kind="heading")
        result.append(block)
    return result


def _stands_above(block: Block, following: Block | None) -> bool:
    """Whether a block stands alone above another that it may be the title of."""
    if following is None or following.kind == "list_item":
        return False
    return block.apart and following.apart


def _is_title(line: str) -> bool:
    words = line.split()
    if len(words) > _MAX_TITLE_WORDS or line.endswith((*_TERMINAL, ",")) or not line[:1].isupper():
        return False
    return not any(
        word.strip("*_,").lower() in ANY_VERB or any(c.isdigit() for c in word) for word in words
    )
