"""What the readings of a claim's premises add up to: a label, its probability, the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from caco.classifier.calibration import Calibration
from caco.evidence import ClaimWords, Place, Premise, content_words
from caco.models import Claim, ClaimResult, Evidence, Labels, Probabilities

__all__ = ["ON_CONFLICT", "ClaimVerdict", "OnConflict", "Reading"]

SAME_SUBJECT = 0.05
"""A document that contradicts may share this much less with the claim than one that supports."""
QUOTED_TOO = 0.2
"""Share of the claim's weight that a segment must add to be quoted beside the best one."""
CONTRIBUTES = 0.1
"""Share of the claim's weight that a document's part of a joined premise must add."""
VERBATIM_SUPPORT = 0.999
"""P(entailment) of a claim that stands in a document word for word."""
DENIED_SUPPORT = 0.49
"""The most P(entailment) that a claim called contradicted may keep."""

OnConflict = Literal["best_score", "contradiction", "support"]
ON_CONFLICT: tuple[str, ...] = get_args(OnConflict)


@dataclass(frozen=True)
class Clash:
    """What in a premise speaks against a claim by rule.

    Attributes:
        evidence: The words of the premise.
        description: What differs, for the reader.
    """

    evidence: str
    description: str


@dataclass(frozen=True)
class Reading:
    """What the model and the figures say about a claim given one premise.

    Attributes:
        premise: The premise.
        likeness: Share of the claim's weight that it holds, in [0, 1].
        relevant: Whether it speaks of what the claim speaks of, and so may contradict it.
        entailment: P(entailment).
        neutral: P(neutral).
        contradiction: P(contradiction); the three sum to 1.
        clash: A figure or a role that the premise has otherwise.
    """

    premise: Premise
    likeness: float
    relevant: bool
    entailment: float
    neutral: float
    contradiction: float
    clash: Clash | None = None

    @property
    def denies(self) -> bool:
        """Whether the premise contradicts the claim."""
        return self.relevant and self.contradiction > max(self.entailment, self.neutral)

    @property
    def denial(self) -> float:
        """Contradiction's share of what is not entailment, in [0, 1]."""
        rest = self.neutral + self.contradiction
        return self.contradiction / rest if rest > 0 else 0.5

    @property
    def order(self) -> tuple[float, bool, float, str]:
        """Key that sorts by support; at equal support a window goes before a joined premise."""
        return self.entailment, not self.premise.joined, self.likeness, self.premise.reading


