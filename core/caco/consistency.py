"""Sources that disagree: contradictions among documents, sentence by sentence."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice, takewhile

from caco.classifier import ClassifierContract, NLIClassifier
from caco.evidence import Corpus, Place, as_documents, content_words, folded
from caco.figures import compare
from caco.models import Claim, Document, Evidence, Labels
from caco.text import is_checkworthy, resolve_language

__all__ = ["ConflictReport", "SourceConflict", "find_source_conflicts", "outvoted", "penalties"]

CONFLICT = 0.5
"""P(contradiction), the mean of both directions, from which two sentences are in conflict."""
LEAST_LIKENESS = 0.25
"""Weighted share of common words from which two sentences are taken to be about the same thing."""
LEAST_LIKENESS_OF_NAMESAKES = 0.05
"""The same for sentences that name the same subject."""
LEADING_WORDS = 3
"""Among so many content words at a sentence's beginning a subject that is no name is looked for."""
LOOKED_AT = 8
"""How many candidates are looked at, at most, for each pair that may be read."""

_NAME = re.compile(r"[^\W\d_][\w'.&-]*|[\w'&-]*\d[\w'&-]*")
_ARTICLES = re.compile("an?|the|os?|as|umas?|uns|th[ei]se?|those|that|est[ea]s?", re.IGNORECASE)
_PRONOUNS = re.compile(
    # "Foi sancionada em 2018": Portuguese leaves the pronoun out.
    "its?|s?he|his|her|the[yi]r?|this|th[eo]se|el[ea]s?|seus?|suas?|isto|isso|ess[ea]s?|foi|foram",
    re.IGNORECASE,
)
_DEMONSTRATIVES = re.compile("this|th[eo]se|ess[ea]s?", re.IGNORECASE)
_IN_NAMES = re.compile("of|and|d[aeo]s?|del|di|el?|l[ae]|v[ao]n|&")


@dataclass(frozen=True)
class SourceConflict:
    """Two sentences of different documents that cannot both be true.

    Attributes:
        first: The one sentence; which of the two comes first does not depend on the order of the
            documents.
        second: The other one.
        score: P(contradiction) in [0, 1], the mean of both directions of reading.
    """

    first: Evidence
    second: Evidence
    score: float


@dataclass(frozen=True)
class ConflictReport:
    """What a search for contradictions among documents found and what it read.

    Attributes:
        conflicts: Worst first; one for each pair of sentences of different documents.
        pairs_compared: Pairs of distinct sentences that the model read in full.
        pairs_skipped: Pairs that have enough in common to be compared but were left out because of
            ``max_pairs``, or did not fit the model: no finding there is no proof of agreement.
    """

    conflicts: tuple[SourceConflict, ...]
    pairs_compared: int
    pairs_skipped: int

    def seen_from(self, document: str) -> tuple[tuple[Evidence, Evidence, float], ...]:
        """Return a document's conflicts: its own sentence, the other one, the score; worst first.

        Args:
            document: The document's id.
        """
        return tuple(
            (own, other, conflict.score)
            for conflict in self.conflicts
            for own, other in (
                (conflict.first, conflict.second),
                (conflict.second, conflict.first),
            )
            if own.document == document
        )


