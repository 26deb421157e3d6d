"""Two figures set against each other in one sentence, list or pair, and which is whose."""

from __future__ import annotations

import re
from itertools import pairwise

from caco.figures.figure import Figure, equal
from caco.figures.wording import Passage, Word

__all__ = ["contrasts", "is_list_item", "reversed_pair", "told_apart"]

_WORD = re.compile(r"[^\W\d_]+")
_OF = frozenset(("of", "de", "do", "da", "dos", "das"))
_APART = frozenset(
    "after before within during over under for every in per beyond until following após depois "
    "antes dentro durante por em até".split()
)
_PLACED = re.compile(r"\b(?:in|across|at|from|on|over|of|em|de|entre)\s$", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.;:!?\n|]")
_DASH = re.compile(r"\s?[-–—x×]\s?")
_TO = re.compile(r"\s(?:to|a|para)\s", re.IGNORECASE)
_FROM = re.compile(r"\sfrom\s", re.IGNORECASE)
_START = re.compile(r"\b(?:from|de|por|d[eo]s?)\s$", re.IGNORECASE)
_SCORE = re.compile(r"\d{1,3}", re.ASCII)
_MOST_ITEM_WORDS = 3
_FAR = 60


def is_list_item(passage: Passage, figure: Figure) -> bool:
    """Whether a figure's clause is no more than a name and the figure ("Basic $9", "Pro: 3 GB")."""
    start, end = passage.clause(figure.start)
    words = passage.words_in((start, end), figure)
    named = words and all(word.end <= figure.start for word in words)
    tokens = _WORD.findall(passage.text[start : figure.start])
    return bool(named) and len(words) <= _MOST_ITEM_WORDS and len(tokens) <= _MOST_ITEM_WORDS + 1


def contrasts(
    claim: Passage,
    spans: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
    evidence: Passage,
) -> bool:
    """Whether the rival's thing is the claim's and the twin's is of another sort.

    "The organic blend" of claim and rival is set against "the house blend" of the twin.

    Args:
        claim: The claim.
        spans: The clauses of the claim's figure, its rival and its twin.
        evidence: The evidence.
    """
    mine = _described(claim, spans[0])
    rival, twin = _described(evidence, spans[1]), _described(evidence, spans[2])
    for side in (0, 1):
        for pair in {pair for pair in mine if pair in rival}:
            head, sort = pair[side], pair[1 - side]
            others = {other[1 - side] for other in twin if other[side] == head}
            if others and sort not in others and not others & claim.stems:
                return True
    return False


def _described(passage: Passage, span: tuple[int, int]) -> set[tuple[str, str]]:
    """Return the words that follow each other directly, or after "of"."""
    words = [word for word in passage.words if span[0] <= word.start < span[1]]
    pairs = set()
    for first, second in pairwise(words):
        between = passage.text[first.end : second.start].strip().lower()
        if between in _OF or between in ("", "-"):
            pairs.add((first.stem, second.stem))
    return pairs


def told_apart(
    claim: Passage, figure: Figure, evidence: Passage, rival: Figure, twin: Figure
) -> bool:
    """Whether two figures of one clause belong to different words, and the claim's to the rival's.

    "60 days' notice after the first 24 months" has 60 days of notice, not 24 months; "1,250 people
    in 14 countries" are not 14 people.
    """
    about = {word.stem for word in claim.words_in(claim.clause(figure.start), figure)}
    start, end = evidence.sentence(rival.start)
    said = {word.stem for word in evidence.words_in((start, end), rival)}
    if not about or not about <= said:
        return False
    if figure.kind == "number":
        return _counts_other(claim, figure, evidence, rival, twin)
    mine, theirs = _governors(claim, figure), _governors(evidence, rival)
    other = _governors(evidence, twin)
    if not mine & theirs or mine & other or other & claim.stems - theirs:
        return False
    if other and twin.start < rival.start:
        return True
    return _before(evidence, twin) not in ("", _before(evidence, rival))


