"""How this package uses the engine: response text and nodes in, a verdict out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from llama_index.core.schema import MetadataMode

from caco.models import Coverage, Document, Status, ValidationResult, unit_interval
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
    """

    validator: Validator
    threshold: float | None = None
    metadata_mode: MetadataMode = MetadataMode.LLM

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

    def check(
        self, answer: str, documents: tuple[Document, ...], query: str | None
    ) -> ValidationResult:
        """Check one answer; one that says nothing has the status ``ERROR``."""
        if not answer.strip():
            return self._unanswered(answer, documents)
        return self.decided(self.validator.validate(answer, documents, query))

    async def acheck(
        self, answer: str, documents: tuple[Document, ...], query: str | None
    ) -> ValidationResult:
        """`check`, with the event loop left free."""
        if not answer.strip():
            return self._unanswered(answer, documents)
        return self.decided(await self.validator.avalidate(answer, documents, query))

    def streaming(self, documents: tuple[Document, ...], query: str | None) -> StreamingValidator:
        """Return a validator for one growing answer."""
        return StreamingValidator(self.validator, documents, query)

    def decided(self, result: ValidationResult) -> ValidationResult:
        """The result under this checker's threshold."""
        return result if self.threshold is None else result.with_threshold(self.threshold)

    def _unanswered(self, answer: str, documents: tuple[Document, ...]) -> ValidationResult:
        return ValidationResult(
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