def find_source_conflicts(
    documents: Sequence[Document],
    classifier: ClassifierContract | None = None,
    *,
    language: str = "english",
    max_pairs: int = 64,
) -> ConflictReport:
    """Find sentences of different documents that contradict each other.

    Candidates are pairs of sentences that share content words, most alike first; each is read in
    both directions. Sentences that say the same word for word are not compared. One that begins
    with a pronoun is compared only with those that are known to speak of what it stands for. The
    order of the documents changes nothing.

    Args:
        documents: What to compare; those without an id get their position ("0", "1", …).
        classifier: Reads the pairs. None: `NLIClassifier` on the embedded model.
        language: "english" or "portuguese" (and their aliases); sets sentence splitting.
        max_pairs: The most pairs of sentences to compare, at least 0.

    Raises:
        ValueError: ``max_pairs`` is negative, the language is unsupported, or two documents have
            the same id.
        TypeError: ``max_pairs`` is not an int, or a document is not one.
        ModelNotAvailableError: The model could not be loaded.
    """
    if not isinstance(max_pairs, int) or isinstance(max_pairs, bool):
        raise TypeError(f"max_pairs must be an int, not {type(max_pairs).__name__}")
    if max_pairs < 0:
        raise ValueError(f"max_pairs must be at least 0, not {max_pairs}")
    if classifier is None:
        classifier = NLIClassifier(language=language)
    given = as_documents(list(documents))
    language = resolve_language(language)
    corpus = Corpus(given, language, window_words=1)
    sentences = _sentences(corpus, language)
    words = frozenset[str]().union(*(sentence.words for sentence in sentences))
    candidates = _candidates(sentences, {word: corpus.weight(word) for word in words})
    pairs, examined = _chosen(sentences, candidates, max_pairs, language)
    scores = _contradictions(pairs, classifier)
    unread = sum(score is None for score in scores)
    conflicts = chain.from_iterable(
        _conflicts(first, second, score)
        for (first, second), score in zip(pairs, scores, strict=True)
        if score is not None and score >= CONFLICT
    )
    return ConflictReport(
        conflicts=tuple(sorted(conflicts, key=lambda conflict: -conflict.score)),
        pairs_compared=len(pairs) - unread,
        pairs_skipped=len(candidates) - examined + unread,
    )


def penalties(report: ConflictReport, documents: Sequence[Document]) -> dict[str, float]:
    """Return how much each document is at odds with the others.

    Args:
        report: What `find_source_conflicts` found in the same documents.
        documents: The documents.

    Returns:
        Document id to the mean, over the other documents, of its worst conflict with each: 0 when
        nothing contradicts it, 1 when all others certainly do. One that two documents contradict
        so has more than either of the two.

    Raises:
        ValueError: Two documents have the same id.
    """
    names = [document.id or "" for document in as_documents(list(documents))]
    worst = _worst(report)
    others = max(1, len(names) - 1)
    return {name: min(1.0, sum(worst.get(name, {}).values()) / others) for name in names}


def outvoted(report: ConflictReport, documents: Sequence[Document]) -> tuple[str, ...]:
    """Return the ids of the documents to leave out so that no conflict is left among the rest.

    The document most at odds with those still there goes first; of equals, the one that stands
    later in ``documents``. At least one document always stays.

    Args:
        report: What `find_source_conflicts` found in the same documents.
        documents: The documents, best first (a retriever's order).

    Raises:
        ValueError: Two documents have the same id.
    """
    names = [document.id or "" for document in as_documents(list(documents))]
    worst = _worst(report)
    left_out: list[str] = []
    while True:
        remaining = [name for name in names if name not in left_out]
        at_odds = {
            name: sum(worst.get(name, {}).get(other, 0.0) for other in remaining)
            for name in remaining
        }
        most = max(at_odds.values(), default=0.0)
        if most == 0.0:
            return tuple(left_out)
        left_out.append(next(name for name in reversed(remaining) if at_odds[name] == most))


def _worst(report: ConflictReport) -> Mapping[str, Mapping[str, float]]:
    """Document id -> other document's id -> score of the worst conflict between the two."""
    worst: dict[str, dict[str, float]] = defaultdict(dict)
    for conflict in report.conflicts:
        one, other = conflict.first.document, conflict.second.document
        score = max(conflict.score, worst[one].get(other, 0.0))
        worst[one][other] = worst[other][one] = score
    return worst


