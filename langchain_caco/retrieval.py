"""Retrieved documents that contradict each other: marked, moved down, or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, field_validator, model_validator

from caco.consistency import ConflictReport
from caco.governance import RagCaiConfig, RankedSource, Ranker, rank_retrieved
from caco.models import Document as Source
from caco.ranking import Conflicting
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
    of sentences were left unread because of ``max_pairs``. Within `CacoGovernor.govern` the
    documents' tension becomes the site "retrieve" of the receipt.

    Attributes:
        action: "annotate" leaves the documents and their order as they are. The others find those
            that have to go for the rest to agree, the most contradicted first, of equals the one
            further down: "reorder" puts them last, "drop" leaves them out. The order is kept
            otherwise, and one document at least is always left.
        config: Instead of ``action`` and ``max_pairs``, the settings of a governed path
            (`caco.RagCaiConfig`, or a mapping with its fields): its ranker, and its token budget.
        language: "english" or "portuguese".
        max_pairs: The most pairs of sentences to compare, the most similar first.
        validator: Its classifier reads the pairs. None: the embedded model.

    Raises:
        ValueError: An unknown action or language, a negative ``max_pairs``, a setting that
            ``config`` does not have, or ``action`` or ``max_pairs`` beside it.
    """

    action: Literal["annotate", "reorder", "drop"] = "annotate"
    config: RagCaiConfig | None = None
    language: str = "english"
    max_pairs: int = Field(default=64, ge=0)
    validator: Validator | None = Field(default=None, exclude=True, repr=False)

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @field_validator("language")
    @classmethod
    def _known_language(cls, language: str) -> str:
        return resolve_language(language)

    @field_validator("config", mode="before")
    @classmethod
    def _read(cls, config: Any) -> Any:  # noqa: ANN401 (the field's own check follows)
        return RagCaiConfig.from_dict(config) if isinstance(config, Mapping) else config

    @model_validator(mode="after")
    def _settled_once(self) -> CacoDocumentCompressor:
        known = type(self).model_fields
        beside = [n for n in ("action", "max_pairs") if getattr(self, n) != known[n].default]
        if self.config is not None and beside:
            raise ValueError(f"config says how to rank: leave out {beside}")
        return self

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return copies of the documents, with what contradicts them in their metadata.

        Args:
            documents: What was retrieved, best first.
            query: What was asked. Whether documents agree does not depend on it; a governed path
                remembers it.
            callbacks: Not used: nothing is run that has callbacks.

        Raises:
            ModelNotAvailableError: The model could not be loaded.
        """
        sources = [
            Source(item.page_content, name)
            for item, name in zip(documents, _names(documents), strict=True)
        ]
        ranking = rank_retrieved(
            sources,
            self.validator.classifier if self.validator is not None else None,
            config=self._settings(),
            language=self.language,
            query=query,
        )
        kept = list(ranking.kept)
        if self.config is None and self.action == "annotate":
            kept.sort(key=lambda source: source.position)
        return [_annotated(documents, source, ranking.report) for source in kept]

    def _settings(self) -> RagCaiConfig:
        """What to rank by: the configuration given, or what ``action`` stands for."""
        if self.config is not None:
            return self.config
        conflicting: Conflicting = "drop" if self.action == "drop" else "keep"
        return RagCaiConfig(ranker=Ranker(conflicting=conflicting, max_pairs=self.max_pairs))


def _annotated(
    documents: Sequence[Document], source: RankedSource, report: ConflictReport
) -> Document:
    """Return a copy of a document with its conflicts in its metadata."""
    document = documents[source.position]
    metadata = {
        **document.metadata,
        "caco_penalty": source.penalty,
        "caco_conflicts": [
            {
                "text": own.text,
                "document": other.document,
                "document_text": other.text,
                "score": score,
            }
            for own, other, score in report.seen_from(source.document.id or "")
        ],
        "caco_pairs_skipped": report.pairs_skipped,
    }
    return document.model_copy(update={"metadata": metadata})


def _names(documents: Sequence[Document]) -> list[str]:
    """A name for each document: its id; its position, where it lacks one or shares it."""
    shared = Counter(document.id for document in documents)
    names = {document.id for document in documents}
    found = []
    for position, document in enumerate(documents):
        if document.id and shared[document.id] == 1:
            found.append(document.id)
        else:
            # Another one's id may be a number too.
            found.append(str(position) if str(position) not in names else f"{position}#{position}")
    return found
