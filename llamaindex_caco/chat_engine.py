"""A chat engine that checks what another one answers."""

from __future__ import annotations

from typing import Any, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    MessageRole,
)
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import (
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.schema import MetadataMode

from caco.gate import GatingPolicy
from caco.governance import RagCaiConfig
from caco.receipts import Sink
from caco.validator import Validator
from llamaindex_caco.answer_stream import OnClaim
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import query_text, source_nodes
from llamaindex_caco.governance import Governor, UserRole
from llamaindex_caco.policy import FallbackMessage, OnFail
from llamaindex_caco.query_engine import Guard

__all__ = ["CacoChatEngine"]


class CacoChatEngine(BaseChatEngine):
    """Checks every answer of another chat engine against the nodes it was made from.

    The verdict is at ``response.metadata["caco"]``; of a stream, once it has been read to its end.
    The wrapped engine's memory keeps what the model said, not what was shown in its place.

    Args:
        chat_engine: A chat engine that retrieves (context, condense-plus-context,
            condense-question, …).
        on_fail: As for `CacoQueryEngine`.
        validator: As for `CacoQueryEngine`.
        threshold: As for `CacoQueryEngine`.
        language: As for `CacoQueryEngine`.
        policy: As for `CacoQueryEngine`.
        config: As for `CacoQueryEngine`.
        receipts: As for `CacoQueryEngine`.
        user_role: As for `CacoQueryEngine`.
        fallback_message: As for `CacoQueryEngine`.
        metadata_mode: As for `CacoQueryEngine`.
        on_claim: As for `CacoQueryEngine`.

    Raises:
        ValueError: An argument outside its range, an unknown ``on_fail`` among them.
        TypeError: An argument of a wrong type.
    """

    def __init__(
        self,
        chat_engine: BaseChatEngine,
        on_fail: OnFail = "annotate",
        *,
        validator: Validator | None = None,
        threshold: float | None = None,
        language: str | None = None,
        policy: GatingPolicy | None = None,
        config: RagCaiConfig | None = None,
        receipts: Sink | None = None,
        user_role: UserRole = "user",
        fallback_message: FallbackMessage | None = None,
        metadata_mode: MetadataMode = MetadataMode.LLM,
        on_claim: OnClaim | None = None,
    ) -> None:
        if not isinstance(chat_engine, BaseChatEngine):
            raise TypeError(f"chat_engine must be one, not {type(chat_engine).__name__}")
        self._chat_engine = chat_engine
        governor = Governor.build(
            validator, threshold, language, metadata_mode, policy, config, user_role, receipts
        )
        self._guard = Guard(governor, on_fail, fallback_message, on_claim)

    @property
    def validator(self) -> Validator:
        """The engine that checks."""
        return self._guard.validator

    def chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Answer, checked."""
        query, checker = self._begin(message)
        with checker.in_force():
            given = self._chat_engine.chat(message, chat_history)
        checked = self._guard.guard(given, query, checker)
        return _as_chat(given, cast("Response", checked))

    async def achat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """`chat`, with the event loop left free."""
        query, checker = self._begin(message)
        with checker.in_force():
            given = await self._chat_engine.achat(message, chat_history)
        checked = await self._guard.aguard(given, query, checker)
        return _as_chat(given, cast("Response", checked))

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Answer as a stream, checked while it is read."""
        query, checker = self._begin(message)
        with checker.in_force():
            given = self._chat_engine.stream_chat(message, chat_history)
        checked = cast("StreamingResponse", self._guard.guard(given, query, checker))
        return _as_stream(given, checked, chat_stream=_messages(checked))

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """`stream_chat` as an asynchronous stream."""
        query, checker = self._begin(message)
        with checker.in_force():
            given = await self._chat_engine.astream_chat(message, chat_history)
        checked = cast("AsyncStreamingResponse", self._guard.guard(given, query, checker))
        return _as_stream(given, checked, achat_stream=_amessages(checked))

    def _begin(self, message: str) -> tuple[str | None, Checker]:
        query = query_text(message)
        return query, self._guard.governor.begin(query)

    def reset(self) -> None:
        """Forget the conversation."""
        self._chat_engine.reset()

    @property
    def chat_history(self) -> list[ChatMessage]:
        """The wrapped engine's conversation."""
        return self._chat_engine.chat_history


def _as_chat(given: Any, checked: Response) -> AgentChatResponse:  # noqa: ANN401 - see below
    """``given`` is whatever the wrapped engine returns as a finished answer."""
    return AgentChatResponse(
        response=checked.response or "",
        sources=given.sources,
        source_nodes=checked.source_nodes,
        is_dummy_stream=getattr(given, "is_dummy_stream", False),
        metadata=checked.metadata,
    )


def _as_stream(
    given: StreamingAgentChatResponse,
    checked: StreamingResponse | AsyncStreamingResponse,
    **stream: Any,  # noqa: ANN401 - chat_stream or achat_stream
) -> StreamingAgentChatResponse:
    # The wrapped engine writes to its memory while its own stream is read, which this one does.
    response = StreamingAgentChatResponse(
        sources=given.sources,
        source_nodes=source_nodes(given),
        is_writing_to_memory=False,
        **stream,
    )
    # LlamaIndex gives a finished chat response metadata, but not a streaming one.
    response.metadata = checked.metadata  # type: ignore[attr-defined]
    return response


def _messages(checked: StreamingResponse) -> ChatResponseGen:
    said = ""
    for token in checked.response_gen:
        said += token
        yield _message(said, token)


async def _amessages(checked: AsyncStreamingResponse) -> ChatResponseAsyncGen:
    said = ""
    async for token in checked.response_gen:
        said += token
        yield _message(said, token)


def _message(said: str, token: str) -> ChatResponse:
    return ChatResponse(message=ChatMessage(said, role=MessageRole.ASSISTANT), delta=token)
