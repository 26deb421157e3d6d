"""Monitoring of existing applications through LlamaIndex's instrumentation dispatcher."""

# No `from __future__ import annotations`: pydantic reads the annotations of the fields.

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from typing import Any

from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.query import QueryEndEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.schema import MetadataMode

from caco.models import Document, ValidationResult
from caco.validator import Validator
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import answer_text, query_text, said, source_nodes
from llamaindex_caco.policy import METADATA_KEY

__all__ = ["CacoEventHandler", "MonitorRecord", "OnResult", "caco_instrumentation"]

_logger = logging.getLogger(__name__)

_IDLE_SECONDS = 5.0
"""A worker without work for so long ends; the next answer starts another."""


@dataclass(frozen=True)
class MonitorRecord:
    """One monitored answer.

    Attributes:
        result: The verdict; None when the check failed.
        answer: What was answered.
        run_id: The id of the span that answered, else of the event.
        error: What the check raised; None when it was made.
        query: The question.
        tags: The ``instrument_tags`` in force.
    """

    result: ValidationResult | None
    answer: str
    run_id: str
    error: Exception | None = None
    query: str | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)


OnResult = Callable[[MonitorRecord], None]


@dataclass(frozen=True)
class _Job:
    answer: str
    documents: tuple[Document, ...]
    query: str | None
    run_id: str
    tags: Mapping[str, Any]


