"""A query engine that checks what another one answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Sequence
from typing import Any, cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine.types import (
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from caco.gate import GatingPolicy
from caco.governance import RagCaiConfig
from caco.receipts import Sink
from caco.validator import Validator
from llamaindex_caco.answer_stream import AnswerStream, OnClaim
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import AnyResponse, aanswer_text, answer_text, query_text, source_nodes
from llamaindex_caco.governance import Governor, UserRole
from llamaindex_caco.policy import FailurePolicy, FallbackMessage, OnFail, verdict_metadata

__all__ = ["AnyEngine", "CacoQueryEngine", "Guard", "as_response"]

AnyEngine = BaseQueryEngine | BaseChatEngine


class Guard:
    """Checks response objects and applies the failure policy; shared by the engines.

    Args:
        governor: Makes the checker of each answer.
        on_fail: What happens to an answer that fails.
        fallback_message: See `CacoQueryEngine`.
        on_claim: See `CacoQueryEngine`.
    """

    def __init__(
        self,
        governor: Governor,
        on_fail: OnFail,
        fallback_message: FallbackMessage | None,
        on_claim: OnClaim | None = None,
    ) -> None:
        if on_claim is not None and not callable(on_claim):
            raise TypeError(f"on_claim must be a function, not {type(on_claim).__name__}")
        self.governor = governor
        self.policy = FailurePolicy(on_fail, fallback_message, governor.policy)
        self.on_claim = on_claim

    @property
    def validator(self) -> Validator:
        """The engine that checks."""
        return self.governor.checker.validator

    def guard(
        self, given: AnyResponse, query: str | None, checker: Checker | None = None
    ) -> RESPONSE_TYPE:
        """Return the response with its verdict; a stream is checked while it is read.

        Args:
            given: The response.
            query: The question.
            checker: What was begun with the question. None: it begins here.
        """
        checker = self.governor.begin(query) if checker is None else checker
        response = as_response(given)
        if isinstance(response, StreamingResponse):
            return self._streaming(response, query, checker)
        if isinstance(response, AsyncStreamingResponse):
            return self._async_streaming(response, query, checker)
        nodes = source_nodes(response)
        checker.read(nodes, query)
        documents = checker.documents(nodes)
        result = checker.check(answer_text(response), documents, query)
        return self.policy.settle(response, result, checker.receipt(result))

    async def aguard(
        self, given: AnyResponse, query: str | None, checker: Checker | None = None
    ) -> RESPONSE_TYPE:
        """`guard`, with the event loop left free."""
        checker = self.governor.begin(query) if checker is None else checker
        response = as_response(given)
        if isinstance(response, StreamingResponse):
            return self._streaming(response, query, checker)
        if isinstance(response, AsyncStreamingResponse):
            return self._async_streaming(response, query, checker)
        # Of many questions that became ready in one turn of the loop, each goes on in the next:
        # the turns stay short.
        await asyncio.sleep(0)
        nodes = source_nodes(response)
        await checker.aread(nodes, query)
        documents = checker.documents(nodes)
        result = await checker.acheck(await aanswer_text(response), documents, query)
        return self.policy.settle(response, result, await checker.areceipt(result))

    def _stream(self, response: AnyResponse, query: str | None, checker: Checker) -> AnswerStream:
        nodes = source_nodes(response)
        return AnswerStream(checker, self.policy, nodes, query, self.on_claim)

    def _streaming(
        self, response: StreamingResponse, query: str | None, checker: Checker
    ) -> StreamingResponse:
        # A stream is read once, so nobody else can be holding on to this object's content: it is
        # changed in place, and whoever watches the engine still recognises it.
        tokens = response.response_gen if response.response_txt is None else [response.response_txt]
        stream = self._stream(response, query, checker)
        response.metadata = dict(response.metadata or {})
        response.response_txt = None
        response.response_gen = self._checked(tokens, stream, response)
        return response

    def _checked(
        self, tokens: Iterable[str], stream: AnswerStream, response: StreamingResponse
    ) -> Generator[str, None, None]:
        shown = ""
        for token in tokens:
            if piece := stream.add(token or ""):
                shown += piece
                yield piece
            if stream.is_due and (piece := stream.judge()):
                shown += piece
                yield piece
        result, receipt = stream.finish()
        cast("dict[str, Any]", response.metadata).update(verdict_metadata(result, receipt))
        if piece := stream.rest(result):
            shown += piece
            yield piece
        response.response_txt = shown

    def _async_streaming(
        self, response: AsyncStreamingResponse, query: str | None, checker: Checker
    ) -> AsyncStreamingResponse:
        tokens = (
            response.response_gen if response.response_txt is None else _once(response.response_txt)
        )
        stream = self._stream(response, query, checker)
        response.metadata = dict(response.metadata or {})
        response.response_txt = None
        response.response_gen = self._achecked(tokens, stream, response)
        return response

    async def _achecked(
        self, tokens: AsyncIterable[str], stream: AnswerStream, response: AsyncStreamingResponse
    ) -> AsyncGenerator[str, None]:
        shown = ""
        async for token in tokens:
            if piece := stream.add(token or ""):
                shown += piece
                yield piece
            if stream.is_due and (piece := await asyncio.to_thread(stream.judge)):
                shown += piece
                yield piece
        result, receipt = await asyncio.to_thread(stream.finish)
        cast("dict[str, Any]", response.metadata).update(verdict_metadata(result, receipt))
        if piece := stream.rest(result):
            shown += piece
            yield piece
        response.response_txt = shown


class CacoQueryEngine(BaseQueryEngine):
    """Checks every answer of another engine against the nodes it was made from.

    The verdict, a `caco.ValidationResult`, is at ``response.metadata["caco"]``; of a stream, once
    it has been read to its end. An answer that could not be checked (none was given, there were no
    sources) never passes.

    With a gating policy, an answer that it withholds becomes the policy's message, unless
    ``on_fail`` is "raise". With ``receipts`` or ``config`` each answer is decided on by a governed
    path, under a policy by default, and its `caco.Receipt` is at
    ``response.metadata["caco_receipt"]``; it has the sites "retrieve" (ranked by a
    `CacoNodePostprocessor` in the wrapped engine, if there is one) and "generate".

    Streams: with "annotate" the tokens pass through as they come; with "raise" each sentence is
    held back until it is verified; with "replace" and "redact", and with a policy, the whole answer
    is.

    Args:
        query_engine: Any query engine (retriever, router, sub-question, citation, custom, …), or a
            chat engine, whose ``chat`` then answers the queries.
        on_fail: "annotate", "raise" (`HallucinationError`), "replace" (the fallback message in the
            answer's place) or "redact" (the failing claims taken out).
        validator: The engine; may be shared. None: one on the embedded model.
        threshold: Risk in [0, 1] above which an answer fails. None: the validator's.
        language: "english" or "portuguese". None: the validator's, else English.
        policy: Decides whether an answer is withheld. None: the validator's, if it has one.
        config: The tension to hold answers to, which replaces the policy's ``tau_star``; give the
            same one to the `CacoNodePostprocessor` that ranks. None: the policy's own.
        receipts: Called with each receipt: a `caco.ReceiptLog`, or any callable. An answer whose
            receipt it does not take is not given out.
        user_role: Who asks, as receipts say it: at most 64 letters, digits and ``_ . : / -``, or a
            function of the question (a str or None) that returns it.
        fallback_message: A text or a function of the result, for "replace", and for "redact" when
            nothing verified would be left. None: a sentence in the validator's language.
        metadata_mode: Which metadata of the source nodes count as their text.
        on_claim: Called, while a stream is read, with each claim's verdict as soon as the claim is
            complete; from the thread that does the check.
        callback_manager: LlamaIndex's; None: the wrapped engine's.

    Raises:
        ValueError: An argument outside its range, an unknown ``on_fail`` among them.
        TypeError: An argument of a wrong type.
    """

    def __init__(
        self,
        query_engine: AnyEngine,
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
        callback_manager: CallbackManager | None = None,
    ) -> None:
        if not isinstance(query_engine, (BaseQueryEngine, BaseChatEngine)):
            kind = type(query_engine).__name__
            raise TypeError(f"query_engine must be a query engine or a chat engine, not {kind}")
        self._query_engine = query_engine
        governor = Governor.build(
            validator, threshold, language, metadata_mode, policy, config, user_role, receipts
        )
        self._guard = Guard(governor, on_fail, fallback_message, on_claim)
        inherited = getattr(query_engine, "callback_manager", None)
        super().__init__(callback_manager or inherited)

    @property
    def validator(self) -> Validator:
        """The engine that checks."""
        return self._guard.validator

    @property
    def query_engine(self) -> AnyEngine:
        """The engine that answers."""
        return self._query_engine

    def _get_prompt_modules(self) -> PromptMixinType:
        if isinstance(self._query_engine, BaseQueryEngine):
            return {"query_engine": self._query_engine}
        return {}

    def check_response(self, response: AnyResponse, query: str | None = None) -> RESPONSE_TYPE:
        """Check a response object that came from elsewhere, as if this engine had answered.

        Args:
            response: Any of LlamaIndex's response objects, a chat engine's among them.
            query: The question.

        Raises:
            HallucinationError: The check failed and ``on_fail`` is "raise".
            TypeError: Not a response object.
        """
        return self._guard.guard(response, query_text(query))

    async def acheck_response(
        self, response: AnyResponse, query: str | None = None
    ) -> RESPONSE_TYPE:
        """`check_response`, with the event loop left free."""
        return await self._guard.aguard(response, query_text(query))

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the wrapped engine's nodes for the query."""
        return self._inner().retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """`retrieve`, asynchronous where the wrapped engine is."""
        inner = self._inner()
        if hasattr(inner, "aretrieve"):
            return cast("list[NodeWithScore]", await inner.aretrieve(query_bundle))
        return await asyncio.to_thread(inner.retrieve, query_bundle)

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """Let the wrapped engine answer from the nodes, and check the answer."""
        response = self._inner().synthesize(query_bundle, nodes, additional_source_nodes)
        return self._guard.guard(response, query_text(query_bundle))

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Sequence[NodeWithScore] | None = None,
    ) -> RESPONSE_TYPE:
        """`synthesize`, with the event loop left free."""
        response = await self._inner().asynthesize(query_bundle, nodes, additional_source_nodes)
        return await self._guard.aguard(response, query_text(query_bundle))

    def _inner(self) -> BaseQueryEngine:
        if isinstance(self._query_engine, BaseQueryEngine):
            return self._query_engine
        kind = type(self._query_engine).__name__
        raise NotImplementedError(f"a {kind} does not retrieve apart from answering: use query")

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        response: AnyResponse
        query = query_text(query_bundle)
        checker = self._guard.governor.begin(query)
        with checker.in_force():
            if isinstance(self._query_engine, BaseChatEngine):
                response = self._query_engine.chat(query_bundle.query_str)
            else:
                response = self._query_engine.query(query_bundle)
        return self._guard.guard(response, query, checker)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        response: AnyResponse
        query = query_text(query_bundle)
        checker = self._guard.governor.begin(query)
        with checker.in_force():
            if isinstance(self._query_engine, BaseChatEngine):
                response = await self._query_engine.achat(query_bundle.query_str)
            else:
                response = await self._query_engine.aquery(query_bundle)
        return await self._guard.aguard(response, query, checker)


def as_response(
    given: AnyResponse,
) -> Response | PydanticResponse | StreamingResponse | AsyncStreamingResponse:
    """Return a chat engine's response, or a plain text, as a query engine's.

    Raises:
        TypeError: Something else.
    """
    if isinstance(given, (Response, PydanticResponse, StreamingResponse, AsyncStreamingResponse)):
        return given
    if isinstance(given, str):
        return Response(given)
    if isinstance(given, AgentChatResponse):
        return Response(given.response, source_nodes(given), given.metadata)
    if isinstance(given, StreamingAgentChatResponse):
        if given.achat_stream is not None:
            return AsyncStreamingResponse(given.async_response_gen(), source_nodes(given))
        return StreamingResponse(given.response_gen, source_nodes(given))
    raise TypeError(f"not a response object: {type(given).__name__}")


async def _once(text: str) -> AsyncGenerator[str, None]:
    yield text
