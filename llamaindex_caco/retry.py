"""A query engine that answers again, with feedback, until its answer holds."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field, replace
from typing import cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from caco.models import Attempt, Status, ValidationResult
from caco.validator import Validator
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import (
    RetriedQuery,
    aanswer_text,
    answer_text,
    query_text,
    source_nodes,
)
from llamaindex_caco.policy import (
    FailurePolicy,
    FallbackMessage,
    OnFail,
    explained,
    rejected,
)
from llamaindex_caco.query_engine import as_response

__all__ = ["CacoRetryQueryEngine"]

_logger = logging.getLogger(__name__)

_FEEDBACK_PROMPT = {
    "english": (
        "{query_str}\n\n"
        "An earlier answer to this question was checked against the sources and failed.\n"
        "Earlier answer: {response}\n"
        "{feedback}\n"
        "Answer the question again."
    ),
    "portuguese": (
        "{query_str}\n\n"
        "Uma resposta anterior a esta pergunta foi conferida com as fontes e reprovada.\n"
        "Resposta anterior: {response}\n"
        "{feedback}\n"
        "Responda de novo à pergunta."
    ),
}

_MORE_SOURCES = "increase_retrieval_weight"
"""The action of a gating policy that asks for more documents."""


@dataclass(frozen=True)
class _Checked:
    """One attempt: the response, without a stream in it, and its verdict."""

    response: Response | PydanticResponse
    streamed: type[StreamingResponse] | type[AsyncStreamingResponse] | None
    result: ValidationResult
    feedback: str


@dataclass
class _Run:
    """The attempts at one question so far, and what to do next."""

    question: QueryBundle
    max_retries: int
    prompt: BasePromptTemplate
    checked: list[_Checked] = field(default_factory=list)
    failure: Attempt | None = None

    @property
    def query(self) -> QueryBundle:
        """The question for the next attempt, with the last one's feedback."""
        if not self.checked:
            return self.question
        last = self.checked[-1]
        text = self.prompt.format(
            query_str=self.question.query_str,
            response=last.result.response,
            feedback=last.feedback,
        )
        # Retrieval must not be led astray by the earlier answer.
        return RetriedQuery(
            text,
            image_path=self.question.image_path,
            custom_embedding_strs=self.question.embedding_strs,
            embedding=self.question.embedding,
            question=query_text(self.question),
        )

    @property
    def wants_more_sources(self) -> bool:
        """Whether the gate asked for more documents."""
        gate = self.checked[-1].result.gate
        return gate is not None and _MORE_SOURCES in gate.actions

    @property
    def is_over(self) -> bool:
        """Whether the last answer holds, or another attempt could not change anything."""
        last = self.checked[-1].result
        if not rejected(last) or len(self.checked) > self.max_retries:
            return True
        return last.status is Status.NO_CONTEXT and not self.wants_more_sources

    def failed(self, error: Exception) -> None:
        """Remember that an attempt after the first raised; without a first one, raise it."""
        if not self.checked:
            raise error
        _logger.warning(
            "attempt %d raised %s: %s; the best earlier answer is kept",
            len(self.checked) + 1,
            type(error).__name__,
            error,
        )
        self.failure = Attempt("", 1.0, f"{type(error).__name__}: {error}")

    def best(self) -> _Checked:
        """The attempt with the least risk, the earliest of equals, with the whole history."""
        best = min(self.checked, key=lambda item: _badness(item.result))
        history = [Attempt(c.result.response, c.result.score, c.feedback) for c in self.checked]
        if self.failure is not None:
            history.append(self.failure)
        return replace(best, result=replace(best.result, attempts=tuple(history)))


