"""What becomes of an answer that failed its check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from llama_index.core.base.response.schema import PydanticResponse, Response

from caco.errors import HallucinationError
from caco.models import ValidationResult

__all__ = [
    "METADATA_KEY",
    "FailurePolicy",
    "FallbackMessage",
    "OnFail",
    "explained",
    "rejected",
]

OnFail = Literal["annotate", "raise", "replace", "redact"]
FallbackMessage = str | Callable[[ValidationResult], str]

METADATA_KEY = "caco"
"""Where a response's metadata hold its verdict."""

_FALLBACK: Mapping[str, str] = MappingProxyType(
    {
        "english": "I could not find an answer that the sources support.",
        "portuguese": "Não encontrei uma resposta com apoio nas fontes.",
    }
)


def rejected(result: ValidationResult) -> bool:
    """Whether an answer must not pass: it failed its check, or the gating policy withholds it."""
    return result.is_hallucination or (result.gate is not None and result.gate.abstained)


def explained(result: ValidationResult) -> str:
    """Return what is wrong with an answer, or its summary; never empty."""
    if feedback := result.feedback():
        return feedback
    if result.gate is not None and result.gate.abstained:
        return f"{result.summary} ({result.gate.reason})"
    return result.summary


@dataclass(frozen=True)
class FailurePolicy:
    """How to answer when the check failed.

    Attributes:
        on_fail: "annotate" leaves the answer as it is, "raise" raises `HallucinationError`,
            "replace" puts the fallback message in its place, "redact" takes the failing claims out
            (the fallback message, where nothing verified would be left).
        fallback_message: A text, or a function of the result. None: a sentence in the result's
            language.

    Raises:
        ValueError: An unknown ``on_fail``.
        TypeError: ``fallback_message`` is neither a str nor callable.
    """

    on_fail: OnFail = "annotate"
    fallback_message: FallbackMessage | None = None

    def __post_init__(self) -> None:
        if self.on_fail not in get_args(OnFail):
            raise ValueError(f"on_fail must be one of {get_args(OnFail)}, not {self.on_fail!r}")
        message = self.fallback_message
        if message is not None and not isinstance(message, str) and not callable(message):
            kind = type(message).__name__
            raise TypeError(f"fallback_message must be a str or a function, not {kind}")

    def text(self, result: ValidationResult) -> str:
        """Return what may be shown of the answer.

        Raises:
            HallucinationError: The answer is rejected and ``on_fail`` is "raise".
            TypeError: ``fallback_message`` returned something else than a str.
        """
        if not rejected(result) or self.on_fail == "annotate":
            return result.response
        if self.on_fail == "raise":
            raise HallucinationError(result)
        # Where no claim is to blame the answer is rejected as a whole.
        kept = result.redacted() if self.on_fail == "redact" and result.failing else ""
        return kept if kept.strip() else self._fallback(result)

    def settle(
        self, response: Response | PydanticResponse, result: ValidationResult
    ) -> Response | PydanticResponse:
        """Return a copy of the response that carries the verdict and says what may be shown.

        An object of a pydantic class cannot say the fallback message: it becomes a ``Response``.

        Raises:
            HallucinationError: See `text`.
        """
        metadata: dict[str, Any] = {**(response.metadata or {}), METADATA_KEY: result}
        text = self.text(result)
        if not rejected(result) or self.on_fail == "annotate":
            return replace(response, metadata=metadata)
        if isinstance(response, PydanticResponse):
            shown = text if self.on_fail == "replace" else self._fallback(result)
            return Response(shown, response.source_nodes, metadata)
        return replace(response, response=text, metadata=metadata)

    def _fallback(self, result: ValidationResult) -> str:
        message = self.fallback_message
        if message is None:
            return _FALLBACK[result.language]
        text = message if isinstance(message, str) else message(result)
        if not isinstance(text, str):
            raise TypeError(f"fallback_message must return a str, not {type(text).__name__}")
        return text
