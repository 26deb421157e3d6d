"""Retrieved documents in rank order: what others contradict goes down or out, within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from caco.classifier import ClassifierContract
from caco.classifier.scoring import encodable
from caco.consistency import ConflictReport, find_source_conflicts, outvoted, penalties
from caco.evidence import as_documents
from caco.models import Document
from caco.settings import Settings, number_in_unit_interval

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = [
    "Conflicting",
    "CountTokens",
    "RankedSource",
    "Ranker",
    "Ranking",
    "checked_budget",
    "count_tokens",
    "rank_sources",
]

Conflicting = Literal["keep", "drop"]
CountTokens = Callable[[str], int]
"""Says how many tokens a text has."""


@dataclass(frozen=True)
class Ranker(Settings):
    """How retrieved documents are ranked.

    With ``w`` for ``penalty_weight``, a document's rank score is ``(1 - w) * relevance + w *
    (1 - penalty)``. Its relevance falls evenly from 1, for the retriever's first choice, to 1/n for
    its last of n; its penalty is what `caco.consistency.penalties` gives it if the others outvote
    it (`caco.consistency.outvoted`), else 0: of two that contradict each other one has none.

    Attributes:
        penalty_weight: What being contradicted weighs against the retriever's order, in [0, 1]. 0:
            the retriever's order stays; 1: whatever is outvoted comes last.
        conflicting: "keep" leaves outvoted documents in, where their score puts them; "drop" leaves
            them out.
        min_score: Documents with a lower rank score are left out, in [0, 1].
        max_pairs: The most pairs of sentences to compare, the most similar first.

    Raises:
        ValueError: A value out of its range.
        TypeError: A value of a wrong type.
    """

    kind: ClassVar[str] = "ranker"

    penalty_weight: float = 1.0
    conflicting: Conflicting = "keep"
    min_score: float = 0.0
    max_pairs: int = 64

    def __post_init__(self) -> None:
        for name in ("penalty_weight", "min_score"):
            object.__setattr__(self, name, number_in_unit_interval(name, getattr(self, name)))
        if self.conflicting not in get_args(Conflicting):
            raise ValueError(
                f"conflicting must be one of {get_args(Conflicting)}, not {self.conflicting!r}"
            )
        if not isinstance(self.max_pairs, int) or isinstance(self.max_pairs, bool):
            raise TypeError(f"max_pairs must be an int, not {type(self.max_pairs).__name__}")
        if self.max_pairs < 0:
            raise ValueError(f"max_pairs must be at least 0, not {self.max_pairs}")


@dataclass(frozen=True)
class RankedSource:
    """A document in its rank.

    Attributes:
        document: The document, with an id.
        position: Where it stood among the documents that were given.
        score: Its rank score in [0, 1]; see `Ranker`.
        penalty: How much the others contradict it, in [0, 1]; see `caco.consistency.penalties`.
        is_outvoted: Whether it has to go for the rest to agree.
    """

    document: Document
    position: int
    score: float
    penalty: float
    is_outvoted: bool


@dataclass(frozen=True)
class Ranking:
    """Documents in rank order.

    Attributes:
        kept: Those to go on with, best first; at least one, unless none was given.
        left_out: The others, in rank order.
        report: The contradictions found among all of them.
    """

    kept: tuple[RankedSource, ...]
    left_out: tuple[RankedSource, ...]
    report: ConflictReport

    @property
    def given(self) -> tuple[Document, ...]:
        """All documents, in the order in which they were given."""
        everything = sorted((*self.kept, *self.left_out), key=lambda source: source.position)
        return tuple(source.document for source in everything)

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents to go on with, best first."""
        return tuple(source.document for source in self.kept)


