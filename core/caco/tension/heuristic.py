"""The heuristic form: tension from characters and words alone, in microseconds."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

__all__ = ["compressibility", "contradiction_parts", "strain_parts", "tokens"]

_TOKEN = re.compile(r"[a-z0-9']+")
_SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+")
_STOP_WORDS = frozenset(
    "the a an and or of for in on to is are was were be been being with by as at from this that "
    "it".split()
)
_NEGATIONS = frozenset("not never no none cannot isn't can't".split())
_LONG_WORD = 8
_SHORT_WORD = 3
_FULL_CONTRADICTION = 0.6


def tokens(text: str) -> list[str]:
    """Return the runs of ``[a-z0-9']`` of the lower-cased text."""
    return _TOKEN.findall(text.lower())


def compressibility(text: str) -> float:
    """Return bytes / (distinct bytes + 1) of the text in UTF-8: how much it repeats itself."""
    data = text.encode("utf-8", "surrogatepass")
    return len(data) / (len(set(data)) + 1)


def strain_parts(text: str) -> dict[str, float]:
    """Return the components of the compression strain, each in [0, 1]."""
    words = tokens(text)
    content = " ".join(word for word in words if word not in _STOP_WORDS)
    ratio = compressibility(text)
    return {
        "delta_L_pred": _clipped((ratio - compressibility(content)) / 2),
        "KL": sum(len(word) > _LONG_WORD for word in words) / len(words) if words else 0.0,
        "E_res": _clipped(1 / ratio) if ratio else 1.0,
    }


def contradiction_parts(text: str, sources: Sequence[str]) -> dict[str, float]:
    """Return P_NLI and H_halluc, each in [0, 1]."""
    words = frozenset(tokens(text))
    best = max((_jaccard(words, frozenset(tokens(source))) for source in sources), default=0.0)
    return {
        "P_NLI": _clipped(_mean_opposition(text) / _FULL_CONTRADICTION),
        "H_halluc": 1.0 - best,
    }


def _mean_opposition(text: str) -> float:
    """Mean over pairs of sentences: overlap of their terms if exactly one of the two is negated.

    Only sentences that share a term count for more than 0, and equal ones are counted together, so
    that a text of a megabyte takes about a second.
    """
    import numpy as np

    sentences = [tokens(sentence) for sentence in _SENTENCE_BREAK.split(text.strip())]
    sentences = [words for words in sentences if words]
    affirmed: Counter[frozenset[str]] = Counter()
    negated: Counter[frozenset[str]] = Counter()
    for words in sentences:
        side = affirmed if _NEGATIONS.isdisjoint(words) else negated
        side[frozenset(word for word in words if _is_term(word))] += 1
    postings: dict[str, list[int]] = defaultdict(list)
    for index, terms in enumerate(affirmed):
        for term in terms:
            postings[term].append(index)
    places = {term: np.asarray(indices) for term, indices in postings.items()}
    sizes = np.asarray([len(terms) for terms in affirmed])
    counts = np.asarray(list(affirmed.values()))
    total = 0.0
    for terms, count in negated.items():
        shared = np.zeros(len(affirmed), dtype=np.int64)
        for term in terms & places.keys():
            shared[places[term]] += 1
        if shared.any():
            unions = np.maximum(1, len(terms) + sizes - shared)
            total += count * float(np.sum(counts * (shared / unions)))
    pairs = len(sentences) * (len(sentences) - 1) / 2
    return total / pairs if pairs else 0.0


def _is_term(word: str) -> bool:
    return len(word) > _SHORT_WORD and word not in _STOP_WORDS


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))
