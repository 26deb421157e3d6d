"""What a figure is, and when two figures are the same value."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

__all__ = ["Day", "Figure", "equal"]


@dataclass(frozen=True)
class Day:
    """A calendar date, as far as it is given; ``weekday`` is 0 for Monday."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None

    @property
    def parts(self) -> frozenset[str]:
        """Which of year, month, day and weekday are given."""
        given = (("year", self.year), ("month", self.month), ("day", self.day))
        names = {name for name, value in given if value is not None}
        return frozenset(names | {"weekday"} if self.weekday is not None else names)

    @property
    def exists(self) -> bool:
        """Whether the calendar has such a day (29 February without a year counts as one)."""
        if self.month is None or self.day is None:
            return self.month is None or 1 <= self.month <= 12
        try:
            date(self.year or 2000, self.month, self.day)
        except ValueError:
            return False
        return True


@dataclass(frozen=True)
class Figure:
    """A figure found in a text.

    Attributes:
        kind: "number", "percent", "percentage_point", "money", "quantity", "date", "year",
            "time", "ordinal", "version" or "identifier".
        value: What it is worth, in the base unit: a `Fraction` for the first five kinds, a `Day`,
            the year, the minutes since midnight, the rank, or the normalised characters.
        unit: Base unit of a quantity, currency of money, "decade" for a decade, sort of an
            identifier ("email", "room", "name orion"); else None.
        text: Its characters as they stand in the text.
        start: ``source[start:end] == text``.
        end: See ``start``.
        alternative: The second reading of an ambiguous notation ("1.200", "03/04/2025", "6:00"),
            or a version without its trailing zeros.
        bare: The number without its unit, for amounts and numbered names.
    """

    kind: str
    value: Hashable
    unit: str | None
    text: str
    start: int
    end: int
    alternative: Hashable = field(default=None, compare=False)
    bare: Fraction | None = field(default=None, compare=False)

    @property
    def amount(self) -> Fraction | None:
        """The value of a number, percentage, sum of money or quantity; None for other kinds."""
        return self.value if isinstance(self.value, Fraction) else None

    @property
    def parts(self) -> frozenset[str]:
        """Which parts of a date are given; nothing for other kinds."""
        return self.value.parts if isinstance(self.value, Day) else frozenset()


def equal(a: Figure, b: Figure) -> bool:
    """Whether two figures are the same value, whatever the notation.

    A partial date equals a fuller one that agrees with it; an ambiguous notation equals either of
    its readings.
    """
    return any(
        _same(a, first, b, second)
        for first in (a.value, a.alternative)
        for second in (b.value, b.alternative)
        if first is not None and second is not None
    )


def _same(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    if a.kind == b.kind:
        test = _SAME_KIND.get(a.kind)
        if test is not None:
            return test(a, first, b, second)
        return first == second and a.unit == b.unit
    if a.kind > b.kind:
        a, first, b, second = b, second, a, first
    test = _ACROSS_KINDS.get((a.kind, b.kind))
    return test is not None and test(a, first, b, second)


def _same_date(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    if not isinstance(first, Day) or not isinstance(second, Day):
        return False
    pairs = (
        (first.year, second.year),
        (first.month, second.month),
        (first.day, second.day),
        (_weekday(first), _weekday(second)),
    )
    given = [(one, other) for one, other in pairs if one is not None and other is not None]
    return bool(given) and all(one == other for one, other in given)


def _weekday(day: Day) -> int | None:
    if day.weekday is not None or not (day.year and day.month and day.day):
        return day.weekday
    return date(day.year, day.month, day.day).weekday()


def _same_year(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    if a.unit == b.unit:
        return first == second
    return isinstance(first, int) and isinstance(second, int) and first // 10 == second // 10


def _same_identifier(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    named = a.bare is not None and b.bare is not None
    return first == second and (a.unit == b.unit or not named)


def _date_and_year(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    if not isinstance(first, Day) or first.year is None or not isinstance(second, int):
        return False
    return first.year // 10 == second // 10 if b.unit else first.year == second


def _name_and_number(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    return a.bare is not None and first == str(second)


def _same_money(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    return first == second and (first == 0 or a.unit == b.unit or "peso" in (a.unit, b.unit))


def _same_version(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    return first == second


def _equal_values(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    return first == second


def _number_and_percent(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    fraction = isinstance(first, Fraction) and first.denominator != 1
    return fraction and first * 100 == second  # type: ignore[operator]


def _hours_and_time(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    clock = a.unit == "s" and re.fullmatch(r"\d{1,2}\s?(?:h|horas)", a.text)
    return bool(clock) and isinstance(first, Fraction) and first / 60 == second


def _number_and_version(a: Figure, first: Hashable, b: Figure, second: Hashable) -> bool:
    return a.text == b.value


_Test = Callable[[Figure, Hashable, Figure, Hashable], bool]
_SAME_KIND: dict[str, _Test] = {
    "date": _same_date,
    "year": _same_year,
    "identifier": _same_identifier,
    "money": _same_money,
    "version": _same_version,
}
_ACROSS_KINDS: dict[tuple[str, str], _Test] = {
    ("date", "year"): _date_and_year,
    ("identifier", "number"): _name_and_number,
    ("identifier", "ordinal"): _name_and_number,
    ("number", "percent"): _number_and_percent,
    ("number", "version"): _number_and_version,
    ("number", "year"): _equal_values,
    ("quantity", "time"): _hours_and_time,
}
