"""The calibrated head: what a model says of a claim, turned into a probability of support."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Calibration"]

SHARED_WORDS = 0.6
"""Share of a claim's weight above which more shared words say nothing of its support."""


class Calibration(NamedTuple):
    """Logistic head over the best premise's P(entailment) and the words that no document shares.

    P(support) = 1 / (1 + exp(-(scale * logit(p) + bias - foreign * max(0, 0.6 - n)))), with p the
    highest P(entailment) of the premises and n the highest share of the claim's weight that a
    window of the documents holds. With ``foreign`` 0 that is Platt scaling (Platt, 1999); the last
    term corrects what a maximum over many windows is too sure of. The packaged model's figures are
    in its ``config.json``; ``benchmarks/fit_head.py`` fits them.

    Attributes:
        scale: Of the log-odds of p.
        bias: Added to the log-odds.
        foreign: Of the words that are missing.
    """

    scale: float = 1.0
    bias: float = 0.0
    foreign: float = 0.0

    def support(self, entailment: float, nearness: float) -> float:
        """Return the probability that a claim is supported.

        Args:
            entailment: The best premise's P(entailment), in [0, 1].
            nearness: The likeliest window's share of the claim's weight, in [0, 1].
        """
        if self == Calibration():
            return entailment
        clipped = min(max(entailment, 1e-6), 1 - 1e-6)
        logit = self.scale * math.log(clipped / (1 - clipped)) + self.bias
        return 1 / (1 + math.exp(-logit + self.foreign * missing_words(nearness)))


def missing_words(nearness: float) -> float:
    """Return what `Calibration.foreign` weighs, in [0, 0.6]."""
    return max(0.0, SHARED_WORDS - nearness)
