"""Who did what to whom: two names that change places around the same words.

A small model reads "Nordlake acquired Pinecrest" and "Pinecrest acquired Nordlake" as nearly the
same bag of words. Where the words between the two names are the same, their order decides, and no
model is needed to see that it is turned round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

__all__ = ["TurnedRoles", "turned_roles"]

_NAME = re.compile(
    r"[A-ZÀ-Ý][\w'’-]*(?:\s+(?:(?:of|de|da|do|das|dos|del|van|von)\s+)?[A-ZÀ-Ý0-9][\w'’-]*)*"
)
_ARTICLES = frozenset("the a an o os as um uma".split())
_SYMMETRIC = frozenset(
    """
    and or with versus vs met meets meet married marries marry faced faces face played plays play
    resembles resembled borders equals between both joined merged partnered is are was were
    e ou com versus contra encontrou encontra enfrentou enfrenta casou casa jogou joga entre ambos
    parceria é são foi eram era
    """.split()
)
_FUNCTION_WORDS = frozenset(
    "to from of in on at by for as into por para de da do em no na ao à pelo pela até".split()
)
_MOST_WORDS_BETWEEN = 6


@dataclass(frozen=True)
class TurnedRoles:
    """What a claim says of two names, and what the evidence says: the same, the other way round.

    Attributes:
        claim: The claim's words, from the first name to the second.
        evidence: The evidence's.
    """

    claim: str
    evidence: str


@dataclass(frozen=True)
class _Relation:
    first: str
    words: tuple[str, ...]
    second: str
    text: str


def turned_roles(claim: str, evidence: str) -> TurnedRoles | None:
    """Find a relation of two names that the evidence states the other way round.

    Args:
        claim: One sentence of an answer.
        evidence: The text that is said to back it.

    Returns:
        None unless the words between the names are the same, hold a verb that is not symmetric
        ("met", "and"), and the evidence does not state the claim's order as well.
    """
    claimed = list(_relations(claim))
    given = list(_relations(evidence)) if claimed else []
    stated = {(r.first, r.words, r.second) for r in given}
    for said in claimed:
        if (said.first, said.words, said.second) in stated:
            continue
        for other in given:
            if (other.second, other.words, other.first) == (said.first, said.words, said.second):
                return TurnedRoles(said.text, other.text)
    return None


def _relations(text: str) -> Iterator[_Relation]:
    """Yield pairs of names, next to each other or with one between, and the words between them."""
    names = list(_NAME.finditer(text))
    for first, second in chain(pairwise(names), zip(names, names[2:], strict=False)):
        between = text[first.end() : second.start()]
        if re.search(r"[.!?;:\n]", between):
            continue
        words = tuple(w for w in re.findall(r"\w+", between.casefold()) if w not in _ARTICLES)
        if not 0 < len(words) <= _MOST_WORDS_BETWEEN or _SYMMETRIC.intersection(words):
            continue
        if _FUNCTION_WORDS.issuperset(words):
            continue
        one, other = _plain(first.group()), _plain(second.group())
        if one and other and one != other:
            yield _Relation(one, words, other, text[first.start() : second.end()])


def _plain(name: str) -> str:
    """Return a name without its article and in one case."""
    words = name.casefold().split()
    return " ".join(words[1:] if words and words[0] in _ARTICLES else words)
