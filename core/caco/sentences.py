"""Where sentences end in flowing text: NLTK's Punkt on this package's own abbreviations.

Punkt decides, token pair by token pair, whether a full stop ends a sentence; nothing is trained or
downloaded. What its model cannot know (closing quotes, citation markers, numbered abbreviations,
text in capitals) is settled around it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import product
from typing import Any

from caco.phrases import (
    AMBIGUOUS_ABBREVIATIONS,
    ANY_VERB,
    CAPITAL_ENDS,
    CAPITAL_GOES_ON,
    NUMBERED,
    OPEN_ABBREVIATIONS,
    STARTERS,
    TITLES,
)

__all__ = ["sentence_starts"]

_CANDIDATE = re.compile(
    r"""(?<![.!?…])(?P<mark>[.!?…]+|[。！？؟।]+)
    (?P<close>["'”’»›)\]}*_~`]*)
    (?:[ ]?(?:\[\^?\d{1,3}\](?!\()|【[^【】\n]{1,60}】)){0,20}
    (?:(?=\s)|(?<=[。！？]))""",
    re.VERBOSE,
)
_BLANK = re.compile(r"\s*")
_OPENING = "\"'“‘«‹([{*_~`¿¡"
_CLOSING = "\"'”’»›)]}*_~`"
_REACH = 40
"""How much of the words around a full stop is looked at, in characters."""
_INITIAL = re.compile(r"[^\W\d_]\.?")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?")
_ROMAN = re.compile(r"[IVXLC]+\b")
_FOR_EXAMPLE = re.compile(r"\bp\.\s?ex$", re.IGNORECASE)
_ENUMERATOR = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,5})")
# Punkt's flag for "seen in lower case inside a sentence".
_LOWER_CASE_INSIDE = 1 << 5


@cache
def _punkt() -> Any:  # noqa: ANN401 (nltk is untyped)
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types = set(TITLES | OPEN_ABBREVIATIONS)
    parameters.collocations = set(product(TITLES, STARTERS))
    for word in STARTERS:
        parameters.ortho_context[word] = _LOWER_CASE_INSIDE
    return PunktSentenceTokenizer(parameters)


@lru_cache(maxsize=65536)
def _punkt_breaks(word: str, following: str) -> bool:
    """Whether Punkt ends a sentence after ``word`` and a full stop, before ``following``."""
    return bool(_punkt().text_contains_sentbreak(f"{word}. {following}"))


def _numbered(word: str, following: str) -> bool:
    """Whether ``word`` is an abbreviation that goes on with ``following`` ("No. 5", "jan. de")."""
    lower = word.lower()
    if lower not in NUMBERED:
        return False
    plain_word = lower in AMBIGUOUS_ABBREVIATIONS
    if following[:1].isdigit() or following[:1] in "§#":
        return not (plain_word and lower in ("no", "sat", "sun", "mar") and word.islower())
    if _ROMAN.match(following) and not plain_word:
        return True
    return following[:1].islower() and not plain_word


def _stop_ends(word: str, following: str, sentence: str) -> bool:
    """Whether a full stop ends the sentence.

    Args:
        word: The token before it.
        following: The token after it, without opening quotes.
        sentence: The sentence so far, or its last `_REACH` characters.
    """
    capital = following[:1].isupper()
    lower = word.lower()
    if _ENUMERATOR.fullmatch(word) and sentence.strip(_OPENING + " \n") == word:
        return False
    if _numbered(word, following):
        return False
    if _INITIAL.fullmatch(word) and capital and re.match(r"[^\W\d_]\.", following):
        return False
    if lower in TITLES or (lower == "ex" and _FOR_EXAMPLE.search(sentence)):
        return False
    if lower in OPEN_ABBREVIATIONS or _ACRONYM.fullmatch(word):
        shouted = len(following) > 1 and following.isupper() and sentence.isupper()
        if shouted or not capital:
            return False
        if lower in CAPITAL_ENDS:
            return following.rstrip(".,;:!?" + _CLOSING).lower() not in CAPITAL_GOES_ON
    return _punkt_breaks(word, following)


def _ends(text: str, match: re.Match[str], start: int, following_start: int) -> bool:
    """Whether the sentence that starts at ``start`` ends at a candidate."""
    mark, close = match["mark"], match["close"]
    following = text[following_start : following_start + _REACH].split(maxsplit=1)[0]
    if following.startswith("`"):  # a sentence may start with code, whatever its case
        following = following.strip(_OPENING).capitalize()
    following = following.lstrip(_OPENING) or following
    lower_case = following[:1].islower()
    if close and lower_case:
        return False
    if mark == ".":
        # One character more than is used shows whether the word is whole.
        before = text[max(start, match.start() - _REACH) : match.start()]
        words = before.split()
        word = words[-1].lstrip(_OPENING) if words and not before[-1].isspace() else ""
        return _stop_ends(word, following, before) if word else not lower_case
    if mark.endswith(("?", "。", "！", "？", "؟", "।")):
        return True
    if "!" in mark and lower_case:  # "Great! see you", but not "Yahoo! is a company"
        return following.rstrip(".,;:!?") not in ANY_VERB
    return not lower_case


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Return where sentences begin in a paragraph.

    Args:
        text: The whole text.
        start: Where the paragraph starts in it.
        end: Where it ends.

    Returns:
        Offsets into ``text``, increasing; the first is ``start``.
    """
    starts = [start]
    for match in _CANDIDATE.finditer(text, start, end):
        blank = _BLANK.match(text, match.end(), end)
        following = blank.end() if blank else match.end()
        if following < end and _ends(text, match, starts[-1], following):
            starts.append(following)
    return starts
