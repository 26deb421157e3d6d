"""Values that follow from the evidence's figures: rounding, ranges, sums, counts, shares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from caco.figures.figure import Day, Figure
from caco.figures.scan import is_range
from caco.figures.wording import Passage

__all__ = ["hedge", "is_consistent", "is_derived"]

_HEDGES = {
    "about": "about around approximately roughly circa ~ ≈ some nearly almost close_to "
    "cerca_de aproximadamente quase por_volta_de em_torno_de perto_de uns umas na_ordem_de "
    "na_ordem_dos na_ordem_das",
    "over": "over more_than above exceeding exceeds exceeded greater_than upwards_of beyond "
    "mais_de acima_de superior_a superiores_a excede excedem ultrapassa ultrapassou maior_que "
    "maiores_que >",
    "least": "at_least no_less_than no_fewer_than minimum_of pelo_menos ao_menos no_mínimo "
    "a_partir_de ≥ >=",
    "under": "under less_than below fewer_than menos_de abaixo_de inferior_a "
    "inferiores_a menor_que menores_que <",
    "most": "at_most up_to no_more_than as_many_as as_much_as maximum_of até no_máximo ≤ <=",
}
_LATER = "after later_than following depois_de depois_das depois_dos após após_as"
_EARLIER = "before prior_to by earlier_than antes_de antes_das antes_dos"
_WHEN = frozenset(("year", "date", "time"))
_ABOUT_MINUTES = 20
_DAYS = frozenset(("s", "working day"))
_SHARE_TOLERANCE = Fraction(3, 2)
"""Percentage points by which "half" or "two thirds" may be off."""
_PERCENT_WORD = re.compile(r"cent|pct", re.IGNORECASE)


def _before(names: str) -> re.Pattern[str]:
    """Return a pattern for one of ``names`` standing before a figure."""
    choices = "|".join(re.escape(name).replace("_", r"\s") for name in names.split())
    return re.compile(
        rf"(?:^|(?<=[\s(\"“*]))(?:{choices})(?:\s(?:an?|the|o|a|os|as))?\s?$", re.IGNORECASE
    )


_HEDGE_BEFORE = {sort: _before(names) for sort, names in _HEDGES.items()}
_BOUND_BEFORE = {"over": _before(_LATER), "under": _before(_EARLIER)}
_SINCE_BEFORE = {
    "over": _before(f"{_LATER} since from desde"),
    "under": _before(f"{_EARLIER} until até"),
}
_HEDGE_AFTER = re.compile(
    r"\s?(?:(?P<least>\+|or\smore|ou\smais)|(?P<over>or\sover|plus\b)"
    r"|(?P<most>or\sless|or\sfewer|ou\smenos)|(?P<about>or\sso\b))",
    re.IGNORECASE,
)
_AMOUNTS = frozenset(("number", "percent", "percentage_point", "money", "quantity"))
_MANY = 24
"""Beyond this many figures of one kind only totals are tried: arithmetic would find anything."""
_ONE_AND = re.compile(
    r"\b(?:and|plus|e|mais)\s(?:an?|one|another|uma?|outr[oa])\s|\b(?:an?|one|uma?)\s[\w-]+\s(?:and|e)\s"
    r"|\bsurrounded\sby\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:following|next|later|previous|earlier|prior|preceding|same|seguinte|anterior|depois|antes"
    r"|próximo|ago|atrás)\b",
    re.IGNORECASE,
)


def hedge(text: str, figure: Figure) -> str | None:
    """Return what the words at an amount announce: a key of the hedges, or None."""
    before = text[max(0, figure.start - 24) : figure.start]
    for sort, pattern in _HEDGE_BEFORE.items():
        if pattern.search(before):
            return sort
    after = _HEDGE_AFTER.match(text, figure.end)
    return after.lastgroup if after else None


def is_consistent(claim: Passage, figure: Figure, evidence: Passage, other: Figure) -> bool:
    """Whether ``figure`` is a fair way to state ``other``: announced rounding, or in a range."""
    if figure.kind in _WHEN and other.kind in _WHEN:
        return _moments_consistent(claim, figure, evidence, other)
    if {figure.unit, other.unit} == _DAYS and hedge(claim.text, figure) != hedge(
        evidence.text, other
    ):
        return True
    if figure.kind != other.kind or figure.unit != other.unit:
        return False
    if _in_range(figure, evidence, other):
        return True
    mine, theirs = figure.amount, other.amount
    if mine is None or theirs is None:
        return False
    said, meant = hedge(claim.text, figure), hedge(evidence.text, other)
    rounded = _rounds_to(theirs, mine, figure, other)
    if said == meant and said is not None:
        return rounded or (said in ("about", "over") and _is_rounder(figure, other, said))
    if (
        said is None
        and meant is None
        and _is_spelled_share(figure)
        and not _is_spelled_share(other)
    ):
        return abs(mine - theirs) <= _SHARE_TOLERANCE
    return rounded or _bounded(said, mine, theirs) or _bounded(meant, theirs, mine)


def _is_spelled_share(figure: Figure) -> bool:
    """Whether a percentage is written as a fraction ("two thirds of"), which rounds."""
    return (
        figure.kind == "percent"
        and not any(letter.isdigit() for letter in figure.text)
        and (_PERCENT_WORD.search(figure.text) is None)
    )


def _bounded(sort: str | None, bound: Fraction, value: Fraction) -> bool:
    """Whether ``value`` fits "over ``bound``", "about ``bound``" and the like."""
    if sort in ("over", "least"):
        return value >= bound
    if sort in ("under", "most"):
        return value <= bound
    return sort == "about" and abs(value - bound) * 10 <= abs(value)


def _is_rounder(figure: Figure, other: Figure, sort: str) -> bool:
    """Whether a hedged figure rounds another one that is hedged the same way."""
    if figure.bare is None or other.bare is None or not figure.amount or not other.amount:
        return False
    if _digits(figure.bare) >= _digits(other.bare):
        return False
    ratio = other.amount / figure.amount
    low = Fraction(1) if sort == "over" else Fraction(9, 10)
    return low <= ratio <= Fraction(5, 4) if sort == "over" else low <= ratio <= Fraction(11, 10)


def _place(number: Fraction) -> Fraction:
    """Return the value of a number's last significant digit: 100 for 48,500, 1/10 for 4.2."""
    place = Fraction(1)
    while (number / place).denominator != 1 and place > Fraction(1, 10**9):
        place /= 10
    while number and place >= 1 and number % (place * 10) == 0:
        place *= 10
    return place


