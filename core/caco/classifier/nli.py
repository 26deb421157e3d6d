"""Natural-language inference over premise windows: claims and documents in, verdicts out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from caco.classifier.base import ClassifierContract
from caco.classifier.calibration import Calibration
from caco.classifier.claim_search import ClaimSearch
from caco.classifier.claim_verdict import ON_CONFLICT, OnConflict
from caco.classifier.onnx import OnnxScorer
from caco.classifier.score_cache import CachedScorer
from caco.classifier.scoring import PairScorer
from caco.evidence import Corpus, as_documents
from caco.models import Claim, ClaimResult, Document
from caco.text import normalise, resolve_language

__all__ = ["NLIClassifier", "Verification"]

SIDE_BY_SIDE = 256
"""Claims whose pairs are scored together: enough for any model's batches, and few enough for what
was read of their premises to be at hand when the scores come."""


@dataclass(frozen=True)
class Verification:
    """The verdicts on one answer's claims.

    Attributes:
        results: One for each claim, in order.
        windows: Premise windows the documents were cut into.
        pairs: Distinct (premise, claim) pairs that went through the model.
        truncated: True when a premise or a claim did not fit the model and was cut.
    """

    results: tuple[ClaimResult, ...]
    windows: int
    pairs: int
    truncated: bool


class NLIClassifier(ClassifierContract):
    """Verifies claims against premise windows with a pair-scoring model.

    A claim is supported by the premise that entails it best; it is contradicted by a premise that
    speaks of the same thing and denies it, or states another figure. Every window of every document
    is read before a claim is called unsupported; a window that clearly supports it may end the
    search.

    Args:
        scorer: The model. None: the embedded one.
        language: "english" or "portuguese" (and their aliases); sets how documents are split.
        window_words: Words in a premise window. None: what the model wants.
        threads: Threads of the embedded model within one run. None: the model's default.
        on_conflict: What decides when one document supports a claim and another contradicts it:
            the side with the better score, or always one side. Both are reported in any case.

    Raises:
        ValueError: An unsupported language, ``on_conflict`` or window size.
    """

    def __init__(
        self,
        scorer: PairScorer | None = None,
        *,
        language: str = "english",
        window_words: int | None = None,
        threads: int | None = None,
        on_conflict: OnConflict = "best_score",
    ) -> None:
        if on_conflict not in ON_CONFLICT:
            raise ValueError(f"on_conflict must be one of {ON_CONFLICT}, not {on_conflict!r}")
        self.language = resolve_language(language)
        self.scorer = CachedScorer(scorer if scorer is not None else OnnxScorer(threads=threads))
        if window_words is not None and window_words < 1:
            raise ValueError(f"window_words must be at least 1, not {window_words}")
        self._window_words = window_words
        self.on_conflict = on_conflict

    @property
    def name(self) -> str:
        """The model's name."""
        return self.scorer.name

    @property
    def window_words(self) -> int:
        """Words in a premise window."""
        return self._window_words if self._window_words is not None else self.scorer.window_words

    def classify(self, claim: str, context: str) -> ClaimResult:
        """Classify one claim against one text (document id "0")."""
        return self.classify_batch([claim], context)[0]

    def classify_batch(self, claims: Sequence[str], context: str) -> list[ClaimResult]:
        """Classify several claims against one text, their pairs scored together."""
        ready = [Claim(text=claim, hypothesis=normalise(claim).text) for claim in claims]
        return list(self.verify([(ready, as_documents(context))])[0].results)

    def verify(
        self, requests: Sequence[tuple[Sequence[Claim], Sequence[Document]]]
    ) -> list[Verification]:
        """Verify the claims of several answers, each against its own documents.

        Args:
            requests: (claims, documents) for each answer; documents have distinct ids.

        Returns:
            One `Verification` for each request, in order.
        """
        corpora = [Corpus(docs, self.language, self.window_words) for _, docs in requests]
        searches = self.search([claims for claims, _ in requests], corpora)
        return [
            Verification(
                results=tuple(search.result(self.on_conflict) for search in group),
                windows=len(corpus.windows),
                pairs=len(set[tuple[str, str]]().union(*(search.pairs for search in group))),
                truncated=any(search.truncated for search in group),
            )
            for group, corpus in zip(searches, corpora, strict=True)
        ]

    def search(
        self, claims: Sequence[Sequence[Claim]], corpora: Sequence[Corpus]
    ) -> list[list[ClaimSearch]]:
        """Read the premises of several answers' claims, each in its own corpus.

        Args:
            claims: Each answer's claims.
            corpora: Each answer's documents.

        Returns:
            One finished search for each claim.
        """
        calibration = Calibration(*self.scorer.calibration)
        searches = [
            [ClaimSearch(claim, corpus, self.language, calibration) for claim in group]
            for group, corpus in zip(claims, corpora, strict=True)
        ]
        everyone = [search for group in searches for search in group]
        for start in range(0, len(everyone), SIDE_BY_SIDE):
            while self._read(everyone[start : start + SIDE_BY_SIDE]):
                pass
        return searches

    def _read(self, searches: Sequence[ClaimSearch]) -> bool:
        """Score every search's next premises in one call to the model; False when none is left."""
        wanted = [(search, premise) for search in searches for premise in search.next_round()]
        if not wanted:
            return False
        scores = self.scorer.score([search.pair(premise) for search, premise in wanted])
        for (search, premise), row, cut in zip(
            wanted, scores.probabilities.tolist(), scores.truncated.tolist(), strict=True
        ):
            search.add(premise, row, cut=cut)
        return True
