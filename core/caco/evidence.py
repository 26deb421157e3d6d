"""Documents to premises: windows with document and offsets, and a cheap ranking for a claim.

A window never loses its place: each is a run of `caco.text.Segment`, so whatever decides a claim
can be quoted by its offsets. The ranking only says where to look first; it never rejects.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from caco.figures import find_figures
from caco.models import Claim, Document
from caco.stems import STEM_LENGTH
from caco.text import Segment, normalise, segments

__all__ = [
    "ClaimWords",
    "Context",
    "Corpus",
    "Place",
    "Premise",
    "as_documents",
    "content_words",
    "folded",
    "joined_text",
    "language_of",
]

Context = str | Document | Mapping[str, object] | Sequence[object] | None
"""What `as_documents` takes."""

_SKIPPED_KINDS = frozenset({"table_header", "table_rule"})
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_ANY_WORD = re.compile(r"\w+")
_CANDIDATES = 64
_CLOSEST = 3
_NEAR = 0.75
_MOST_CLOSEST = 12
_STATING_KINDS = frozenset({"sentence", "list_item", "table_row", "key_value"})
_STRUCK = re.compile(r"~~.*~~|<!--.*-->|<(del|s|strike)>.*</\1>", re.DOTALL)
_DOUBT = re.compile(
    r"\b(?:false|untrue|not true|myths?|incorrect|wrong(?:ly)?|misconceptions?|rumou?rs?|hoax"
    r"|correction|corrected|no longer|supersed\w*|outdated|obsolete|true or false|which (?:of|one)"
    r"|fals[oa]s?|não é verdade|mitos?|incorret[oa]s?|errad[oa]s?|boatos?|correção|corrigid[oa]s?"
    r"|não (?:vale|vigora) mais|revogad[oa]s?|desatualizad[oa]s?|verdadeiro ou falso"
    r"|qual (?:d[eao]s?))\b|\?",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|until|before|old|former|previous|se|caso|até|antes|antig[oa]s?|anterior)\b",
    re.IGNORECASE,
)
_LONG_WORD = 4
_FUNCTION_WORDS = {
    "english": frozenset(
        """
        a an the and or but nor of for in on at to from by with without as than into over
        under about is are was were be been being am do does did has have had will would can
        could shall should may might must it its he she they them his her their this that
        these those there which who whom whose what when where how not no if then so also
        such any each both all some
        """.split()
    ),
    "portuguese": frozenset(
        """
        o os as um uma uns umas e ou mas de do da dos das em no na nos nas ao aos à às por
        pelo pela pelos pelas para com sem como que se é são foi foram era eram ser será
        está estão estava ter tem têm tinha há ele ela eles elas seu sua seus suas isso isto
        este esta esse essa aquele aquela não nem quando onde qual quais quem também já mais
        """.split()
    ),
}
_STOP_WORDS = frozenset().union(*_FUNCTION_WORDS.values())


def as_documents(context: Context) -> tuple[Document, ...]:
    """Turn what a user passes as context into documents with an id each.

    Args:
        context: A str, a `Document`, a mapping with ``text`` or ``page_content`` (and ``id``,
            ``metadata``), a sequence of those, or None (no documents).

    Returns:
        The documents in the order given; one without an id has its position as id ("0", "1", …).

    Raises:
        ValueError: Two documents have the same id, or a mapping has no text.
        TypeError: Something else was passed.
    """
    if context is None:
        return ()
    single = isinstance(context, (str, Document, Mapping))
    if not single and not isinstance(context, Sequence):
        raise TypeError(
            "context must be a str, a Document, a mapping with 'text' or 'page_content', or a "
            f"sequence of those, not {type(context).__name__}"
        )
    items: Sequence[object] = [context] if single else context  # type: ignore[assignment]
    documents = [_as_document(item, position) for position, item in enumerate(items)]
    seen: set[str | None] = set()
    for document in documents:
        if document.id in seen:
            raise ValueError(f"two documents have the id {document.id!r}")
        seen.add(document.id)
    return tuple(documents)


def _as_document(item: object, position: int) -> Document:
    if isinstance(item, str):
        return Document(item, str(position))
    if isinstance(item, Document):
        return item if item.id is not None else Document(item.text, str(position), item.metadata)
    if isinstance(item, Mapping):
        text = item.get("text")
        if text is None:
            text = item.get("page_content")
        if text is None:
            raise ValueError(
                f"document {position} has no 'text' or 'page_content', "
                f"only {sorted(map(str, item))}"
            )
        identity = item.get("id")
        return Document(
            text,
            str(position) if identity is None else str(identity),
            item.get("metadata") or {},
        )
    raise TypeError(
        f"document {position} must be a str, a Document or a mapping, not {type(item).__name__}"
    )


def joined_text(documents: Iterable[Document]) -> str:
    """Return the documents' texts with blank lines between, for parts that take one string."""
    return "\n\n".join(document.text for document in documents)


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """Return the words of ``text`` that carry content, folded and cut to their first letters.

    Stop words of both languages are left out. Cutting to five letters stands in for stemming: it
    joins most inflected forms in English and Portuguese.
    """
    words = (word for word in _WORD.findall(text.casefold()))
    return frozenset(
        word if any(map(str.isdigit, word)) else word[:STEM_LENGTH]
        for word in words
        if word not in _STOP_WORDS
    )


