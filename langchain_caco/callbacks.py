"""Monitoring of chains as they are: callback handlers that check each answer they see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

from langchain_caco import telemetry
from langchain_caco.monitor import Monitor, MonitorRecord
from langchain_caco.runs import Answer

__all__ = ["AsyncCacoCallbackHandler", "CacoCallbackHandler", "MonitorRecord", "caco_monitor"]


class _Bookkeeping(Monitor):
    """The events that only need to be noted; both handlers take them on the caller's thread."""

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,  # noqa: ANN401
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Note where the run stands and what it is given."""
        self._tree.start(run_id, parent_run_id, "chain", inputs)

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
        self._tree.start(run_id, parent_run_id, "tool")

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
        self._tree.start(run_id, parent_run_id, "retriever")

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Note where the run stands."""
        self._tree.start(run_id, parent_run_id, "model")

    def on_llm_start(
        self,
        serialized: dict[str, Any] | None,
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Note where the run stands."""
        self._tree.start(run_id, parent_run_id, "model")

    def on_retriever_end(
        self,
        documents: Sequence[Document],
        *,
        run_id: UUID,
        **_: Any,  # noqa: ANN401
    ) -> None:
        """Keep the documents for the answers of the runs above."""
        self._tree.retriever_ended(run_id, documents)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Keep the text for the run that it may be the answer of."""
        self._tree.model_ended(run_id, _said(response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Forget the run."""
        self._tree.model_failed(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Forget the run."""
        self._tree.failed(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Forget the run."""
        self._tree.failed(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Forget the run."""
        self._tree.failed(run_id)


class CacoCallbackHandler(_Bookkeeping, BaseCallbackHandler):
    """Checks the answers of chains as they are, without a change to them.

    ```
    monitor = CacoCallbackHandler()
    chain.batch(questions, {"callbacks": [monitor]})
    [record.result.is_hallucination for record in monitor.results]
    ```

    One handler may serve many chains, threads and event loops at once: each answer is checked
    against what was retrieved for it. In a chain that is called with ``invoke`` the check runs
    before the call returns, unless ``background=True``.

    See `Monitor` for the arguments and attributes.
    """

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Keep what the tool returned for the answers of the runs above."""
        self._check(self._tree.tool_ended(run_id, output))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **others: Any) -> None:  # noqa: ANN401
        """Check the answers that this run's end makes certain."""
        self._check(self._tree.chain_ended(run_id, outputs, others.get("inputs")))

    def _check(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if self.background:
                self._put(answer)
            else:
                self._finish(self._validated(answer), telemetry.current_span())


class AsyncCacoCallbackHandler(_Bookkeeping, AsyncCallbackHandler):  # type: ignore[misc]
    """`CacoCallbackHandler` for async chains: the check is awaited, and coroutine hooks are too.

    In a chain that is called synchronously LangChain swallows what an async handler raises, even
    with ``raise_error=True``.

    See `Monitor` for the arguments and attributes.
    """

    _awaits_hooks = True
    # Applies to what is not a coroutine function here, the bookkeeping.
    run_inline = True

    async def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:  # noqa: ANN401
        """Keep what the tool returned for the answers of the runs above."""
        await self._check(self._tree.tool_ended(run_id, output))

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **others: Any) -> None:  # noqa: ANN401
        """Check the answers that this run's end makes certain."""
        await self._check(self._tree.chain_ended(run_id, outputs, others.get("inputs")))

    async def aflush(self, timeout: float | None = None) -> bool:
        """`flush` without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    async def _check(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if self.background:
                self._put(answer)
            else:
                await self._afinish(await self._avalidated(answer), telemetry.current_span())


# One hook for the life of the process: registering is global and cannot be taken back.
_active: ContextVar[BaseCallbackHandler | None] = ContextVar("caco_monitor", default=None)
register_configure_hook(_active, inheritable=True)


@contextmanager
def caco_monitor(
    handler: CacoCallbackHandler | AsyncCacoCallbackHandler | None = None,
    **options: Any,  # noqa: ANN401 (CacoCallbackHandler's own)
) -> Iterator[CacoCallbackHandler | AsyncCacoCallbackHandler]:
    """Monitor every chain that is called within the ``with`` block.

    ```
    with caco_monitor() as monitor:
        chain.invoke(question)
    monitor.results
    ```

    It follows the context: async tasks and what LangChain runs in threads are seen, a bare
    ``threading.Thread`` is not. At the end of the block it waits for checks in the background. Of
    nested monitors the innermost one sees the chain.

    Args:
        handler: The handler to use. None: a new `CacoCallbackHandler`.
        options: Arguments for the new one.

    Raises:
        TypeError: Both a handler and options are given, or an unknown option.
        ValueError: As for `CacoCallbackHandler`.
    """
    if handler is not None and options:
        raise TypeError(f"give a handler or options for one, not both: {sorted(options)}")
    monitor = CacoCallbackHandler(**options) if handler is None else handler
    token = _active.set(monitor)
    try:
        yield monitor
    finally:
        _active.reset(token)
        monitor.flush()


def _said(response: LLMResult) -> object:
    """Return the first message or text of a model's result."""
    first = next((generation for group in response.generations for generation in group), None)
    return first.message if isinstance(first, ChatGeneration) else getattr(first, "text", "")
