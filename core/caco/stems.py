"""Word beginnings: what stands in for stemming where two languages are read by one rule."""

from __future__ import annotations

import re

__all__ = ["STEM_LENGTH", "beginning", "long_beginnings"]

STEM_LENGTH = 5
"""Letters that most inflected forms of a word share, in English and Portuguese."""

_LONGEST_SHORT_WORD = 4
_WORD = re.compile(r"[^\W\d_]+")


def beginning(word: str) -> str:
    """Return the first letters of a word, in lower case."""
    return word.lower()[:STEM_LENGTH]


def long_beginnings(text: str) -> frozenset[str]:
    """Return the beginnings of a text's words of more than four letters."""
    words = _WORD.findall(text)
    return frozenset(beginning(word) for word in words if len(word) > _LONGEST_SHORT_WORD)
