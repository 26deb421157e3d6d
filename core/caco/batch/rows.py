"""Rows on their way: read from somewhere, ready to be checked, checked."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from caco.batch.columns import Answer, ColumnNames, read_answer
from caco.models import Document

__all__ = [
    "Outcome",
    "Row",
    "RowSource",
    "chunks",
    "digest",
    "ready_rows",
]

MOST_CHARACTERS = 2_000_000
"""Characters of answers and documents in a chunk, whatever its number of rows."""


@dataclass(frozen=True)
class Row:
    """One row of the input.

    Attributes:
        number: Its place in the input, from 1; of JSON lines, the line's number.
        data: Its cells by column; None when it could not be read.
        reason: Why it cannot be checked, or None.
        share: How much of the input has been read, in [0, 1]; None when that is not known.
        name: Its id, if it has one.
        answer: What is to be checked; None beside a ``reason``, and before `ready_rows`.
        added: New documents to try where the row fails; None: no repair is wanted.
    """

    number: int
    data: dict[str, Any] | None
    reason: str | None = None
    share: float | None = None
    name: str | None = None
    answer: Answer | None = None
    added: tuple[Document, ...] | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a row.

    Attributes:
        row: The row.
        results: The added columns; None when it was not checked.
        reason: Why it was not.
    """

    row: Row
    results: dict[str, Any] | None = None
    reason: str | None = None


class RowSource(Protocol):
    """Where rows come from; rows are the same, in the same order, each time they are asked for.

    Attributes:
        columns: The names of the columns; None when each row has its own.
    """

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns; None when each row has its own."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows; one that cannot be read has a reason instead of data."""


def ready_rows(
    source: RowSource, names: ColumnNames, taken: Iterable[str]
) -> Generator[Row, None, None]:
    """Return the rows of a source with the answer that each holds, or the reason why it has none.

    Where rows have columns of their own, the first row that has what is needed decides what is read
    from all.

    Args:
        source: The rows.
        names: Which columns to read.
        taken: Names that no column of the input may have.

    Raises:
        ValueError: The source's columns lack one, or have one of those ``taken``.
    """
    reserved = frozenset(taken)
    found: ColumnNames | None = None
    columns = source.columns
    if columns is not None:
        found = names.resolve(columns)
        _check_free(columns, reserved)
    return _ready(source, names, reserved, found)


def _ready(
    source: RowSource, names: ColumnNames, reserved: frozenset[str], found: ColumnNames | None
) -> Generator[Row, None, None]:
    each_its_own = found is None
    for row in source.rows():
        if row.data is None:
            yield row
            continue
        own = names
        try:
            if each_its_own:
                _check_free(row.data, reserved)
            found = found or names.resolve(row.data)
            own = found.in_row(row.data)
            answer = read_answer(row.data, own)
        except (TypeError, ValueError) as error:
            yield replace(row, reason=str(error), name=_name(row, own))
        else:
            yield replace(row, answer=answer, name=_name(row, own))


def _check_free(columns: Iterable[str], reserved: frozenset[str]) -> None:
    clash = sorted(reserved.intersection(columns))
    if clash:
        raise ValueError(
            f"the input has columns that would be added: {clash}; put a prefix before the new ones"
        )


def _name(row: Row, names: ColumnNames) -> str | None:
    value = (row.data or {}).get(names.id or "id")
    return None if value is None else str(value)


def chunks(rows: Iterable[Row], most_rows: int) -> Iterator[list[Row]]:
    """Group rows, in order.

    Args:
        rows: The rows.
        most_rows: Rows in a group, at most; long rows make smaller groups.
    """
    group: list[Row] = []
    characters = 0
    for row in rows:
        size = row.answer.size if row.answer is not None else 0
        if group and (len(group) == most_rows or characters + size > MOST_CHARACTERS):
            yield group
            group, characters = [], 0
        group.append(row)
        characters += size
    if group:
        yield group


def digest(before: bytes, rows: Sequence[Row]) -> bytes:
    """Chain the content of rows to a digest of those before; b"" before the first."""
    for row in rows:
        content = repr((row.number, row.data, row.reason if row.data is None else None))
        before = hashlib.blake2b(
            before + content.encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()
    return before
