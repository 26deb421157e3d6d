"""Reading what goes with a number: magnitude, percent sign, currency, unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from caco.figures.figure import Figure
from caco.figures.numerals import HALF, MULTIPLIERS, Numeral
from caco.figures.units import CURRENCIES, Unit, find_unit

__all__ = ["find_suffix_unit", "is_measured", "read_amount", "read_quantity"]

_MULTIPLIER = re.compile(r"[\s\-]{0,2}(" + "|".join(MULTIPLIERS) + r")s?(?!\w)", re.IGNORECASE)
_SHORT_MULTIPLIER = re.compile(r"\s?(bn|mn|mm|tn|bi|tri|mi|[kmb])(?!\w)", re.IGNORECASE)
_SHORT = {
    "k": 10**3, "m": 10**6, "mn": 10**6, "mm": 10**6, "mi": 10**6, "b": 10**9, "bn": 10**9,
    "bi": 10**9, "tn": 10**12, "tri": 10**12,
}  # fmt: skip
_AND_A_HALF = re.compile(r"\s(?:and\sa\shalf|e\smei[oa])(?!\w)", re.IGNORECASE)
_SHARES = (
    (
        "percentage_point",
        re.compile(
            r"[\s\-]?(?:percentage[\s\-]points?(?!\w)|p\.\s?p\.|pp(?!\w)"
            r"|pontos?[\s\-]percentua(?:l|is)(?!\w))",
            re.IGNORECASE,
        ),
        Fraction(1),
    ),
    (
        "percentage_point",
        re.compile(r"[\s\-](?:basis[\s\-]points?|bps|pontos[\s\-]base)(?!\w)", re.IGNORECASE),
        Fraction(1, 100),
    ),
    (
        "percent",
        re.compile(r"\s?%|[\s\-](?:percent|per\scent|por\scento|pct)(?!\w)", re.IGNORECASE),
        Fraction(1),
    ),
)
_CURRENCY_BEFORE = re.compile(
    r"(?:(?<![A-Za-z])(R\$|US\$|U\$|AU?\$|CA?\$|HK\$|NZ\$)|([$€£¥₹₽₩])|\b([A-Z]{3}))\s?$"
)
_CURRENCY_AFTER = re.compile(
    r"\s?(?P<sign>€|£|R\$|US\$|\$|¥)(?!\s?\d)"
    r"|\s(?P<sterling>pounds\ssterling|libras\sesterlinas)(?!\w)"
    r"|[\s\-](?:(?:de|of|US|U\.S\.)\s)?(?P<word>[^\W\d_]{3,8})(?!\w)"
)
_SUFFIX_UNIT = (
    re.compile(
        r"[\s\-]((?:square|cubic|working|business|calendar|metric)\s[a-z]+"
        r"|degrees?\s(?:Celsius|Fahrenheit)|graus?\s(?:Celsius|Fahrenheit)"
        r"|(?:metros?|quilômetros?)\s(?:quadrados?|cúbicos?)"
        r"|dias?\s(?:úteis|útil|uteis|util|corridos?)|(?:kilo|mega)watt-hours?)(?!\w)"
    ),
    re.compile(r"[\s\-]?([°º]\s?[CF](?!\w)|″|°)"),
    re.compile(r"[\s\-]?([^\W\d_]{1,5}/[A-Za-z]{1,2})(?!\w)"),
    re.compile(r"[\s\-]?([^\W\d_]{1,14}(?:[²³]|[23](?!\w))?)(?!\w)"),
)
_SPACED_WORDS = frozenset(("A", "w", "v", "in", "m2", "m3", "N", "J"))
"""Read as units only where they touch the number: apart from it they are more often words."""
_COMPOUND = re.compile(r"\s?,?\s?(?:and\s|e\s)?", re.IGNORECASE)
_MINUS = "-−"


@dataclass(frozen=True)
class _Number:
    """A number with its magnitude: both readings, and where it stands."""

    value: Fraction
    other: Fraction | None
    start: int
    end: int

    def scaled(self, factor: Fraction) -> _Number:
        other = None if self.other is None else self.other * factor
        return _Number(self.value * factor, other, self.start, self.end)


def read_amount(
    text: str, start: int, numeral: Numeral, language: str, floor: int, last: Figure | None
) -> Figure:
    """Read the amount whose number was read at ``start``.

    Args:
        text: Any text.
        start: Where the number starts.
        numeral: The number.
        language: "english" or "portuguese".
        floor: Characters before this one belong to another figure.
        last: The figure before it, which "30 minutes" completes in "2 hours and 30 minutes".

    Returns:
        Money, a percentage, percentage points, a quantity or a plain number.
    """
    currency, begin = _currency_before(text, start, floor)
    factor, end = _multiplier(text, numeral, language, bool(currency))
    value = numeral.value * factor
    half = _AND_A_HALF.match(text, end) if factor > 1 else None
    if half:
        value, end = value + HALF * factor, half.end()
    other = None if numeral.alternative is None else numeral.alternative * factor
    number = _Number(value, other, begin, end)
    if begin and text[begin - 1] in _MINUS and not text[max(0, begin - 2) : begin - 1].strip():
        number = _Number(-value, None if other is None else -other, begin - 1, end)
    if currency:
        return _figure(text, "money", currency, number, end, number)
    return _with_suffix(text, number, language, last)


def _figure(
    text: str, kind: str, unit: str | None, number: _Number, end: int, bare: _Number
) -> Figure:
    raw = text[number.start : end]
    return Figure(kind, number.value, unit, raw, number.start, end, number.other, bare.value)


def _with_suffix(text: str, number: _Number, language: str, last: Figure | None) -> Figure:
    for kind, pattern, factor in _SHARES:
        found = pattern.match(text, number.end)
        if found:
            return _figure(text, kind, None, number.scaled(factor), found.end(), number)
    money = _currency_after(text, number.end, language)
    if money:
        return _figure(text, "money", money[0], number, money[1], number)
    measure = find_suffix_unit(text, number.end)
    if measure:
        return _quantity(text, number, *measure, last)
    return _figure(text, "number", None, number, number.end, number)


def is_measured(text: str, start: int, end: int, language: str) -> bool:
    """Whether a unit, a magnitude, a currency or a percent sign goes with a number."""
    return bool(
        any(pattern.match(text, end) for _, pattern, _ in _SHARES)
        or _MULTIPLIER.match(text, end)
        or _currency_before(text, start, 0)[0]
        or find_suffix_unit(text, end)
        or _currency_after(text, end, language)
    )


def _multiplier(text: str, numeral: Numeral, language: str, money: bool) -> tuple[int, int]:  # noqa: FBT001
    end = numeral.end
    found = _MULTIPLIER.match(text, end)
    if found and not (numeral.large and found[1].lower() in ("mil", "thousand")):
        return MULTIPLIERS[found[1].lower()], found.end()
    short = _SHORT_MULTIPLIER.match(text, end)
    if short is None:
        return 1, end
    name = short[1].lower()
    if name == "k":
        allowed = short.start(1) == end
    elif name in ("mi", "bi", "tri"):
        allowed = money or language == "portuguese"
    else:
        allowed = money or name in ("bn", "mn")
    return (_SHORT[name], short.end()) if allowed else (1, end)


def _currency_before(text: str, start: int, floor: int) -> tuple[str | None, int]:
    low = max(floor, start - 5)
    found = _CURRENCY_BEFORE.search(text[low:start])
    currency = CURRENCIES.get(found[found.lastindex or 0].lower()) if found else None
    return currency, (low + found.start() if found and currency else start)


def _currency_after(text: str, end: int, language: str) -> tuple[str, int] | None:
    found = _CURRENCY_AFTER.match(text, end)
    if found is None:
        return None
    if found["sterling"]:
        return "GBP", found.end()
    name = (found["sign"] or found["word"]).lower()
    if name == "real" and language != "portuguese":
        return None
    currency = CURRENCIES.get(name)
    return (currency, found.end()) if currency else None


def find_suffix_unit(text: str, end: int) -> tuple[Unit, int] | None:
    """Return the unit that follows a number that ends at ``end``, and where the unit ends."""
    for pattern in _SUFFIX_UNIT:
        found = pattern.match(text, end)
        if found is None:
            continue
        name = re.sub(r"\s+", " ", found[1])
        if name[0] in "°º":
            name = name.replace(" ", "")
        unit = find_unit(name)
        if unit and not (found.start(1) > end and name in _SPACED_WORDS):
            return unit, found.end()
    return None


def read_quantity(
    text: str, start: int, value: Fraction, unit: Unit, end: int, last: Figure | None
) -> Figure:
    """Return the quantity of ``value`` units, "and a half" included where it follows."""
    return _quantity(text, _Number(value, None, start, end), unit, end, last)


def _quantity(text: str, number: _Number, unit: Unit, end: int, last: Figure | None) -> Figure:
    half = _AND_A_HALF.match(text, end)
    value, end = (number.value + HALF, half.end()) if half else (number.value, end)
    amount = unit.convert(value)
    if last and _continues(text, last, unit, amount, number.start) and last.amount is not None:
        whole = last.amount + amount
        return Figure("quantity", whole, unit.base, text[last.start : end], last.start, end)
    other = None if number.other is None else unit.convert(number.other)
    raw = text[number.start : end]
    return Figure("quantity", amount, unit.base, raw, number.start, end, other, value)


def _continues(text: str, last: Figure, unit: Unit, amount: Fraction, start: int) -> bool:
    """Whether a smaller unit continues the quantity before it ("2 hours and 30 minutes")."""
    if last.kind != "quantity" or last.unit != unit.base or not last.bare or unit.offset:
        return False
    size = (last.amount or Fraction(0)) / last.bare
    between = _COMPOUND.fullmatch(text, last.end, start) if start - last.end < 9 else None
    return between is not None and unit.factor < size and 0 < amount < size
