"""A governed RAG chain: tension at each step, contradictory sources last, a receipt at the end."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
)
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable
from langchain_core.runnables.config import patch_config
from pydantic import Field
from typing_extensions import override

from caco.errors import HallucinationError
from caco.gate import GatingPolicy
from caco.governance import GENERATE, RETRIEVE, GovernedPath, RagCaiConfig, current_path
from caco.models import ValidationResult
from caco.receipts import Receipt, Sink
from caco.validator import Validator
from langchain_caco.actions import ActionHandler
from langchain_caco.attempts import OnExhausted
from langchain_caco.checking import AnswerChecker, Check
from langchain_caco.convert import (
    METADATA_KEY,
    GuardedText,
)
from langchain_caco.governed_steps import GovernedRetriever, GovernedStep, OnePath
from langchain_caco.guard import CacoGuard
from langchain_caco.retrieval import CacoDocumentCompressor
from langchain_caco.retry import HallucinationRetry

__all__ = ["CacoGovernor", "GovernedChain", "GovernedText"]

UserRole = str | Callable[[Any], str]
"""Who asks, by role, or a function of the chain's input that says it."""


class GovernedText(GuardedText):
    """A str that carries the verdict on it, and the receipt.

    Attributes:
        receipt: The receipt that was written for it.
    """

    receipt: Receipt

    @classmethod
    def of(cls, text: GuardedText, receipt: Receipt) -> GovernedText:
        """Attach a receipt to a checked text."""
        governed = cls(str(text), text.validation)
        governed.receipt = receipt
        return governed


class PathGuard(CacoGuard):
    """A guard that checks answers on the governed path in force."""

    @override
    def verify(self, checks: Sequence[Check]) -> list[ValidationResult | Exception]:
        """Verify answers; the path decides on them, and notes where their tension was measured."""
        results = super(PathGuard, self._undecided).verify(checks)
        return [self._noted(*pair) for pair in zip(checks, results, strict=True)]

    @override
    async def averify(self, checks: Sequence[Check]) -> list[ValidationResult | Exception]:
        """`verify`; the event loop stays free."""
        results = await super(PathGuard, self._undecided).averify(checks)
        pairs = zip(checks, results, strict=True)
        return [await asyncio.to_thread(self._noted, *pair) for pair in pairs]

    @property
    def _undecided(self) -> PathGuard:
        """The guard without its policy, so that the tension is computed once."""
        return self.model_copy(update={"policy": None})

    def _noted(
        self, check: Check, result: ValidationResult | Exception
    ) -> ValidationResult | Exception:
        path = current_path()
        if path is None or isinstance(result, Exception):
            return result
        known = path.provenance(RETRIEVE)
        # Where the two have no name in common, the answer was written from what had been ranked,
        # put into one text, say.
        if known is None or not known.isdisjoint(source.id for source in check.documents):
            path.read_from(check.documents, check.prompt)
        return path.checked(GENERATE, result, check.documents)


class GovernedChain(OnePath):
    """What `CacoGovernor.govern` returns; see there.

    Attributes:
        bound: The chain, and what checks its answers.
        validator: The engine.
        config: The tension to hold to.
        user_role: Who asks, by role, or a function of the input that says it.
        receipts: Where receipts go.
        receipt_key: Where a dict gets its receipt.
    """

    bound: HallucinationRetry
    validator: Any = Field(repr=False)
    config: RagCaiConfig | None = None
    user_role: UserRole = "user"
    receipts: Sink | None = Field(default=None, repr=False)
    receipt_key: str = "receipt"

    @override
    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        path = self._path(value)
        try:
            with path.active():
                output = self.bound.invoke(
                    value, patch_config(config, callbacks=run_manager.get_child()), **kwargs
                )
        except HallucinationError as error:
            if _is_of(path, error):
                path.receipt(error.result)
            raise
        result = self._verdict(output)
        return output if result is None else self._with(output, path.receipt(result))

    @override
    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        path = self._path(value)
        try:
            with path.active():
                output = await self.bound.ainvoke(
                    value, patch_config(config, callbacks=run_manager.get_child()), **kwargs
                )
        except HallucinationError as error:
            if _is_of(path, error):
                await path.areceipt(error.result)
            raise
        result = self._verdict(output)
        return output if result is None else self._with(output, await path.areceipt(result))

    def _path(self, value: Any) -> GovernedPath:
        role = self.user_role(value) if callable(self.user_role) else self.user_role
        return GovernedPath(self.validator, self.config, user_role=role, sink=self.receipts)

    def _verdict(self, output: Any) -> ValidationResult | None:
        """The verdict that the guard has put on an output; None: there was nothing to check."""
        if isinstance(output, GuardedText):
            return output.validation
        if isinstance(output, BaseMessage):
            verdict = output.response_metadata.get(METADATA_KEY)
            return None if verdict is None else ValidationResult.from_dict(verdict)
        found: ValidationResult | None = output.get(self.bound.guard.result_key)
        return found

    def _with(self, output: Any, receipt: Receipt) -> Any:
        if isinstance(output, GuardedText):
            return GovernedText.of(output, receipt)
        if isinstance(output, BaseMessage):
            verdict = {**output.response_metadata[METADATA_KEY], "receipt": receipt.to_dict()}
            metadata = {**output.response_metadata, METADATA_KEY: verdict}
            return output.model_copy(update={"response_metadata": metadata})
        return {**output, self.receipt_key: receipt}