def language_of(text: str) -> str | None:
    """Return the language that most of a text's function words are of; None if they say nothing."""
    words = _WORD.findall(text.casefold())
    counts = {
        language: sum(word in known for word in words)
        for language, known in _FUNCTION_WORDS.items()
    }
    first, second = sorted(counts, key=lambda language: -counts[language])
    return first if counts[first] > counts[second] else None


@dataclass(frozen=True)
class Place:
    """A segment of a document: where a piece of a premise comes from."""

    document: Document
    segment: Segment

    @property
    def text(self) -> str:
        """The source text, as it stands in the document."""
        return self.document.text[self.segment.start : self.segment.end]


@dataclass(frozen=True)
class Premise:
    """What the model reads as premise.

    Attributes:
        places: The segments it is made of, in order; one document, unless ``joined``.
        joined: True when the segments were picked from several places.
    """

    places: tuple[Place, ...]
    joined: bool = False

    @cached_property
    def reading(self) -> str:
        """The premise's text for the model."""
        return " ".join(_closed(place.segment.reading) for place in self.places)

    @property
    def documents(self) -> frozenset[str]:
        """Ids of the documents it is from."""
        return frozenset(place.document.id or "" for place in self.places)

    @property
    def key(self) -> tuple[str, frozenset[str]]:
        """What makes it another premise: its text, or the documents that say it."""
        return self.reading, self.documents

    @cached_property
    def words(self) -> frozenset[str]:
        """The content words of the whole premise."""
        return frozenset().union(*(content_words(p.segment.reading) for p in self.places))


def _closed(reading: str) -> str:
    return reading if reading.endswith((".", "!", "?", ":", ";", '"', "'", ")")) else reading + "."


@lru_cache(maxsize=256)
def _premises(text: str, language: str) -> tuple[Segment, ...]:
    """The segments of a document that state something: not a table's head, not struck-out text."""
    return tuple(
        segment
        for segment in segments(text, language)
        if segment.kind not in _SKIPPED_KINDS
        and segment.reading
        and not _STRUCK.fullmatch(text[segment.start : segment.end])
    )