def rank_sources(
    documents: Sequence[Document],
    classifier: ClassifierContract | None = None,
    *,
    ranker: Ranker | None = None,
    language: str = "english",
    scores: Sequence[float | None] | None = None,
    token_budget: int | None = None,
    count: CountTokens | None = None,
) -> Ranking:
    """Rank retrieved documents, with a penalty for those that the others contradict.

    Documents of equal rank score keep the order in which they were given. The best one always
    stays, whatever ``min_score`` and the budget say.

    Args:
        documents: What was retrieved, best first; those without an id get their position.
        classifier: Reads the pairs of sentences. None: `NLIClassifier` on the embedded model.
        ranker: How to rank. None: the defaults.
        language: "english" or "portuguese", or an alias.
        scores: The retriever's own scores, one for each document, higher is better: they, and not
            the order given, say what is relevant. None, or a document without (None or NaN): the
            order does, and it comes after those that have one.
        token_budget: The most tokens of text to keep: whole documents are kept in rank order up to
            the first that no longer fits. None: no limit.
        count: Counts a text's tokens. None: `count_tokens`.

    Raises:
        ValueError: Two documents have the same id, an unsupported language, a budget below 1, or
            scores that are not one for each document.
        TypeError: An argument of a wrong type.
        ModelNotAvailableError: The model could not be loaded.
    """
    ranker = Ranker() if ranker is None else ranker
    token_budget = checked_budget(token_budget)
    given = as_documents(list(documents))
    if scores is not None and len(scores) != len(given):
        raise ValueError(f"there are {len(scores)} scores for {len(given)} documents")
    report = find_source_conflicts(given, classifier, language=language, max_pairs=ranker.max_pairs)
    sources = sorted(_scored(given, report, ranker, scores), key=lambda source: -source.score)
    wanted = [
        source
        for source in sources
        if source.score >= ranker.min_score
        and not (source.is_outvoted and ranker.conflicting == "drop")
    ]
    wanted = wanted or sources[:1]
    if token_budget is not None:
        wanted = list(_within(wanted, token_budget, count or count_tokens))
    kept = {source.position for source in wanted}
    left_out = tuple(source for source in sources if source.position not in kept)
    return Ranking(tuple(wanted), left_out, report)


def count_tokens(text: str) -> int:
    """Count a text's tokens with the embedded model's tokenizer (English and Portuguese).

    Other models cut words elsewhere: where the budget must be exact, count with theirs.

    Raises:
        ModelNotAvailableError: The tokenizer could not be loaded.
    """
    return len(_tokenizer().encode(encodable(text), add_special_tokens=False).ids)


def checked_budget(budget: object) -> int | None:
    """Return a token budget if it is one.

    Raises:
        TypeError: It is neither an int nor None.
        ValueError: It is below 1.
    """
    if budget is None:
        return None
    if not isinstance(budget, int) or isinstance(budget, bool):
        raise TypeError(f"token_budget must be an int or None, not {type(budget).__name__}")
    if budget < 1:
        raise ValueError(f"token_budget must be at least 1, not {budget}")
    return budget


@cache
def _tokenizer() -> Tokenizer:
    from caco.classifier.onnx import packaged_tokenizer

    return packaged_tokenizer()


def _scored(
    documents: Sequence[Document],
    report: ConflictReport,
    ranker: Ranker,
    scores: Sequence[float | None] | None,
) -> Iterator[RankedSource]:
    """The documents as they were given, each with its rank score."""
    order = _by_relevance(scores if scores is not None else [None] * len(documents))
    place = {position: rank for rank, position in enumerate(order)}
    losers = set(outvoted(report, [documents[position] for position in order]))
    at_odds = penalties(report, documents)
    for position, document in enumerate(documents):
        name = document.id or ""
        relevance = 1.0 - place[position] / len(documents)
        agreement = 1.0 - at_odds[name] if name in losers else 1.0
        yield RankedSource(
            document=document,
            position=position,
            score=(1.0 - ranker.penalty_weight) * relevance + ranker.penalty_weight * agreement,
            penalty=at_odds[name],
            is_outvoted=name in losers,
        )


def _by_relevance(scores: Sequence[float | None]) -> list[int]:
    """Positions, best first; those without a score come last, and equals keep their order."""
    known = [-math.inf if score is None or math.isnan(score) else score for score in scores]
    return sorted(range(len(known)), key=lambda position: -known[position])


def _within(
    sources: Sequence[RankedSource], budget: int, count: CountTokens
) -> Iterator[RankedSource]:
    used = 0
    for place, source in enumerate(sources):
        used += count(source.document.text)
        if used > budget and place > 0:
            return
        yield source
