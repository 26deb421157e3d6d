"""Columns of a table: which hold the answer and its documents, and what stands in them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from caco.evidence import as_documents
from caco.models import Document

__all__ = [
    "Answer",
    "ColumnNames",
    "as_column",
    "as_plain",
    "read_answer",
    "unpacked",
]

_CANDIDATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "response": ("response", "answer", "text"),
        "context": ("context", "contexts", "documents", "sources"),
        "prompt": ("prompt", "question"),
        "id": ("id",),
    }
)
_NEEDED = ("response", "context")


@dataclass(frozen=True)
class Answer:
    """One answer to check.

    Attributes:
        response: The answer; not blank.
        documents: What it is checked against, each with an id; may be empty.
        prompt: The question, or None.
    """

    response: str
    documents: tuple[Document, ...]
    prompt: str | None = None

    @property
    def size(self) -> int:
        """Characters of the answer and its documents."""
        return len(self.response) + sum(len(document.text) for document in self.documents)


@dataclass(frozen=True)
class ColumnNames:
    """Which columns are read.

    Attributes:
        response: The answer. None: the first of "response", "answer" and "text" that is there.
        context: Its documents. None: the first of "context", "contexts", "documents" and "sources".
        prompt: The question. None: the first of "prompt" and "question"; there may be none.
        id: What a row is called. None: "id", if there is one.
    """

    response: str | None = None
    context: str | None = None
    prompt: str | None = None
    id: str | None = None

    def resolve(self, present: Iterable[str]) -> ColumnNames:
        """Return the names of columns that are there.

        Args:
            present: The columns' names.

        Raises:
            ValueError: A column that was named, or one that is needed, is not there.
        """
        there = list(present)
        found: dict[str, str | None] = {}
        for item in fields(self):
            wanted = getattr(self, item.name)
            candidates = _CANDIDATES[item.name] if wanted is None else (wanted,)
            found[item.name] = next((name for name in candidates if name in there), None)
            if found[item.name] is None and (wanted is not None or item.name in _NEEDED):
                raise ValueError(
                    f"there is no column {' or '.join(map(repr, candidates))} for the "
                    f"{item.name}; there are {sorted(map(str, there))}"
                )
        return ColumnNames(**found)

    def in_row(self, row: Mapping[str, Any]) -> ColumnNames:
        """Return the names with the optional ones that only this row has, where none is known."""
        prompt, name = (
            known or next((candidate for candidate in _CANDIDATES[kind] if candidate in row), None)
            for kind, known in (("prompt", self.prompt), ("id", self.id))
        )
        return replace(self, prompt=prompt, id=name)


def read_answer(row: Mapping[str, Any], names: ColumnNames) -> Answer:
    """Read an answer from a row.

    Args:
        row: Cells by column.
        names: As `ColumnNames.resolve` returned them.

    Raises:
        ValueError: A column is missing, or the answer is blank.
        TypeError: A cell is of a wrong type.
    """
    for kind in _NEEDED:
        if getattr(names, kind) not in row:
            raise ValueError(f"it has no {getattr(names, kind)!r}")
    response = as_plain(row[names.response or ""])
    if not isinstance(response, str):
        raise TypeError(f"{names.response!r} must be a text, not {type(response).__name__}")
    if not response.strip():
        raise ValueError(f"{names.response!r} is blank: there is nothing to check")
    prompt = as_plain(row.get(names.prompt)) if names.prompt is not None else None
    if prompt is not None and not isinstance(prompt, str):
        raise TypeError(f"{names.prompt!r} must be a text, not {type(prompt).__name__}")
    context = as_documents(unpacked(as_plain(row[names.context or ""])))
    return Answer(response, context, prompt or None)


def as_plain(cell: Any) -> Any:  # noqa: ANN401 (whatever a table holds)
    """Turn a cell of numpy, pandas or pyarrow into plain Python; a missing value is None."""
    for method in ("as_py", "tolist"):  # of a pyarrow scalar, and of numpy's
        if hasattr(cell, method):
            cell = getattr(cell, method)()
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if isinstance(cell, Mapping):
        return {key: as_plain(value) for key, value in cell.items()}
    if isinstance(cell, (list, tuple)):
        return [as_plain(item) for item in cell if item is not None]
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell


def unpacked(cell: Any) -> Any:  # noqa: ANN401 (checked by `as_documents`)
    """Return the documents that a text spells out as a JSON list; anything else as it is."""
    if not isinstance(cell, str) or not cell.lstrip().startswith("["):
        return cell
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return found if isinstance(found, list) and all(map(_is_document, found)) else cell


def _is_document(item: object) -> bool:
    keys = ("text", "page_content")
    return isinstance(item, str) or (isinstance(item, Mapping) and any(key in item for key in keys))


def as_column(values: Any) -> Sequence[Any]:  # noqa: ANN401 (a list, an array, a series, a column)
    """Return a column's cells as a list."""
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)
