"""The calibrated head: what a model says of a claim, turned into a probability of support."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Calibration", "logit"]

_EXP_LIMIT = 700.0
"""Below where `math.exp` overflows (709.8)."""


class Calibration(NamedTuple):
    """Logistic head over the best premise's P(entailment) and the words that no document has.

    P(support) = 1 / (1 + exp(-(scale * logit(p) + bias - unseen * ln(1 + m)))), with p the highest
    P(entailment) of the premises and m the claim's words that occur in no document. With ``unseen``
    0 that is Platt scaling (Platt, 1999); the last term corrects what a maximum over many windows
    is too sure of. The packaged model's figures are in its ``config.json``;
    ``benchmarks/fit_head.py`` fits them.

    Attributes:
        scale: Of the log-odds of p.
        bias: Added to the log-odds.
        unseen: Of ln(1 + m).
    """

    scale: float = 1.0
    bias: float = 0.0
    unseen: float = 0.0

    def support(self, entailment: float, unseen_words: int) -> float:
        """Return the probability that a claim is supported.

        Args:
            entailment: The best premise's P(entailment), in [0, 1].
            unseen_words: The claim's words that occur in no document, 0 or more.
        """
        if self == Calibration():
            return entailment
        against = (
            self.unseen * math.log1p(unseen_words) - self.scale * logit(entailment) - self.bias
        )
        return 1 / (1 + math.exp(min(against, _EXP_LIMIT)))


def logit(probability: float) -> float:
    """Return the log-odds of a probability, which is held 1e-6 off 0 and 1."""
    clipped = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(clipped / (1 - clipped))
