"""Whether two figures play the same role: what is said about each, and how much they share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from caco.figures.figure import Figure
from caco.figures.wording import REACH, Passage, Word

__all__ = ["Role", "role_of"]

_LEAST_OVERLAP = 0.5
_RANKED = re.compile(r"\s[\w\s-]{0,30}?\b(?:to|ever|a)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Role:
    """What two figures' surroundings share.

    Attributes:
        overlap: Share of the words said about the claim's figure that are said about the
            evidence's, in [0, 1]; what stands further off counts half.
        shared: How many words stand in the clauses of both.
        words: How many words are said about the claim's figure.
        same_noun: Whether both count the same thing ("17 members", "seventeen members").
        complete: Whether all that is said about either is said about the other.
    """

    overlap: float
    shared: int
    words: int
    same_noun: bool
    complete: bool


def role_of(claim: Passage, figure: Figure, evidence: Passage, other: Figure) -> Role | None:
    """Return what the surroundings of two figures share; None where the things differ."""
    nouns, other_nouns = claim.nouns(figure), evidence.nouns(other)
    same_noun = bool(nouns & other_nouns)
    if figure.kind == "ordinal" and (not same_noun or _qualifies(claim, figure)):
        return None
    if figure.kind == "number" and not same_noun and (nouns or other_nouns):
        return None
    about = claim.words_in(claim.clause(figure.start), figure)
    near = evidence.words_in(evidence.clause(other.start), other)
    if _other_subject(claim, figure, about, evidence, near) or _contrasts(
        claim, about, evidence, near
    ):
        return None
    start, end = evidence.sentence(other.start)
    reach = max(start, other.start - REACH) - REACH, min(end, other.end + REACH)
    wide = {word.stem for word in evidence.words_in(reach, other)}
    local = {word.stem for word in near}
    score = total = 0.0
    shared = common = 0
    for word in about:
        weight = 1.0 if word.start < figure.start or word.stem in nouns else 0.5
        total += weight
        if word.stem in local:
            score += weight
            shared += 1
            common += not word.name
        elif word.stem in wide:
            score += weight / 2
    if not common or score < _LEAST_OVERLAP * total:
        return None
    complete = shared == len(about) and local <= claim.stems
    return Role(score / total, shared, len(about), same_noun, complete)


def _qualifies(claim: Passage, figure: Figure) -> bool:
    """Whether an ordinal says which of several is meant, not what is claimed of it.

    "The first woman to …" is one; so is the quarter in "second-quarter sales were $5m".
    """
    amounts = any(other.amount is not None for other in claim.figures)
    return amounts or _RANKED.match(claim.text, figure.end) is not None


def _other_subject(
    claim: Passage,
    figure: Figure,
    about: tuple[Word, ...],
    evidence: Passage,
    near: tuple[Word, ...],
) -> bool:
    """Whether the claim names something that the evidence, or this clause of it, does not."""
    names = {word.stem for word in about if word.name and word.start < figure.start}
    if names and not names & evidence.stems:
        return True
    foreign = any(word.name and word.stem not in claim.stems for word in near)
    if not foreign:
        return False
    if names and not names & {word.stem for word in near}:
        return True
    first = about[0] if about else None
    capital = first is not None and claim.text[first.start].isupper()
    return first is not None and capital and first.stem not in evidence.stems


def _contrasts(
    claim: Passage, about: tuple[Word, ...], evidence: Passage, near: tuple[Word, ...]
) -> bool:
    """Whether one word is described differently ("the basic plan", "the enterprise plan")."""
    described = _described(claim.text, about)
    for noun, modifier in _described(evidence.text, near).items():
        mine = described.get(noun)
        if mine is None or mine == modifier:
            continue
        if mine not in evidence.stems and modifier not in claim.stems:
            return True
        if mine.startswith("#ordinal") and modifier.startswith("#ordinal"):
            return True
    return False


def _described(text: str, words: tuple[Word, ...]) -> dict[str, str]:
    """Return word → the word directly before it."""
    return {
        second.stem: first.stem
        for first, second in pairwise(words)
        if text[first.end : second.start] in (" ", "-", "\u00a0")
    }
