"""Named things, counted: "the projects Aurora and Ipê" are two projects.

A small model does not count. Where a claim says how many, and a document names as many, the number
is written beside the names for the model to read.
"""

from __future__ import annotations

import re
from functools import lru_cache

from caco.stems import beginning

__all__ = ["with_counts"]

_NUMBERS = {
    word: value
    for value, words in (
        (2, "two both dois duas ambos ambas 2"),
        (3, "three três 3"),
        (4, "four quatro 4"),
        (5, "five cinco 5"),
        (6, "six seis 6"),
        (7, "seven sete 7"),
        (8, "eight oito 8"),
    )
    for word in words.split()
}
_SAID = re.compile(
    rf"\b(?P<number>{'|'.join(_NUMBERS)})\s+(?:of\s+the\s+|das\s+|dos\s+)?(?P<noun>[^\W\d_]{{3,}})",
    re.IGNORECASE,
)
_NAME = r"[A-ZÀ-Ý][\w'’-]*(?:\s[A-ZÀ-Ý][\w'’-]*){0,3}"
_NAMED = re.compile(
    rf"\b(?P<noun>[^\W\d_]{{3,}}s)\s+(?P<names>{_NAME}(?:,\s{_NAME})*,?\s(?:and|e)\s{_NAME})"
)
_BETWEEN_NAMES = re.compile(r",\s(?:and|e)\s|,\s|\s(?:and|e)\s")


@lru_cache(maxsize=4096)
def with_counts(claim: str, premise: str) -> str:
    """Return the premise with the number of its named things, where it is the claim's.

    Args:
        claim: One sentence of an answer: "The committee approved two projects."
        premise: "The committee approved the projects Aurora and Ipê."

    Returns:
        "The committee approved the two projects Aurora and Ipê."; the premise as it is where the
        claim gives no number, another one, or one of other things.
    """
    said = {beginning(match["noun"]): match["number"] for match in _SAID.finditer(claim)}
    if not said:
        return premise

    def counted(match: re.Match[str]) -> str:
        number = said.get(beginning(match["noun"]), "").lower()
        names = _BETWEEN_NAMES.split(match["names"])
        return f"{number} {match[0]}" if _NUMBERS.get(number) == len(names) else match[0]

    return _NAMED.sub(counted, premise)
