"""What a guard does with one answer: find it, verify it, act on the verdict.

`AnswerChecker` holds the settings and these steps; `CacoGuard` and `HallucinationRetry` put them
into the Runnable protocol.
"""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableSerializable
from pydantic import ConfigDict, Field, field_validator, model_validator
from typing_extensions import Self

from caco.classifier.nli import NLIClassifier
from caco.errors import HallucinationError, MissingContextError
from caco.extractor.llm import LLMExtractor
from caco.gate import GatingPolicy, rejected, withheld
from caco.models import Document, ValidationResult
from caco.text import resolve_language
from caco.validator import OnMissingContext, Validator
from langchain_caco.convert import (
    CONTEXT_KEYS,
    Key,
    answer_text,
    context_of,
    question_of,
    to_caco_documents,
    with_answer,
    with_result,
)
from langchain_caco.gating import policy_of

__all__ = ["AnswerChecker", "Check", "OnFail", "Streaming"]

logger = logging.getLogger(__name__)

OnFail = Literal["annotate", "raise", "replace", "redact"]
Streaming = Literal["buffer", "passthrough"]

_VALIDATOR_METHODS = ("validate", "validate_batch", "avalidate", "avalidate_batch")
_FALLBACKS: Mapping[str, str] = MappingProxyType(
    {
        "english": "I could not find an answer that the documents support.",
        "portuguese": "Não encontrei uma resposta que os documentos sustentem.",
    }
)


@dataclass(frozen=True)
class Check:
    """An answer and what it is to be checked against."""

    text: str
    documents: tuple[Document, ...]
    prompt: str | None

    @property
    def item(self) -> dict[str, Any]:
        """The engine's arguments."""
        return {"response": self.text, "context": self.documents, "prompt": self.prompt}


@dataclass(frozen=True)
class _ChatModelCall:
    """A LangChain model as the function of a prompt that `LLMExtractor` takes; picklable."""

    model: Any

    def __call__(self, prompt: str) -> str:
        # LangGraph would stream this model's tokens to the user along with the answer's.
        answer = self.model.invoke(prompt, {"tags": ["nostream"]})
        return str(answer.text) if isinstance(answer, BaseMessage) else str(answer)


@cache
def _classifier(language: str) -> NLIClassifier:
    """Return one classifier for all guards, so that they share its model and its scores."""
    return NLIClassifier(language=language)


def _log_one_by_one(error: Exception) -> None:
    logger.warning(
        "a batch could not be verified together (%s: %s); its answers are verified one by one",
        type(error).__name__,
        error,
    )


def _keys(value: object) -> Collection[object]:
    return value.keys() if isinstance(value, Mapping) else ()


