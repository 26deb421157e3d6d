"""What becomes of an answer that failed its check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

from llama_index.core.base.response.schema import PydanticResponse, Response

from caco.errors import HallucinationError
from caco.gate import GatingPolicy, rejected, withheld
from caco.models import ValidationResult
from caco.receipts import Receipt

__all__ = [
    "METADATA_KEY",
    "RECEIPT_KEY",
    "FailurePolicy",
    "FallbackMessage",
    "OnFail",
    "verdict_metadata",
]

OnFail = Literal["annotate", "raise", "replace", "redact"]
FallbackMessage = str | Callable[[ValidationResult], str]

METADATA_KEY = "caco"
"""Where a response's metadata hold its verdict."""
RECEIPT_KEY = "caco_receipt"
"""Where they hold its receipt."""

_FALLBACK: Mapping[str, str] = MappingProxyType(
    {
        "english": "I could not find an answer that the sources support.",
        "portuguese": "Não encontrei uma resposta com apoio nas fontes.",
    }
)


def verdict_metadata(result: ValidationResult, receipt: Receipt | None) -> dict[str, Any]:
    """Return what a verdict, and its receipt if there is one, adds to a response's metadata."""
    return (
        {METADATA_KEY: result} if receipt is None else {METADATA_KEY: result, RECEIPT_KEY: receipt}
    )


@dataclass(frozen=True)
class FailurePolicy:
    """How to answer when the check failed.

    In the place of an answer that the gating policy withholds stands the policy's message, unless
    ``on_fail`` is "raise".

    Attributes:
        on_fail: "annotate" leaves the answer as it is, "raise" raises `HallucinationError`,
            "replace" puts the fallback message in its place, "redact" takes the failing claims out
            (the fallback message, where nothing verified would be left).
        fallback_message: A text, or a function of the result. None: a sentence in the result's
            language.
        gate: The gating policy in force.

    Raises:
        ValueError: An unknown ``on_fail``.
        TypeError: ``fallback_message`` is neither a str nor callable.
    """

    on_fail: OnFail = "annotate"
    fallback_message: FallbackMessage | None = None
    gate: GatingPolicy | None = None

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
        if self._leaves(result):
            return result.response
        if self.on_fail == "raise":
            raise HallucinationError(result)
        if withheld(result):
            return self._fallback(result)
        # Where no claim is to blame the answer is rejected as a whole.
        kept = result.redacted() if self.on_fail == "redact" and result.failing else ""
        return kept if kept.strip() else self._fallback(result)

    def settle(
        self,
        response: Response | PydanticResponse,
        result: ValidationResult,
        receipt: Receipt | None = None,
    ) -> Response | PydanticResponse:
        """Return a copy of the response that carries the verdict and says what may be shown.

        It carries the receipt too, if there is one.

        An object of a pydantic class cannot say the fallback message: it becomes a ``Response``.

        Raises:
            HallucinationError: See `text`.
        """
        metadata = {**(response.metadata or {}), **verdict_metadata(result, receipt)}
        text = self.text(result)
        if self._leaves(result):
            return replace(response, metadata=metadata)
        if isinstance(response, PydanticResponse):
            shown = text if self.on_fail == "replace" else self._fallback(result)
            return Response(shown, response.source_nodes, metadata)
        return replace(response, response=text, metadata=metadata)

    def _leaves(self, result: ValidationResult) -> bool:
        """Whether the answer stays as it is."""
        return not rejected(result) or (self.on_fail == "annotate" and not withheld(result))

    def _fallback(self, result: ValidationResult) -> str:
        if withheld(result):
            return (self.gate or GatingPolicy()).message_for(result.language)
        message = self.fallback_message
        if message is None:
            return _FALLBACK[result.language]
        text = message if isinstance(message, str) else message(result)
        if not isinstance(text, str):
            raise TypeError(f"fallback_message must return a str, not {type(text).__name__}")
        return text
