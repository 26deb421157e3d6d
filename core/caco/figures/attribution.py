"""Figures that the evidence has, but says about something else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from caco.figures.comparison import (
    MOST_RIVALS,
    Mismatch,
    comparable,
    is_aside,
    read_pair,
)
from caco.figures.contrast import contrasts, is_list_item, reversed_pair, told_apart
from caco.figures.derivation import hedge
from caco.figures.figure import Figure, equal
from caco.figures.prices import PRICE_STEMS, is_free
from caco.figures.scan import is_range
from caco.figures.wording import Passage, Word, stem

__all__ = ["misattributed"]

_LEAST_COVERAGE = 0.8
_LEAST_ROW_COVERAGE = 0.6
"""Rows have no verbs."""
_INSTRUCTING = frozenset(
    stem(word)
    for word in (
        "use run type enter execute call pass set add via command option flag"
        " usar use rodar rode executar execute digitar digite chamar passar comando opção"
    ).split()
)
"""What is done with a command or a flag, in whichever words."""
_UNDECIDED = re.compile(
    r"\b(?:respectively|respectivamente|each|cada|both|ambos|ambas)\b", re.IGNORECASE
)
_SUPERSEDED = re.compile(
    r"\b(?:estimated|expected|planned|forecast|projected|originally|initially|previously|formerly"
    r"|instead|not|never|would|could|may|might|until|target|goal|estimad[oa]s?|previst[oa]s?"
    r"|planejad[oa]s?|inicialmente|originalmente|anteriormente|não|nunca|poderia|meta)\b|n['’]t\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"[\s\"“(*_-]*(?:it|its|he|she|they|their|his|her|this|these|that|those|ele|ela|eles|elas|este"
    r"|esta|esse|essa|isso|seu|sua|seus|suas|o mesmo|a mesma|the latter|the former)\b",
    re.IGNORECASE,
)


def misattributed(claim: str, evidence: str, language: str) -> Mismatch | None:
    """Find a figure that the evidence gives for something else than the claim does.

    Decided only when the claim's own words lead to another figure of the same kind: every clause
    of the evidence that has the claim's figure lacks a word that the claim needs, speaks of
    something the claim does not mention, and adds nothing of the claim's own.

    Args:
        claim: One sentence of an answer.
        evidence: The sentences of the documents that speak about it.
        language: "english" or "portuguese".

    Returns:
        The claim's figure and the one the evidence gives in its place; None when in doubt.
    """
    if _UNDECIDED.search(evidence) or _UNDECIDED.search(claim):
        return None
    mine, theirs = read_pair(claim, evidence, language)
    if len(theirs.figures) < 2:
        return None
    turned = reversed_pair(mine, theirs)
    if turned is not None:
        return Mismatch(*turned)
    for figure in mine.figures:
        other = _owner(mine, figure, theirs)
        if other is not None:
            return Mismatch(figure, other)
    return None


def _owner(claim: Passage, figure: Figure, evidence: Passage) -> Figure | None:
    """Return the figure that the evidence gives for what the claim says about ``figure``."""
    equals = [other for other in evidence.figures if equal(figure, other)]
    named = figure.kind == "ordinal" or (figure.kind == "identifier" and figure.bare is not None)
    if not equals or named or is_aside(claim.text, figure) or hedge(claim.text, figure):
        return None
    if any(_in_range(claim, figure) or _in_range(evidence, twin) for twin in equals):
        return None
    about = claim.words_in(claim.clause(figure.start), figure)
    rivals = [other for other in evidence.figures if _rivals(figure, other)]
    if not about or len(rivals) > MOST_RIVALS:
        return None
    clear = [
        other
        for other in rivals
        if not equal(figure, other)
        and all(
            _Case(claim, figure, about, evidence, other, twin).belongs_to_rival() for twin in equals
        )
    ]
    return clear[0] if clear and all(equal(clear[0], other) for other in clear) else None


def _rivals(one: Figure, other: Figure) -> bool:
    # Another flag alone denies nothing, but the words beside each flag tell what it is for.
    flags = one.kind == other.kind == "identifier" and one.unit == other.unit == "flag"
    return flags or comparable(one, other)


def _in_range(passage: Passage, figure: Figure) -> bool:
    return any(is_range(passage.text, low, high) for low, high in passage.neighbours(figure))


@dataclass(frozen=True)
class _Case:
    """A claim's figure, its equal in the evidence ("twin"), and another figure ("rival")."""

    claim: Passage
    figure: Figure
    about: tuple[Word, ...]
    evidence: Passage
    rival: Figure
    twin: Figure

    def belongs_to_rival(self) -> bool:
        """Whether the claim's words clearly lead to the rival and away from the twin."""
        evidence = self.evidence
        in_row = bool(_column(evidence, self.rival) and _column(evidence, self.twin))
        part = evidence.sentence if in_row else evidence.clause
        spans = part(self.rival.start), part(self.twin.start)
        if any(_is_open(self.claim, evidence.text[start:end]) for start, end in spans):
            return False
        if spans[0] == spans[1] and not in_row:
            apart = self.claim, self.figure, evidence, self.rival, self.twin
            return not is_free(self.rival) and told_apart(*apart)
        if any(equal(item, self.rival) for item in self.claim.figures):
            return False
        if spans[0] == spans[1] or _is_elliptical(evidence, self.rival, self.twin):
            return False
        return self._columns_agree() and self._counts_agree(spans) and self._words_lead(spans)

    def _words_lead(self, spans: tuple[tuple[int, int], tuple[int, int]]) -> bool:
        about = self.about
        if self.figure.kind == "identifier":
            about = tuple(word for word in about if word.stem not in _INSTRUCTING)
        if is_free(self.rival):
            about = tuple(word for word in about if word.stem not in PRICE_STEMS)
        needed = {word.stem for word in about}
        at_rival = _stems(self.evidence, spans[0], self.rival)
        at_twin = _stems(self.evidence, spans[1], self.twin)
        if is_free(self.rival) and (
            # "Free for members" leaves open what others pay.
            self.evidence.words_in((self.rival.end, spans[0][1]), self.rival)
            or not at_rival - PRICE_STEMS <= self.claim.stems
        ):
            return False
        only_rival = (needed & at_rival) - at_twin
        only_twin = (needed & at_twin) - at_rival
        if not only_rival or not at_twin - at_rival - self.claim.stems:
            return False
        only_twin -= self._inherited(spans)
        if only_twin:
            return False
        if self._are_items() and self._one_sentence():
            return True
        about = tuple(word for word in about if word.stem not in self._inherited(spans))
        least = _LEAST_ROW_COVERAGE if _column(self.evidence, self.twin) else _LEAST_COVERAGE
        return bool(about) and _coverage(about, self.figure, at_rival) >= least

    def _are_items(self) -> bool:
        return is_list_item(self.evidence, self.rival) and is_list_item(self.evidence, self.twin)

    def _one_sentence(self) -> bool:
        return self.evidence.sentence(self.rival.start) == self.evidence.sentence(self.twin.start)

    def _inherited(self, spans: tuple[tuple[int, int], tuple[int, int]]) -> frozenset[str]:
        """Return the words of the twin's clause that the rival's later clause goes on with."""
        if not 0 <= spans[0][0] - spans[1][1] <= 2:
            return frozenset()
        around = self.claim.clause(self.figure.start), *spans
        if contrasts(self.claim, around, self.evidence):
            return _stems(self.evidence, spans[1], self.twin)
        if not self._one_sentence():
            return frozenset()
        if self._are_items():
            colon = self.evidence.text.rfind(":", spans[1][0], self.twin.start)
            title = self.evidence.words_in((spans[1][0], max(colon, spans[1][0])), self.twin)
            return frozenset(word.stem for word in title)
        start, end = self.claim.sentence(self.figure.start)
        first, last = self.evidence.sentence(self.twin.start)
        mine = self.claim.words_in((start, end), self.figure)
        theirs = self.evidence.words_in((first, last), self.twin)
        lead = takewhile(lambda pair: pair[0].stem == pair[1].stem, zip(mine, theirs, strict=False))
        return frozenset(word.stem for word, _ in lead)

    def _columns_agree(self) -> bool:
        """Whether both figures stand in the same column of different rows, or outside tables."""
        rival, twin = _column(self.evidence, self.rival), _column(self.evidence, self.twin)
        return rival == twin and not (rival and self._one_sentence())

    def _counts_agree(self, spans: tuple[tuple[int, int], tuple[int, int]]) -> bool:
        """Whether plain numbers count the same thing, or none is followed by what it counts.

        Under a heading, what the heading says is counted; the twin may also count what the claim
        does not speak of.
        """
        if self.figure.kind != "number":
            return True
        nouns = self.claim.nouns(self.figure)
        theirs = self.evidence.nouns(self.rival), self.evidence.nouns(self.twin)
        if not any((nouns, *theirs)):
            return True
        if _column(self.evidence, self.rival) and not any(theirs):
            return bool(nouns & _stems_of(_column(self.evidence, self.rival)))
        if nouns & theirs[0] and theirs[1] and not theirs[1] & self.claim.stems:
            return bool(self._inherited(spans))
        return bool(theirs[0] & theirs[1] & (nouns or theirs[0]))


