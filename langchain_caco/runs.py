"""Which documents belong to which answer: the tree of runs of a chain, while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage

from langchain_caco.agents import is_verdict
from langchain_caco.convert import CONTEXT_KEYS, answer_text, context_of, question_of
from langchain_caco.documents import artifact_documents

__all__ = ["Answer", "RunTree"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """An answer that a chain gave, with what it was given.

    Attributes:
        text: The answer.
        documents: LangChain or caco documents, in the order they were found.
        run_id: The run that gave the answer.
        question: What was asked, where it could be told.
        from_model: True when a model was seen to write it.
    """

    text: str
    documents: tuple[object, ...]
    run_id: UUID
    question: str | None = None
    from_model: bool = True


@dataclass
class _Run:
    """A run that has started and not ended.

    Attributes:
        retrieved: What retrievers and tools below it returned, by their run; empty when there was
            none, while a retriever that found nothing leaves an empty entry.
        shown: The last inputs with documents in them, its own or a child's.
        said: The last text of a model for which this is the nearest run with ``retrieved``.
        said_of_shown: The last text of a model for which this is the nearest run with ``shown``.
        shown_to_model: The inputs with documents nearest to the model that gave ``said``.
        open_models: Models below it that have started and not ended.
        models: Whether any model was seen below it.
        unsettled: Answers of runs below it that an answer of its own would make obsolete.
        settled: Whether an answer below it has been handed out.
    """

    id: UUID
    parent: _Run | None
    kind: str
    question: str | None
    retrieved: dict[UUID, tuple[Document, ...]] = field(default_factory=dict)
    told: dict[UUID, Document] = field(default_factory=dict)
    shown: Mapping[str, Any] | None = None
    said: str | None = None
    said_of_shown: str | None = None
    shown_to_model: Mapping[str, Any] | None = None
    open_models: int = 0
    models: bool = False
    unsettled: list[Answer] = field(default_factory=list)
    settled: bool = False
    below: set[UUID] = field(default_factory=set)

    def line(self) -> Iterator[_Run]:
        """Yield the run and its ancestors, nearest first."""
        run: _Run | None = self
        while run is not None:
            yield run
            run = run.parent

    @property
    def root(self) -> _Run:
        return list(self.line())[-1]

    @property
    def within_retriever(self) -> bool:
        """Whether an ancestor is a retriever: then this run serves the search, not the answer."""
        return any(run.kind == "retriever" for run in self.line() if run is not self)

    @property
    def has_sources(self) -> bool:
        return bool(self.retrieved or self.told)

    @property
    def sources(self) -> tuple[Document, ...]:
        found = [document for batch in self.retrieved.values() for document in batch]
        return (*found, *self.told.values())


class RunTree:
    """Follows runs from start to end and hands out each answer once, with its documents.

    An answer is the output of the nearest run that has both a model's last words and a retriever
    below it; a run inside a retriever (a query rewriter, a filter) never gives one. Where nothing
    was retrieved, the documents are those that the prompt's inputs, or the output, hold.

    Thread-safe. A run is forgotten when it ends, and all that is left below it with it.

    Args:
        max_runs: The most runs to remember; beyond it the oldest whole tree is forgotten, which is
            logged and counted in ``forgotten``.
    """

    def __init__(self, max_runs: int) -> None:
        self.max_runs = max_runs
        self.forgotten = 0
        self.without_documents = 0
        self._lock = threading.Lock()
        self._runs: dict[UUID, _Run] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def start(
        self, run_id: UUID, parent_run_id: UUID | None, kind: str, inputs: object = None
    ) -> None:
        """Note that a run of ``kind`` (chain, tool, retriever, model) started."""
        with self._lock:
            parent = self._runs.get(parent_run_id) if parent_run_id is not None else None
            run = _Run(run_id, parent, kind, question_of(inputs))
            self._runs[run_id] = run
            if parent is not None:
                parent.root.below.add(run_id)
            if isinstance(inputs, Mapping) and any(inputs.get(k) is not None for k in CONTEXT_KEYS):
                for seer in (run, parent):
                    if seer is not None:
                        seer.shown = inputs
            if kind == "model":
                for ancestor in run.line():
                    ancestor.models = True
                    ancestor.open_models += 1
            self._make_room()

    def model_ended(self, run_id: UUID, message: object) -> None:
        """Note what a model said, for the nearest run with documents."""
        with self._lock:
            run = self._close_model(run_id)
            text = _text(message)
            if run is None or text is None or run.within_retriever:
                return
            holder = next((r for r in run.line() if r.has_sources), None)
            shown = next((r for r in run.line() if r.shown is not None or r is holder), None)
            if shown is not None and shown is not holder:
                shown.said_of_shown = text
            if holder is not None:
                holder.said = text
                holder.shown_to_model = shown.shown if shown is not None else None

    def model_failed(self, run_id: UUID) -> None:
        """Note that a model stopped without an answer."""
        with self._lock:
            self._close_model(run_id)

    def retriever_ended(self, run_id: UUID, documents: Sequence[Document]) -> None:
        """Note what a retriever returned, unless it served another retriever."""
        with self._lock:
            run = self._forget(run_id)
            if run is not None and not run.within_retriever:
                for ancestor in run.line():
                    ancestor.retrieved[run_id] = tuple(documents)

    def tool_ended(self, run_id: UUID, output: object) -> list[Answer]:
        """Note what a tool returned: documents as its artifact, else its text."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return []
            if not run.has_sources and not run.within_retriever:
                _note_output(run, output)
            return self._end(run, None)

    def chain_ended(self, run_id: UUID, output: object, inputs: object = None) -> list[Answer]:
        """Return the answers that are certain now that this run has ended."""
        with self._lock:
            run = self._runs.get(run_id)
            if run is None:
                return []
            run.question = run.question or question_of(inputs)
            return self._end(run, output)

    def failed(self, run_id: UUID) -> None:
        """Note that a chain, a tool or a retriever stopped without a result."""
        with self._lock:
            self._forget(run_id)

    def documents_for(self, run_id: UUID) -> tuple[Document, ...] | None:
        """Return what was retrieved below the run or, failing that, its nearest ancestor."""
        with self._lock:
            run = self._runs.get(run_id)
            holder = next((r for r in run.line() if r.retrieved), None) if run else None
            if holder is None:
                return None
            return tuple(document for batch in holder.retrieved.values() for document in batch)

    def _end(self, run: _Run, output: object) -> list[Answer]:
        self._forget(run.id)
        if run.open_models or run.within_retriever:
            return []  # the consumer of a stream went away before the answer was complete
        text = _text(output)
        if run.said is not None:
            answers = self._settle(run, text, run.said)
        else:
            answers = self._pass_on(run, text, output)
        if run.parent is not None:
            run.parent.settled |= run.settled
        return answers

    def _settle(self, run: _Run, text: str | None, said: str) -> list[Answer]:
        """Hand out the answer of a run that has both documents and a model's last words."""
        run.settled = True
        several = [answer for answer in run.unsettled if answer.from_model]
        if text is None and len(several) > 1:
            return several
        documents = _narrowed(run.sources, run.shown_to_model)
        return [Answer(text or said, documents, run.id, run.question)]

    def _pass_on(self, run: _Run, text: str | None, output: object) -> list[Answer]:
        """Leave it to the runs above to give a better answer; at the root there is none above."""
        own = None if run.settled or run.kind != "chain" else _own_answer(run, text)
        if own is not None:
            run.unsettled = [own]
        if run.parent is not None:
            run.parent.unsettled.extend(run.unsettled)
            return []
        if run.settled:
            return [answer for answer in run.unsettled if answer.from_model]
        if not run.unsettled and text is not None:
            named = [_context(place) for place in (run.shown, output)]
            if named != [None, None]:
                documents = named[0] or named[1] or ()
                return [Answer(text, documents, run.id, run.question)]
            if run.models:
                self.without_documents += 1
                logger.debug("run %s gave an answer, but no documents were seen", run.id)
        return run.unsettled

    def _close_model(self, run_id: UUID) -> _Run | None:
        run = self._forget(run_id)
        if run is not None and run.kind == "model":
            for ancestor in run.line():
                ancestor.open_models -= 1
        return run

    def _forget(self, run_id: UUID) -> _Run | None:
        run = self._runs.pop(run_id, None)
        if run is not None:
            if run.parent is None:
                for left in run.below:
                    self._runs.pop(left, None)
            else:
                run.root.below.discard(run_id)
        return run

    def _make_room(self) -> None:
        while len(self._runs) > self.max_runs:
            oldest = next(iter(self._runs.values())).root
            size = len(oldest.below) + 1
            self.forgotten += size
            logger.warning("%d runs that never ended are forgotten: max_runs is reached", size)
            self._forget(oldest.id)