class Corpus:
    """The documents of one check, cut into premise windows.

    Args:
        documents: What to read; each with an id.
        language: "english" or "portuguese"; sets sentence splitting.
        window_words: The most words in a window of more than one segment.
    """

    def __init__(self, documents: Sequence[Document], language: str, window_words: int) -> None:
        self.documents = tuple(documents)
        self.window_words = window_words
        self.places: list[Place] = []
        self.windows: list[Premise] = []
        for document in self.documents:
            places = [Place(document, segment) for segment in _premises(document.text, language)]
            self.places.extend(places)
            self.windows.extend(_windows(places, window_words))

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        postings: dict[str, list[int]] = defaultdict(list)
        for index, place in enumerate(self.places):
            for word in content_words(place.segment.reading):
                postings[word].append(index)
        return dict(postings)

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        """All words of all documents, case folded."""
        return frozenset().union(*(_ANY_WORD.findall(d.text.casefold()) for d in self.documents))

    @cached_property
    def _languages(self) -> frozenset[str | None]:
        return frozenset(language_of(document.text) for document in self.documents)

    def unseen(self, claim: Claim) -> list[str]:
        """Return the words of a claim that occur in no document, in order.

        A claim in another language than the documents shares few words with what supports it: that
        is not held against it, and it has none.
        """
        reading = normalise(claim.text).text
        words = dict.fromkeys(_ANY_WORD.findall(reading.casefold()))
        unseen = [word for word in words if word not in self._vocabulary]
        spoken = language_of(reading) if unseen else None
        return unseen if spoken is None or self._languages & {spoken, None} else []

    @cached_property
    def _by_reading(self) -> dict[str, list[int]]:
        """The indices of the segments, by their reading with case folded."""
        table: dict[str, list[int]] = defaultdict(list)
        for index, place in enumerate(self.places):
            table[folded(place.segment.reading)].append(index)
        return dict(table)

    def _is_plain(self, index: int) -> bool:
        """Whether a segment says what it says: no title or lead-in, nothing near takes it back."""
        place = self.places[index]
        if place.segment.kind not in _STATING_KINDS or place.text.rstrip("*_ ").endswith(":"):
            return False
        document = place.document
        before = [p for p in self.places[max(0, index - 2) : index] if p.document is document]
        after = [p for p in self.places[index + 1 : index + 2] if p.document is document]
        if any(_DOUBT.search(near.text) for near in (*before, place, *after)):
            return False
        # A lead-in may be further up the list than the two segments before.
        lead = document.text.rfind(":\n", 0, place.segment.start)
        line = document.text[document.text.rfind("\n", 0, max(lead, 0)) + 1 : max(lead, 0)]
        return _CONDITION.search(line) is None

    def verbatim(self, claim: Claim) -> list[Place]:
        """Return the places that state a claim word for word, of all documents.

        Case may differ, but not in a short word: "5 mW" is not "5 MW".
        """
        reading = claim.hypothesis
        return [
            self.places[index]
            for index in self._by_reading.get(folded(reading), ())
            if _same_case(reading, self.places[index].segment.reading) and self._is_plain(index)
        ]

    def weight(self, word: str) -> float:
        """Return how telling a content word is: 1 / (1 + ln(segments that hold it)), in (0, 1].

        Unlike the usual inverse document frequency it does not depend on the number of documents:
        adding one that shares no word with the claim changes nothing.
        """
        return 1.0 / (1.0 + math.log(max(1, len(self._postings.get(word, ())))))

    def likeliest(self, claim: ClaimWords) -> list[int]:
        """Return the indices of the segments that share most with the claim, a bounded number."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in claim.weights.items():
            for index in self._postings.get(word, ()):
                scores[index] += weight
        return sorted(scores, key=lambda i: (-scores[i], *self._stable_key(i)))[:_CANDIDATES]

    def closest(self, claim: ClaimWords, ranked: Sequence[int]) -> list[Premise]:
        """Return tight premises: the likeliest segments alone, and the first with the one before.

        What stands around a sentence sways a small model; these premises do not depend on it. The
        best segment of every document that is about as like the claim is among them, so that all
        who support it and all who contradict it are heard. Where no segment shares a word with the
        claim, all are there, if they are few.

        Args:
            claim: The claim's words.
            ranked: What `likeliest` returned for it.
        """
        if not ranked and len(self.places) <= _MOST_CLOSEST:
            # In another language than the claim, any of a few sentences may be the one.
            return [Premise((place,)) for place in self.places]
        about = [claim.subject_share(content_words(self.places[i].segment.reading)) for i in ranked]
        premises: list[Premise] = []
        readings: set[str] = set()
        documents: set[str] = set()
        for rank, index in enumerate(ranked):
            place = self.places[index]
            identity = place.document.id or ""
            near = identity not in documents and about[rank] >= _NEAR * about[0]
            if rank >= _CLOSEST and not near:
                continue
            documents.add(identity)
            readings.add(place.segment.reading)
            premises.append(Premise((place,)))
            if rank == 0 and index and self.places[index - 1].document is place.document:
                premises.append(Premise((self.places[index - 1], place)))
            if len(readings) == _MOST_CLOSEST:
                break
        return premises

    def joined(self, claim: ClaimWords, ranked: Sequence[int]) -> list[Premise]:
        """Return one premise of the segments most like the claim, wherever they stand.

        It serves claims that need two places. Segments are picked greedily by the weight of the
        claim's words that are not covered yet, then by likeness, up to the window's size, and put
        in an order that does not depend on the order of the documents.

        Args:
            claim: The claim's words.
            ranked: What `likeliest` returned for it.

        Returns:
            No premise when fewer than two segments share a word with the claim.
        """
        candidates = {index: content_words(self.places[index].segment.reading) for index in ranked}
        chosen: list[int] = []
        covered: frozenset[str] = frozenset()
        budget = self.window_words
        while candidates:
            best = max(candidates, key=lambda i: claim.share(candidates[i] - covered))
            words = candidates.pop(best)
            length = len(self.places[best].segment.reading.split())
            if not chosen or length <= budget:
                chosen.append(best)
                covered |= words
                budget -= length
        if len(chosen) < 2:
            return []
        chosen.sort(key=self._stable_key)
        return [Premise(tuple(self.places[i] for i in chosen), joined=True)]

    def _stable_key(self, index: int) -> tuple[str, int]:
        place = self.places[index]
        return place.document.text, place.segment.start


class ClaimWords:
    """A claim's content words, weighed by how telling each is in a corpus.

    Args:
        claim: The claim.
        corpus: The documents it is to be found in.
        language: Language of the claim, for telling figures from other words.
    """

    def __init__(self, claim: Claim, corpus: Corpus, language: str) -> None:
        words = content_words(claim.hypothesis)
        self.weights = {word: corpus.weight(word) for word in sorted(words)}
        # A list item's or a pronoun's lead-in says whom a claim is about, not what it says of them.
        own = (content_words(claim.text) & words) or words
        figures = find_figures(claim.hypothesis, language)
        subject = words - frozenset[str]().union(*(content_words(f.text) for f in figures))
        self._all = _Weighed(self.weights, words)
        self._own = _Weighed(self.weights, own)
        self._subject = _Weighed(self.weights, subject)

    def share(self, present: frozenset[str]) -> float:
        """Return the share of the claim's weight that ``present`` holds, in [0, 1]."""
        return self._all.share(present)

    def own_share(self, present: frozenset[str]) -> float:
        """The same for the words of the claim's own text, without what was carried into it."""
        return self._own.share(present)

    def subject_share(self, present: frozenset[str]) -> float:
        """The same without figures: two sources that differ in them still speak of one subject."""
        return self._subject.share(present)


