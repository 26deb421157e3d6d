"""What a monitor does with an answer it saw: check it, keep the record, tell everyone."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.documents import Document

from caco.models import ValidationResult
from caco.validator import Validator
from langchain_caco import telemetry
from langchain_caco.background import BackgroundQueue
from langchain_caco.convert import to_caco_documents
from langchain_caco.evaluator import FEEDBACK_KEY, faithfulness
from langchain_caco.runs import Answer, RunTree

__all__ = ["Hook", "Monitor", "MonitorRecord"]

logger = logging.getLogger(__name__)

_MAX_RUNS = 10_000


@dataclass(frozen=True)
class MonitorRecord:
    """What came of one answer that a monitor saw.

    Attributes:
        result: The verdict; None when the check failed.
        answer: The answer.
        run_id: The run that gave it.
        error: Why the check failed; None when it was made.
    """

    result: ValidationResult | None
    answer: str
    run_id: UUID
    error: Exception | None = None


Hook = Callable[[MonitorRecord], object]
"""Called with each record; an async handler awaits what it returns, unless in the background."""


class Monitor:
    """The part that the sync and the async handler have in common.

    Args:
        validator: Does the checking. None: the default one.
        threshold: Risk in [0, 1] above which an answer is called a hallucination. None: the
            validator's.
        language: "english" or "portuguese", for the default validator.
        on_result: One function or several, called with each `MonitorRecord`.
        max_results: How many records are kept; the oldest go first.
        background: Check in a thread of its own, so that the chain does not wait; `flush` waits.
        queue_size: How many answers may wait for that thread; more are dropped, which is counted in
            ``dropped`` and logged.
        raise_error: Let an error in the check or in a hook surface in the chain. It is counted in
            ``errors`` and logged in any case.
        langsmith_client: A ``langsmith.Client`` to send each verdict to, as feedback on its run.
        feedback_key: The feedback's name.
        max_runs: How many runs that have not ended are remembered.

    Attributes:
        results: The records, oldest first.
        checked: How many checks were made.
        errors: How many checks, hooks or feedbacks failed.
        dropped: How many answers were not checked because the queue was full.

    Raises:
        ValueError: A size below 1, a threshold outside [0, 1], an unsupported language, or
            ``background`` together with ``raise_error``.
        TypeError: A hook that cannot be called, or a coroutine function where nobody awaits it.
    """

    run_inline = False
    _awaits_hooks = False

    def __init__(
        self,
        validator: Validator | None = None,
        *,
        threshold: float | None = None,
        language: str = "english",
        on_result: Hook | Sequence[Hook] | None = None,
        max_results: int = 1000,
        background: bool = False,
        queue_size: int = 1000,
        raise_error: bool = False,
        langsmith_client: Any = None,  # noqa: ANN401 (an optional package's type)
        feedback_key: str = FEEDBACK_KEY,
        max_runs: int = _MAX_RUNS,
    ) -> None:
        _at_least_one(max_results=max_results, queue_size=queue_size, max_runs=max_runs)
        if background and raise_error:
            raise ValueError("background=True has nobody to raise to: leave raise_error False")
        if threshold is not None and not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold must be in [0, 1] or None, not {threshold!r}")
        self.validator = validator if validator is not None else Validator(language=language)
        self.threshold = threshold
        self.hooks = _hooks(on_result, may_await=self._awaits_hooks and not background)
        self.results: deque[MonitorRecord] = deque(maxlen=max_results)
        self.langsmith_client = langsmith_client
        self.feedback_key = feedback_key
        self.raise_error = raise_error
        self.background = background
        # Nothing slow happens in the callback then: no need for a thread under async.
        self.run_inline = self.run_inline or background
        self.checked = 0
        self.errors = 0
        self.dropped = 0
        self.queue_size = queue_size
        self.max_runs = max_runs
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._count_lock = threading.Lock()
        self._tree = RunTree(self.max_runs)
        self._queue: BackgroundQueue[tuple[Answer, Any]] = BackgroundQueue(
            self._check_later, self.queue_size
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what runs now: a copy monitors other chains."""
        running = ("_count_lock", "_tree", "_queue")
        return {name: value for name, value in vars(self).items() if name not in running}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start_afresh()

    @property
    def without_documents(self) -> int:
        """How many answers of models were seen for which no documents were: they are unchecked."""
        return self._tree.without_documents

    @property
    def active_runs(self) -> int:
        """How many runs have started and not ended."""
        return len(self._tree)

    def documents_for_run(self, run_id: UUID) -> Sequence[Document] | None:
        """Return the documents that a run could have been given, while it runs.

        Returns:
            What retrievers returned below the run or, failing that, below its nearest ancestor with
            a retriever; None when none was seen.
        """
        return self._tree.documents_for(run_id)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every answer seen so far is checked; at once without ``background``.

        Args:
            timeout: The most seconds to wait; None: as long as it takes.

        Returns:
            False when something is left.

        Raises:
            RuntimeError: Called from an ``on_result`` hook, which would wait for itself.
        """
        return self._queue.flush(timeout)

    def _put(self, answer: Answer) -> None:
        """Queue an answer, or count it as dropped."""
        if self._queue.put((answer, telemetry.current_span())):
            return
        with self._count_lock:
            self.dropped += 1
            dropped = self.dropped
        telemetry.count("dropped")
        logger.warning("the queue is full: %d answers so far were not checked", dropped)

    def _check_later(self, item: tuple[Answer, Any]) -> None:
        answer, span = item
        self._finish(self._validated(answer), span)

    def _validated(self, answer: Answer) -> MonitorRecord:
        try:
            result = self.validator.validate(
                answer.text, to_caco_documents(answer.documents), answer.question
            )
        except Exception as error:  # noqa: BLE001 - recorded, counted, logged; raised on request
            return MonitorRecord(None, answer.text, answer.run_id, error)
        return MonitorRecord(self._at_threshold(result), answer.text, answer.run_id)

    async def _avalidated(self, answer: Answer) -> MonitorRecord:
        try:
            result = await self.validator.avalidate(
                answer.text, to_caco_documents(answer.documents), answer.question
            )
        except Exception as error:  # noqa: BLE001 - as in _validated
            return MonitorRecord(None, answer.text, answer.run_id, error)
        return MonitorRecord(self._at_threshold(result), answer.text, answer.run_id)

    def _at_threshold(self, result: ValidationResult) -> ValidationResult:
        return result if self.threshold is None else result.with_threshold(self.threshold)

    def _finish(self, record: MonitorRecord, span: Any) -> None:  # noqa: ANN401
        """Keep a record and tell everyone."""
        failures = self._keep(record, span)
        for task in self._listeners(record):
            try:
                returned = task(record)
                if inspect.iscoroutine(returned):
                    returned.close()
                    raise TypeError(
                        "a hook returned a coroutine, which only an async handler awaits"
                    )
            except Exception as error:  # noqa: BLE001 - a hook may raise anything
                failures.append(self._failed(record, "a hook failed on run %s", error))
        self._surface(failures)

    async def _afinish(self, record: MonitorRecord, span: Any) -> None:  # noqa: ANN401
        """`_finish`; hooks may be coroutine functions, and the client's calls leave the loop."""
        failures = self._keep(record, span)
        for task in self._listeners(record):
            try:
                if task == self._send_feedback:
                    await asyncio.to_thread(task, record)
                    continue
                returned = task(record)
                if inspect.isawaitable(returned):
                    await returned
            except Exception as error:  # noqa: BLE001 - a hook may raise anything
                failures.append(self._failed(record, "a hook failed on run %s", error))
        self._surface(failures)

    def _keep(self, record: MonitorRecord, span: Any) -> list[Exception]:  # noqa: ANN401
        self.results.append(record)
        telemetry.count(telemetry.outcome(record.result))
        telemetry.annotate_span(span, record.result)
        if record.error is not None:
            return [self._failed(record, "the check of run %s failed", record.error)]
        with self._count_lock:
            self.checked += 1
        return []

    def _listeners(self, record: MonitorRecord) -> list[Hook]:
        wants_feedback = self.langsmith_client is not None and record.result is not None
        return [*([self._send_feedback] if wants_feedback else []), *self.hooks]

    def _failed(self, record: MonitorRecord, message: str, error: Exception) -> Exception:
        """Count and log a failure."""
        with self._count_lock:
            self.errors += 1
        logger.error(message, record.run_id, exc_info=error)
        return error

    def _surface(self, failures: Sequence[Exception]) -> None:
        if failures and self.raise_error:
            raise failures[0]

    def _send_feedback(self, record: MonitorRecord) -> None:
        assert record.result is not None
        self.langsmith_client.create_feedback(
            run_id=record.run_id,
            key=self.feedback_key,
            score=faithfulness(record.result),
            comment=record.result.summary,
        )


def _hooks(given: Hook | Sequence[Hook] | None, *, may_await: bool) -> tuple[Hook, ...]:
    hooks = () if given is None else (given,) if callable(given) else tuple(given)
    for hook in hooks:
        if not callable(hook):
            raise TypeError(f"on_result must be a function or several, not {type(hook).__name__}")
        if inspect.iscoroutinefunction(hook) and not may_await:
            raise TypeError(
                "on_result is a coroutine function: only AsyncCacoCallbackHandler awaits it, and "
                "not with background=True"
            )
    return hooks


def _at_least_one(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, not {size!r}")
