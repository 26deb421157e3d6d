"""Text into the pieces that are verified and quoted: sentences, list items, table rows, headings.

The text is first read line by line into blocks (`caco.blocks`), each block is cut into sentences,
and each piece gets a reading for the model that says what its surroundings say: a table cell its
header, a list item its lead-in, a key its value. Every piece keeps its place in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from caco.blocks import Block, read_blocks, row_cells
from caco.checkworthy import declines, is_checkworthy
from caco.phrases import (
    ANY_VERB,
    FILLER,
    GENERIC_HEADERS,
    GENERIC_LEAD,
    IDENTITY_KEYS,
    LANGUAGES,
    OPEN_LEAD,
    SOURCE_LIST,
    resolve_language,
)
from caco.sentences import sentence_starts
from caco.typography import Normalised, normalise, normalise_code

__all__ = [
    "LANGUAGES",
    "Normalised",
    "Segment",
    "declines",
    "is_checkworthy",
    "normalise",
    "resolve_language",
    "segments",
    "sentence_spans",
]

_MAX_CHARACTERS = 800
_MAX_WORDS = 100
_MAX_LEAD = 300
_MAX_ROW_READING = 1200
_MAX_TITLE_WORDS = 8
_MAX_UNWRAPPED = 60
_CLAUSE_END = re.compile(r"[;:,—–)\]](?=\s)")
_CHUNK = re.compile(rf"\S{{1,{_MAX_CHARACTERS}}}")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]*_`]*$")
_MARKS = {
    "english": {"yes": "yes", "no": "no"},
    "portuguese": {"yes": "sim", "no": "não"},
}
_YES_MARK = re.compile(r"[✓✔☑✅🗸]\ufe0f?")
_NO_MARK = re.compile(r"[✗✘☒❌✕✖]\ufe0f?")


@dataclass(frozen=True)
class Segment:
    """A piece of a text.

    Attributes:
        start: First character in the text.
        end: One past the last; ``text[start:end]`` has no blanks at either end.
        kind: "sentence", "list_item", "heading", "table_header", "table_row", "code" or
            "key_value".
        reading: What the model should read: plain, and with what it needs from its surroundings.
    """

    start: int
    end: int
    kind: str
    reading: str


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Cut a text into sentences.

    A full stop ends a sentence unless it belongs to an abbreviation, a number, a version or an
    address; so do a blank line and the line break around a heading, a list item, a table row or a
    "Key: value" line. The line breaks of hard-wrapped prose do not.

    Args:
        text: Any text.
        language: "english" or "portuguese", or an alias.

    Returns:
        Spans ``(start, end)`` in characters that partition the text: the first starts at 0, each
        next where the last ended, the last ends at ``len(text)``; [] for "".

    Raises:
        ValueError: The language is not supported.
    """
    resolve_language(language)
    if not text:
        return []
    starts: list[int] = []
    for block in read_blocks(text):
        inside = [start for start, _ in _sentences(text, block)]
        starts += [block.outer, *inside[1:]]
    starts = [0, *starts[1:]]
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def segments(text: str, language: str) -> list[Segment]:
    """Cut a text into segments that can be verified, quoted, or used as premises.

    Everything but blanks, bullets, list numbers, heading and quotation marks, and horizontal or
    table rules is in exactly one segment. A segment has at most about 100 words or 800 characters,
    a run of blanks counted as one: a longer sentence is cut at a clause, a blank, or anywhere.

    Args:
        text: Any text.
        language: "english" or "portuguese", or an alias.

    Returns:
        The segments in order, without overlap.

    Raises:
        ValueError: The language is not supported.
    """
    return _Reader(text, resolve_language(language)).read()


