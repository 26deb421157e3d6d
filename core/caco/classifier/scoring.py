"""The seam between the engine and a model: a scorer of (premise, hypothesis) pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["COLUMNS", "PairScorer", "PairScores", "encodable"]

COLUMNS = ("entailment", "neutral", "contradiction")
"""The columns of `PairScores.probabilities`, in order."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class PairScores:
    """What a model says about n (premise, hypothesis) pairs, in the order they were given.

    Attributes:
        probabilities: float64 [n, 3], each row sums to 1; columns as in `COLUMNS`: entailment,
            neutral, contradiction.
        truncated: bool [n], True when part of the pair was cut off and not read.
    """

    probabilities: npt.NDArray[np.float64]
    truncated: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls) -> PairScores:
        """Return the scores of no pairs: arrays of shape (0, 3) and (0,)."""
        return cls(np.empty((0, len(COLUMNS))), np.empty(0, dtype=np.bool_))


class PairScorer(Protocol):
    """Scores (premise, hypothesis) pairs.

    An implementation is deterministic and thread-safe, keeps the order of the pairs, scores equal
    pairs once, and gives a pair the same probabilities whatever stands beside it (exactly when it
    runs pairs one by one, within 1e-3 when it batches them).
    """

    @property
    def name(self) -> str:
        """The model's name; for a model with a known file, with a short checksum."""
        ...

    @property
    def window_words(self) -> int:
        """How many words of premise the model wants at a time."""
        ...

    @property
    def max_tokens(self) -> int:
        """Tokens that a pair may have; more of the premise is cut off."""
        ...

    @property
    def calibration(self) -> tuple[float, ...]:
        """The fields of `caco.classifier.calibration.Calibration`; (1.0, 0.0) changes nothing."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score ``(premise, hypothesis)`` pairs; no pairs give arrays of shape (0, 3) and (0,).

        Raises:
            ModelNotAvailableError: The model could not be loaded.
        """
        ...


def encodable(text: str) -> str:
    """Join surrogate pairs and replace lone ones, which UTF-8, and so a tokenizer, cannot hold."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
