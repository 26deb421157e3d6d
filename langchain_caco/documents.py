"""LangChain documents, and what else stands for one, as the engine's documents."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import ToolMessage

from caco.models import Document

__all__ = ["artifact_documents", "to_caco_documents", "tool_documents"]


def to_caco_documents(documents: object) -> tuple[Document, ...]:
    """Turn LangChain documents into the engine's, with an id each.

    An id that a document brings is kept; one without gets its position ("0", "1", …). LangChain
    promises nothing about ids, so: a document that comes twice (same id and text; without an id,
    same text and metadata) is taken once, and different documents that share an id (chunks of one
    page) become ``id``, ``id#2``, ``id#3``, … in the order given.

    Args:
        documents: A str, a LangChain or caco ``Document``, a mapping with ``page_content`` or
            ``text``, or a list of those.

    Raises:
        ValueError: A mapping without text.
        TypeError: Something else, or a list that holds something else.
    """
    if isinstance(documents, (str, LangChainDocument, Document, Mapping)):
        documents = [documents]
    if not isinstance(documents, Sequence) or isinstance(documents, (bytes, bytearray)):
        raise TypeError(
            "documents must be a str, a Document, a mapping with 'page_content' or 'text', or a "
            f"list of those, not {type(documents).__name__}"
        )
    read = [_as_document(item, position) for position, item in enumerate(documents)]
    taken = {document.id for document in read if document.id is not None}
    used: set[str] = set()
    seen: set[tuple[str | None, str, str]] = set()
    kept: list[Document] = []
    for position, document in enumerate(read):
        origin = repr(document.metadata) if document.id is None else ""
        if (document.id, document.text, origin) in seen:
            continue
        seen.add((document.id, document.text, origin))
        name = str(position) if document.id is None else document.id
        if document.id is None or document.id in used:
            name = _free_name(name, taken)
        taken.add(name)
        used.add(name)
        kept.append(Document(document.text, name, document.metadata))
    return tuple(kept)


def tool_documents(messages: Sequence[object]) -> tuple[Document, ...] | None:
    """Return the documents among the artifacts of the ``ToolMessage``s in ``messages``.

    Artifacts that are not documents (tables, images) are left alone.

    Returns:
        None when no tool message carries documents.
    """
    found = [
        document
        for message in messages
        if isinstance(message, ToolMessage)
        for document in artifact_documents(message)
    ]
    return to_caco_documents(found) if found else None


def artifact_documents(message: ToolMessage) -> tuple[LangChainDocument, ...]:
    """Return the LangChain documents that a tool message carries; none is an empty tuple."""
    artifact = message.artifact
    items = artifact if isinstance(artifact, (list, tuple)) else [artifact]
    if all(isinstance(item, LangChainDocument) for item in items):
        return tuple(items)
    return ()


def _as_document(item: object, position: int) -> Document:
    """Read one document; its id may be None."""
    if isinstance(item, LangChainDocument):
        return Document(item.page_content, item.id or None, item.metadata)
    if isinstance(item, Document):
        return item
    if isinstance(item, str):
        return Document(str(item))
    if not isinstance(item, Mapping):
        raise TypeError(
            f"document {position} must be a str, a Document or a mapping, not {type(item).__name__}"
        )
    text = item.get("page_content", item.get("text"))
    if text is None:
        raise ValueError(
            f"document {position} has no 'page_content' or 'text', only {sorted(map(str, item))}"
        )
    identity = item.get("id")
    return Document(text, None if identity is None else str(identity), item.get("metadata") or {})


def _free_name(name: str, taken: set[str]) -> str:
    """Return ``name``, or ``name#2``, ``name#3``, … if it is taken."""
    candidates = itertools.chain([name], (f"{name}#{number}" for number in itertools.count(2)))
    return next(candidate for candidate in candidates if candidate not in taken)
