"""New documents for answers that failed: which of them they repair."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from caco.batch.checker import BatchValidator
from caco.batch.columns import Answer, as_plain, unpacked
from caco.batch.engines import as_outcome
from caco.batch.results import read_results
from caco.batch.rows import Outcome, Row
from caco.batch.sources import format_of, open_source
from caco.evidence import as_documents
from caco.models import Document, Status

__all__ = [
    "NewSources",
    "check_repairs",
    "read_new_sources",
    "rows_with_new_sources",
]

_TEXT_COLUMNS = ("context", "contexts", "documents", "sources", "text")


@dataclass(frozen=True)
class NewSources:
    """New documents, by row and for all rows, in a database file of their own.

    Attributes:
        path: The file; it must stay as long as the run does.
        digest: Of the documents' names and texts.
    """

    path: str
    digest: str


def read_new_sources(
    name: str, folder: Path, id_column: str | None = None, context_column: str | None = None
) -> NewSources:
    """Read new documents from a file.

    A table (JSON lines, CSV, Parquet) has in each row the documents of the row with the same id;
    those of a row without an id are for all. A file with another ending is one document for all,
    called by the file's name.

    Args:
        name: Path of the file.
        folder: Where to keep them while the run lasts.
        id_column: The column with the ids. None: "id".
        context_column: The column with the documents, as in the input. None: the first of
            "context", "contexts", "documents", "sources" and "text" that is there.

    Raises:
        OSError: The file cannot be read.
        ValueError: A row of it has no documents, or they are of a wrong form.
    """
    path = folder / "sources.sqlite"
    chain = hashlib.sha256()
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table sources (owner text, id text, text text)")
        for record in _new_documents(name, id_column or "id", context_column):
            chain.update(repr(record).encode("utf-8", "surrogatepass"))
            stored = (record[0], record[1], json.dumps(record[2]))
            database.execute("insert into sources values (?, ?, ?)", stored)
        database.execute("create index owners on sources (owner)")
        database.commit()
    return NewSources(str(path), chain.hexdigest())


def rows_with_new_sources(rows: Iterable[Row], sources: NewSources) -> Generator[Row, None, None]:
    """Yield rows with the new documents that there are for each."""
    with closing(sqlite3.connect(sources.path)) as database:
        shared = _documents(database, None)
        for row in rows:
            own = _documents(database, row.name) if row.name is not None else ()
            yield replace(row, added=(*own, *shared))


def check_repairs(validator: BatchValidator, rows: Sequence[Row]) -> list[Outcome]:
    """Check the rows that failed again, with their new documents beside their own.

    A row that brings the columns of an earlier check is not checked anew without the documents. A
    new document with the id of one that the row has takes its place. Results are those with the
    new documents; ``score_before`` is None for a row that did not fail, or has none.
    """
    before = _before(validator, rows)
    again = [
        place
        for place, row in enumerate(rows)
        if isinstance(found := before[place], dict) and found["is_hallucination"] and row.added
    ]
    answers = [_with_added(rows[place]) for place in again]
    after = dict(zip(again, validator.check(answers) if answers else [], strict=True))
    outcomes = []
    for place, row in enumerate(rows):
        found = after.get(place, before[place])
        old = before[place]
        if isinstance(found, dict) and isinstance(old, dict):
            tried = place in after
            found = {
                **found,
                "repaired": tried and _passes(found),
                "score_before": old["score"] if tried else None,
                "new_sources": [d.id for d in _renamed(row)] if tried else [],
            }
        outcomes.append(as_outcome(row, found))
    return outcomes


def _passes(results: Mapping[str, Any]) -> bool:
    return not results["is_hallucination"] and results["status"] == Status.CHECKED.value


def _before(validator: BatchValidator, rows: Sequence[Row]) -> list[dict[str, Any] | str]:
    """Return what is known of each row without new documents."""
    found: dict[int, dict[str, Any] | str] = {}
    unknown: dict[int, Answer] = {}
    for place, row in enumerate(rows):
        earlier = _earlier(row.data or {}, validator.prefix)
        if row.answer is None:
            found[place] = row.reason or ""
        elif earlier is not None:
            found[place] = earlier
        else:
            unknown[place] = row.answer
    if unknown:
        found.update(zip(unknown, validator.check(list(unknown.values())), strict=True))
    return [found[place] for place in range(len(rows))]


def _earlier(data: Mapping[str, Any], prefix: str) -> dict[str, Any] | None:
    """Return the results that a row brings from an earlier check; None if it was not checked."""
    try:
        results = read_results(data, prefix)
        if isinstance(results["claims"], str):
            results["claims"] = json.loads(results["claims"])
    except ValueError:
        return None
    complete = all(value is not None for value in results.values())
    return results if complete and isinstance(results["claims"], list) else None


def _with_added(row: Row) -> Answer:
    assert row.answer is not None
    documents = {document.id: document for document in (*row.answer.documents, *_renamed(row))}
    return replace(row.answer, documents=tuple(documents.values()))


def _renamed(row: Row) -> list[Document]:
    """Return the new documents; those without an id get one that no other has."""
    taken = {document.id for document in (row.answer.documents if row.answer else ())}
    taken |= {document.id for document in row.added or ()}
    free = (name for name in map("new-{}".format, count()) if name not in taken)
    return [
        document if document.id is not None else replace(document, id=next(free))
        for document in row.added or ()
    ]


def _documents(database: sqlite3.Connection, owner: str | None) -> tuple[Document, ...]:
    found = database.execute(
        "select id, text from sources where owner is ? order by rowid", (owner,)
    )
    return tuple(Document(json.loads(text), name) for name, text in found)


def _new_documents(
    name: str, id_column: str, context_column: str | None
) -> Iterator[tuple[str | None, str | None, str]]:
    """Yield each document with the id of the row that it is for, and its own id."""
    try:
        kind = format_of(name)
    except ValueError:
        text = Path(name).read_bytes().decode("utf-8-sig", "strict")
        yield None, Path(name).name, text
        return
    for row in open_source(name, kind).rows():
        data = row.data
        if data is None:
            raise ValueError(f"{name}, row {row.number}: {row.reason}")
        columns = _TEXT_COLUMNS if context_column is None else (context_column,)
        column = next((column for column in columns if column in data), None)
        if column is None:
            raise ValueError(f"{name}, row {row.number} has no {' or '.join(columns)}")
        owner = as_plain(data.get(id_column))
        owner = None if owner in (None, "") else str(owner)
        context = unpacked(as_plain(data[column]))
        try:
            for item in context if isinstance(context, list) else [context]:
                (document,) = as_documents(item)
                named = isinstance(item, Mapping) and item.get("id") is not None
                yield owner, document.id if named else None, document.text
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}, row {row.number}: {error}") from error
