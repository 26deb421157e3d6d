"""One claim's way through the premises of its documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from caco.classifier.calibration import Calibration
from caco.classifier.claim_verdict import ClaimVerdict, Clash, OnConflict, Reading
from caco.conditions import only_conditional
from caco.counts import with_counts
from caco.evidence import ClaimWords, Corpus, Premise
from caco.figures import (
    compare,
    describe,
    equal,
    find_figures,
    is_total,
    misattributed,
)
from caco.models import Claim, ClaimResult
from caco.quantifiers import overreach
from caco.roles import turned_roles

__all__ = ["ClaimSearch"]

CERTAIN_SUPPORT = 0.9
"""P(entailment) at which no further window is read."""
LIKELY_WINDOWS = 3
"""How many of the likeliest windows are read before the rest."""
LIKELY_SHARE = 0.6
"""A window is among them only if its likeness is this near to the likeliest one's."""
RELEVANT = 0.34
"""Share of the claim's weight that a premise must hold before it can contradict the claim."""
RELATIVELY_RELEVANT = 0.8
"""Or this share of the likeliest premise's, where no premise shares many words with the claim."""
WORDLESS_DENIAL = 0.8
"""P(contradiction) at which a lone premise contradicts a claim that it shares no word with. Of
MultiNLI's development pairs without a shared word it is right on 14 of 14; of pairs put together at
random it takes 2 in 100 for contradictions."""
MOVED_SUPPORT = 0.98
"""Share of the support that turns into contradiction where a figure or a role differs."""
MOVED_NEUTRAL = 0.8
"""The same of what is neutral, in a relevant premise."""
MOVED_TOTAL = 0.9
"""Share of the contradiction that turns into support where a claim's total adds up."""

_TIGHT = 2  # a premise of so many segments leaves out what stands around it
_BOUNDS = tuple(
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"\b(?:no|not) more than\b ?|\ba maximum of\b ?|\bup to (?=\d)", "at most "),
        (r"\b(?:no|not) (?:less|fewer) than\b ?|\ba minimum of\b ?", "at least "),
        (r"\bnão mais (?:do )?que\b ?|\bum máximo de\b ?", "no máximo "),
        (r"\bnão menos (?:do )?que\b ?|\bum mínimo de\b ?", "pelo menos "),
    )
)
_BOUND_HINTS = ("re than", "s than", "wer than", "mum of", "up to ", " que", "mo de")
"""One of them is in every match of the patterns; looking for them is quick."""


