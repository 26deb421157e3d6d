"""A scorer that remembers: a bounded, thread-safe LRU cache of pair scores."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from caco.classifier.scoring import COLUMNS, PairScorer, PairScores

__all__ = ["CacheInfo", "CachedScorer"]

_Entry = tuple[tuple[float, ...], bool]


class CacheInfo(NamedTuple):
    """Hits and misses so far, and entries held of at most ``max_size``."""

    hits: int
    misses: int
    size: int
    max_size: int


class CachedScorer:
    """Wraps a scorer and scores no pair twice while it is remembered.

    A pair's score does not depend on what is scored beside it, so a remembered one is the same. An
    answer that grew by a sentence, or a retry that kept most of its sentences, costs what is new.

    Args:
        scorer: The scorer to ask for what is not known.
        max_size: Pairs to remember; the least recently used one goes first.

    Raises:
        ValueError: ``max_size`` is less than 1.
    """

    def __init__(self, scorer: PairScorer, max_size: int = 16_384) -> None:
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {max_size}")
        self.scorer = scorer
        self.max_size = max_size
        self._start_empty()

    def _start_empty(self) -> None:
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = self._misses = 0

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self.scorer.name

    @property
    def window_words(self) -> int:
        """Words of premise the model wants at a time."""
        return self.scorer.window_words

    @property
    def max_tokens(self) -> int:
        """Tokens that a pair may have."""
        return self.scorer.max_tokens

    @property
    def calibration(self) -> tuple[float, ...]:
        """The wrapped model's calibration."""
        return self.scorer.calibration

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score pairs, asking the wrapped scorer only for those not remembered."""
        known: dict[tuple[str, str], _Entry] = {}
        with self._lock:
            for pair in dict.fromkeys(pairs):
                entry = self._entries.get(pair)
                if entry is not None:
                    self._entries.move_to_end(pair)
                    known[pair] = entry
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if missing:
            found = self.scorer.score(missing)
            rows, cuts = found.probabilities.tolist(), found.truncated.tolist()
            for pair, row, cut in zip(missing, rows, cuts, strict=True):
                known[pair] = (tuple(row), cut)
        with self._lock:
            self._hits += len(pairs) - len(missing)
            self._misses += len(missing)
            for pair in missing:
                self._entries[pair] = known[pair]
            while len(self._entries) > self.max_size:
                self._entries.popitem(last=False)
        return PairScores(
            np.array([known[pair][0] for pair in pairs], dtype=np.float64).reshape(
                len(pairs), len(COLUMNS)
            ),
            np.array([known[pair][1] for pair in pairs], dtype=np.bool_),
        )

    def cache_info(self) -> CacheInfo:
        """Return hits (repeats within a call count), misses and the number of pairs held."""
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._entries), self.max_size)

    def cache_clear(self) -> None:
        """Forget all pairs and start counting again."""
        self._start_empty()

    def __getstate__(self) -> dict[str, object]:
        return {"scorer": self.scorer, "max_size": self.max_size}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._start_empty()