def _stems_of(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


def _is_open(claim: Passage, clause: str) -> bool:
    """Whether a clause points elsewhere, or states what may not have come true."""
    superseded = _SUPERSEDED.search(clause) and not _SUPERSEDED.search(claim.text)
    return bool(_PRONOUN.match(clause)) or bool(superseded)


def _is_elliptical(evidence: Passage, rival: Figure, twin: Figure) -> bool:
    """Whether one figure's clause borrows its words from the other's ("1.7 % in glaciers")."""
    if evidence.sentence(rival.start) != evidence.sentence(twin.start):
        return False
    later = max(rival, twin, key=lambda figure: figure.start)
    start, _ = evidence.clause(later.start)
    return not evidence.words_in((start, later.start), later)


def _stems(evidence: Passage, span: tuple[int, int], figure: Figure) -> frozenset[str]:
    """Return the stems of a clause; in a table row, those of the column's heading as well."""
    words = evidence.words_in(span, figure)
    return frozenset(word.stem for word in (*words, *evidence.heading(figure)))


def _coverage(about: tuple[Word, ...], figure: Figure, found: frozenset[str]) -> float:
    """Return how much of the claim's wording is found, the words nearest to the figure first."""
    nearest = sorted(about, key=lambda word: abs(word.start - figure.start))
    weights = [1 / (rank + 1) for rank in range(len(nearest))]
    hits = (weight for word, weight in zip(nearest, weights, strict=True) if word.stem in found)
    return sum(hits) / sum(weights)


def _column(evidence: Passage, figure: Figure) -> str:
    """Return which column of a table row a figure stands in; "" outside tables."""
    start, end = evidence.sentence(figure.start)
    before = evidence.text[start : figure.start]
    if evidence.text.count("|", start, end) >= 2:
        return str(before.count("|"))
    if "; " not in evidence.text[start:end]:
        return ""
    cell = before.rsplit("; ", 1)[-1]
    return cell.split(":", 1)[0].strip().lower() if ":" in cell else ""