def _digits(number: Fraction) -> int:
    """Return how many significant digits a number has."""
    return len(str(abs(int(number / _place(number)))))


def _rounds_to(exact: Fraction, rounded: Fraction, figure: Figure, other: Figure) -> bool:
    """Whether ``rounded`` is ``exact`` with fewer digits ("4.2 million" for 4,213,567)."""
    if not figure.bare or not rounded:
        return False
    place = _place(figure.bare)
    step = abs(place * rounded / figure.bare)
    decimal = other.bare is not None and other.bare.denominator != 1
    if place < Fraction(1, 10**8):
        # A third has no last digit: "33.3%" decides how exact it is.
        return abs(exact - rounded) * 2 <= min(_place(other.bare or exact), Fraction(1))
    if (exact / step).denominator == 1 or abs(exact - rounded) * 2 > step:
        return False
    if place == 10:  # 180 for 179 is another price, not a round one
        return False
    return abs(figure.bare / place) >= 10 or (place == 1 and decimal)


def _moments_consistent(claim: Passage, figure: Figure, evidence: Passage, other: Figure) -> bool:
    """Whether "after 2010" and the like hold for the other year or time of day."""
    mine, theirs = _moment(figure), _moment(other)
    if not mine or not theirs or (figure.kind == "time") != (other.kind == "time"):
        return False
    if figure.kind == "time" and hedge(claim.text, figure) == "about":
        return abs(mine[0] - theirs[0]) <= _ABOUT_MINUTES
    length = min(len(mine), len(theirs))
    mine, theirs = mine[:length], theirs[:length]
    said = _bound(_SINCE_BEFORE, claim.text, figure)
    meant = _bound(_SINCE_BEFORE, evidence.text, other)
    if meant is not None:
        later = mine >= theirs if meant == "over" else mine <= theirs
        return said != meant and later
    said = _bound(_BOUND_BEFORE, claim.text, figure)
    if said is not None:
        return theirs >= mine if said == "over" else theirs <= mine
    return _in_range(figure, evidence, other)


