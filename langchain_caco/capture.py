"""Sees what the retrievers of one run return, and which run they belong to."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage

from langchain_caco.documents import artifact_documents

__all__ = ["DocumentCapture", "SeesDocuments", "documents_seen"]


@runtime_checkable
class SeesDocuments(Protocol):
    """A callback handler that remembers what retrievers returned."""

    def documents_for_run(self, run_id: UUID) -> Sequence[Document] | None:
        """Return the documents that the run could have been given.

        Args:
            run_id: The run that needs documents; it, or one of its ancestors, was seen to start.

        Returns:
            Those of the nearest ancestor (the run itself counts) with a retriever run below it,
            however many it returned; None when no retriever was seen.
        """


def documents_seen(
    handlers: Iterable[object], run_id: UUID, parent_run_id: UUID | None
) -> Sequence[Document] | None:
    """Ask a run's handlers for its documents; the first that saw a retriever answers.

    Args:
        handlers: The handlers of the run's callback manager; those of other kinds are left alone.
        run_id: The run.
        parent_run_id: Its parent, for a handler that has not seen the run itself start.
    """
    runs = [run for run in (run_id, parent_run_id) if run is not None]
    for handler in handlers:
        if isinstance(handler, SeesDocuments):
            for run in runs:
                documents = handler.documents_for_run(run)
                if documents is not None:
                    return documents
    return None


class DocumentCapture(BaseCallbackHandler):
    """Remembers the documents of one call of a chain; made afresh for each call.

    What a retriever nested in another returns is left out: its parent has reranked, filtered or
    merged it, and only the parent's documents went on. Documents that a tool carries as its
    message's artifact are taken too.
    """

    # On the event loop, not in its executor: it only notes what it is told, in the order told.
    run_inline = True
    # A document missed is a wrong verdict; better to fail.
    raise_error = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parents: dict[UUID, UUID | None] = {}
        self._retrievers: set[UUID] = set()
        self._below: dict[UUID, list[Document]] = {}
        self._documents: list[Document] = []

    @property
    def documents(self) -> tuple[Document, ...]:
        """Everything that was returned, in the order of arrival."""
        with self._lock:
            return tuple(self._documents)

    def documents_for_run(self, run_id: UUID) -> Sequence[Document] | None:
        """Return those of the nearest ancestor with a retriever run; see `SeesDocuments`."""
        with self._lock:
            for run in self._line(run_id):
                if run in self._below:
                    return tuple(self._below[run])
        return None

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,  # noqa: ANN401
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Note where the run stands."""
        self._started(run_id, parent_run_id)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Note where the run stands."""
        self._started(run_id, parent_run_id)

    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Note where the run stands."""
        self._started(run_id, parent_run_id)
        with self._lock:
            self._retrievers.add(run_id)

    def on_retriever_end(
        self,
        documents: Sequence[Document],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Keep the documents, unless another retriever asked for them."""
        with self._lock:
            if not any(run in self._retrievers for run in self._line(parent_run_id)):
                self._keep(documents, run_id)

    def on_tool_end(
        self,
        output: Any,  # noqa: ANN401
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Keep the documents that the tool's message carries."""
        found = artifact_documents(output) if isinstance(output, ToolMessage) else ()
        with self._lock:
            if found:
                self._keep(found, run_id)

    def _started(self, run_id: UUID, parent_run_id: UUID | None) -> None:
        with self._lock:
            self._parents[run_id] = parent_run_id

    def _line(self, run_id: UUID | None) -> list[UUID]:
        """Return the run and its ancestors, nearest first."""
        line = []
        while run_id is not None:
            line.append(run_id)
            run_id = self._parents.get(run_id)
        return line

    def _keep(self, documents: Sequence[Document], run_id: UUID) -> None:
        self._documents.extend(documents)
        for run in self._line(run_id):
            self._below.setdefault(run, []).extend(documents)
