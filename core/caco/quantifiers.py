"""All or some: a claim about every one, where the document speaks of a part.

A small model reads "All members received a grant" and "Some members received a grant" as nearly the
same. Where a document says that a part did, and speaks of the same things in the same words, the
claim about all of them is denied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from caco.stems import beginning, long_beginnings

__all__ = ["Overreach", "overreach"]

_LEAST_SHARED = 0.6
"""Share of the claim's other long words that the document's sentence must hold."""

_NOUN = r"(?:(?:the|its|their|our|os|as|seus|suas|nossos|nossas)\s+)?(?P<noun>[^\W\d_]{3,})"
_ALL = re.compile(
    rf"(?<!\bnot )(?<!\bnem )(?<!\bnão )\b(?:all(?:\s+of)?|every|each|todos|todas|cada)\s+{_NOUN}",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?:(?:only\s+)?(?:some|part|half|most|many|few|several|a\s+(?:few|part|minority|majority"
    r"|third|quarter))(?:\s+of)?|not\s+(?:all|every)(?:\s+of)?|none(?:\s+of)?|no"
    r"|(?:apenas\s+|só\s+)?(?:parte|metade|a\s+maioria|a\s+maior\s+parte|uma\s+parte|uma\s+minoria"
    r"|um\s+terço|um\s+quarto|alguns|algumas|poucos|poucas|muitos|muitas)(?:\s+d[aeo]s?)?"
    rf"|nem\s+tod[oa]s|nenhum(?:a)?(?:\s+d[ao]s)?)\s+{_NOUN}",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Overreach:
    """What a claim says of all, and the sentence that says it of a part.

    Attributes:
        claim: The claim's words: "all members".
        evidence: The document's sentence.
    """

    claim: str
    evidence: str


def overreach(claim: str, evidence: str) -> Overreach | None:
    """Find a sentence that says of a part what a claim says of all.

    Args:
        claim: One sentence of an answer.
        evidence: The text that is said to back it.

    Returns:
        None unless a sentence of the evidence names a part of the same things, says of it most of
        what the claim says of all, and no sentence speaks of all of them.
    """
    said = _ALL.search(claim)
    if said is None or _PART.search(claim):
        return None
    noun = beginning(said["noun"])
    if any(beginning(other["noun"]) == noun for other in _ALL.finditer(evidence)):
        return None
    about = long_beginnings(claim[: said.start()] + claim[said.end() :]) - {noun}
    if not about:
        return None
    for sentence in _SENTENCE_END.split(evidence):
        part = _PART.search(sentence)
        if part is None or beginning(part["noun"]) != noun:
            continue
        if len(about & long_beginnings(sentence)) >= _LEAST_SHARED * len(about):
            return Overreach(said[0], sentence.strip())
    return None