def _bound(patterns: dict[str, re.Pattern[str]], text: str, figure: Figure) -> str | None:
    before = text[max(0, figure.start - 16) : figure.start]
    return next((sort for sort, pattern in patterns.items() if pattern.search(before)), None)


def _moment(figure: Figure) -> tuple[int, ...]:
    """Return a point in time, largest unit first, as far as it is given; () if it has no year."""
    if figure.kind == "time" and isinstance(figure.value, int):
        return (figure.value,)
    year = _year(figure)
    if year is None or not isinstance(figure.value, Day):
        return () if year is None else (year,)
    parts = (year, figure.value.month, figure.value.day)
    return tuple(part for part in parts if part is not None)


def _year(figure: Figure) -> int | None:
    if isinstance(figure.value, Day):
        return figure.value.year
    return figure.value if isinstance(figure.value, int) and figure.kind == "year" else None


def _in_range(figure: Figure, evidence: Passage, other: Figure) -> bool:
    """Whether ``other`` is an end of a range that ``figure`` lies in."""
    value = _size(figure)
    for low, high in evidence.neighbours(other):
        smallest, largest = _size(low), _size(high)
        if value is None or smallest is None or largest is None or low.unit != high.unit:
            continue
        if is_range(evidence.text, low, high) and smallest <= value <= largest:
            return True
    return False


def _size(figure: Figure) -> Fraction | None:
    if isinstance(figure.value, (int, Fraction)):
        return Fraction(figure.value)
    year = _year(figure)
    return None if year is None else Fraction(year)


def is_derived(claim: Passage, figure: Figure, evidence: Passage) -> bool:
    """Whether arithmetic on the evidence's figures, or counting its items, yields ``figure``."""
    if _year(figure) is not None:
        return _is_counted_year(figure, evidence)
    value = figure.amount
    if figure.kind not in _AMOUNTS or value is None:
        return False
    if figure.kind == "number" and value in _counts(evidence):
        return True
    if value in _spans(figure, evidence.figures):
        return True
    if value in _combined(_like(figure, claim, evidence), figure, evidence):
        return True
    return _is_share(claim, figure, value, evidence) or value in _products(figure, evidence)


def _is_counted_year(figure: Figure, evidence: Passage) -> bool:
    """Whether the year is told by its distance from another ("five years later")."""
    year = _year(figure)
    if year is None or not _NEXT.search(evidence.text):
        return False
    spans = {
        abs(other.amount) / 12
        for other in evidence.figures
        if other.unit == "month" and other.amount is not None
    } | {Fraction(0), Fraction(1)}
    years = [found for found in map(_year, evidence.figures) if found is not None]
    return any(abs(year - other) in spans for other in years)


def _like(figure: Figure, claim: Passage, evidence: Passage) -> list[Fraction]:
    """Return the amounts that may be added up to ``figure``: same unit, for counts same noun."""
    nouns = claim.nouns(figure)
    amounts = []
    for other in evidence.figures:
        if other.kind != figure.kind or other.unit != figure.unit or other.amount is None:
            continue
        theirs = evidence.nouns(other) if figure.kind == "number" and nouns else nouns
        if not theirs or nouns & theirs:
            amounts.append(other.amount)
    return amounts