class CacoEventHandler(BaseEventHandler):
    """Checks every answer that a synthesizer or query engine of this process gives.

    Add it to a dispatcher (``get_dispatcher().add_event_handler(handler)``), or use
    `caco_instrumentation`, which also removes it. Nothing in the application changes and no answer
    waits: LlamaIndex calls handlers in the application's own thread (the event loop's, in async
    code), so that the check is left to a worker thread. Streams are checked once they have been
    read to their end; an abandoned one is not. Answers that a `CacoQueryEngine` has already checked
    are not checked again.

    Whatever a check or a hook raises is logged, counted in ``errors`` and, for a check, recorded.

    Args:
        validator: The engine; may be shared. None: one on the embedded model.
        on_result: Called with each record, from the thread that made the check.
        background: False checks in the application's own thread.
        threshold: Risk in [0, 1] above which an answer fails. None: the validator's.
        language: "english" or "portuguese". None: the validator's, else English.
        metadata_mode: Which metadata of the source nodes count as their text.
        max_results: How many records ``results`` keeps, the latest, at least 1.
        max_queue: How many answers may wait for their check, at least 1; further ones are dropped,
            logged and counted in ``dropped``.

    Raises:
        ValueError: An argument outside its range.
        TypeError: ``validator`` is not one, or ``on_result`` not a function.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    _checker: Checker = PrivateAttr()
    _on_result: OnResult | None = PrivateAttr()
    _background: bool = PrivateAttr()
    _records: "deque[MonitorRecord]" = PrivateAttr()
    _queue: "Queue[_Job]" = PrivateAttr()
    _state: threading.Condition = PrivateAttr()
    _pending: int = PrivateAttr(default=0)
    _worker: threading.Thread | None = PrivateAttr(default=None)
    _seen: "dict[int, weakref.ref[Any]]" = PrivateAttr()
    _max_queue: int = PrivateAttr()
    _process: int = PrivateAttr()
    _errors: int = PrivateAttr(default=0)
    _dropped: int = PrivateAttr(default=0)

    def __init__(
        self,
        validator: Validator | None = None,
        *,
        on_result: OnResult | None = None,
        background: bool = True,
        threshold: float | None = None,
        language: str | None = None,
        metadata_mode: MetadataMode = MetadataMode.LLM,
        max_results: int = 1000,
        max_queue: int = 1000,
    ) -> None:
        super().__init__()
        for name, bound in (("max_results", max_results), ("max_queue", max_queue)):
            if not isinstance(bound, int) or bound < 1:
                raise ValueError(f"{name} must be an int of at least 1, not {bound!r}")
        if on_result is not None and not callable(on_result):
            raise TypeError(f"on_result must be a function, not {type(on_result).__name__}")
        self._checker = Checker.build(validator, threshold, language, metadata_mode)
        self._on_result = on_result
        self._background = background
        self._records = deque(maxlen=max_results)
        self._max_queue = max_queue
        self._seen = {}
        self._start_afresh()

    @classmethod
    def class_name(cls) -> str:
        """The handler's name."""
        return "CacoEventHandler"

    @property
    def results(self) -> tuple[MonitorRecord, ...]:
        """The records made so far, oldest first; `flush` waits for those under way."""
        with self._state:
            return tuple(self._records)

    @property
    def errors(self) -> int:
        """How many checks, hooks and events failed."""
        return self._errors

    @property
    def dropped(self) -> int:
        """How many answers were not checked because too many were waiting."""
        return self._dropped

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:  # noqa: ANN401 - the base class'
        """Take an event; the dispatcher calls this."""
        if not isinstance(event, (SynthesizeEndEvent, QueryEndEvent)):
            return
        self._leave_parent()
        # The dispatcher swallows whatever a handler raises, so it is made visible here.
        try:
            self._take(event)
        except Exception as error:  # noqa: BLE001
            self._failed("an answer could not be monitored", error)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every answer given so far is checked.

        Args:
            timeout: Seconds to wait at most; None: as long as it takes.

        Returns:
            False when the time was up.

        Raises:
            RuntimeError: Called from ``on_result``, which runs in the thread it would wait for.
        """
        self._leave_parent()
        with self._state:
            if threading.current_thread() is self._worker:
                raise RuntimeError("flush would wait for itself inside on_result")
            return self._state.wait_for(lambda: self._pending == 0, timeout)

    def _start_afresh(self) -> None:
        self._process = os.getpid()
        self._queue = Queue(self._max_queue)
        self._state = threading.Condition()
        self._pending = 0
        self._worker = None

    def _leave_parent(self) -> None:
        """In a forked process there is no worker, and what was waiting is its parent's work."""
        if self._process != os.getpid():
            self._start_afresh()

    def _take(self, event: Any) -> None:  # noqa: ANN401 - either of the two events
        response: RESPONSE_TYPE = event.response
        if not self._is_new(response) or METADATA_KEY in (response.metadata or {}):
            return
        if isinstance(response, StreamingResponse) and response.response_txt is None:
            response.response_gen = self._read(response.response_gen, event)
        elif isinstance(response, AsyncStreamingResponse) and response.response_txt is None:
            response.response_gen = self._aread(response.response_gen, event)
        elif isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
            self._submit(response.response_txt or "", event)
        else:
            self._submit(answer_text(response), event)

    def _is_new(self, response: object) -> bool:
        """Whether no earlier event was about this very object."""
        key = id(response)
        with self._state:
            known = self._seen.get(key)
            if known is not None and known() is response:
                return False
            self._seen[key] = weakref.ref(response, lambda _: self._seen.pop(key, None))
            return True

    def _read(self, tokens: Any, event: Any) -> Generator[str, None, None]:  # noqa: ANN401
        text = ""
        for token in tokens:
            text += token or ""
            yield token
        self._submit_safely(text, event)

    async def _aread(self, tokens: Any, event: Any) -> AsyncGenerator[str, None]:  # noqa: ANN401
        text = ""
        async for token in tokens:
            text += token or ""
            yield token
        self._submit_safely(text, event)

    def _submit_safely(self, answer: str, event: Any) -> None:  # noqa: ANN401
        """`_submit` from inside the application's own loop over a stream."""
        try:
            self._submit(answer, event)
        except Exception as error:  # noqa: BLE001 - monitoring must not break the application
            self._failed("a streamed answer could not be monitored", error)

    def _submit(self, answer: str, event: Any) -> None:  # noqa: ANN401
        job = _Job(
            answer=said(answer),
            documents=self._checker.documents(source_nodes(event.response)),
            query=query_text(event.query),
            run_id=event.span_id or event.id_,
            tags=dict(event.tags),
        )
        if not self._background:
            self._run(job)
            return
        self._leave_parent()
        with self._state:
            try:
                self._queue.put_nowait(job)
            except Full:
                self._dropped += 1
                _logger.warning(
                    "%d answers are waiting for their check: one more was dropped (%d so far)",
                    self._max_queue,
                    self._dropped,
                )
                return
            self._pending += 1
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, name="caco-monitor", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        while True:
            try:
                job = self._queue.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._state:
                    if self._queue.empty():
                        self._worker = None
                        return
                continue
            try:
                self._run(job)
            finally:
                with self._state:
                    self._pending -= 1
                    self._state.notify_all()

    def _run(self, job: _Job) -> None:
        result, failure = None, None
        try:
            result = self._checker.check(job.answer, job.documents, job.query)
        except Exception as error:  # noqa: BLE001 - a user's part may raise anything; recorded
            failure = error
            self._failed("an answer could not be checked", error)
        record = MonitorRecord(result, job.answer, job.run_id, failure, job.query, job.tags)
        with self._state:
            self._records.append(record)
        if self._on_result is None:
            return
        try:
            self._on_result(record)
        except Exception as error:  # noqa: BLE001 - a user's hook may raise anything; logged
            self._failed("on_result failed", error)

    def _failed(self, what: str, error: Exception) -> None:
        with self._state:
            self._errors += 1
        _logger.error("%s: %s: %s", what, type(error).__name__, error, exc_info=error)


@contextmanager
def caco_instrumentation(
    validator: Validator | None = None,
    *,
    dispatcher: Any = None,  # noqa: ANN401 - a Dispatcher, which core re-exports only untyped
    **options: Any,  # noqa: ANN401 - passed on
) -> Iterator[CacoEventHandler]:
    """Check every answer that is given inside the ``with`` block.

    Args:
        validator: See `CacoEventHandler`.
        dispatcher: Where to listen. None: the root, which hears everything.
        options: As for `CacoEventHandler`.

    Yields:
        The handler. On leaving it is removed, and all answers given so far are checked.
    """
    handler = CacoEventHandler(validator, **options)
    target = get_dispatcher() if dispatcher is None else dispatcher
    target.add_event_handler(handler)
    try:
        yield handler
    finally:
        target.event_handlers = [item for item in target.event_handlers if item is not handler]
        handler.flush()
