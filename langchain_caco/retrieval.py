"""Retrieved documents that contradict each other: marked, moved down, or left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, field_validator

from caco.consistency import ConflictReport, find_source_conflicts, outvoted, penalties
from caco.models import Document as Source
from caco.models import Evidence
from caco.text import resolve_language
from caco.validator import Validator

__all__ = ["CacoDocumentCompressor"]


class CacoDocumentCompressor(BaseDocumentCompressor):
    """Compares retrieved documents with each other, before an answer is written from them.

    ```
    ContextualCompressionRetriever(
        base_retriever=retriever, base_compressor=CacoDocumentCompressor(action="drop")
    )
    ```

    The documents that come out are copies. Each has in its metadata ``caco_penalty`` (how much the
    others contradict it, in [0, 1]) and ``caco_conflicts``, a list of dicts: ``text`` (its own
    sentence), ``document`` and ``document_text`` (whose sentence says otherwise, by id or position,
    and which), ``score`` (P(contradiction) in [0, 1]); and ``caco_pairs_skipped``, how many pairs
    of sentences were left unread because of ``max_pairs``.

    Attributes:
        action: "annotate" leaves the documents and their order as they are; "reorder" puts the
            most contradicted last, and keeps the order of equals; "drop" leaves out as many as it
            takes for the rest to agree: the most contradicted first, of equals the one further
            down. One document at least is always left.
        language: "english" or "portuguese".
        max_pairs: The most pairs of sentences to compare, the most similar first.
        validator: Its classifier reads the pairs. None: the embedded model.

    Raises:
        ValueError: An unknown action or language, or a negative ``max_pairs``.
    """

    action: Literal["annotate", "reorder", "drop"] = "annotate"
    language: str = "english"
    max_pairs: int = Field(default=64, ge=0)
    validator: Validator | None = Field(default=None, exclude=True, repr=False)

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @field_validator("language")
    @classmethod
    def _known_language(cls, language: str) -> str:
        return resolve_language(language)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return copies of the documents, with what contradicts them in their metadata.

        Args:
            documents: What was retrieved, best first.
            query: Not used: whether documents agree does not depend on the question.
            callbacks: Not used: nothing is run that has callbacks.

        Raises:
            ModelNotAvailableError: The model could not be loaded.
        """
        # Names of our own: retrieved documents may lack an id or share one.
        sources = [Source(item.page_content, str(i)) for i, item in enumerate(documents)]
        report = find_source_conflicts(
            sources,
            self.validator.classifier if self.validator is not None else None,
            language=self.language,
            max_pairs=self.max_pairs,
        )
        penalty = penalties(report, sources)
        positions = list(range(len(documents)))
        if self.action == "reorder":
            positions.sort(key=lambda position: penalty[str(position)])
        elif self.action == "drop":
            dropped = set(outvoted(report, sources))
            positions = [position for position in positions if str(position) not in dropped]
        return [_annotated(documents, position, penalty, report) for position in positions]


def _annotated(
    documents: Sequence[Document],
    position: int,
    penalty: dict[str, float],
    report: ConflictReport,
) -> Document:
    """Return a copy of a document with its conflicts in its metadata."""
    name = str(position)
    conflicts = []
    for conflict in report.conflicts:
        for own, other in (
            (conflict.first, conflict.second),
            (conflict.second, conflict.first),
        ):
            if own.document == name:
                conflicts.append(_entry(own, other, documents, conflict.score))
    document = documents[position]
    metadata = {
        **document.metadata,
        "caco_penalty": penalty[name],
        "caco_conflicts": conflicts,
        "caco_pairs_skipped": report.pairs_skipped,
    }
    return document.model_copy(update={"metadata": metadata})


def _entry(
    own: Evidence, other: Evidence, documents: Sequence[Document], score: float
) -> dict[str, Any]:
    return {
        "text": own.text,
        "document": documents[int(other.document)].id or other.document,
        "document_text": other.text,
        "score": score,
    }