class _Weighed:
    """Some of a claim's words with their weights, in an order that does not change."""

    def __init__(self, weights: Mapping[str, float], words: Container[str]) -> None:
        self._items = [(word, weight) for word, weight in weights.items() if word in words]
        self._total = self._held(words)

    def share(self, present: frozenset[str]) -> float:
        return self._held(present) / self._total if self._total else 0.0

    def _held(self, present: Container[str]) -> float:
        held = 0.0  # not sum(): where all is held, the share must be 1.0 on every Python
        for word, weight in self._items:
            if word in present:
                held += weight
        return held


def _same_case(one: str, other: str) -> bool:
    """Whether two readings that are equal but for case mean the same."""
    if one.isupper() or other.isupper():
        return True
    pairs = list(zip(one.split(), other.split(), strict=False))
    return all(a == b or len(a) >= _LONG_WORD or i == 0 for i, (a, b) in enumerate(pairs))


def folded(reading: str) -> str:
    """Return a reading as compared for verbatim support: case and closing punctuation apart."""
    return reading.casefold().strip().rstrip(".!;:,").rstrip()


def _windows(places: Sequence[Place], budget: int) -> list[Premise]:
    """Cut a document's segments into windows of at most ``budget`` words, overlapping by one."""
    lengths = [len(place.segment.reading.split()) for place in places]
    windows: list[Premise] = []
    start = 0
    while start < len(places):
        end, words = start, 0
        while end < len(places) and (end == start or words + lengths[end] <= budget):
            words += lengths[end]
            end += 1
        windows.append(Premise(tuple(places[start:end])))
        if end == len(places):
            break
        start = max(start + 1, end - 1)
    return windows
