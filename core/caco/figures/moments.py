"""Reading dates, years in words such as "the 1990s", weekdays and times of day."""

from __future__ import annotations

import re

from caco.figures.figure import Day, Figure
from caco.figures.units import MONTHS, WEEKDAYS

__all__ = [
    "read_century",
    "read_date",
    "read_decade",
    "read_decade_word",
    "read_month",
    "read_noon",
    "read_time",
    "read_weekday",
]

_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?![\w-])", re.ASCII)
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4}|\d{2})(?![\w/-]|\.\d)", re.ASCII)
_MONTH_SLASH_YEAR = re.compile(r"(\d{1,2})/(\d{4})(?![\w/-])", re.ASCII)
_DAY_MONTH = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th|º|°|ª|o)?[\s\-/]+(?:(?:of|de|do)\s+)?([^\W\d_]{3,9})(?!\w)"
)
_YEAR_TAIL = re.compile(r"\.?(?:\s?,|\s+(?:de|of)\b|/|-|\.)?\s*(\d{4})(?!\w|[.,]\d|%)")
_MONTH_DAY = re.compile(
    r"[^\W\d_]{3,9}\.?\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?(?![\w:%]|[.,/]\d)"
)
_DAY_ONLY = re.compile(r"(\d{1,2})º?(?![\w/:]|[.,]\d)")
_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::[0-5]\d)?(?![:\d])|(\d{1,2})h([0-5]\d)(?!\d)", re.I)
_HOUR = re.compile(r"(\d{1,2})(?!\d)")
_HALF_OF_DAY = re.compile(
    r"\s?(?:(?P<am>a\.\s?m\.?|am\b)|(?P<pm>p\.\s?m\.?|pm\b)|\s?(?P<clock>o['’]clock\b))"
    r"|\s?(?:h\b|horas?\b)?\s?(?:(?P<manha>da\smanhã\b)|(?P<tarde>d[ae]\s(?:tarde|noite)\b))",
    re.IGNORECASE,
)
_HOUR_MARK = re.compile(r"\s?(?:h|horas|hrs)(?!\w)", re.IGNORECASE)
_CLOCK_BEFORE = re.compile(r"\b(?:às|as|ao|das|pelas)\s$", re.IGNORECASE)
_CLOCK_BEFORE_H = re.compile(r"\b(?:at|from|until|to|by|before|after|até|a|antes)\s$", re.I)
_CLOCK_AFTER = re.compile(
    r"(?:\s?h|\s?horas)?\s?(?:às|a|-|–|to)\s?\d{1,2}\s?h(?!\w)", re.IGNORECASE
)
_DECADE = re.compile(r"(\d{3}0|\d0)['’]?s(?!\w)", re.ASCII)
_DECADE_AFTER = re.compile(r"\s(\d0|\d{3}0)(?![\w%]|[.,]\d)", re.ASCII)
_CENTURY = re.compile(r"séculos?\s+([IVX]{1,5})(?!\w)", re.IGNORECASE)
_ROMAN = {"I": 1, "V": 5, "X": 10}
_FEIRA = re.compile(r"-feiras?(?!\w)", re.IGNORECASE)
_NOON_TAIL = re.compile(r"-(?:dia|noite)(?!\w)", re.IGNORECASE)
_NOON = {"noon": 720, "midday": 720, "midnight": 0, "meio-dia": 720, "meia-noite": 0}
_ALSO_VERBS = frozenset(("may", "march"))
_MONTH_BEFORE = re.compile(
    r"\b(?:in|of|by|since|until|till|from|to|and|every|each|last|next|early|late|mid|during|this"
    r"|before|after|through)[\s\-]$",
    re.IGNORECASE,
)


def _cut(
    text: str,
    start: int,
    end: int,
    kind: str,
    value: object,
    alternative: object = None,
    unit: str | None = None,
) -> Figure:
    return Figure(kind, value, unit, text[start:end], start, end, alternative)


def _date(text: str, start: int, end: int, day: Day) -> Figure | None:
    return _cut(text, start, end, "date", day) if day.exists else None


def _month(word: str, language: str) -> int | None:
    name = word.lower()
    return MONTHS[""].get(name) or MONTHS[language].get(name)


def read_date(text: str, start: int, language: str) -> Figure | None:
    """Read the date that starts with the digits at ``start``."""
    iso = _ISO.match(text, start)
    if iso:
        return _date(text, start, iso.end(), Day(*(int(part) for part in iso.groups())))
    slashed = _SLASHED.match(text, start)
    if slashed:
        return _slashed(text, slashed, language)
    month_year = _MONTH_SLASH_YEAR.match(text, start)
    if month_year and 1 <= int(month_year[1]) <= 12 and 1500 <= int(month_year[2]) <= 2200:
        return _date(text, start, month_year.end(), Day(int(month_year[2]), int(month_year[1])))
    found = _DAY_MONTH.match(text, start)
    month = _month(found[2], language) if found else None
    if found and month and 1 <= int(found[1]) <= 31:
        year = _YEAR_TAIL.match(text, found.end())
        end = year.end() if year else found.end()
        return _date(text, start, end, Day(int(year[1]) if year else None, month, int(found[1])))
    if language == "portuguese" and text[max(0, start - 4) : start].lower() == "dia ":
        day = _DAY_ONLY.match(text, start)
        if day and 1 <= int(day[1]) <= 31:
            return _date(text, start, day.end(), Day(day=int(day[1])))
    return None