def _combined(amounts: list[Fraction], figure: Figure, evidence: Passage) -> set[Fraction]:
    """Return sums and differences of the amounts, their total and their mean."""
    results: set[Fraction] = set()
    if figure.kind == "number" and _ONE_AND.search(evidence.text):
        results = {amount + 1 for amount in amounts}
    if len(amounts) < 2:
        return results
    total = sum(amounts, Fraction(0))
    results |= {total, total / len(amounts)}
    if len(amounts) > _MANY:
        return results
    results |= {total - amount for amount in amounts}
    for one, other in combinations(amounts, 2):
        results |= {one + other, abs(one - other), (one + other) / 2}
    for first in range(len(amounts)):
        running = amounts[first]
        for amount in amounts[first + 1 :]:
            running += amount
            results.add(running)
    return results


def _spans(figure: Figure, given: tuple[Figure, ...]) -> set[Fraction]:
    """Return the time between two years or times of day, in the unit of ``figure``."""
    if figure.unit == "month":
        years = [year for year in map(_year, given) if year is not None][:_MANY]
        return {Fraction(12 * abs(one - other)) for one, other in combinations(years, 2)}
    if figure.unit == "s":
        times = [other.value for other in given if other.kind == "time"][:_MANY]
        minutes = [time for time in times if isinstance(time, int)]
        return {Fraction(60 * abs(one - other)) for one, other in combinations(minutes, 2)}
    return set()


def _is_share(claim: Passage, figure: Figure, value: Fraction, evidence: Passage) -> bool:
    """Whether ``figure`` is a share, a growth rate or a multiple of two figures given."""
    times = figure.kind == "number" and claim.nouns(figure) & {"tim", "vez"}
    if figure.kind != "percent" and not times:
        return False
    scale = 1 if times else 100
    half_step = min(_place(value), Fraction(1)) / 2
    for one, other in _ratios(evidence.figures):
        for ratio in (one / other, abs(one - other) / other):
            if abs(scale * ratio - value) <= half_step:
                return True
    return False


def _ratios(figures: tuple[Figure, ...]) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield pairs of non-zero amounts of one kind, both ways round."""
    groups: dict[tuple[str, str | None], list[Fraction]] = {}
    for figure in figures:
        if figure.kind in _AMOUNTS and figure.amount:
            groups.setdefault((figure.kind, figure.unit), []).append(figure.amount)
    for amounts in groups.values():
        for one, other in combinations(amounts[:_MANY], 2):
            yield one, other
            yield other, one


def _products(figure: Figure, evidence: Passage) -> set[Fraction]:
    """Return products of a plain number, a percentage or a time with an amount like ``figure``."""
    factors: list[Fraction] = []
    amounts: list[Fraction] = []
    for other in evidence.figures:
        if other.amount is None:
            continue
        if other.kind == "percent":
            factors += [other.amount / 100, 1 - other.amount / 100, 1 + other.amount / 100]
        elif other.kind in ("number", "quantity") and other.bare is not None:
            factors.append(other.bare)
        if other.kind == figure.kind and other.unit == figure.unit:
            amounts.append(other.amount)
    if len(factors) * len(amounts) > _MANY**2:
        return set()
    return {factor * amount for factor in factors for amount in amounts if factor not in (0, 1)}


_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s", re.MULTILINE)
_SENTENCE = re.compile(r"[^.;:!?\n]+")
_COMMA = re.compile(r",\s(?:and|or|e|ou)\s|,\s|\s(?:and|or|e|ou)\s")


def _counts(evidence: Passage) -> set[Fraction]:
    """Return how many items the evidence's lists, tables and enumerations have."""
    # "Two hundred and five" and "3 or 4" list nothing.
    text = evidence.without_figures()
    rows = text.count("\n|")
    counts = {len(_ITEM.findall(text)), rows, rows - 1}
    for sentence in _SENTENCE.findall(text):
        items = len(_COMMA.findall(sentence)) + 1
        if items >= 3:
            counts |= {items, items - 1}
    return {Fraction(count) for count in counts if count >= 2}