class CacoRetryQueryEngine(BaseQueryEngine):
    """Answers, checks, and answers again with the failing claims and their evidence as feedback.

    Documents are retrieved once (again, with twice the ``similarity_top_k``, when a gating policy
    asks for more); each attempt only synthesises. Engines that cannot do the two apart are queried
    as a whole, with the question alone as embedding text. Every attempt is verified; the one with
    the least risk (of equals the fewest faults) is returned, with its verdict at
    ``response.metadata["caco"]`` and the history of all of them in the verdict's ``attempts``. No
    LLM is used but the wrapped engine's own.

    Args:
        query_engine: The engine that answers.
        max_retries: Attempts after the first, at least 0.
        on_fail: What becomes of the best answer if it fails too: see `CacoQueryEngine`.
        validator: The engine; may be shared. None: one on the embedded model.
        threshold: Risk in [0, 1] above which an answer fails. None: the validator's.
        language: "english" or "portuguese". None: the validator's, else English.
        fallback_message: See `CacoQueryEngine`.
        feedback_prompt: A template with ``query_str``, ``response`` (the failed answer) and
            ``feedback``. None: one in the validator's language.
        metadata_mode: Which metadata of the source nodes count as their text.
        callback_manager: LlamaIndex's; None: the wrapped engine's.

    Raises:
        ValueError: An argument outside its range, an unknown ``on_fail`` among them.
        TypeError: An argument of a wrong type.
    """

    def __init__(
        self,
        query_engine: BaseQueryEngine,
        max_retries: int = 2,
        *,
        on_fail: OnFail = "annotate",
        validator: Validator | None = None,
        threshold: float | None = None,
        language: str | None = None,
        fallback_message: FallbackMessage | None = None,
        feedback_prompt: BasePromptTemplate | None = None,
        metadata_mode: MetadataMode = MetadataMode.LLM,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        if not isinstance(query_engine, BaseQueryEngine):
            raise TypeError(f"query_engine must be one, not {type(query_engine).__name__}")
        if not isinstance(max_retries, int) or isinstance(max_retries, bool) or max_retries < 0:
            raise ValueError(f"max_retries must be an int of at least 0, not {max_retries!r}")
        self._query_engine = query_engine
        self._max_retries = max_retries
        self._checker = Checker.build(validator, threshold, language, metadata_mode)
        self._policy = FailurePolicy(on_fail, fallback_message)
        self._feedback_prompt = feedback_prompt or PromptTemplate(
            _FEEDBACK_PROMPT[self._checker.language]
        )
        super().__init__(callback_manager or query_engine.callback_manager)

    @property
    def validator(self) -> Validator:
        """The engine that checks."""
        return self._checker.validator

    def _get_prompts(self) -> PromptDictType:
        return {"feedback_prompt": self._feedback_prompt}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self._feedback_prompt = prompts.get("feedback_prompt", self._feedback_prompt)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"query_engine": self._query_engine}

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the wrapped engine's nodes for the query."""
        return self._query_engine.retrieve(query_bundle)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = _Run(query_bundle, self._max_retries, self._feedback_prompt)
        engine, nodes = self._query_engine, _retrieved(self._query_engine, query_bundle)
        while True:
            try:
                response = _answered(engine, run.query, nodes)
                text = answer_text(response)
            except Exception as error:  # noqa: BLE001 - any LLM's error; raised or logged there
                run.failed(error)
                break
            documents = self._checker.documents(source_nodes(response))
            result = self._checker.check(text, documents, query_text(query_bundle))
            run.checked.append(_checked(response, text, result))
            if run.is_over:
                break
            if run.wants_more_sources and (wider := _widened(engine)) is not None:
                engine, nodes = wider, _retrieved(wider, query_bundle)
        return self._settled(run)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = _Run(query_bundle, self._max_retries, self._feedback_prompt)
        engine, nodes = self._query_engine, await _aretrieved(self._query_engine, query_bundle)
        while True:
            try:
                await asyncio.sleep(0)
                response = await _aanswered(engine, run.query, nodes)
                text = await aanswer_text(response)
            except Exception as error:  # noqa: BLE001 - any LLM's error; raised or logged there
                run.failed(error)
                break
            await asyncio.sleep(0)  # see `Guard.aguard`
            documents = self._checker.documents(source_nodes(response))
            result = await self._checker.acheck(text, documents, query_text(query_bundle))
            run.checked.append(_checked(response, text, result))
            if run.is_over:
                break
            if run.wants_more_sources and (wider := _widened(engine)) is not None:
                engine, nodes = wider, await _aretrieved(wider, query_bundle)
        return self._settled(run)

    def _settled(self, run: _Run) -> RESPONSE_TYPE:
        best = run.best()
        settled = self._policy.settle(best.response, best.result)
        if best.streamed is None:
            return settled
        return _as_stream(best.streamed, cast("Response", settled))