class ClaimVerdict:
    """The verdict on one claim.

    Args:
        claim: The claim.
        words: Its words.
        readings: What the premises that were read say about it.
        verbatim: Where it stands word for word.
        calibration: Turns the best premise's P(entailment) into a probability of support.
        unseen_words: The claim's words that occur in no document.
    """

    def __init__(
        self,
        claim: Claim,
        words: ClaimWords,
        readings: Sequence[Reading],
        verbatim: Sequence[Place],
        calibration: Calibration,
        unseen_words: int,
    ) -> None:
        self.claim = claim
        self.words = words
        self.readings = readings
        self.verbatim = verbatim
        self.backing = max(readings, key=lambda reading: reading.order, default=None)
        best = self.backing.entailment if self.backing is not None else 0.0
        self.support = VERBATIM_SUPPORT if verbatim else calibration.support(best, unseen_words)

    def result(self, on_conflict: OnConflict) -> ClaimResult:
        """Return the result; ``on_conflict`` decides when documents disagree."""
        support = self.support
        supporting = self._supporting()
        against = self._against(supporting)
        conflicting = tuple(_cited(self._quote(r), r.contradiction) for r in against)
        if against and (
            support < 0.5
            or on_conflict == "contradiction"
            or (on_conflict == "best_score" and against[0].contradiction > support)
        ):
            return self._contradicted(against[0], supporting, conflicting)
        if support >= 0.5:
            return self._supported(supporting, conflicting)
        return self._unsupported()

    def _supported(
        self, supporting: tuple[Evidence, ...], conflicting: tuple[Evidence, ...]
    ) -> ClaimResult:
        denial = self.backing.denial if self.backing is not None else 0.5
        return self._claim_result(
            Labels.VALUE_ENTAILMENT,
            (self.support, denial),
            supporting[0],
            supporting=supporting,
            conflicting=conflicting,
        )

    def _contradicted(
        self, best: Reading, supporting: tuple[Evidence, ...], conflicting: tuple[Evidence, ...]
    ) -> ClaimResult:
        support = min(self.support, 1 - best.contradiction, DENIED_SUPPORT)
        reason = conflicting[0].text
        if best.clash is not None and best.clash.description not in reason:
            reason = f"{best.clash.description}: {reason}"
        return self._claim_result(
            Labels.VALUE_CONTRADICTION,
            (support, max(best.denial, 0.5, support / (1 - support))),
            conflicting[0],
            reason=reason,
            supporting=supporting,
            conflicting=conflicting,
        )

    def _unsupported(self) -> ClaimResult:
        nearest = max(
            (reading for reading in self.readings if reading.relevant),
            key=lambda r: (r.likeness, r.entailment, r.premise.reading),
            default=None,
        )
        quote = None
        if nearest is not None and nearest.likeness > 0:
            quote = _cited(self._quote(nearest), nearest.entailment)
        support = self.support
        denial = min(self.backing.denial, 0.5) if self.backing is not None else 0.0
        # The label keeps the highest probability.
        denial = max(0.0, min(denial, 1 - support / (1 - support)))
        return self._claim_result(Labels.VALUE_NEUTRAL, (support, denial), quote)

    def _claim_result(
        self,
        label: Labels,
        support_and_denial: tuple[float, float],
        quote: Evidence | None,
        *,
        reason: str | None = None,
        supporting: tuple[Evidence, ...] = (),
        conflicting: tuple[Evidence, ...] = (),
    ) -> ClaimResult:
        """Build the result; the denial is contradiction's share of what support leaves."""
        support, denial = support_and_denial
        probabilities = Probabilities(
            entailment=support,
            neutral=(1 - support) * (1 - denial),
            contradiction=(1 - support) * denial,
        )
        return ClaimResult(
            text=self.claim.text,
            evidence=quote.text if quote else "",
            label=label,
            score=probabilities[label],
            reason=reason,
            start=self.claim.start,
            end=self.claim.end,
            probabilities=probabilities,
            evidence_document=quote.document if quote else None,
            evidence_start=quote.start if quote else None,
            evidence_end=quote.end if quote else None,
            supporting=supporting,
            conflicting=conflicting,
        )

    def _supporting(self) -> tuple[Evidence, ...]:
        """A quotation from each document that backs the claim, best first."""
        found: dict[str, Evidence] = {}
        for place in self.verbatim:
            found.setdefault(place.document.id or "", _cited([place], VERBATIM_SUPPORT))
        for reading in sorted(self.readings, key=lambda r: r.order, reverse=True):
            if reading.entailment < 0.5:
                break
            for document, places in _by_document(reading.premise).items():
                if len(reading.premise.documents) == 1 or self._contributes(
                    places, reading.premise
                ):
                    found.setdefault(document, _cited(self._best(places), reading.entailment))
        if not found and self.support >= 0.5 and self.backing is not None:
            quote = _cited(self._quote(self.backing), self.support)
            found[quote.document] = quote
        return tuple(sorted(found.values(), key=lambda evidence: -evidence.score))

    def _contributes(self, places: Sequence[Place], premise: Premise) -> bool:
        """Whether a document's part of a joined premise holds words that the other parts lack."""
        others = _words(place for place in premise.places if place not in places)
        return self.words.share(premise.words) - self.words.share(others) >= CONTRIBUTES

    def _against(self, supporting: Sequence[Evidence]) -> list[Reading]:
        """The readings that contradict the claim, the best of each document, best first.

        Beside a document that supports the claim, one that contradicts it must be as much about the
        claim's subject as that one is: otherwise each similar entity would seem to contradict.
        """
        denying = sorted(
            (reading for reading in self.readings if reading.denies),
            key=self._denial_order,
            reverse=True,
        )
        if self.support >= 0.5:
            backers = {evidence.document for evidence in supporting}
            least = self.words.subject_share(self._backing_words()) - SAME_SUBJECT
            denying = [
                reading
                for reading in denying
                if not reading.premise.joined
                and not reading.premise.documents & backers
                and self.words.subject_share(reading.premise.words) >= least
            ]
        best: dict[str, Reading] = {}
        for reading in denying:
            best.setdefault(self._quote(reading)[0].document.id or "", reading)
        return list(best.values())

    def _backing_words(self) -> frozenset[str]:
        if self.verbatim:
            return content_words(self.verbatim[0].segment.reading)
        return self.backing.premise.words if self.backing is not None else frozenset()

    def _denial_order(self, reading: Reading) -> tuple[bool, float, float, str]:
        """Most about the claim's subject first, by the quoted places; then the surest."""
        about = self.words.subject_share(_words(self._quote(reading)))
        return (
            not reading.premise.joined,
            round(about, 2),
            reading.contradiction,
            reading.premise.reading,
        )

    def _quote(self, reading: Reading) -> list[Place]:
        """The places of a premise that decided, in one document and in order."""
        places = reading.premise.places
        if reading.clash is not None:
            words = reading.clash.evidence
            stating = [place for place in places if words in place.segment.reading]
            if stating:
                return self._best(stating, alone=True)
        return self._best(places)

    def _best(self, places: Sequence[Place], *, alone: bool = False) -> list[Place]:
        """Pick the place likest to the claim, and the neighbour that adds most to it, if any."""
        words = [content_words(place.segment.reading) for place in places]
        best = max(
            range(len(places)),
            key=lambda i: (self.words.own_share(words[i]), self.words.share(words[i]), -i),
        )
        own = self.words.own_share(words[best])
        gains = [
            (self.words.own_share(words[best] | words[i]) - own, -i)
            for i in (best - 1, best + 1)
            if 0 <= i < len(places) and _adjacent(places[i], places[best])
        ]
        gain, index = max(gains, default=(0.0, 0))
        if alone or gain < QUOTED_TOO:
            return [places[best]]
        return sorted([places[best], places[-index]], key=lambda place: place.segment.start)


def _words(places: Iterable[Place]) -> frozenset[str]:
    return frozenset[str]().union(*(content_words(place.segment.reading) for place in places))


def _by_document(premise: Premise) -> dict[str, list[Place]]:
    groups: dict[str, list[Place]] = {}
    for place in premise.places:
        groups.setdefault(place.document.id or "", []).append(place)
    return groups


def _adjacent(one: Place, other: Place) -> bool:
    """Whether nothing readable stands between two places of a document."""
    first, second = sorted((one, other), key=lambda place: place.segment.start)
    between = one.document.text[first.segment.end : second.segment.start]
    return one.document is other.document and not any(map(str.isalnum, between))


def _cited(places: Sequence[Place], score: float) -> Evidence:
    """Quote neighbouring places of one document, with all that stands between them."""
    document = places[0].document
    start, end = places[0].segment.start, places[-1].segment.end
    return Evidence(document.id or "", document.text[start:end], start, end, min(score, 1.0))
