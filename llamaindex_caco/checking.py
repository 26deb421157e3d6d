"""How this package uses the engine: response text and nodes in, a verdict out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from llama_index.core.schema import MetadataMode, NodeWithScore

from caco.gate import GatingPolicy
from caco.governance import GENERATE, GovernedPath
from caco.models import Coverage, Document, Status, ValidationResult, unit_interval
from caco.receipts import Receipt
from caco.streaming import StreamingValidator
from caco.summary import summarise
from caco.text import resolve_language
from caco.validator import Validator
from llamaindex_caco.convert import Readable, documents_from

__all__ = ["Checker"]

_NEEDED = ("validate", "validate_batch", "avalidate", "classifier", "language", "threshold")


@dataclass(frozen=True)
class Checker:
    """A validator, the threshold to decide by, and the way nodes are read.

    Attributes:
        validator: The engine.
        threshold: Risk in [0, 1] to decide by; None: the validator's.
        metadata_mode: Which metadata belong to a node's text.
        path: The path of the answer, which then decides on it. None: it has no receipt.
    """

    validator: Validator
    threshold: float | None = None
    metadata_mode: MetadataMode = MetadataMode.LLM
    path: GovernedPath | None = None

    @classmethod
    def build(
        cls,
        validator: Validator | None,
        threshold: float | None = None,
        language: str | None = None,
        metadata_mode: MetadataMode = MetadataMode.LLM,
    ) -> Checker:
        """Return a checker; without a validator, one with the default engine.

        Raises:
            ValueError: The threshold is outside [0, 1], the metadata mode is unknown, or the
                language is unsupported or not the given validator's.
            TypeError: ``validator`` is not one.
        """
        modes = [mode.value for mode in MetadataMode]
        if metadata_mode not in modes:
            raise ValueError(f"metadata_mode must be one of {modes}, not {metadata_mode!r}")
        if threshold is not None:
            threshold = unit_interval("threshold", threshold)
        engine = Validator(language=language or "english") if validator is None else validator
        missing = [name for name in _NEEDED if not hasattr(engine, name)]
        if missing:
            raise TypeError(
                f"validator must be a caco.Validator, not a {type(validator).__name__}; "
                f"it lacks {', '.join(missing)}"
            )
        if language is not None and resolve_language(language) != engine.language:
            raise ValueError(
                f"language is {language!r}, but the validator given reads {engine.language!r}"
            )
        return cls(engine, threshold, MetadataMode(metadata_mode))

    @property
    def language(self) -> str:
        """The validator's language, "english" or "portuguese"."""
        return self.validator.language

    def documents(self, sources: Readable | Iterable[Readable] | None) -> tuple[Document, ...]:
        """The sources as the engine reads them."""
        return documents_from(sources, self.metadata_mode)

    @property
    def policy(self) -> GatingPolicy | None:
        """The policy that decides whether an answer is withheld."""
        return self.path.policy if self.path else getattr(self.validator, "policy", None)

    def in_force(self) -> AbstractContextManager[Any]:
        """Make the answer's path, if it has one, that of what is called inside."""
        return nullcontext() if self.path is None else self.path.active()

    def read(self, nodes: Sequence[NodeWithScore], query: str | None) -> None:
        """Tell the answer's path, if it has one, what it is written from.

        What was ranked on the way there is known to it already. The nodes' own words count:
        metadata that differ are no contradiction.
        """
        if self.path is not None:
            self.path.read_from(documents_from(nodes, MetadataMode.NONE), query)

    async def aread(self, nodes: Sequence[NodeWithScore], query: str | None) -> None:
        """`read`, with the event loop left free."""
        if self.path is not None:
            await asyncio.to_thread(self.read, nodes, query)

    def check(
        self, answer: str, documents: tuple[Document, ...], query: str | None
    ) -> ValidationResult:
        """Check one answer; one that says nothing has the status ``ERROR``."""
        if not answer.strip():
            return self._governed(self._unanswered(answer, documents), documents)
        result = self.validator.validate(answer, documents, query)
        return self._governed(self.decided(result), documents)

    async def acheck(
        self, answer: str, documents: tuple[Document, ...], query: str | None
    ) -> ValidationResult:
        """`check`, with the event loop left free."""
        if answer.strip():
            result = self.decided(await self.validator.avalidate(answer, documents, query))
        else:
            result = self._unanswered(answer, documents)
        if self.path is None:
            return result
        return await asyncio.to_thread(self._governed, result, documents)

    def receipt(self, result: ValidationResult) -> Receipt | None:
        """End the answer's path, if it has one, with the verdict on what is given out."""
        return None if self.path is None else self.path.receipt(result)

    async def areceipt(self, result: ValidationResult) -> Receipt | None:
        """`receipt`, with the event loop left free."""
        return None if self.path is None else await self.path.areceipt(result)

    def streaming(self, documents: tuple[Document, ...], query: str | None) -> StreamingValidator:
        """Return a validator for one growing answer."""
        return StreamingValidator(self.validator, documents, query)

    def decided(self, result: ValidationResult) -> ValidationResult:
        """The result under this checker's threshold."""
        if self.threshold is None:
            return result
        result = result.with_threshold(self.threshold)
        if result.gate is None or self.policy is None:
            return result
        return replace(result, gate=self.policy.decide_again(result, result.gate))

    def _governed(
        self, result: ValidationResult, documents: tuple[Document, ...]
    ) -> ValidationResult:
        """Let the answer's path, if it has one, decide."""
        return result if self.path is None else self.path.checked(GENERATE, result, documents)

    def _unanswered(self, answer: str, documents: tuple[Document, ...]) -> ValidationResult:
        result = ValidationResult(
            score=1.0,
            is_hallucination=True,
            claims=(),
            summary=summarise(Status.ERROR, (), 1.0, self.language),
            status=Status.ERROR,
            coverage=Coverage(documents=len(documents)),
            threshold=self.validator.threshold if self.threshold is None else self.threshold,
            language=self.language,
            response=answer,
        )
        if self.policy is None:
            return result
        tension = self.validator.tension(result, documents)
        return replace(result, gate=self.policy.decide(result, tension))
