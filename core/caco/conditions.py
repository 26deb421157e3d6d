"""What a document says only under a condition, and a claim as a fact.

"It may open a shop if the loan is approved" does not say that the loan was approved. A small model
sees the loan and the approval, and reads the claim into them.
"""

from __future__ import annotations

import re

from caco.stems import long_beginnings

__all__ = ["only_conditional"]

_LEAST_STEMS = 2
_CONDITION = re.compile(
    r"\b(?:if|unless|provided(?:\s+that)?|assuming(?:\s+that)?|on\s+condition\s+that|caso|se|desde\s+que"
    r"|contanto\s+que|a\s+menos\s+que|a\s+não\s+ser\s+que)\s+(?P<clause>[^,.;:!?]+)",
    re.IGNORECASE,
)
_CONDITIONAL_CLAIM = re.compile(
    r"\b(?:if|unless|provided|assuming|whether|(?-i:may)|might|could|would|can|caso|se|desde\s+que"
    r"|contanto\s+que|pode|poderá|poderia|talvez)\b",
    re.IGNORECASE,
)


def only_conditional(claim: str, evidence: str) -> bool:
    """Whether the evidence has what a claim states as a fact in a condition, and nowhere else.

    Args:
        claim: One sentence of an answer.
        evidence: The text that is said to back it.

    Returns:
        True when all telling words of a conditional clause are in the claim, the claim is no
        conditional itself, and the evidence without its conditions lacks one of those words.
    """
    if _CONDITIONAL_CLAIM.search(claim):
        return False
    said = long_beginnings(claim)
    apart = long_beginnings(_CONDITION.sub(" ", evidence))
    for match in _CONDITION.finditer(evidence):
        stems = long_beginnings(match["clause"])
        if len(stems) >= _LEAST_STEMS and stems <= said and not stems <= apart:
            return True
    return False