class CacoGovernor:
    """Governs a RAG chain: its retrieval, its summaries if it makes any, and its answer.

    ```
    governor = CacoGovernor(RagCaiConfig(token_budget=2000), receipts=ReceiptLog("receipts.jsonl"))
    context = itemgetter("question") | governor.retriever(vector_store.as_retriever())
    answer = prompt | llm | StrOutputParser()
    chain = governor.govern(RunnablePassthrough.assign(context=context) | {"answer": answer})
    chain.invoke({"question": "…"})["receipt"].path_scores
    ```

    Args:
        config: Token budget, ranker, and the tension to hold to. None: the defaults.
        guard: Reads the answer and does what is to be done about it; its policy decides, at the
            configuration's ``tau_target`` if one is given. None: a `CacoGuard` as it comes.
        user_role: Who asks, by role (at most 64 letters, digits and ``_ . : / -``), or a function
            of the chain's input that says it.
        receipts: Called with each receipt: a `caco.ReceiptLog`, or any callable. An answer whose
            receipt it does not take is not given out. None: nobody.

    Raises:
        ValueError: A role that is not of its form, or a guard whose ``answer_key`` is a function: a
            withheld answer could not be replaced.
        TypeError: An argument of a wrong type.
    """

    def __init__(
        self,
        config: RagCaiConfig | None = None,
        *,
        guard: AnswerChecker | None = None,
        user_role: UserRole = "user",
        receipts: Sink | None = None,
    ) -> None:
        if guard is not None and not isinstance(guard, AnswerChecker):
            raise TypeError(f"guard must be a CacoGuard, not {type(guard).__name__}")
        given = CacoGuard() if guard is None else guard
        self._engine = given.engine()
        # What is wrong with an argument is said now, not at the first question.
        role = "user" if callable(user_role) else user_role
        path = GovernedPath(self._engine, config, user_role=role, sink=receipts)
        self.config = config
        self.guard = _path_guard(given, self._engine, path.policy)
        self.user_role = user_role
        self.receipts = receipts

    def retriever(self, retriever: Any) -> GovernedRetriever:
        """Wrap a retriever: what others contradict comes last or is left out, within the budget.

        Args:
            retriever: A retriever, or what can be made a Runnable from a query to documents.
        """
        compressor = CacoDocumentCompressor(
            config=RagCaiConfig() if self.config is None else self.config,
            language=self.guard.language,
            validator=self._engine,
        )
        return GovernedRetriever(retriever=coerce_to_runnable(retriever), compressor=compressor)

    def summary(self, step: Any) -> GovernedStep:
        """Wrap a step that summarises documents, so that its summary is checked against them.

        Args:
            step: A Runnable that gives a str or a message, or what can be made one.
        """
        return GovernedStep(bound=coerce_to_runnable(step))

    def govern(
        self,
        chain: Any,
        max_retries: int = 0,
        *,
        feedback_key: str | None = None,
        on_exhausted: OnExhausted = "best",
        k_key: str | None = None,
        on_action: Mapping[str, ActionHandler] | None = None,
        receipt_key: str = "receipt",
    ) -> GovernedChain:
        """Wrap a chain: its answer comes out checked, with a receipt for the whole path.

        The receipt has the sites "retrieve" (also where the retriever was not wrapped: the
        documents are then only compared), "summarize" for each wrapped step that ran, and
        "generate" for each attempt. It is a `caco.Receipt` under ``receipt_key`` of a dict, plain
        JSON at ``response_metadata["caco"]["receipt"]`` of an ``AIMessage``; a str becomes a
        `GovernedText`. A message that only calls tools comes out untouched, without a receipt. The
        answer is given whole, not in chunks.

        Args:
            chain: A Runnable without a guard or retries of its own, or what can be made one.
            max_retries: See `CacoGuard.around`.
            feedback_key: See `CacoGuard.around`.
            on_exhausted: See `CacoGuard.around`.
            k_key: See `CacoGuard.around`.
            on_action: See `CacoGuard.around`.
            receipt_key: Where a dict gets its receipt.

        Raises:
            ValueError: See `CacoGuard.around`.
            TypeError: See `CacoGuard.around`.
        """
        return GovernedChain(
            bound=self.guard.around(
                chain,
                max_retries,
                feedback_key=feedback_key,
                on_exhausted=on_exhausted,
                k_key=k_key,
                on_action=on_action,
            ),
            validator=self._engine,
            config=self.config,
            user_role=self.user_role,
            receipts=self.receipts,
            receipt_key=receipt_key,
        )


def _is_of(path: GovernedPath, error: HallucinationError) -> bool:
    """Whether an error is about an answer that the path decided on, not from within the chain."""
    return error.result.gate is not None and path.provenance(GENERATE) is not None


def _path_guard(guard: AnswerChecker, engine: Validator, policy: GatingPolicy) -> PathGuard:
    """A guard with the same settings for governed paths."""
    bare = copy.copy(engine)
    bare.policy = None
    settings = {name: getattr(guard, name) for name in guard.model_fields_set}
    for settled in ("extractor_llm", "on_missing_context", "language", "streaming"):
        settings.pop(settled, None)  # the engine has them, but the last: answers are given whole
    return PathGuard(**{**settings, "validator": bare, "policy": policy})