@dataclass(frozen=True)
class _Sentence:
    """A sentence, and the first place of it in each document that holds it.

    Attributes:
        reading: What the model reads.
        subject: The content words of the name it begins with, or, where it begins with a pronoun,
            of the name that a sentence before it begins with; empty without a name.
        lead: The first content words, in their order; after a pronoun those of the sentence that it
            refers to.
        refers: Whether it begins with a pronoun.
        places: Where it stands, one place a document.
        words: Its content words and the subject's, numbers apart: those are what may differ.
    """

    reading: str
    subject: frozenset[str]
    lead: tuple[str, ...]
    refers: bool
    places: tuple[Place, ...]
    words: frozenset[str]

    @property
    def documents(self) -> frozenset[str]:
        return frozenset(place.document.id or "" for place in self.places)


def _sentences(corpus: Corpus, language: str) -> list[_Sentence]:
    """The distinct sentences, in an order that does not depend on the order of the documents."""
    places: dict[tuple[str, tuple[str, ...], tuple[str, ...], bool], dict[str, Place]] = (
        defaultdict(dict)
    )
    subject: frozenset[str] = frozenset()
    lead: tuple[str, ...] = ()
    document: Document | None = None
    for place in corpus.places:
        if place.document is not document:
            document, subject, lead = place.document, frozenset(), ()
        if place.segment.kind == "heading" or not is_checkworthy(place.text, language):
            continue
        reading = place.segment.reading
        subject = _subject(reading, subject)
        lead, refers = _lead(reading, lead)
        same = places[folded(reading), tuple(sorted(subject)), lead, refers]
        same.setdefault(place.document.id or "", place)
    return [
        _Sentence(
            reading=min(place.segment.reading for place in places[key].values()),
            subject=frozenset(key[1]),
            lead=key[2],
            refers=key[3],
            places=tuple(sorted(places[key].values(), key=_stable_key)),
            words=frozenset(
                word for word in content_words(key[0]).union(key[1]) if not word[0].isdigit()
            ),
        )
        for key in sorted(places)
    ]


def _stable_key(place: Place) -> tuple[str, str]:
    return place.document.text, place.document.id or ""


def _subject(reading: str, before: frozenset[str]) -> frozenset[str]:
    """The content words of the name that a sentence begins with; ``before`` after a pronoun."""
    words = _NAME.findall(reading)
    refers = bool(words) and _PRONOUNS.fullmatch(words[0]) is not None
    if refers and not _DEMONSTRATIVES.fullmatch(words[0]):
        return before
    if refers or (words and _ARTICLES.fullmatch(words[0])):
        words = words[1:]
    name = takewhile(lambda word: not word[0].islower() or _IN_NAMES.fullmatch(word), words)
    return content_words(" ".join(name)) or (before if refers else frozenset())