def _counts_other(
    claim: Passage, figure: Figure, evidence: Passage, rival: Figure, twin: Figure
) -> bool:
    """Whether the twin counts something else, placed by a preposition or swapped in the claim."""
    mine, theirs, other = claim.nouns(figure), evidence.nouns(rival), evidence.nouns(twin)
    if not mine & theirs or not other or mine & other:
        return False
    early, late = sorted((rival, twin), key=lambda item: item.start)
    between = evidence.text[early.end : late.start]
    if len(between) > _FAR or _CLAUSE_END.search(between):
        return False
    swapped = any(equal(item, rival) and claim.nouns(item) & other for item in claim.figures)
    return swapped or (not other & claim.stems and bool(_PLACED.search(between)))


def _governors(passage: Passage, figure: Figure) -> frozenset[str]:
    """Return the words a figure belongs to: the noun after it, the noun or rank before it."""
    start, end = passage.clause(figure.start)
    stems: set[str] = set()
    after = passage.text[figure.end : min(end, figure.end + 40)]
    found = _WORD.search(after)
    if found and not after[: found.start()].strip(" '’-"):
        stems |= {word.stem for word in passage.words if word.start == figure.end + found.start()}
    words = passage.words_in((max(start, figure.start - _FAR), figure.start), figure)
    near: list[Word] = list(words[-2:])
    tail = passage.text[near[-1].end : figure.start] if near else ""
    tokens = {token.lower() for token in _WORD.findall(tail)}
    if near and tokens <= _OF and not tail.strip(" '’-").strip("abcdefghijklmnopqrstuvwxyz"):
        stems |= {word.stem for word in (near if tokens else near[-1:])}
    return frozenset(stems)


def _before(passage: Passage, figure: Figure) -> str:
    """Return the preposition before a figure, past an article and an ordinal."""
    start, _ = passage.clause(figure.start)
    tokens = _WORD.findall(passage.text[max(start, figure.start - 40) : figure.start])
    return next((token.lower() for token in reversed(tokens[-3:]) if token.lower() in _APART), "")


def reversed_pair(claim: Passage, evidence: Passage) -> tuple[Figure, Figure] | None:
    """Return the first figures of a pair that the claim turns round ("1-3", "from 5 to 3")."""
    given = _pairs(evidence)
    for sort, first, second in _pairs(claim):
        if equal(first, second):
            continue
        alike = [pair for pair in given if pair[0] == sort]
        if any(equal(first, pair[1]) and equal(second, pair[2]) for pair in alike):
            continue
        for _, low, high in alike:
            turned = equal(first, high) and equal(second, low)
            if turned and _same_order(claim, first, evidence, low):
                return first, low
    return None


def _pairs(passage: Passage) -> list[tuple[str, Figure, Figure]]:
    """Return the scores ("3-1", "3 a 1") and the changes ("from 3 to 5") of a text."""
    pairs = []
    text = passage.text
    for low, high in pairwise(passage.figures):
        link = text[low.end : high.start]
        if low.kind != high.kind or len(link) > 6 or low.amount is None or high.amount is None:
            continue
        before = text[max(0, low.start - 6) : low.start]
        if _FROM.fullmatch(link):
            pairs.append(("change", high, low))
        elif _TO.fullmatch(link) and _START.search(before) and before.strip().lower() != "por":
            pairs.append(("change", low, high))
        elif (
            _SCORE.fullmatch(low.text)
            and _SCORE.fullmatch(high.text)
            and (_DASH.fullmatch(link) or _TO.fullmatch(link))
        ):
            pairs.append(("score", low, high))
    return pairs


def _same_order(claim: Passage, mine: Figure, evidence: Passage, theirs: Figure) -> bool:
    """Whether all that the claim says stands in the evidence's sentence, in the same order."""
    said = [word.stem for word in claim.words_in(claim.sentence(mine.start), mine)]
    rest = iter(word.stem for word in evidence.words_in(evidence.sentence(theirs.start), theirs))
    return bool(said) and all(word in rest for word in said)