def _badness(result: ValidationResult) -> tuple[bool, bool, float, int]:
    """Order attempts: what passed, what was read to its end, the least risk, the fewest faults.

    The risk is often that of the worst claim, which attempts may have in common.
    """
    return rejected(result), result.coverage.truncated, result.score, len(result.failing)


def _retrieved(engine: BaseQueryEngine, query: QueryBundle) -> list[NodeWithScore] | None:
    """The engine's nodes; None when it does not retrieve apart from answering."""
    try:
        return engine.retrieve(query)
    except NotImplementedError:
        return None


async def _aretrieved(engine: BaseQueryEngine, query: QueryBundle) -> list[NodeWithScore] | None:
    try:
        if hasattr(engine, "aretrieve"):
            return cast("list[NodeWithScore]", await engine.aretrieve(query))
        return await asyncio.to_thread(engine.retrieve, query)
    except NotImplementedError:
        return None


def _answered(
    engine: BaseQueryEngine, query: QueryBundle, nodes: list[NodeWithScore] | None
) -> RESPONSE_TYPE:
    if nodes is not None:
        try:
            return engine.synthesize(query, nodes)
        except NotImplementedError:
            _logger.debug("%s retrieves but does not synthesize", type(engine).__name__)
    return engine.query(query)


async def _aanswered(
    engine: BaseQueryEngine, query: QueryBundle, nodes: list[NodeWithScore] | None
) -> RESPONSE_TYPE:
    if nodes is not None:
        try:
            return await engine.asynthesize(query, nodes)
        except NotImplementedError:
            _logger.debug("%s retrieves but does not synthesize", type(engine).__name__)
    return await engine.aquery(query)


def _widened(engine: BaseQueryEngine) -> BaseQueryEngine | None:
    """A copy of the engine that retrieves twice as many nodes; None when it has no such setting."""
    retriever = getattr(engine, "retriever", None)
    top_k = getattr(retriever, "similarity_top_k", None)
    if retriever is None or not isinstance(top_k, int) or not hasattr(engine, "with_retriever"):
        _logger.info("the gate asks for more sources, but %s cannot retrieve more", engine)
        return None
    wider = copy.copy(retriever)
    wider.similarity_top_k = 2 * top_k
    return cast("BaseQueryEngine", engine.with_retriever(wider))


def _checked(given: RESPONSE_TYPE, text: str, result: ValidationResult) -> _Checked:
    response = as_response(given)
    feedback = explained(result) if rejected(result) else ""
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        read = Response(text, response.source_nodes, response.metadata)
        return _Checked(read, type(response), result, feedback)
    return _Checked(response, None, result, feedback)


def _as_stream(
    kind: type[StreamingResponse] | type[AsyncStreamingResponse], settled: Response
) -> StreamingResponse | AsyncStreamingResponse:
    text = settled.response or ""
    if kind is AsyncStreamingResponse:
        return AsyncStreamingResponse(_alater(text), settled.source_nodes, settled.metadata)
    return StreamingResponse(_later(text), settled.source_nodes, settled.metadata)


def _later(text: str) -> Generator[str, None, None]:
    yield text


async def _alater(text: str) -> AsyncGenerator[str, None]:
    yield text
