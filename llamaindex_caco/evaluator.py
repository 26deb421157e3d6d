"""An evaluator of faithfulness without an LLM, for LlamaIndex's evaluation tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Optional

from llama_index.core.bridge.pydantic import (
    Field,
    field_serializer,
    field_validator,
)
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import MetadataMode

from caco.gate import explained, rejected
from caco.models import Document, Status, ValidationResult
from caco.validator import Validator
from llamaindex_caco.checking import Checker
from llamaindex_caco.convert import (
    AnyResponse,
    Readable,
    aanswer_text,
    answer_text,
    query_text,
    said,
    source_nodes,
)

__all__ = ["CacoEvaluationResult", "CacoEvaluator"]

_logger = logging.getLogger(__name__)


class CacoEvaluationResult(EvaluationResult):
    """LlamaIndex's evaluation result with the whole check in ``validation``.

    ``passing`` and ``score`` are always set, ``feedback`` is never empty. ``score`` is in [0, 1],
    1 for a faithful answer.
    """

    validation: Optional[ValidationResult] = Field(  # noqa: UP045 - pydantic reads it on 3.10 too
        default=None, description="The whole check; None when it could not be made"
    )

    @field_validator("validation", mode="before")
    @classmethod
    def _rebuilt(cls, value: object) -> object:
        return ValidationResult.from_dict(value) if isinstance(value, dict) else value

    @field_serializer("validation")
    def _plain(self, value: ValidationResult | None) -> dict[str, Any] | None:
        return None if value is None else value.to_dict()


class CacoEvaluator(BaseEvaluator):
    """Judges whether an answer is backed by its contexts, claim by claim, without an LLM.

    An evaluation that cannot be made (no answer, nothing to check against, an engine that fails) is
    an ``invalid_result`` that does not pass, never an exception: inside ``BatchEvalRunner`` one
    would be retried for seconds and then lose the whole batch.

    Args:
        validator: The engine; may be shared. None: one on the embedded model.
        threshold: Risk in [0, 1] above which an answer does not pass. None: the validator's.
        language: "english" or "portuguese" (aliases en, pt, pt-br). None: the validator's, else
            English.
        metadata_mode: Which metadata of the source nodes count as their text. The default is what
            LlamaIndex shows the model, so that an answer may quote a node's metadata.

    Raises:
        ValueError: An argument outside its range, or a language that is not the validator's.
        TypeError: ``validator`` is not a `caco.Validator`.
    """

    def __init__(
        self,
        validator: Validator | None = None,
        *,
        threshold: float | None = None,
        language: str | None = None,
        metadata_mode: MetadataMode = MetadataMode.LLM,
    ) -> None:
        self._checker = Checker.build(validator, threshold, language, metadata_mode)

    @property
    def validator(self) -> Validator:
        """The engine."""
        return self._checker.validator

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """There are none."""

    def evaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[Readable] | None = None,
        **kwargs: Any,  # noqa: ANN401 - the signature of the base class
    ) -> CacoEvaluationResult:
        """Evaluate one answer, in this thread; no event loop is needed or touched.

        Args:
            query: The question; helps to read very short answers.
            response: The answer.
            contexts: The texts, or nodes, it must be backed by.
            kwargs: What other evaluators take (a reference, say); not used.
        """
        del kwargs
        documents: tuple[Document, ...] = ()
        try:
            documents = self._documents(response, contexts)
            result = self._checker.check(said(response), documents, query_text(query))
        except Exception as error:  # noqa: BLE001 - a user's part may raise anything; it is logged
            return _failed(query, response, documents, error)
        return _evaluation(query, result, documents)

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[Readable] | None = None,
        sleep_time_in_seconds: int = 0,
        **kwargs: Any,  # noqa: ANN401 - the signature of the base class
    ) -> CacoEvaluationResult:
        """`evaluate` in the engine's threads; the event loop stays free.

        Args:
            query: See `evaluate`.
            response: See `evaluate`.
            contexts: See `evaluate`.
            sleep_time_in_seconds: Wait so long first (other evaluators space out their calls so).
            kwargs: Not used.
        """
        del kwargs
        if sleep_time_in_seconds:
            await asyncio.sleep(sleep_time_in_seconds)
        documents: tuple[Document, ...] = ()
        try:
            documents = self._documents(response, contexts)
            result = await self._checker.acheck(said(response), documents, query_text(query))
        except Exception as error:  # noqa: BLE001 - a user's part may raise anything; it is logged
            return _failed(query, response, documents, error)
        return _evaluation(query, result, documents)

    def evaluate_response(
        self,
        query: str | None = None,
        response: AnyResponse | None = None,
        **kwargs: Any,  # noqa: ANN401 - the signature of the base class
    ) -> CacoEvaluationResult:
        """Evaluate a response object against its source nodes.

        Args:
            query: See `evaluate`.
            response: Any of LlamaIndex's response objects; a stream is read to its end. Use
                `aevaluate_response` for an asynchronous stream inside a running event loop.
            kwargs: Not used.
        """
        if response is None:
            return self.evaluate(query, None, None, **kwargs)
        try:
            text = answer_text(response)
        except Exception as error:  # noqa: BLE001 - a stream may raise anything; it is logged
            return _failed(query, None, (), error)
        return self.evaluate(query, text, source_nodes(response), **kwargs)

    async def aevaluate_response(
        self,
        query: str | None = None,
        response: AnyResponse | None = None,
        **kwargs: Any,  # noqa: ANN401 - the signature of the base class
    ) -> CacoEvaluationResult:
        """`evaluate_response`, with the event loop left free."""
        if response is None:
            return await self.aevaluate(query, None, None, **kwargs)
        try:
            text = await aanswer_text(response)
        except Exception as error:  # noqa: BLE001 - a stream may raise anything; it is logged
            return _failed(query, None, (), error)
        return await self.aevaluate(query, text, source_nodes(response), **kwargs)

    def _documents(
        self, response: object, contexts: Sequence[Readable] | None
    ) -> tuple[Document, ...]:
        if response is not None and not isinstance(response, str):
            raise TypeError(
                f"response must be a str, not {type(response).__name__}; response objects go to "
                "evaluate_response"
            )
        return self._checker.documents(contexts)


def _evaluation(
    query: str | None, result: ValidationResult, documents: tuple[Document, ...]
) -> CacoEvaluationResult:
    reason = _why_invalid(result)
    return CacoEvaluationResult(
        query=query,
        contexts=[document.text for document in documents],
        response=result.response,
        passing=reason is None and not rejected(result),
        score=_faithfulness(result) if reason is None else 0.0,
        feedback=explained(result),
        invalid_result=reason is not None,
        invalid_reason=reason,
        validation=result,
    )


def _faithfulness(result: ValidationResult) -> float:
    """1 - risk; 0 where something else than the risk makes the answer fail (a truncated check)."""
    fails_otherwise = result.is_hallucination and result.score <= result.threshold
    return 0.0 if fails_otherwise else 1.0 - result.score


def _why_invalid(result: ValidationResult) -> str | None:
    """Why the result is no judgement of the answer; None when it is one."""
    if not result.response.strip():
        return "There is no answer to check."
    unjudged = result.status is Status.ABSTAINED and result.coverage.claims_total > 0
    if unjudged or result.status in (Status.NO_CONTEXT, Status.ERROR):
        return result.summary
    return None


def _failed(
    query: str | None, response: object, documents: tuple[Document, ...], error: Exception
) -> CacoEvaluationResult:
    """An evaluation that raised: invalid, logged, and no pass."""
    reason = f"The check could not be made: {type(error).__name__}: {error}"
    _logger.error(reason)
    return CacoEvaluationResult(
        query=query,
        contexts=[document.text for document in documents],
        response=response if isinstance(response, str) else "",
        passing=False,
        score=0.0,
        feedback=reason,
        invalid_result=True,
        invalid_reason=reason,
    )
