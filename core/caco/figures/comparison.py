"""Where the figures of a claim differ from the figures of its evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from caco.figures.derivation import is_consistent, is_derived
from caco.figures.figure import Figure, equal
from caco.figures.implied import with_implied_units
from caco.figures.prices import is_free, same_offer, with_free
from caco.figures.roles import Role, role_of
from caco.figures.scan import find_figures, is_range
from caco.figures.wording import Passage

__all__ = [
    "MOST_RIVALS",
    "Comparison",
    "Mismatch",
    "comparable",
    "compare",
    "describe",
    "is_aside",
    "read_pair",
]


@dataclass(frozen=True)
class Mismatch:
    """Two figures that speak of the same thing and differ.

    Attributes:
        claim: The claim's figure; offsets point into the claim.
        evidence: The evidence's figure; offsets point into the evidence. For a total that the
            evidence gives in parts, the stretch from the first part to the last, worth their sum.
    """

    claim: Figure
    evidence: Figure


@dataclass(frozen=True)
class Comparison:
    """What became of the claim's figures, each group in order of appearance.

    Attributes:
        mismatches: The evidence gives another value for the same thing.
        matched: The evidence has an equal figure, or one that the claim's follows from (announced
            rounding, a range, a sum, a count).
        unmatched: The evidence has nothing to compare them with.
    """

    mismatches: tuple[Mismatch, ...]
    matched: tuple[Figure, ...]
    unmatched: tuple[Figure, ...]


_WORDS = {
    "english": "response {claim}, source {evidence}",
    "portuguese": "resposta {claim}, fonte {evidence}",
}
_DURATIONS = frozenset(("s", "month"))
_DAYS = frozenset(("s", "working day"))
_DAY = re.compile(r"\b(?:days?|dias?)\b", re.IGNORECASE)
_SECONDS = {"month": Fraction(30 * 86400), "working day": Fraction(7 * 86400, 5)}
_NEARLY_SAME = Fraction(9, 10)
_ADDRESSES = frozenset(("email", "url", "phone", "docket", "taxpayer", "law", "address"))
_TIE = 0.02
MOST_RIVALS = 200
"""A text with more figures of one kind is a data set, not evidence: nothing is decided on it."""
_ASIDE = re.compile(
    r"\s(?:of|out\sof|d[eoa]s?|dentre|more|fewer|less|higher|lower|mais|menos|a\smais|a\smenos)(?!\w)",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"\b(?:combined|together|em\sconjunto|juntos|juntas)\b", re.IGNORECASE)
_SPLIT_NUMBER = re.compile(r"\d[.,]\s$")
_SPLIT_NUMBER_AFTER = re.compile(r"[.,]\s\d{1,3}(?!\d)")
_MOST_PARTS = 6
_TOTAL = re.compile(
    r"(?<!average )(?<!mean )\b(?:total|altogether|in\sall|combined|together"
    r"|ao\stodo|no\stotal|em\sconjunto|juntos|juntas)\b",
    re.IGNORECASE,
)


def describe(mismatch: Mismatch, language: str) -> str:
    """Return both values, as they are written ("response 2015, source 2018")."""
    claim = " ".join(mismatch.claim.text.split())
    parts = [mismatch.evidence]
    if mismatch.evidence.kind == "number" and mismatch.evidence.bare is None:
        inside = find_figures(mismatch.evidence.text, language)
        parts = [figure for figure in inside if figure.kind == "number"]
    evidence = " + ".join(" ".join(figure.text.split()) for figure in parts)
    return _WORDS[language].format(claim=claim, evidence=evidence)


def compare(claim: str, evidence: str, language: str) -> Comparison:
    """Compare the figures of a claim with those of the text that is said to back it.

    Args:
        claim: One sentence of an answer.
        evidence: The sentences of the documents that speak about it, in either language. Figures of
            which there are more than 200 of one kind are matched, but never mismatched.
        language: "english" or "portuguese": how ambiguous notations are read first.
    """
    search = _Search(*read_pair(claim, evidence, language))
    mismatches, matched, unmatched = [], [], []
    for figure in search.claim.figures:
        if search.is_matched(figure):
            matched.append(figure)
            continue
        other = search.counterpart(figure)
        if other is not None:
            mismatches.append(Mismatch(figure, other))
        elif search.backs(figure):
            matched.append(figure)
        else:
            unmatched.append(figure)
    return Comparison(tuple(mismatches), tuple(matched), tuple(unmatched))


def is_total(claim: str, evidence: str, language: str) -> bool:
    """Whether a claim announces a total ("together", "ao todo") that the evidence adds up to.

    Args:
        claim: One sentence of an answer.
        evidence: The sentences of the documents that speak about it.
        language: "english" or "portuguese".

    Returns:
        True when every figure of the claim has its match in the evidence, and one of them is not
        written there but follows from what is, by sums or counts.
    """
    if not _TOTAL.search(claim):
        return False
    search = _Search(*read_pair(claim, evidence, language))
    figures = search.claim.figures
    derived = [
        figure
        for figure in figures
        if not any(equal(figure, other) for other in search.evidence.figures)
        and is_derived(search.claim, figure, search.evidence)
    ]
    return bool(derived) and all(search.backs(figure) for figure in figures)


def read_pair(claim: str, evidence: str, language: str) -> tuple[Passage, Passage]:
    """Read the figures of a claim and of its evidence, as far as the claim's need them.

    Prices of nothing are among the evidence's only beside prices, and plain numbers have the unit
    that stands apart from them only beside quantities. The last readings are kept: evidence is held
    against several claims, each for differences and for attribution in turn.
    """
    said = _claimed(claim, language)
    if not said.figures:
        return said, Passage("", ())
    priced = any(figure.kind == "money" for figure in said.figures)
    units = frozenset(figure.unit for figure in said.figures if figure.kind == "quantity")
    return said, _given(evidence, language, priced=priced, units=units)


@lru_cache(maxsize=256)
def _claimed(text: str, language: str) -> Passage:
    return Passage(text, with_free(text, find_figures(text, language)))


@lru_cache(maxsize=256)
def _given(text: str, language: str, *, priced: bool, units: frozenset[str | None]) -> Passage:
    figures = find_figures(text, language)
    if priced:
        figures = with_free(text, figures)
    return Passage(text, with_implied_units(text, figures, units))


def comparable(one: Figure, other: Figure) -> bool:
    """Whether two figures measure the same kind of thing, so that a difference means something."""
    if one.kind != other.kind:
        return _comparable_kinds(one, other)
    if one.kind == "money":
        free = is_free(one) or is_free(other)
        return free or one.unit == other.unit or one.bare == other.bare
    if one.kind == "quantity" and one.unit != other.unit:
        return _comparable_durations(one, other)
    if one.kind == "version":
        full, short = sorted((f"{one.value}.", f"{other.value}."), key=len, reverse=True)
        return one.unit == other.unit and not full.startswith(short)
    if one.kind == "identifier":
        named = one.bare is not None and not str(one.unit).startswith("name ")
        return one.unit == other.unit and (named or one.unit in _ADDRESSES)
    if one.kind == "date":
        return one.parts == other.parts or bool((one.parts & other.parts) - {"year"})
    return one.unit == other.unit


def _comparable_kinds(one: Figure, other: Figure) -> bool:
    kinds = {one.kind, other.kind}
    if kinds == {"percent", "percentage_point"}:
        return one.bare == other.bare
    if kinds == {"date", "year"}:
        day, year = (one, other) if one.kind == "date" else (other, one)
        return "year" in day.parts and year.unit is None
    return False


def _comparable_durations(one: Figure, other: Figure) -> bool:
    """Whether two durations are in units that are told apart: days, working days, months."""
    units = {one.unit, other.unit}
    if units == _DURATIONS:
        return not _similar_durations(one, other)
    if units != _DAYS:
        return False
    days, working = (one, other) if one.unit == "s" else (other, one)
    if not _DAY.search(days.text):
        return False
    # "Five working days" and "one week", "seven days" come to the same.
    return one.bare == other.bare or not _similar_durations(days, working)


def _similar_durations(one: Figure, other: Figure) -> bool:
    """Whether days and months come to about the same ("30 days", "one month")."""
    seconds = [
        (figure.amount or Fraction(0)) * _SECONDS.get(str(figure.unit), Fraction(1))
        for figure in (one, other)
    ]
    return min(seconds) >= max(seconds) * _NEARLY_SAME


def is_aside(text: str, figure: Figure) -> bool:
    """Whether a figure counts within or beyond something ("one of", "3 more"), or is cut in two."""
    if figure.kind not in ("number", "ordinal"):
        return _is_cut(text, figure)
    return bool(_ASIDE.match(text, figure.end)) or _is_cut(text, figure)


def _is_cut(text: str, figure: Figure) -> bool:
    """Whether a tokeniser has put blanks into the number ("98. 7 per cent", "3, 700")."""
    before = text[max(0, figure.start - 3) : figure.start]
    return bool(_SPLIT_NUMBER.search(before) or _SPLIT_NUMBER_AFTER.match(text, figure.end))


class _Search:
    """Looks for the evidence's counterpart of a claim's figure."""

    def __init__(self, claim: Passage, evidence: Passage) -> None:
        self.claim = claim
        self.evidence = evidence

    def is_matched(self, figure: Figure) -> bool:
        """Whether the evidence has an equal figure that says no less than ``figure`` does."""
        return any(
            figure.parts <= other.parts or figure.parts == {"weekday"}
            for other in self.evidence.figures
            if _agree(figure, other)
        )

    def backs(self, figure: Figure) -> bool:
        """Whether the evidence has an equal figure, or ones that ``figure`` follows from."""
        if any(_agree(figure, other) for other in self.evidence.figures):
            return True
        others = [other for other in self.evidence.figures if comparable(figure, other)]
        return len(others) <= MOST_RIVALS and (
            self._is_consistent(figure, others) or is_derived(self.claim, figure, self.evidence)
        )

    def _is_consistent(self, figure: Figure, others: Iterable[Figure]) -> bool:
        """Whether ``figure`` states one of ``others`` by rounding, a bound or a range."""
        return any(is_consistent(self.claim, figure, self.evidence, other) for other in others)

    def counterpart(self, figure: Figure) -> Figure | None:
        """Return the figure that the evidence gives in the place of ``figure``, if it is clear."""
        if _is_cut(self.claim.text, figure):
            return None
        ranked = sorted(self._candidates(figure), key=lambda pair: -pair[0].overlap)
        others = [other for _, other in ranked]
        if not ranked or self._is_consistent(figure, others):
            return None
        role, best = ranked[0]
        tied = [other for rival, other in ranked if rival.overlap > role.overlap - _TIE]
        clear = all(equal(best, other) for other in tied)
        # Arithmetic finds many values by chance; not where the same thing is said in so many words.
        if not (clear and role.complete) and is_derived(self.claim, figure, self.evidence):
            return None
        return self._total(figure, others) or (best if clear else None)

    def _candidates(self, figure: Figure) -> Iterator[tuple[Role, Figure]]:
        others = [item for item in self.claim.figures if item is not figure]
        rivals = [other for other in self.evidence.figures if comparable(figure, other)]
        if len(rivals) > MOST_RIVALS:
            return
        for other in rivals:
            if equal(figure, other):
                continue
            if any(_agree(item, other) for item in others) or not self._alike(figure, other):
                continue
            if is_free(figure) or is_free(other):
                if same_offer(self.claim, figure, self.evidence, other):
                    yield Role(1.0, 1, 1, same_noun=False, complete=True), other
                continue
            if self._is_part(figure, other):
                continue
            role = role_of(self.claim, figure, self.evidence, other)
            if role is not None and _is_clear(role, figure):
                yield role, other

    def _alike(self, figure: Figure, other: Figure) -> bool:
        """Whether both figures are used the same way: ends of ranges, parts of a whole, or not."""
        if _is_cut(self.evidence.text, other):
            return False
        if is_aside(self.claim.text, figure) or is_aside(self.evidence.text, other):
            after = _ASIDE.match(self.claim.text, figure.end)
            if after is None or not self.evidence.text.startswith(after[0], other.end):
                return False
        return _end_of_range(self.claim, figure) == _end_of_range(self.evidence, other)

    def _is_part(self, figure: Figure, other: Figure) -> bool:
        """Whether the claim adds several up, of which the evidence here may be but one."""
        if figure.amount is None or other.amount is None or other.amount >= figure.amount:
            return False
        return bool(_TOGETHER.search(self.claim.text)) and not _TOGETHER.search(self.evidence.text)

    def _total(self, figure: Figure, parts: list[Figure]) -> Figure | None:
        """Return the parts as one figure, where the claim gives a total of what they count."""
        few = 2 <= len(parts) <= _MOST_PARTS
        if figure.kind != "number" or not few or not _TOTAL.search(self.claim.text):
            return None
        if any(_is_cut(self.evidence.text, part) for part in parts):
            return None
        parts = sorted(parts, key=lambda part: part.start)
        value = sum((part.amount or Fraction(0) for part in parts), Fraction(0))
        start, end = parts[0].start, parts[-1].end
        return Figure("number", value, None, self.evidence.text[start:end], start, end)


def _is_clear(role: Role, figure: Figure) -> bool:
    """Whether the words shared are enough for figures of this kind."""
    if figure.kind == "identifier" and figure.bare is not None:
        return role.overlap >= 0.85 and role.shared >= 2
    if figure.parts and not figure.parts & {"day", "year"}:
        return role.overlap >= 0.6 or role.words <= 2
    if figure.kind == "number" and not role.same_noun:
        return role.overlap >= 0.5 and role.shared >= 2
    return role.overlap >= 0.5


def _end_of_range(passage: Passage, figure: Figure) -> str:
    for low, high in passage.neighbours(figure):
        if is_range(passage.text, low, high):
            return "low" if low is figure else "high"
    return ""


def _agree(figure: Figure, other: Figure) -> bool:
    """Whether two figures are equal, or would be if a bare number had the other one's unit."""
    if equal(figure, other):
        return True
    one, bare = (figure, other) if other.kind == "number" else (other, figure)
    if bare.kind != "number" or one.bare is None or one.kind == "identifier":
        return False
    if one.kind == "number":
        return _without_magnitude(one, bare) or _without_magnitude(bare, one)
    return one.bare in (bare.value, bare.alternative)


def _without_magnitude(full: Figure, short: Figure) -> bool:
    """Whether ``short`` lacks just the "million" that ``full`` has, as in a table in millions."""
    digits, _, magnitude = full.text.partition(" ")
    return bool(magnitude) and digits == short.text and digits[:1].isdigit()