def _slashed(text: str, found: re.Match[str], language: str) -> Figure | None:
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    if len(found[4]) == 2:
        year += 2000 if year < 70 else 1900
    readings = [Day(year, first, second), Day(year, second, first)]
    if language != "english":
        readings.reverse()
    possible = [day for day in readings if day.exists]
    if not possible:
        return None
    other = possible[1] if len(possible) == 2 and first != second else None
    return _cut(text, found.start(), found.end(), "date", possible[0], other)


def read_month(text: str, start: int, end: int, language: str) -> Figure | None:
    """Read the date that starts with the month's name at ``start`` ("March 17, 2025", "março")."""
    word = text[start:end]
    month = _month(word, language)
    if month is None:
        return None
    day = _MONTH_DAY.match(text, start)
    if day and 1 <= int(day[1]) <= 31 and word[0].isupper():
        year = _YEAR_TAIL.match(text, day.end())
        stop = year.end() if year else day.end()
        return _date(text, start, stop, Day(int(year[1]) if year else None, month, int(day[1])))
    year = _YEAR_TAIL.match(text, end)
    if year and 1000 <= int(year[1]) <= 2200:
        return _date(text, start, year.end(), Day(int(year[1]), month))
    if word.lower() not in MONTHS[""]:
        return None
    if word.lower() in _ALSO_VERBS and not (
        word[0].isupper() and _MONTH_BEFORE.search(text[max(0, start - 9) : start])
    ):
        return None
    return _date(text, start, end, Day(month=month))


def read_weekday(text: str, start: int, end: int) -> Figure | None:
    """Read the weekday at ``start`` ("Fridays", "sexta-feira")."""
    feira = _FEIRA.match(text, end)
    stop = feira.end() if feira else end
    day = WEEKDAYS.get(text[start:stop].lower())
    return None if day is None else _cut(text, start, stop, "date", Day(weekday=day))


def read_time(text: str, start: int, last: Figure | None) -> Figure | None:
    """Read the time of day that starts with the digits at ``start``.

    Args:
        text: Any text.
        start: Where a digit stands.
        last: The figure before it: in "9h–17h" the second is a time because the first is one.
    """
    clock = _CLOCK.match(text, start)
    found = clock or _HOUR.match(text, start)
    if found is None:
        return None
    hour = int(found[1] or (found[3] if clock else 0))
    minutes = int(found[2] or found[4]) if clock else 0
    half = _HALF_OF_DAY.match(text, found.end())
    sort = half.lastgroup if half else None
    if half is None and clock is None and not _is_hour(text, start, found.end(), last):
        return None
    mark = _HOUR_MARK.match(text, found.end())
    end = half.end() if half else mark.end() if mark else found.end()
    if hour > 24 or (sort in ("am", "pm") and not 1 <= hour <= 12):
        return None
    if sort in ("pm", "tarde"):
        hour = hour % 12 + 12
    elif sort == "am":
        hour %= 12
    with_colon = clock is not None and clock[1] is not None
    either_half = hour <= 12 and (sort == "clock" or (with_colon and sort is None))
    alternative = (hour + 12) % 24 * 60 + minutes if either_half else None
    return _cut(text, start, end, "time", hour % 24 * 60 + minutes, alternative)


def _is_hour(text: str, start: int, end: int, last: Figure | None) -> bool:
    """Whether a bare "14h" or "14 horas" is a time of day rather than a duration."""
    before = text[max(0, start - 8) : start]
    mark = _HOUR_MARK.match(text, end)
    if _CLOCK_AFTER.match(text, end):
        return True
    if mark is None:
        return False
    if _CLOCK_BEFORE.search(before):
        return True
    if mark[0].strip().lower() != "h":
        return False
    follows_time = last is not None and last.kind == "time" and start - last.end <= 3
    return follows_time or bool(_CLOCK_BEFORE_H.search(before))


def read_noon(text: str, start: int, end: int) -> Figure | None:
    """Read "noon", "midnight", "meio-dia" or "meia-noite"."""
    tail = _NOON_TAIL.match(text, end)
    stop = tail.end() if tail else end
    minutes = _NOON.get(text[start:stop].lower())
    return None if minutes is None else _cut(text, start, stop, "time", minutes)


def read_decade(text: str, start: int) -> Figure | None:
    """Read "1990s" or "90s"."""
    found = _DECADE.match(text, start)
    if found is None:
        return None
    return _decade(text, start, found.end(), int(found[1]))


def read_decade_word(text: str, start: int, end: int) -> Figure | None:
    """Read "anos 90" or "anos 1990"."""
    found = _DECADE_AFTER.match(text, end)
    if found is None or text[max(0, start - 2) : start - 1].isdigit():
        return None
    return _decade(text, start, found.end(), int(found[1]))


def _decade(text: str, start: int, end: int, year: int) -> Figure:
    return _cut(text, start, end, "year", year if year > 99 else 1900 + year, None, "decade")


def read_century(text: str, start: int) -> Figure | None:
    """Read the century of "século XIX" as an ordinal, as "19th century" is."""
    found = _CENTURY.match(text, start)
    if found is None:
        return None
    digits = [_ROMAN[letter] for letter in found[1].upper()]
    pairs = zip(digits, [*digits[1:], 0], strict=True)
    value = sum(-digit if digit < following else digit for digit, following in pairs)
    return _cut(text, found.start(1), found.end(), "ordinal", value)