def _lead(reading: str, before: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """The words that a sentence's subject is among, and whether it begins with a pronoun.

    A pronoun's subject is ``before``'s, but "this" may stand before a noun: "This bridge …".
    """
    words = _NAME.findall(reading)
    refers = bool(words) and _PRONOUNS.fullmatch(words[0]) is not None
    if refers and not (
        len(words) > 1 and _DEMONSTRATIVES.fullmatch(words[0]) and content_words(words[1])
    ):
        return before, True
    if refers:
        words = words[1:]
    lead = chain.from_iterable(sorted(content_words(word)) for word in words)
    return tuple(islice(lead, LEADING_WORDS)), refers


def _candidates(
    sentences: Sequence[_Sentence], weights: Mapping[str, float]
) -> dict[tuple[int, int], float]:
    """Pairs of sentences of different documents about the same thing -> likeness in (0, 1]."""
    totals = [sum(weights[word] for word in sorted(s.words)) for s in sentences]
    postings: dict[str, list[int]] = defaultdict(list)
    candidates: dict[tuple[int, int], float] = {}
    for second, sentence in enumerate(sentences):
        shared: dict[int, float] = defaultdict(float)
        for word in sorted(sentence.words):
            for first in postings[word]:
                shared[first] += weights[word]
            postings[word].append(second)
        for first, weight in shared.items():
            alike = 2 * weight / (totals[first] + totals[second])
            if _comparable(sentences[first], sentence, alike):
                candidates[first, second] = alike
    return candidates


def _comparable(first: _Sentence, second: _Sentence, alike: float) -> bool:
    namesakes = bool(first.subject & second.subject)
    return (
        alike >= (LEAST_LIKENESS_OF_NAMESAKES if namesakes else LEAST_LIKENESS)
        and first.reading != second.reading
        and _apart(first, second)
        and (namesakes or not _other_subject(first, second))
        and (_one_subject(first, second) or not (first.refers or second.refers))
    )


def _chosen(
    sentences: Sequence[_Sentence],
    candidates: Mapping[tuple[int, int], float],
    max_pairs: int,
    language: str,
) -> tuple[list[tuple[_Sentence, _Sentence]], int]:
    """The pairs to read, most alike first, and how many candidates were looked at for them.

    Comparing figures costs too much to do it for every candidate.
    """
    likeliest = nsmallest(
        LOOKED_AT * max_pairs, candidates, key=lambda pair: (-candidates[pair], pair)
    )
    pairs: list[tuple[_Sentence, _Sentence]] = []
    for examined, (first, second) in enumerate(likeliest):
        if len(pairs) == max_pairs:
            return pairs, examined
        if not _other_period(sentences[first], sentences[second], language):
            pairs.append((sentences[first], sentences[second]))
    return pairs, len(likeliest)


def _other_subject(first: _Sentence, second: _Sentence) -> bool:
    """Whether each speaks of a name that the other does not know."""
    return bool(first.subject and second.subject) and not (
        first.subject & second.words or second.subject & first.words
    )


def _one_subject(first: _Sentence, second: _Sentence) -> bool:
    """Whether both are known to speak of the same: what a pronoun stands for must be sure."""
    if first.subject and second.subject:
        return first.subject <= second.subject or second.subject <= first.subject
    named = first.subject or second.subject
    if named and named <= first.words and named <= second.words:
        return True
    return any(word in second.lead for word in first.lead[:1]) or any(
        word in first.lead for word in second.lead[:1]
    )


def _other_period(first: _Sentence, second: _Sentence, language: str) -> bool:
    """Whether a date differs and another figure with it: the figures of another year, say."""
    differing = {
        mismatch.claim.kind in ("date", "year")
        for mismatch in compare(first.reading, second.reading, language).mismatches
    }
    return len(differing) == 2


def _apart(first: _Sentence, second: _Sentence) -> bool:
    """Whether the two stand in different documents somewhere."""
    return len(first.documents | second.documents) > 1


def _contradictions(
    pairs: Sequence[tuple[_Sentence, _Sentence]], classifier: ClassifierContract
) -> list[float | None]:
    """P(contradiction) of each pair, the mean of both directions; None where it was cut off."""
    directed = [(a, b) for first, second in pairs for a, b in ((first, second), (second, first))]
    scores: list[float | None]
    if isinstance(classifier, NLIClassifier):
        found = classifier.verify(
            [
                ([Claim(claim.reading)], [Document(premise.reading, "0")])
                for claim, premise in directed
            ]
        )
        scores = [
            None if item.truncated else item.results[0].probabilities[Labels.VALUE_CONTRADICTION]
            for item in found
        ]
    else:
        scores = [
            classifier.classify(claim.reading, premise.reading).probabilities[
                Labels.VALUE_CONTRADICTION
            ]
            for claim, premise in directed
        ]
    return [
        None if one is None or other is None else (one + other) / 2
        for one, other in zip(scores[::2], scores[1::2], strict=True)
    ]


def _conflicts(first: _Sentence, second: _Sentence, score: float) -> list[SourceConflict]:
    """The conflict, between each two documents that hold the two sentences."""
    return [
        SourceConflict(_quoted(one, score), _quoted(other, score), score)
        for one in first.places
        for other in second.places
        if one.document.id != other.document.id
    ]


def _quoted(place: Place, score: float) -> Evidence:
    return Evidence(
        document=place.document.id or "",
        text=place.text,
        start=place.segment.start,
        end=place.segment.end,
        score=score,
    )