def _sentences(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Yield the trimmed spans of a block's sentences."""
    if block.kind in ("table_header", "table_row", "code", "heading"):
        yield block.start, block.end
        return
    starts = sentence_starts(text, block.start, block.end)
    if block.lines > 1:
        starts = sorted({*starts, *_line_starts(text, block)})
    for start, following in zip(starts, [*starts[1:], block.end], strict=True):
        yield start, start + len(text[start:following].rstrip())


def _line_starts(text: str, block: Block) -> Iterator[int]:
    """Yield where a line of a paragraph starts something new.

    Wrapped lines are as full as their words allow. A line to which the next line's first word could
    have been added was ended on purpose; so were short lines with a verb each.
    """
    lines = text[block.outer : block.end].splitlines(keepends=True)
    width = max(len(line.rstrip()) for line in lines)
    position = block.outer
    for line, following in pairwise(lines):
        position += len(line)
        words = following.split(maxsplit=1)
        if not words or not words[0][:1].isupper():
            continue
        fits = len(line.rstrip()) + 1 + len(words[0]) <= width
        if fits or (width <= _MAX_UNWRAPPED and _has_verb(line) and _has_verb(following)):
            yield position + len(following) - len(following.lstrip())


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a span into trimmed pieces of bounded length, at clauses where possible."""
    while start < end:
        cut = _cut(text, start, end)
        stop = start + len(text[start:cut].rstrip())
        if stop > start:
            yield start, stop
        start = cut
        while start < end and text[start].isspace():
            start += 1


def _cut(text: str, start: int, end: int) -> int:
    """Return where the piece that starts at ``start`` has to end."""
    limit = _limit(text, start, end)
    if limit == end:
        return end
    window = text[start:limit]
    clauses = [match.end() for match in _CLAUSE_END.finditer(window)]
    if clauses and clauses[-1] > len(window) // 3:
        return start + clauses[-1]
    blank = max(window.rfind(" "), window.rfind("\n"), window.rfind("\t"))
    if blank > len(window) // 3:
        return start + blank
    return start + len(window)


def _limit(text: str, start: int, end: int) -> int:
    """Return where a piece that starts at ``start`` is full; ``end`` when it never is."""
    size = words = 0
    last = start
    for chunk in _CHUNK.finditer(text, start, end):
        apart = chunk.start() > last
        words += apart or chunk.start() == start
        size += apart + len(chunk[0])
        if words > _MAX_WORDS:
            return chunk.start()
        if size > _MAX_CHARACTERS:
            return chunk.end() - (size - _MAX_CHARACTERS)
        last = chunk.end()
    return end


@dataclass(frozen=True)
class _Lead:
    """What introduces list items, and how far they are indented; a heading has ``_HEADING``."""

    reading: str
    indent: int


_HEADING = -2


@dataclass
class _Reader:
    """Turns blocks into segments, remembering what introduces what."""

    text: str
    language: str
    leads: list[_Lead] = field(default_factory=list)
    header: Sequence[str] = ()
    sheet: str = ""
    result: list[Segment] = field(default_factory=list)

    def read(self) -> list[Segment]:
        blocks = read_blocks(self.text)
        for block, following in zip_longest(blocks, blocks[1:]):
            if block.kind != "key_value":
                self.sheet = ""
            if block.apart or block.kind not in ("table_header", "table_row"):
                self.header = ()
            if block.kind in ("table_header", "table_row"):
                self._row(block)
            elif block.kind == "code":
                self._code(block)
            elif block.kind == "heading":
                title = self._plain(block.start, block.end)
                self.leads = [] if GENERIC_LEAD.match(title) else [_lead(title, _HEADING)]
                self._pieces(block.start, block.end, "heading")
            elif block.kind == "key_value":
                self._key_value(block)
            else:
                self._prose(block, following)
        return self.result

    def _plain(self, start: int, end: int) -> str:
        raw = self.text[start:end]
        return normalise(raw).text or raw

    def _add(self, start: int, end: int, kind: str, reading: str) -> None:
        self.result.append(Segment(start, end, kind, reading))

    def _pieces(
        self, start: int, end: int, kind: str, plain: Callable[[str], Normalised] = normalise
    ) -> None:
        """Add a span as it is, in as many segments as it needs."""
        for first, last in _bounded(self.text, start, end):
            raw = self.text[first:last]
            self._add(first, last, kind, plain(raw).text or raw)

    def _code(self, block: Block) -> None:
        lead = self.leads[-1] if self.leads else None
        if lead is None or lead.indent == _HEADING or _is_long(self.text, block.start, block.end):
            self._pieces(block.start, block.end, "code", normalise_code)
            return
        code = normalise_code(self.text[block.start : block.end]).text
        self._add(block.start, block.end, "code", f"{lead.reading}: {code}")

    def _prose(self, block: Block, following: Block | None) -> None:
        """Add a paragraph or a list item."""
        is_item = block.kind == "list_item"
        if is_item:
            while self.leads and self.leads[-1].indent >= block.indent:
                self.leads.pop()
        elif block.indent == 0:
            self.leads = [lead for lead in self.leads if lead.indent == _HEADING]
        lead = self.leads[-1] if is_item and self.leads else None
        kind = "list_item" if is_item else "sentence"
        reading = ""
        for number, (start, end) in enumerate(_sentences(self.text, block)):
            if _is_long(self.text, start, end):
                self._pieces(start, end, kind)
                reading = ""
                continue
            reading = self._plain(start, end)
            carried = _carry(lead, reading) if lead is not None and number == 0 else reading
            self._add(start, end, kind, carried)
        if reading and len(reading) <= _MAX_LEAD and _introduces(reading, block, following):
            new = _lead(reading, block.indent if is_item else -1)
            if not GENERIC_LEAD.match(new.reading):
                self.leads.append(new)

    def _key_value(self, block: Block) -> None:
        """Add a "Key: value" line; its later sentences need the key, all need the sheet's name."""
        key = self._plain(block.start, block.start + block.key)
        heading = self.leads[-1].reading if self.leads and self.leads[-1].indent == _HEADING else ""
        identifies = not self.sheet and key.lower() in IDENTITY_KEYS
        for number, (start, end) in enumerate(_sentences(self.text, block)):
            if _is_long(self.text, start, end):
                self._pieces(start, end, "key_value")
                continue
            reading = self._plain(start, end)
            if number:
                reading = f"{key}: {reading}"
            elif identifies:
                self.sheet = reading
            elif self.sheet or heading:
                reading = f"{self.sheet or heading}; {reading}"
            self._add(start, end, "key_value", reading)

    def _row(self, block: Block) -> None:
        cells = [
            (start, end, self._cell(start, end))
            for start, end in row_cells(self.text, block.start, block.end)
        ]
        readings = [reading for _, _, reading in cells]
        if block.kind == "table_header":
            self.header = tuple(reading[:100] for reading in readings)
            self._pieces(block.start, block.end, block.kind)
            return
        reading = self._row_reading(readings)
        if _is_long(self.text, block.start, block.end) or len(reading) > _MAX_ROW_READING:
            self._pieces(block.start, block.end, block.kind)
        else:
            reading = reading or self._plain(block.start, block.end)
            self._add(block.start, block.end, block.kind, reading)

    def _cell(self, start: int, end: int) -> str:
        raw = self.text[start:end]
        marks = _MARKS[self.language]
        if _YES_MARK.fullmatch(raw):
            return marks["yes"]
        if _NO_MARK.fullmatch(raw):
            return marks["no"]
        return normalise(raw).text

    def _row_reading(self, cells: Sequence[str]) -> str:
        header = self.header
        if len(header) == 2 and all(name.lower() in GENERIC_HEADERS for name in header):
            return ": ".join(cell for cell in cells if cell)
        parts = []
        for column, cell in enumerate(cells):
            name = header[column] if column < len(header) else ""
            if cell:
                parts.append(f"{name}: {cell}" if name else cell)
        return "; ".join(parts)


def _is_long(text: str, start: int, end: int) -> bool:
    return end - start > 2 * _MAX_WORDS and _limit(text, start, end) < end


def _lead(reading: str, indent: int) -> _Lead:
    return _Lead(reading.rstrip(" :"), indent)


def _introduces(reading: str, block: Block, following: Block | None) -> bool:
    """Whether a block's last sentence introduces the list or the code that follows."""
    if following is None or following.kind not in ("list_item", "code"):
        return False
    nested = following.kind != "list_item" or following.indent > block.indent
    if block.kind == "list_item" and not nested:
        return False
    if reading.endswith(":"):
        return True
    is_title = not _SENTENCE_END.search(reading) and len(reading.split()) <= _MAX_TITLE_WORDS
    return is_title and following.kind == "list_item"


def _carry(lead: _Lead, item: str) -> str:
    """Return a list item with what it needs from its lead-in."""
    says_nothing = SOURCE_LIST.match(lead.reading) or FILLER.match(lead.reading)
    if not item or not lead.reading or says_nothing:
        return item
    if item[0].isupper() and (_SENTENCE_END.search(item) or _has_verb(item)):
        return item
    if lead.indent == _HEADING and not item[0].islower() and ": " not in item:
        return item
    first = item.split(maxsplit=1)[0].lower()
    completes = first in ANY_VERB and not _has_verb(lead.reading)
    completes = completes or (not item[0].isupper() and bool(OPEN_LEAD.search(lead.reading)))
    return f"{lead.reading} {item}" if completes else f"{lead.reading}: {item}"


def _has_verb(reading: str) -> bool:
    return any(word.strip(",;").lower() in ANY_VERB for word in reading.split()[1:12])
