"""Numbers as they are written: in digits, English or Portuguese style, and in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

__all__ = ["MULTIPLIERS", "NUMBER_WORDS", "Numeral", "read_digits", "read_words"]

HALF = Fraction(1, 2)

_MAX_DIGITS = 18
"""Longer digit strings are account numbers and keys, not amounts."""


@dataclass(frozen=True)
class Numeral:
    """A number found in a text.

    Attributes:
        value: The number.
        alternative: What it is under the other language's number format ("1.200" is 1.2 or 1200);
            None when the notation allows one reading.
        end: One past its last character.
        year: True for a year spelled in pairs ("nineteen ninety-eight").
        large: True when it was spelled with a thousand or more ("mil", "two million").
    """

    value: Fraction
    alternative: Fraction | None
    end: int
    year: bool = False
    large: bool = False


_ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9,
    "um": 1, "uma": 1, "dois": 2, "duas": 2, "três": 3, "tres": 3, "quatro": 4, "cinco": 5,
    "seis": 6, "sete": 7, "oito": 8, "nove": 9,
}  # fmt: skip
_TEENS = {
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
    "dez": 10, "onze": 11, "doze": 12, "treze": 13, "quatorze": 14, "catorze": 14, "quinze": 15,
    "dezesseis": 16, "dezasseis": 16, "dezessete": 17, "dezassete": 17, "dezoito": 18,
    "dezenove": 19, "dezanove": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90,
    "vinte": 20, "trinta": 30, "quarenta": 40, "cinquenta": 50, "cinqüenta": 50, "sessenta": 60,
    "setenta": 70, "oitenta": 80, "noventa": 90,
}  # fmt: skip
_HUNDREDS = {
    "cem": 100, "cento": 100, "duzentos": 200, "duzentas": 200, "trezentos": 300,
    "trezentas": 300, "quatrocentos": 400, "quatrocentas": 400, "quinhentos": 500,
    "quinhentas": 500, "seiscentos": 600, "seiscentas": 600, "setecentos": 700,
    "setecentas": 700, "oitocentos": 800, "oitocentas": 800, "novecentos": 900,
    "novecentas": 900,
}  # fmt: skip
_SCALES = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "mil": 10**3, "milhão": 10**6, "milhões": 10**6, "milhao": 10**6, "milhoes": 10**6,
    "bilhão": 10**9, "bilhões": 10**9, "bilhao": 10**9, "bilhoes": 10**9, "trilhão": 10**12,
    "trilhões": 10**12, "trilhao": 10**12, "trilhoes": 10**12,
}  # fmt: skip
_DOZENS = {"dozen": 12, "dúzia": 12, "dúzias": 12, "duzia": 12, "duzias": 12}

NUMBER_WORDS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        **{word: ("one", value) for word, value in _ONES.items()},
        **{word: ("teen", value) for word, value in _TEENS.items()},
        **{word: ("ten", value) for word, value in _TENS.items()},
        **{word: ("hundreds", value) for word, value in _HUNDREDS.items()},
        "hundred": ("hundred", 100),
        **{word: ("scale", value) for word, value in _SCALES.items()},
        **{word: ("dozen", value) for word, value in _DOZENS.items()},
    }
)
"""Word in lower case → what it is in the grammar of numbers, and its value."""

MULTIPLIERS: Mapping[str, int] = MappingProxyType(
    {"mil milhões": 10**9, "mil milhoes": 10**9, **_SCALES, **_DOZENS, "hundred": 100}
)
"""Words that multiply a number in digits before them ("4.2 million", "50 mil", "3 dozen")."""

_CENTURIES = frozenset(range(15, 21))
"""First halves of years read in pairs ("nineteen ninety-eight")."""

_THIN = "\u00a0\u2009\u202f"
_DIGITS = re.compile(
    rf"\d{{1,3}}(?:[.,'’{_THIN}]\d{{3}})+(?!\d)(?:[.,]\d{{1,9}}(?!\d))?|\d+(?:[.,]\d+)?", re.ASCII
)
_SEPARATORS = re.compile(r"\D", re.ASCII)
_WORD = re.compile(r"[^\W\d_]+")
_LINK = re.compile(r"(?:\s{1,3}|-)(?:(and|e)\s{1,3})?")
_AND_A_HALF = re.compile(r"\s{1,3}(?:and\s{1,3}a\s{1,3}half|e\s{1,3}mei[ao])\b", re.IGNORECASE)


def read_digits(text: str, position: int, language: str) -> Numeral | None:
    """Read the number in digits that starts at ``position``; None if it is too long to be one.

    Args:
        text: Any text.
        position: Where a digit stands.
        language: Decides what a separator before three digits means: "english": comma for
            thousands, "portuguese": point.
    """
    found = _DIGITS.match(text, position)
    if found is None or found.end() - position > _MAX_DIGITS + 6:
        return None
    raw, end = found.group(), found.end()
    marks = _SEPARATORS.findall(raw)
    if not marks:
        return Numeral(Fraction(int(raw)), None, end)
    head, _, tail = raw.rpartition(marks[-1])
    whole = Fraction(int(_SEPARATORS.sub("", raw)))
    decimal = whole / 10 ** len(tail)
    if len(set(marks)) > 1:
        return Numeral(decimal if marks[-1] in ".," else whole, None, end)
    if len(marks) > 1 or marks[0] not in ".,":
        return Numeral(whole, None, end)
    if len(tail) != 3 or head.startswith("0") or len(head) > 3:
        return Numeral(decimal, None, end)
    if (marks[0] == ",") == (language == "english"):
        return Numeral(whole, decimal, end)
    return Numeral(decimal, whole, end)


@dataclass
class _Sum:
    """The state of reading a number word by word."""

    total: int = 0
    current: int = 0
    smallest_scale: int = 10**15
    year: bool = False
    last: str = ""

    def accepts(self, kind: str, value: int, linked: bool) -> bool:  # noqa: FBT001
        """Whether a word of this kind may follow what was read so far."""
        if kind == "scale":
            long_form = self.last == "scale" and self.smallest_scale == 1000 and value == 10**6
            fits = value < self.smallest_scale or long_form
            return fits and not linked and self.last != "dozen"
        if kind in ("hundred", "dozen"):
            return not linked and 0 < self.current < 100 and self.last != "dozen"
        if not self.last:
            return True
        if linked and self.last in ("one", "teen", "dozen"):
            return False
        return self.last != "dozen" and self._has_room(kind, linked)

    def _has_room(self, kind: str, linked: bool) -> bool:  # noqa: FBT001
        if kind == "one":
            return self.current % 10 == 0 and self.last != "teen"
        if kind in ("ten", "teen"):
            in_pairs = self.current in _CENTURIES and self.last in ("teen", "ten") and not linked
            return self.current % 100 == 0 or (in_pairs and not self.total)
        return self.current == 0

    def add(self, kind: str, value: int) -> None:
        """Take one more word in."""
        if kind == "scale" and value > self.smallest_scale:
            # "mil milhões": how Portugal says a thousand million.
            self.total *= value
        elif kind == "scale":
            self.total += max(self.current, 1) * value
            self.current, self.smallest_scale = 0, value
        elif kind in ("hundred", "dozen"):
            self.current *= value
        elif kind in ("ten", "teen") and self.current in _CENTURIES:
            self.current, self.year = self.current * 100 + value, True
        else:
            self.current += value
        self.last = kind


def read_words(text: str, position: int) -> Numeral | None:
    """Read the number in words that starts at ``position`` ("two hundred and five", "mil e cem").

    A leading "a" or "half" is not part of it; a trailing "and a half" is.
    """
    state, end, link_end, linked = _Sum(), position, position, False
    for _ in range(16):
        word = _WORD.match(text, link_end)
        kind, value = NUMBER_WORDS.get(word.group().lower(), ("", 0)) if word else ("", 0)
        first = not state.last and kind in ("hundred", "dozen")
        if word is None or not kind or not (first or state.accepts(kind, value, linked)):
            break
        if first:
            state.current = 1
        state.add(kind, value)
        end = word.end()
        link = _LINK.match(text, end)
        if link is None:
            break
        link_end, linked = link.end(), bool(link.group(1))
    if not state.last:
        return None
    number = Fraction(state.total + state.current)
    half = _AND_A_HALF.match(text, end)
    if half:
        scale = state.smallest_scale if state.last == "scale" else 1
        number, end = number + HALF * scale, half.end()
    return Numeral(number, None, end, state.year, state.total > 0)