class ClaimSearch:
    """One claim on its way through the premises of its corpus.

    Args:
        claim: The claim.
        corpus: The documents, cut into windows.
        language: Language of the claim, for reading its figures.
        calibration: The head that turns it into a probability of support.
    """

    def __init__(
        self, claim: Claim, corpus: Corpus, language: str, calibration: Calibration
    ) -> None:
        self.claim = claim
        self.language = language
        self.pairs: set[tuple[str, str]] = set()
        self.truncated = False
        self._calibration = calibration
        self._words = ClaimWords(claim, corpus, language)
        self._readings: list[Reading] = []
        self._verbatim = corpus.verbatim(claim)
        ranked = sorted(
            ((self._words.share(window.words), window) for window in corpus.windows),
            key=lambda item: (-item[0], item[1].reading),
        )
        best = ranked[0][0] if ranked else 0.0
        self._relevant_from = min(RELEVANT, RELATIVELY_RELEVANT * best)
        self.unseen_words = len(corpus.unseen(claim))
        self._windows = [window for _, window in ranked]
        self._rounds = self._plan(self._groups(corpus, ranked))

    def _groups(
        self, corpus: Corpus, ranked: Sequence[tuple[float, Premise]]
    ) -> Iterator[list[Premise]]:
        """Yield the premises in the order of reading; what is not asked for is not made."""
        segments = corpus.likeliest(self._words)
        closest = corpus.closest(self._words, segments)
        if self._verbatim:
            stating = set(self._verbatim)
            yield [premise for premise in closest if stating.isdisjoint(premise.places)]
            return
        yield closest
        likely = [
            window
            for value, window in ranked[:LIKELY_WINDOWS]
            if value > 0 and value >= LIKELY_SHARE * ranked[0][0]
        ]
        yield [*likely, *corpus.joined(self._words, segments)]
        yield self._windows

    def _plan(self, groups: Iterable[list[Premise]]) -> Iterator[list[Premise]]:
        """Yield the groups without what was in one before; none is empty."""
        read: set[tuple[str, frozenset[str]]] = set()
        for group in groups:
            fresh = {premise.key: premise for premise in group if premise.key not in read}
            read.update(fresh)
            if fresh:
                yield list(fresh.values())

    def next_round(self) -> list[Premise]:
        """Return the premises to read next; none when all are read or support is certain."""
        if any(reading.entailment >= CERTAIN_SUPPORT for reading in self._readings):
            return []
        return next(self._rounds, [])

    def pair(self, premise: Premise) -> tuple[str, str]:
        """Return (premise, hypothesis) for the model: figures, counts and bounds in equal words."""
        hypothesis = self.claim.hypothesis
        replaced = 0
        figures = find_figures(hypothesis, self.language)
        others = find_figures(premise.reading, self.language) if figures else ()
        for figure in figures:
            if any(other.text.casefold() == figure.text.casefold() for other in others):
                continue
            twin = next((other for other in others if equal(figure, other)), None)
            if twin is not None:
                start, end = figure.start + replaced, figure.end + replaced
                hypothesis = hypothesis[:start] + twin.text + hypothesis[end:]
                replaced += len(twin.text) - (end - start)
        reading = with_counts(hypothesis, premise.reading)
        pair = _plain_bounds(reading), _plain_bounds(hypothesis)
        self.pairs.add(pair)
        return pair

    def add(self, premise: Premise, scores: Sequence[float], *, cut: bool) -> None:
        """Record a premise's (entailment, neutral, contradiction), corrected by the figures."""
        entailment, neutral, contradiction = scores
        self.truncated |= cut
        likeness = self._words.share(premise.words)
        # A context of one premise may be about the claim in other words, or in another language.
        alone = len(self._windows) == 1 and contradiction >= WORDLESS_DENIAL
        relevant = (likeness > 0 or alone) and likeness >= self._relevant_from
        clash = None
        if relevant or entailment >= 0.5:
            clash = _clash(self.claim.hypothesis, premise.reading, self.language)
        if clash is None and entailment >= 0.5:
            clash = self._owner_elsewhere(premise)
        if clash is not None:
            moved = MOVED_SUPPORT * entailment
            moved_neutral = MOVED_NEUTRAL * neutral if relevant else 0.0
            entailment, neutral = entailment - moved, neutral - moved_neutral
            contradiction += moved + moved_neutral
        elif entailment >= 0.5 and only_conditional(self.claim.hypothesis, premise.reading):
            moved = MOVED_SUPPORT * entailment
            entailment, neutral = entailment - moved, neutral + moved
        elif relevant and is_total(self.claim.hypothesis, premise.reading, self.language):
            # The model sees two figures that differ; it cannot add.
            moved = MOVED_TOTAL * contradiction
            entailment, contradiction = entailment + moved, contradiction - moved
        self._readings.append(
            Reading(premise, likeness, relevant, entailment, neutral, contradiction, clash)
        )

    def _owner_elsewhere(self, premise: Premise) -> Clash | None:
        """Whether what stands around a tight premise gives the claim's subject another figure.

        "The fee for guests is 9 euros." seems to support a fee of 9 euros for members, if the
        sentence on members is left out.
        """
        if len(premise.places) > _TIGHT:
            return None
        around = next((w for w in self._windows if premise.places[-1] in w.places), None)
        if around is None or around.reading == premise.reading:
            return None
        found = misattributed(self.claim.hypothesis, around.reading, self.language)
        if found is None:
            return None
        if found.evidence.text in premise.reading and found.claim.text in premise.reading:
            return None
        return Clash(found.evidence.text, describe(found, self.language))

    @property
    def support(self) -> float:
        """The model's support for the claim, not calibrated, in [0, 1]."""
        return self._verdict(Calibration()).support

    def result(self, on_conflict: OnConflict) -> ClaimResult:
        """Return the verdict on what has been read."""
        return self._verdict(self._calibration).result(on_conflict)

    def _verdict(self, calibration: Calibration) -> ClaimVerdict:
        return ClaimVerdict(
            self.claim, self._words, self._readings, self._verbatim, calibration, self.unseen_words
        )


@lru_cache(maxsize=4096)
def _clash(claim: str, premise: str, language: str) -> Clash | None:
    """What in the premise speaks against the claim: figures, who did what, all or some.

    Remembered: an answer that grew, or was written anew, repeats most of its claims.
    """
    found = compare(claim, premise, language).mismatches
    mismatch = found[0] if found else misattributed(claim, premise, language)
    if mismatch is not None:
        return Clash(mismatch.evidence.text, describe(mismatch, language))
    otherwise = turned_roles(claim, premise) or overreach(claim, premise)
    return Clash(otherwise.evidence, otherwise.evidence) if otherwise is not None else None


@lru_cache(maxsize=4096)
def _plain_bounds(text: str) -> str:
    """Write bounds in one way: the model takes "no more than two" to deny "at most two"."""
    folded = text.casefold()
    if not any(hint in folded for hint in _BOUND_HINTS):
        return text
    for pattern, plain in _BOUNDS:
        text = pattern.sub(plain, text)
    return text
