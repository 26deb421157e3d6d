"""Citation markers: where they stand in an answer, and which documents they name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from caco.models import Document

__all__ = [
    "MARKER",
    "Citation",
    "definition_lines",
    "definitions",
    "find_citations",
    "named_documents",
    "resolve_key",
]

_NAMED = r"sources?|fontes?|refs?|references?|referências?|citations?"
_NUMBERED = (
    r"doc(?:ument)?os?|documents?|docs?|d|sources?|fontes?|refs?|passages?|contexts?|chunks?"
)
MARKER = re.compile(
    rf"""
    \[(?P<numbers>\^?\d{{1,3}}(?:\s?[,;–-]\s?\^?\d{{1,3}}){{0,20}})\](?![\w(])
    |\[\^(?P<note>[\w-]{{1,30}})\]
    |[\[(](?:{_NAMED})\s?:\s?(?P<names>[^\[\]()\n]{{1,120}})[\])]
    |[\[(](?P<kind>{_NUMBERED})[\s_:\#-]{{0,3}}(?P<places>\d{{1,4}}(?:\s?,\s?\d{{1,4}}){{0,20}})[\])](?!\()
    |【(?P<brackets>[^【】\n]{{1,60}})】
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"^[ \t]*(?:[-*+•][ \t]+)?(?:\[\^?(?P<key>[\w-]{1,30})\]:?[ \t]+|(?P<number>\d{1,3})[.)][ \t]+)"
    r"(?P<names>\S[^\n]{0,300})$",
    re.MULTILINE,
)
_SOURCE_HEADING = re.compile(
    r"^[ \t#*_]*(?:sources?|references?|fontes?|referências?|citations?|bibliography"
    r"|bibliografia)[ \t*_]*:?[ \t*_]*$",
    re.MULTILINE | re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*[,;]\s*|\s+(?:and|e|&)\s+")
_RANGE = re.compile(r"(\d{1,3})\s?[–-]\s?\^?(\d{1,3})")
_TRAILING_NUMBER = re.compile(r"(.*?)(\d+)", re.DOTALL)
_NAME_KEYS = ("title", "source", "file_name", "filename", "url")
_LONGEST_RANGE = 20


@dataclass(frozen=True)
class Citation:
    """A marker in an answer.

    Attributes:
        text: The marker as it stands there: ``answer[start:end]``.
        start: Its first character.
        end: One past its last.
        keys: What it names, one entry for each source.
    """

    text: str
    start: int
    end: int
    keys: tuple[str, ...]


def find_citations(response: str) -> list[Citation]:
    """Return the citation markers of an answer, in order.

    The lines that say what the markers stand for (footnotes, the list of sources at the end) are
    not citations themselves.
    """
    skipped = [match.span() for match in definition_lines(response)]
    return [
        Citation(match[0], *match.span(), _keys(match))
        for match in MARKER.finditer(response)
        if not any(start <= match.start() < end for start, end in skipped)
    ]


def _keys(match: re.Match[str]) -> tuple[str, ...]:
    if match["note"] is not None:
        return (match["note"],)
    if match["names"] is not None:
        return tuple(_split(match["names"]))
    listed = match["numbers"] or match["places"]
    if listed is None:
        # ChatGPT's form: 【2†source】.
        return tuple(_split(match["brackets"].partition("†")[0]))
    spread = _RANGE.sub(_spread, listed)
    return tuple(key.strip(" ^") for key in re.split("[,;]", spread))


def _spread(match: re.Match[str]) -> str:
    """Write a range out: "1-3" as "1,2,3"."""
    first, last = int(match[1]), int(match[2])
    if not 0 <= last - first < _LONGEST_RANGE:
        return f"{first},{last}"
    return ",".join(map(str, range(first, last + 1)))


def _split(names: str) -> list[str]:
    return [name.strip("\"'“”‘’` ") for name in _SEPARATOR.split(names) if name.strip("\"'“”‘’` ")]


def definition_lines(response: str) -> list[re.Match[str]]:
    """Return the lines that define markers: footnotes, and what follows a heading "Sources"."""
    heading = None
    for match in _SOURCE_HEADING.finditer(response):
        heading = match.end()
    return [
        match
        for match in _DEFINITION.finditer(response)
        if re.match(r"[ \t]*\[\^?[\w-]+\]:", match[0])
        or (heading is not None and match.start() >= heading)
    ]


def definitions(response: str) -> dict[str, str]:
    """Return what each marker's key stands for, as the answer says itself."""
    return {
        match["key"] or match["number"]: match["names"].strip()
        for match in definition_lines(response)
    }


def named_documents(
    key: str, definitions: Mapping[str, str], documents: Sequence[Document], *, positional: bool
) -> list[Document]:
    """Return the documents that a key names, by way of the answer's own list if it has one."""
    if key in definitions:
        text = definitions[key]
        for candidate in (text, *_split(text)):
            if (document := _by_name(candidate, documents)) is not None:
                return [document]
        mentioned = [d for d in documents if d.id and not d.id.isdigit() and _mentions(text, d.id)]
        if mentioned:
            return mentioned
    document = resolve_key(key, documents, positional=positional)
    return [] if document is None else [document]


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def resolve_key(
    key: str, documents: Sequence[Document], *, positional: bool = False
) -> Document | None:
    """Return the document that a citation's key names.

    In this order: the document with that id; with that title, source, file name or address in its
    metadata; for a number, the document whose id ends in it, if all ids are one word and a number
    ("d1", "d2"); the document at that place, counted from 1.

    Args:
        key: "2", "d2", "prices.txt", …
        documents: Documents with ids.
        positional: True when the ids are only the documents' positions ("0", "1", …): then a
            number is always a place counted from 1.

    Returns:
        None when it names none of them.
    """
    if not (positional and key.isdigit()):
        document = _by_name(key, documents)
        if document is not None:
            return document
    number = _TRAILING_NUMBER.fullmatch(key)
    if number is None or (
        number[1] and not re.fullmatch(rf"(?:{_NUMBERED})[\s_:#-]*", number[1], re.I)
    ):
        return None
    wanted = int(number[2])
    parts = [_TRAILING_NUMBER.fullmatch(document.id or "") for document in documents]
    if not positional and all(parts) and len({part[1] for part in parts if part}) == 1:
        same = [
            d for d, part in zip(documents, parts, strict=True) if part and int(part[2]) == wanted
        ]
        return same[0] if len(same) == 1 else None
    return documents[wanted - 1] if 1 <= wanted <= len(documents) else None


def _by_name(key: str, documents: Sequence[Document]) -> Document | None:
    for document in documents:
        if document.id == key:
            return document
    folded = key.casefold()
    for document in documents:
        names = [document.id, *(document.metadata.get(name) for name in _NAME_KEYS)]
        if any(isinstance(name, str) and name.casefold() == folded for name in names):
            return document
    return None