class AnswerChecker(RunnableSerializable[Any, Any]):
    """The settings of a guard, and its steps; see `CacoGuard` for what they mean."""

    threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    language: str = "english"
    on_fail: OnFail = "annotate"
    answer_key: Key = None
    context_key: Key = None
    result_key: str = "validation"
    fallback_message: str | Callable[[ValidationResult], str] | None = None
    on_missing_context: OnMissingContext = "flag"
    streaming: Streaming = "buffer"
    policy: Any = None
    extractor_llm: Any = Field(default=None, repr=False)
    # Public, though excluded: a private attribute is lost by ``configurable_fields``, and any
    # other field makes ``dumps`` write something that ``loads`` cannot read.
    validator: Any = Field(default=None, exclude=True, repr=False)

    # A misspelt setting would otherwise be a guard that does not guard.
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Whether ``dumps`` writes the settings: yes, all but ``validator``."""
        return True

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """What ``dumps`` writes differently: the policy, as plain data."""
        return {} if self.policy is None else {"policy": self.policy.to_dict()}

    @field_validator("language")
    @classmethod
    def _is_language(cls, language: str) -> str:
        return resolve_language(language)

    @field_validator("policy", mode="before")
    @classmethod
    def _is_policy(cls, policy: Any) -> GatingPolicy | None:
        return policy_of(policy)

    @field_validator("validator")
    @classmethod
    def _is_validator(cls, validator: Any) -> Any:
        missing = [
            name
            for name in _VALIDATOR_METHODS
            if validator is not None and not callable(getattr(validator, name, None))
        ]
        if missing:
            raise ValueError(
                f"validator must be a caco.Validator, not a {type(validator).__name__}; "
                f"it lacks {', '.join(missing)}"
            )
        return validator

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.validator is not None:
            self._adopt(self.validator)
        withholds = self.on_fail in ("replace", "redact")
        if withholds and self.streaming == "passthrough":
            raise ValueError(
                f"on_fail={self.on_fail!r} needs streaming='buffer': "
                "what has been passed through cannot be taken back"
            )
        if self.policy is not None and self.on_fail != "raise":
            withholds = True
        if withholds and callable(self.answer_key):
            raise ValueError(
                f"{'policy' if self.policy else f'on_fail={self.on_fail!r}'} needs a str as "
                "answer_key: a function does not say where the answer stands"
            )
        return self

    def _adopt(self, validator: Validator) -> None:
        """Take from a given validator what was not set."""
        if self.extractor_llm is not None:
            raise ValueError("give the validator an extractor, or leave it out: not both")
        for name in ("on_missing_context", "language"):
            if name not in self.model_fields_set:
                self._take(name, getattr(validator, name))
        if self.language != validator.language:
            raise ValueError(
                f"language is {self.language!r}, but the validator's is {validator.language!r}"
            )
        own = getattr(validator, "policy", None)
        if self.policy is None:
            self._take("policy", own)
        elif own is None and not hasattr(validator, "policy"):
            raise ValueError(f"a {type(validator).__name__} takes no policy")
        elif own is not None and own != self.policy:
            raise ValueError("the validator has another policy: give one of the two")

    def _take(self, name: str, value: Any) -> None:
        # Past pydantic: a field that counts as set would be held against another validator.
        object.__setattr__(self, name, value)

    def check_of(
        self, value: object, *elsewhere: Callable[[], Sequence[Any] | None], given: object = None
    ) -> Check | None:
        """Read an answer and its documents.

        Args:
            value: What came from upstream.
            elsewhere: Where to look, in turn, for documents that ``value`` does not hold; each
                returns None where there are none.
            given: The chain's input, where it is known: it may hold the question and, under
                ``context_key``, the documents.

        Returns:
            None when there is nothing to check.

        Raises:
            ValueError: There is no answer.
            TypeError: The value, its answer or its context is of a wrong kind.
            MissingContextError: There is no document, and ``on_missing_context`` is "raise".
        """
        text = answer_text(value, self.answer_key)
        if text is None:
            return None
        key, holder = self.context_key, value
        if isinstance(key, str) and key not in _keys(value) and key in _keys(given):
            holder = given
        documents = context_of(holder, key)
        for look in elsewhere:
            if documents is None:
                found = look()
                documents = None if found is None else to_caco_documents(found)
        if self.on_missing_context == "raise" and not any(d.text.strip() for d in documents or ()):
            raise MissingContextError(
                "there is no document to check the answer against: none under "
                f"{', '.join(CONTEXT_KEYS) if self.context_key is None else self.context_key}, and "
                "no retriever was seen (CacoGuard.around, or a caco callback handler, sees them)"
            )
        prompt = question_of(value) if isinstance(value, Mapping) else None
        return Check(text, documents or (), prompt or question_of(given))

    def verify(self, checks: Sequence[Check]) -> list[ValidationResult | Exception]:
        """Verify answers, all their pairs scored together.

        Returns:
            One result for each check, or the exception that it raised.
        """
        validator = self.engine()
        if len(checks) > 1:
            try:
                results = validator.validate_batch([check.item for check in checks])
                return [self._decided(result) for result in results]
            except Exception as error:  # noqa: BLE001 (raised again below by the row it is from)
                _log_one_by_one(error)
        found: list[ValidationResult | Exception] = []
        for check in checks:
            try:
                found.append(self._decided(validator.validate(**check.item)))
            except Exception as error:  # noqa: BLE001 (returned: it is this row's outcome)
                found.append(error)
        return found

    async def averify(self, checks: Sequence[Check]) -> list[ValidationResult | Exception]:
        """`verify` in the engine's pool of threads; the event loop stays free."""
        validator = self.engine()
        if len(checks) > 1:
            try:
                results = await validator.avalidate_batch([check.item for check in checks])
                return [self._decided(result) for result in results]
            except Exception as error:  # noqa: BLE001 (raised again below by the row it is from)
                _log_one_by_one(error)
        found: list[ValidationResult | Exception] = []
        for check in checks:
            try:
                found.append(self._decided(await validator.avalidate(**check.item)))
            except Exception as error:  # noqa: BLE001 (returned: it is this row's outcome)
                found.append(error)
        return found

    def outcome_of(self, value: Any, result: ValidationResult) -> Any:
        """Return what leaves the guard: ``value`` with its verdict, as ``on_fail`` says.

        An answer that the gating policy withholds gives way to the policy's message.

        Raises:
            HallucinationError: The answer was rejected, and ``on_fail`` is "raise".
            TypeError: ``fallback_message`` returned something else than a str.
        """
        if not rejected(result) or (self.on_fail == "annotate" and not withheld(result)):
            return with_result(value, result, self.result_key)
        if self.on_fail == "raise":
            raise HallucinationError(result)
        changed = with_answer(value, self.answer_key, self._substitute(result))
        return with_result(changed, result, self.result_key)

    def _substitute(self, result: ValidationResult) -> str:
        """Return what is said in place of a rejected answer."""
        if withheld(result):
            policy: GatingPolicy = self._policy or GatingPolicy()
            return policy.message_for(result.language)
        text = result.redacted().strip() if self.on_fail == "redact" else ""
        if text == result.response.strip():
            text = ""  # Rejected as a whole: no single claim is to blame.
        return text or self._fallback(result)

    def _fallback(self, result: ValidationResult) -> str:
        message = self.fallback_message
        if callable(message):
            message = message(result)
            if not isinstance(message, str):
                raise TypeError(f"fallback_message must return a str, not {type(message).__name__}")
        return _FALLBACKS[result.language] if message is None else message

    @property
    def _policy(self) -> GatingPolicy | None:
        """The policy in force; a validator put in by ``model_copy`` may bring one."""
        policy: GatingPolicy | None = self.policy or getattr(self.validator, "policy", None)
        return policy

    def _decided(self, result: ValidationResult) -> ValidationResult:
        if self.threshold is None:
            return result
        result = result.with_threshold(self.threshold)
        if result.gate is None or self._policy is None:
            return result
        return replace(result, gate=self._policy.decide_again(result, result.gate))

    def engine(self) -> Validator:
        """Return the validator to use; building one is cheap, its model is shared."""
        if self.validator is None:
            extractor = (
                None
                if self.extractor_llm is None
                else LLMExtractor(_ChatModelCall(self.extractor_llm), language=self.language)
            )
            return Validator(
                extractor,
                _classifier(self.language),
                language=self.language,
                on_missing_context=self.on_missing_context,
                policy=self.policy,
            )
        given: Validator = self.validator
        wanted = {"on_missing_context": self.on_missing_context, "policy": self._policy}
        changed = {k: v for k, v in wanted.items() if getattr(given, k, None) != v}
        if not changed:
            return given
        engine = copy.copy(given)
        for name, value in changed.items():
            setattr(engine, name, value)
        return engine