def _own_answer(run: _Run, text: str | None) -> Answer | None:
    """The answer of a run without retrieved documents, or without a model that was seen."""
    if run.said_of_shown is not None:
        documents = _context(run.shown) or ()
        return Answer(text or run.said_of_shown, documents, run.id, run.question)
    if text is None:
        return None
    from_model = [answer for answer in run.unsettled if answer.from_model]
    if from_model:
        documents = tuple(d for answer in from_model for d in answer.documents)
        return replace(from_model[-1], text=text, documents=documents, run_id=run.id)
    if run.retrieved:
        return Answer(text, run.sources, run.id, run.question, from_model=False)
    return None


def _note_output(tool: _Run, output: object) -> None:
    """Note a tool's documents, or its text as one."""
    message = output if isinstance(output, ToolMessage) else None
    if message is not None and message.status == "error":
        return
    documents = artifact_documents(message) if message is not None else ()
    if documents:
        for run in tool.line():
            run.retrieved[tool.id] = documents
        return
    if message is not None and is_verdict(message.artifact):
        return
    text = str(message.text) if message is not None else output
    if isinstance(text, str) and text.strip():
        for run in tool.line():
            run.told[tool.id] = Document(page_content=text)


def _text(value: object) -> str | None:
    """Return the answer in ``value``, or None when there is none."""
    try:
        return answer_text(value)
    except (TypeError, ValueError):
        return None


def _context(value: object) -> tuple[object, ...] | None:
    """Return the documents in ``value``, or None when it names none."""
    try:
        return context_of(value)
    except (TypeError, ValueError):
        return None


def _narrowed(
    retrieved: tuple[Document, ...], shown: Mapping[str, Any] | None
) -> tuple[object, ...]:
    """Return what the model was shown of the documents that were retrieved.

    A reranker or a filter may have left some out; a prompt may have been given others as well.
    """
    context = _context(shown)
    if not context:
        return retrieved
    texts = [getattr(document, "text", "") for document in context]
    if len(texts) == 1:
        kept = [d for d in retrieved if d.page_content.strip() in texts[0]]
    else:
        kept = [d for d in retrieved if d.page_content in texts]
    return tuple(kept) if kept else (*retrieved, *context)
