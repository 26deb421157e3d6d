"""Finding the figures of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from caco.figures.amounts import find_suffix_unit, is_measured, read_amount, read_quantity
from caco.figures.figure import Figure
from caco.figures.identifiers import (
    ROMAN_LABELS,
    Identifier,
    find_identifiers,
    find_label,
    find_roman,
    without_zeros,
)
from caco.figures.moments import (
    read_century,
    read_date,
    read_decade,
    read_decade_word,
    read_month,
    read_noon,
    read_time,
    read_weekday,
)
from caco.figures.numerals import HALF, MULTIPLIERS, NUMBER_WORDS, Numeral, read_digits, read_words
from caco.figures.units import MONTHS, ORDINALS, WEEKDAYS

__all__ = ["find_figures", "is_range"]

_TOKEN = re.compile(r"[^\W\d_]+|[0-9]+|[½¼¾⅓⅔]")
_VULGAR = {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4), "⅓": Fraction(1, 3),
           "⅔": Fraction(2, 3)}  # fmt: skip
_FRACTION = re.compile(r"([1-9]\d?)/([1-9]\d{0,2})(?![\w/]|[.,]\d)", re.ASCII)
_ORDINAL_SUFFIX = re.compile(r"(?:st|nd|rd|th|\.?[ºª]|°(?!\s?[CF]))(?!\w)")
_LIST_NUMBER = re.compile(r"\d{1,3}[.)]\s", re.ASCII)
_CITATION = re.compile(r"\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\]", re.ASCII)
_SOURCE_NOTE = re.compile(
    r"[(\[](?:fontes?|sources?|docs?|documentos?|documents?|refs?|ver|see)\b\.?:?\s[^()\[\]\n]{1,60}[)\]]",
    re.IGNORECASE,
)
_SCORE_AFTER = re.compile(r"(?<!\d\d\d)[-–]\d{1,2}(?![\w/-]|[.,]\d)")
_REST_OF_WORD = re.compile(r"[\w.,]{0,200}\w")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|by|until|till|from|to|between|during|of|and|for|circa|mid|early|late|year"
    r"|before|after|em|de|desde|até|entre|e|ano|anos|para|a|spring|summer|autumn|winter)"
    r"|[(/–,-])[\s\-]{0,2}$",
    re.IGNORECASE,
)
_NOUN_AFTER = re.compile(r"[\s\-]([^\W\d_]{2,})")
_NUMERIC_BEFORE = re.compile(
    r"\b(?:only|exactly|just|at\sleast|at\smost|apenas|só|somente|exatamente|pelo\smenos)\s$",
    re.IGNORECASE,
)
_ARTICLE_BEFORE = re.compile(r"\b(?:an?|uma?)\s$", re.IGNORECASE)
_MASCULINE_BEFORE = re.compile(r"\b(?:o|no|do|ao|pelo|um|seu)\s$", re.IGNORECASE)
_AND_A_HALF = re.compile(r"\s(?:and\sa\shalf|e\smei[oa])(?!\w)", re.IGNORECASE)
_PARTS = {"third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifths": 5, "fifth": 5,
          "tenths": 10, "tenth": 10, "terço": 3, "terços": 3, "quarto": 4, "quartos": 4,
          "quintos": 5, "quinto": 5, "décimos": 10, "décimo": 10}  # fmt: skip
_PART_AFTER = re.compile(
    r"[\s\-](" + "|".join(_PARTS) + r")\s(?:of(?!\s\d)|(?<!quarto )d[eoa]|d[oa]s)(?!\w)",
    re.IGNORECASE,
)
_TENS_ORDINAL = re.compile(r"[\s-]([^\W\d_]{4,8})(?!\w)")
_PERIOD_HALF = re.compile(r"\b(?:first|second|a|1st|2nd|other)[\s\-]$", re.IGNORECASE)
_RANGE = re.compile(r"\s?(?:-|–|—|to|a|até|or|ou)\s?|\s(?:and|e)\s", re.IGNORECASE)
_MAGNITUDES = frozenset(Fraction(10**power) for power in (3, 6, 9, 12))
_BETWEEN = re.compile(r"\b(?:between|entre)\s$", re.IGNORECASE)
_SMALL_TALK = frozenset(("one", "um", "uma"))
_ALONE_ONLY_WITH_ARTICLE = frozenset(MULTIPLIERS) - {"mil"}
_IDIOMS = (Fraction(1), Fraction(60), Fraction(86400))
"""Seconds in units that "one" and "um" go with in idioms ("one day", "um minuto")."""


@lru_cache(maxsize=4096)
def find_figures(text: str, language: str) -> tuple[Figure, ...]:
    """Find the figures of ``text``, from left to right, without overlap.

    Number words, units and months of both languages are understood. List numbers and citation
    markers are not figures. The last readings are kept: a premise is held against several claims.

    Args:
        text: Any text.
        language: "english" or "portuguese": how "1.200" and "03/04/2025" are read first.
    """
    return _share_units(text, _Scanner(text, language).scan())


class _Scanner:
    """One pass over one text."""

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self.language = language
        self.figures: list[Figure] = []
        self.done = 0
        """Characters before this one are dealt with."""

    @property
    def last(self) -> Figure | None:
        return self.figures[-1] if self.figures else None

    def scan(self) -> list[Figure]:
        identifiers = find_identifiers(self.text)
        identifier = next(identifiers, None)
        notes = _SOURCE_NOTE.finditer(self.text)
        note = next(notes, None)
        for token in _TOKEN.finditer(self.text):
            start, word = token.start(), token.group()
            while note is not None and note.start() <= start:
                self.done = max(self.done, note.end())
                note = next(notes, None)
            while identifier is not None and identifier.start <= start:
                self._identifier(identifier)
                identifier = next(identifiers, None)
            if start < self.done:
                continue
            if word[0].isdigit() or word in _VULGAR:
                self._digits(start)
                continue
            reader = _READERS.get(word.lower())
            if reader is not None:
                reader(self, start, token.end())
        return self.figures

    def _add(self, figure: Figure | None) -> bool:
        if figure is None:
            return False
        while self.figures and self.figures[-1].start >= figure.start:
            self.figures.pop()
        self.figures.append(figure)
        self.done = figure.end
        return True

    def _identifier(self, found: Identifier) -> None:
        text, start, end = self.text, found.start, found.end
        if start < self.done or (text[start].isdigit() and read_date(text, start, self.language)):
            return
        other = without_zeros(text, start, found.value) if found.kind == "version" else None
        self._add(Figure(found.kind, found.value, found.sort, text[start:end], start, end, other))

    # Digits ---------------------------------------------------------------------------------

    def _digits(self, start: int) -> None:
        text = self.text
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            self.done = self._word_end(start)
        elif text[start] in _VULGAR:
            self._amount(start, Numeral(_VULGAR[text[start]], None, start + 1))
        elif not (
            self._is_marker(start)
            or self._add(read_date(text, start, self.language))
            or self._add(read_time(text, start, self.last))
            or self._add(read_decade(text, start))
        ):
            self._number(start)

    def _number(self, start: int) -> None:
        text = self.text
        fraction = _FRACTION.match(text, start)
        if fraction and int(fraction[1]) < int(fraction[2]) <= 100:
            value = Fraction(int(fraction[1]), int(fraction[2]))
            self._amount(start, Numeral(value, None, fraction.end()))
            return
        numeral = read_digits(text, start, self.language)
        if numeral is None:
            end = self._word_end(start)
            self._add(Figure("identifier", text[start:end], "code", text[start:end], start, end))
            return
        vulgar = _VULGAR.get(text[numeral.end : numeral.end + 1])
        if vulgar:
            numeral = Numeral(numeral.value + vulgar, None, numeral.end + 1)
        suffix = _ORDINAL_SUFFIX.match(text, numeral.end)
        end = suffix.end() if suffix else numeral.end
        whole = numeral.value.denominator == 1
        if self._labelled(start, numeral, end if whole else numeral.end):
            return
        if suffix and whole:
            raw = text[start:end]
            self._add(Figure("ordinal", int(numeral.value), None, raw, start, end))
        else:
            self._amount(start, numeral)

    def _labelled(self, start: int, numeral: Numeral, end: int) -> bool:
        """Add the number as part of a name ("Room 204", "Mira 2"), if it is one."""
        text = self.text
        label = find_label(text, start, self.done)
        if label is None or is_measured(text, start, numeral.end, self.language):
            return False
        if self._is_year(start, numeral) and label[0] not in ("room", "number"):
            return False
        largest = max(numeral.value, numeral.alternative or numeral.value)
        digits = str(largest) if largest.denominator == 1 else text[start:end]
        name, begin = label
        if name == "version":
            raw = text[start : numeral.end]
            return self._add(Figure("version", digits, "named_version", raw, start, numeral.end))
        if name.startswith("name ") and _SCORE_AFTER.match(text, numeral.end):
            return False
        raw = text[begin:end]
        return self._add(Figure("identifier", digits, name, raw, begin, end, None, numeral.value))

    def _is_marker(self, start: int) -> bool:
        """Step over list numbers and citation markers: they are not part of what is said."""
        text = self.text
        citation = _CITATION.match(text, start) if text[start - 1 : start] == "[" else None
        if citation:
            self.done = citation.end()
            return True
        item = _LIST_NUMBER.match(text, start)
        if item is None:
            return False
        before = text[max(0, start - 12) : start]
        line = before.rsplit("\n", 1)[-1]
        if (start > 12 and "\n" not in before) or line.strip(" \t>*_#-"):
            return False
        self.done = item.end() - 1
        return True

    def _word_end(self, start: int) -> int:
        found = _REST_OF_WORD.match(self.text, start)
        return found.end() if found else start + 1

    def _amount(self, start: int, numeral: Numeral) -> None:
        figure = read_amount(self.text, start, numeral, self.language, self.done, self.last)
        if figure.kind == "number" and figure.end == numeral.end and self._is_year(start, numeral):
            figure = replace(figure, kind="year", value=int(numeral.value), alternative=None)
        self._add(figure)

    def _is_year(self, start: int, numeral: Numeral) -> bool:
        if numeral.year:
            return True
        text, end = self.text, numeral.end
        if end - start != 4 or not text[start:end].isdigit() or not 1000 <= numeral.value <= 2199:
            return False
        noun = _NOUN_AFTER.match(text, end)
        if _YEAR_BEFORE.search(text[max(0, start - 9) : start]):
            return numeral.value >= 1500 or noun is None
        plural = noun is not None and noun[1].endswith("s") and len(noun[1]) > 3
        return 1800 <= numeral.value <= 2100 and not plural

    # Words ----------------------------------------------------------------------------------

    def _number_word(self, start: int, end: int) -> None:
        text = self.text
        numeral = read_words(text, start)
        word = text[start:end].lower()
        if numeral is None or (numeral.end == end and not self._stands_alone(word, start, end)):
            return
        article = _ARTICLE_BEFORE.search(text[max(self.done, start - 4) : start])
        takes_article = NUMBER_WORDS[word][0] in ("hundred", "scale", "dozen")
        begin = start - len(article[0]) if article and takes_article else start
        if self._tens_ordinal(begin, numeral) or self._share(begin, numeral):
            return
        label = find_label(text, begin, self.done)
        if label and not label[0].startswith("name"):
            self._labelled(start, numeral, numeral.end)
            if self.done >= numeral.end:
                return
        self._amount(begin, numeral)

    def _stands_alone(self, word: str, start: int, end: int) -> bool:
        """Whether a number word by itself is a number here."""
        if word in _SMALL_TALK:
            return self._counts(start, end)
        if word in ("mil", "cento"):
            return self.language == "portuguese"
        if word in _ALONE_ONLY_WITH_ARTICLE:
            return bool(_ARTICLE_BEFORE.search(self.text[max(self.done, start - 4) : start]))
        return True

    def _counts(self, start: int, end: int) -> bool:
        """Whether "one", "um" or "uma" is a number here rather than an article or a pronoun."""
        text = self.text
        if _NUMERIC_BEFORE.search(text[max(0, start - 12) : start]):
            return _NOUN_AFTER.match(text, end) is not None and not text.startswith(" of", end)
        if _PART_AFTER.match(text, end):
            return True
        unit = find_suffix_unit(text, end)
        if unit is None:
            return is_measured(text, start, end, self.language)
        idiom = unit[0].base == "s" and unit[0].factor in _IDIOMS
        return not idiom or _AND_A_HALF.match(text, unit[1]) is not None

    def _tens_ordinal(self, start: int, numeral: Numeral) -> bool:
        """Read "thirty-seventh"."""
        tail = _TENS_ORDINAL.match(self.text, numeral.end)
        rank = ORDINALS.get(tail[1].lower(), 10) if tail else 10
        if tail is None or rank >= 10 or numeral.value % 10 or not 20 <= numeral.value < 100:
            return False
        raw = self.text[start : tail.end()]
        return self._add(Figure("ordinal", int(numeral.value) + rank, None, raw, start, tail.end()))

    def _share(self, start: int, numeral: Numeral) -> bool:
        """Read "two thirds of"."""
        part = _PART_AFTER.match(self.text, numeral.end)
        if part is None:
            return False
        return self._percent(start, part.end(1), numeral.value * 100 / _PARTS[part[1].lower()])

    def _percent(self, start: int, end: int, value: Fraction) -> bool:
        raw = self.text[start:end]
        return self._add(Figure("percent", value, None, raw, start, end, None, value))

    def _article(self, start: int, end: int) -> None:
        """Read "an hour and a half", "a third of"."""
        part = _PART_AFTER.match(self.text, end)
        if part:
            self._percent(start, part.end(1), Fraction(100, _PARTS[part[1].lower()]))
            return
        unit = find_suffix_unit(self.text, end)
        if unit and _AND_A_HALF.match(self.text, unit[1]):
            self._add(read_quantity(self.text, start, Fraction(1), *unit, None))

    def _half(self, start: int, end: int) -> None:
        """Read "half", "half an hour", "half a million", "meia dúzia", "meio-dia"."""
        text, word = self.text, self.text[start:end].lower()
        if self._add(read_noon(text, start, end)):
            return
        stop = end
        for article in (" a ", " an ", " uma ", " um ", " ", "-"):
            if text.startswith(article, end):
                stop = end + len(article)
                break
        following = _TOKEN.match(text, stop)
        name = following[0].lower() if following and stop > end else ""
        if following and name in MULTIPLIERS:
            self._amount(start, Numeral(HALF * MULTIPLIERS[name], None, following.end()))
            return
        unit = find_suffix_unit(text, stop - 1) if name else None
        if unit:
            self._add(read_quantity(text, start, HALF, *unit, None))
        elif word == "metade" or (
            word == "half" and not _PERIOD_HALF.search(text[max(0, start - 12) : start])
        ):
            self._percent(start, end, Fraction(50))

    def _ordinal(self, start: int, end: int) -> None:
        text, word = self.text, self.text[start:end].lower()
        if self._add(read_weekday(text, start, end)):
            return
        if word == "segundo" and not _MASCULINE_BEFORE.search(text[max(0, start - 5) : start]):
            return
        self._add(Figure("ordinal", ORDINALS[word], None, text[start:end], start, end))

    def _weekday(self, start: int, end: int) -> None:
        self._add(read_weekday(self.text, start, end))

    def _noon(self, start: int, end: int) -> None:
        self._add(read_noon(self.text, start, end))

    def _month(self, start: int, end: int) -> None:
        self._add(read_month(self.text, start, end, self.language))

    def _century(self, start: int, end: int) -> None:
        self._add(read_century(self.text, start))

    def _roman(self, start: int, end: int) -> None:
        found = find_roman(self.text, start, end)
        if found:
            label, number, stop = found
            raw, bare = self.text[start:stop], Fraction(number)
            self._add(Figure("identifier", str(number), label, raw, start, stop, None, bare))

    def _decade(self, start: int, end: int) -> None:
        self._add(read_decade_word(self.text, start, end))


_READERS: dict[str, Callable[[_Scanner, int, int], None]] = {
    **dict.fromkeys((name for table in MONTHS.values() for name in table), _Scanner._month),
    **dict.fromkeys((name.split("-")[0] for name in WEEKDAYS), _Scanner._weekday),
    **dict.fromkeys(ORDINALS, _Scanner._ordinal),
    **dict.fromkeys(("noon", "midday", "midnight"), _Scanner._noon),
    **dict.fromkeys(("a", "an"), _Scanner._article),
    **dict.fromkeys(NUMBER_WORDS, _Scanner._number_word),
    **dict.fromkeys(("half", "metade", "meia", "meio"), _Scanner._half),
    **dict.fromkeys(ROMAN_LABELS, _Scanner._roman),
    **dict.fromkeys(("século", "séculos"), _Scanner._century),
    "anos": _Scanner._decade,
}


def is_range(text: str, low: Figure, high: Figure) -> bool:
    """Whether two neighbouring figures of ``text`` are the ends of a range ("15 to 30 °C")."""
    if not 0 < high.start - low.end <= 6:
        return False
    link = text[low.end : high.start]
    if not _RANGE.fullmatch(link):
        return False
    joined = link.strip().lower() in ("and", "e")
    return not joined or bool(_BETWEEN.search(text[max(0, low.start - 9) : low.start]))


def _share_units(text: str, figures: list[Figure]) -> tuple[Figure, ...]:
    """Give the first end of a range the unit that only the second end carries."""
    for index in range(len(figures) - 1):
        low, high = figures[index], figures[index + 1]
        if low.kind not in ("number", "money") or high.bare is None:
            continue
        if high.kind == "identifier" or not is_range(text, low, high):
            continue
        if low.kind == "money" and high.kind == "number":
            figures[index + 1] = high = replace(high, kind="money", unit=low.unit)
        if low.kind == "number" or low.kind == high.kind:
            figures[index] = _with_unit_of(low, high)
    return tuple(figures)


def _with_unit_of(low: Figure, high: Figure) -> Figure:
    """Return the low end with the unit and, for "4 to 5 million", the magnitude of the high end."""
    value, amount, bare = low.amount, high.amount, low.bare
    digits = read_digits(high.text, 0, "english") if high.text[0].isdigit() else None
    if digits and high.bare and bare and value:
        magnitude = high.bare / digits.value if digits.value else Fraction(1)
        if magnitude in _MAGNITUDES and bare < 1000:
            value, bare = value * magnitude, bare * magnitude
    if high.kind == "quantity" and high.bare and value and amount and high.unit != "°C":
        value = value * amount / high.bare
    return replace(low, kind=high.kind, unit=high.unit, value=value, bare=bare, alternative=None)
