"""A query engine that answers again, with feedback, until its answer holds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator, Mapping
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

from caco.gate import GatingPolicy, attempt_of, rejected
from caco.governance import RagCaiConfig
from caco.models import Attempt, Status, ValidationResult
from caco.receipts import Receipt, Sink
from caco.validator import Validator
from llamaindex_caco.actions import ActionHandler, Actions, NextAttempt
from llamaindex_caco.asking import aanswered, answered, aretrieved, retrieved
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import (
    RetriedQuery,
    aanswer_text,
    answer_text,
    query_text,
    source_nodes,
)
from llamaindex_caco.governance import Governor, UserRole
from llamaindex_caco.policy import (
    FailurePolicy,
    FallbackMessage,
    OnFail,
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


@dataclass(frozen=True)
class _Checked:
    """One attempt: the response, without a stream in it, and its verdict."""

    response: Response | PydanticResponse
    streamed: type[StreamingResponse] | type[AsyncStreamingResponse] | None
    result: ValidationResult
    actions: tuple[str, ...] = ()

    @property
    def attempt(self) -> Attempt:
        return replace(attempt_of(self.result), actions=self.actions)


@dataclass
class _Run:
    """The attempts at one question so far, and what to do next."""

    question: QueryBundle
    max_retries: int
    prompt: BasePromptTemplate
    actions: Actions
    checker: Checker
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
            feedback=last.attempt.feedback,
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
    def is_over(self) -> bool:
        """Whether the last answer holds, or another attempt could not change anything."""
        last = self.checked[-1].result
        if not rejected(last) or len(self.checked) > self.max_retries:
            return True
        return last.status is Status.NO_CONTEXT and not self.actions.can_find_sources(last)

    def next_attempt(self, engine: BaseQueryEngine) -> NextAttempt:
        """Do what the gate asks for after the last answer."""
        last = self.checked[-1]
        attempt = self.actions.next_attempt(engine, last.result)
        self.checked[-1] = replace(last, actions=attempt.taken)
        return attempt

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
        history = [item.attempt for item in self.checked]
        if self.failure is not None:
            history.append(self.failure)
        return replace(best, result=replace(best.result, attempts=tuple(history)))


class CacoRetryQueryEngine(BaseQueryEngine):
    """Answers, checks, and answers again with the failing claims and their evidence as feedback.

    Documents are retrieved once; each attempt only synthesises. Engines that cannot do the two
    apart are queried as a whole, with the question alone as embedding text. Every attempt is
    verified; the one with the least risk (of equals the fewest faults) is returned, with its
    verdict at ``response.metadata["caco"]`` and the history of all of them in the verdict's
    ``attempts``. No LLM is used but the wrapped engine's own.

    With a gating policy, the actions of its decision on an answer shape the next attempt: after
    "increase_retrieval_weight" documents are retrieved again, with twice the ``similarity_top_k``;
    after "lower_temperature" the synthesizer's LLM answers at temperature 0; your own actions are
    carried out by ``on_action``. All this is done on copies: the wrapped engine, its retriever and
    its LLM stay as they are. When no attempt passes, the policy's message is returned (which asks
    for a source), unless ``on_fail`` is "raise".

    Args:
        query_engine: The engine that answers.
        max_retries: Attempts after the first, at least 0.
        on_fail: What becomes of the best answer if it fails too: see `CacoQueryEngine`.
        validator: The engine; may be shared. None: one on the embedded model.
        threshold: Risk in [0, 1] above which an answer fails. None: the validator's.
        language: "english" or "portuguese". None: the validator's, else English.
        policy: See `CacoQueryEngine`.
        on_action: From an action's name to what carries it out: a function of the next attempt (a
            `NextAttempt`: its engine, and the verdict that asks for the action) that returns the
            attempt as it is to be made, or None to leave it. It may replace what is done for the
            actions above, but not "ask_for_source".
        config: See `CacoQueryEngine`.
        receipts: See `CacoQueryEngine`; each attempt adds its site to the one receipt.
        user_role: See `CacoQueryEngine`.
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
        policy: GatingPolicy | None = None,
        on_action: Mapping[str, ActionHandler] | None = None,
        config: RagCaiConfig | None = None,
        receipts: Sink | None = None,
        user_role: UserRole = "user",
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
        self._governor = Governor.build(
            validator, threshold, language, metadata_mode, policy, config, user_role, receipts
        )
        self._policy = FailurePolicy(on_fail, fallback_message, self._governor.policy)
        self._actions = Actions(self._governor.policy, on_action)
        self._feedback_prompt = feedback_prompt or PromptTemplate(
            _FEEDBACK_PROMPT[self._governor.checker.language]
        )
        super().__init__(callback_manager or query_engine.callback_manager)

    @property
    def validator(self) -> Validator:
        """The engine that checks."""
        return self._governor.checker.validator

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
        run = self._begin(query_bundle)
        with run.checker.in_force():
            self._attempts(run)
        best = run.best()
        return self._settled(best, run.checker.receipt(best.result))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        run = self._begin(query_bundle)
        with run.checker.in_force():
            await self._aattempts(run)
        best = run.best()
        return self._settled(best, await run.checker.areceipt(best.result))

    def _begin(self, query: QueryBundle) -> _Run:
        checker = self._governor.begin(query_text(query))
        return _Run(query, self._max_retries, self._feedback_prompt, self._actions, checker)

    def _attempts(self, run: _Run) -> None:
        engine, nodes = self._query_engine, retrieved(self._query_engine, run.question)
        while True:
            try:
                response = answered(engine, run.query, nodes)
                text = answer_text(response)
            except Exception as error:  # noqa: BLE001 - any LLM's error; raised or logged there
                run.failed(error)
                return
            sources = source_nodes(response)
            run.checker.read(sources, query_text(run.question))
            documents = run.checker.documents(sources)
            result = run.checker.check(text, documents, query_text(run.question))
            run.checked.append(_checked(response, text, result))
            if run.is_over:
                return
            attempt = run.next_attempt(engine)
            engine = attempt.engine
            if attempt.retrieves:
                nodes = retrieved(engine, run.question)

    async def _aattempts(self, run: _Run) -> None:
        engine, nodes = self._query_engine, await aretrieved(self._query_engine, run.question)
        while True:
            try:
                await asyncio.sleep(0)
                response = await aanswered(engine, run.query, nodes)
                text = await aanswer_text(response)
            except Exception as error:  # noqa: BLE001 - any LLM's error; raised or logged there
                run.failed(error)
                return
            await asyncio.sleep(0)  # see `Guard.aguard`
            sources = source_nodes(response)
            await run.checker.aread(sources, query_text(run.question))
            documents = run.checker.documents(sources)
            result = await run.checker.acheck(text, documents, query_text(run.question))
            run.checked.append(_checked(response, text, result))
            if run.is_over:
                return
            attempt = await asyncio.to_thread(run.next_attempt, engine)
            engine = attempt.engine
            if attempt.retrieves:
                nodes = await aretrieved(engine, run.question)

    def _settled(self, best: _Checked, receipt: Receipt | None) -> RESPONSE_TYPE:
        settled = self._policy.settle(best.response, best.result, receipt)
        if best.streamed is None:
            return settled
        return _as_stream(best.streamed, cast("Response", settled))


def _badness(result: ValidationResult) -> tuple[bool, bool, float, int]:
    """Order attempts: what passed, what was read to its end, the least risk, the fewest faults.

    The risk is often that of the worst claim, which attempts may have in common.
    """
    return rejected(result), result.coverage.truncated, result.score, len(result.failing)


def _checked(given: RESPONSE_TYPE, text: str, result: ValidationResult) -> _Checked:
    response = as_response(given)
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        read = Response(text, response.source_nodes, response.metadata)
        return _Checked(read, type(response), result)
    return _Checked(response, None, result)


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
