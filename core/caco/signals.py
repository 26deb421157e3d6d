"""Stage-1 signals: what an answer's surface gives away, in microseconds and without a model.

Two things are looked for: words that claim more certainty than a source can give, and sentences
that do not stand in the context word for word. Neither proves anything; both are cheap.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, overload

from caco.evidence import Context, as_documents
from caco.models import Signal
from caco.text import resolve_language, segments

__all__ = [
    "OVERCONFIDENT_TERMS",
    "RiskLevel",
    "SignalInput",
    "SignalReport",
    "Terms",
    "detect_signals",
    "risk_level",
]

OVERCONFIDENT_TERMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "english": (
            "definitely",
            "guaranteed",
            "always",
            "absolutely",
            "certainly",
            "undoubtedly",
            "never",
            "100%",
        ),
        "portuguese": (
            "com certeza",
            "garantido",
            "sempre",
            "absolutamente",
            "sem dúvida",
            "nunca",
            "100%",
        ),
    }
)
"""The terms that are looked for when no others are given, by language."""

OVERCONFIDENT = "overconfident_language"
UNSUPPORTED = "unsupported_claims"
_WEIGHT = 0.25
_HIGHEST_LOW = 0.3
_HIGHEST_MEDIUM = 0.6

RiskLevel = Literal["low", "medium", "high"]
Terms = Iterable[str] | Mapping[str, Iterable[str]]
"""Terms for every language, or by language ("english", "portuguese", or an alias)."""
SignalInput = str | Mapping[str, object]
"""One item of a batch: an answer, or a mapping with ``model_output`` and perhaps ``context``."""


@dataclass(frozen=True)
class SignalReport:
    """What was found in one answer.

    Attributes:
        hallucination_score: 0.25 for each distinct overconfident term and each unsupported
            sentence, at most 1.
        risk_level: "low" up to 0.3, "medium" up to 0.6, "high" above.
        issues: ``overconfident_language`` signals in order of appearance, each with its term; then
            ``unsupported_claims`` with the number of sentences, if there are any.
        compared: False when there was no context: then no sentence can be called unsupported, and
            the score says nothing about the facts.
    """

    hallucination_score: float
    risk_level: RiskLevel
    issues: tuple[Signal, ...]
    compared: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; ``"compared": False`` is added when there was no context."""
        plain: dict[str, Any] = {
            "hallucination_score": self.hallucination_score,
            "risk_level": self.risk_level,
            "issues": [_plain(issue) for issue in self.issues],
        }
        return plain if self.compared else {**plain, "compared": False}


# A str is a sequence of str too, but the first overload is tried first.
@overload
def detect_signals(  # type: ignore[overload-overlap]
    model_output: str,
    context: Context = None,
    *,
    language: str | None = None,
    terms: Terms | None = None,
) -> SignalReport: ...


@overload
def detect_signals(
    model_output: Sequence[SignalInput],
    context: Context = None,
    *,
    language: str | None = None,
    terms: Terms | None = None,
) -> list[SignalReport]: ...


def detect_signals(
    model_output: str | Sequence[SignalInput],
    context: Context = None,
    *,
    language: str | None = None,
    terms: Terms | None = None,
) -> SignalReport | list[SignalReport]:
    """Look for surface signals of hallucination in one answer, or in many.

    Args:
        model_output: The answer; or a sequence of answers, or of mappings with ``model_output``
            and perhaps ``context``.
        context: What the answer may rely on: a text, a `Document`, a mapping, or a sequence of
            those. For a batch of answers: one context for all (a text, a `Document`, a mapping), or
            a sequence with one for each. Blank texts are no context.
        language: "english" or "portuguese", or an alias: whose terms count, and how sentences are
            split. None: the terms of both.
        terms: What to look for instead of `OVERCONFIDENT_TERMS`. Whole words, in any case; a blank
            in a term matches any white space.

    Returns:
        A report; for a batch a list of them, in order.

    Raises:
        TypeError: An answer, context or term is of a wrong type.
        ValueError: An unsupported language, a blank term, or a batch with contexts of another
            number.
    """
    names = None if language is None else (resolve_language(language),)
    patterns = _patterns(_chosen_terms(terms, names))
    splitting = names[0] if names else "english"
    if isinstance(model_output, str):
        return _report(model_output, context, patterns, splitting)
    pairs = _pairs(model_output, context)
    return [_report(output, own, patterns, splitting) for output, own in pairs]


def _pairs(outputs: Sequence[SignalInput], context: Context) -> list[tuple[str, Context]]:
    """Give each answer of a batch its context."""
    if not isinstance(outputs, Sequence) or isinstance(outputs, (bytes, Mapping)):
        raise TypeError(
            f"model_output must be a str or a sequence of them, not {type(outputs).__name__}"
        )
    one_each = isinstance(context, Sequence) and not isinstance(context, str)
    if one_each and len(context) != len(outputs):  # type: ignore[arg-type]
        raise ValueError(f"{len(outputs)} answers, but {len(context)} contexts")  # type: ignore[arg-type]
    contexts: Sequence[Any] = context if one_each else [context] * len(outputs)  # type: ignore[assignment]
    pairs: list[tuple[str, Context]] = []
    for position, (item, own) in enumerate(zip(outputs, contexts, strict=True)):
        if not isinstance(item, Mapping):
            pairs.append((item, own))
        elif "model_output" in item:
            pairs.append((item["model_output"], item.get("context", own)))  # type: ignore[arg-type]
        else:
            raise ValueError(f"item {position} has no 'model_output', only {sorted(item)}")
    return pairs


def _report(
    output: str, context: Context, patterns: Mapping[str, re.Pattern[str]], language: str
) -> SignalReport:
    if not isinstance(output, str):
        raise TypeError(f"model_output must be a str, not {type(output).__name__}")
    sources = [_folded(document.text) for document in as_documents(context)]
    sources = [source for source in sources if source]
    found = _overconfident(output, patterns)
    unsupported = _unsupported(output, sources, language) if sources else 0
    issues = [Signal(OVERCONFIDENT, value=term) for term in found]
    if unsupported:
        issues.append(Signal(UNSUPPORTED, count=unsupported))
    score = min(1.0, _WEIGHT * (len(found) + unsupported))
    return SignalReport(score, risk_level(score), tuple(issues), compared=bool(sources))


def _overconfident(output: str, patterns: Mapping[str, re.Pattern[str]]) -> list[str]:
    """Return the distinct terms that occur, in order of their first appearance."""
    text = unicodedata.normalize("NFC", output)
    places = ((pattern.search(text), term) for term, pattern in patterns.items())
    return [term for _, term in sorted((match.start(), term) for match, term in places if match)]


def _unsupported(output: str, sources: Sequence[str], language: str) -> int:
    """Count the sentences that stand in none of the sources, white space and case apart."""
    sentences = (_folded(output[piece.start : piece.end]) for piece in segments(output, language))
    return sum(
        not any(sentence in source for source in sources)
        for sentence in sentences
        if any(map(str.isalnum, sentence))
    )


def risk_level(score: float) -> RiskLevel:
    """Return "low" up to a score of 0.3, "medium" up to 0.6, "high" above."""
    if score <= _HIGHEST_LOW:
        return "low"
    return "medium" if score <= _HIGHEST_MEDIUM else "high"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _plain(issue: Signal) -> dict[str, Any]:
    fields = {"type": issue.type, "value": issue.value, "count": issue.count}
    return {name: value for name, value in fields.items() if value is not None}


def _chosen_terms(terms: Terms | None, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the terms to look for, each once."""
    given: Terms = OVERCONFIDENT_TERMS if terms is None else terms
    if isinstance(given, Mapping):
        lists = {resolve_language(name): words for name, words in given.items()}
        chosen = [words for name, words in lists.items() if names is None or name in names]
    else:
        chosen = [given]
    result: dict[str, None] = {}
    for words in chosen:
        if isinstance(words, str):
            raise TypeError(f"terms must be a sequence of str, not the str {words!r}")
        for term in words:
            result[_checked_term(term)] = None
    return tuple(result)


def _checked_term(term: object) -> str:
    if not isinstance(term, str):
        raise TypeError(f"a term must be a str, not {type(term).__name__}")
    if not term.strip():
        raise ValueError("a term is blank")
    return " ".join(unicodedata.normalize("NFC", term).split())


@lru_cache(maxsize=32)
def _patterns(terms: tuple[str, ...]) -> Mapping[str, re.Pattern[str]]:
    """Term -> what finds it as whole words; "100%" is not in "2,100%" or "1.100%"."""
    return {
        term: re.compile(
            r"(?<!\w)(?<!\d[.,])" + r"\s+".join(map(re.escape, term.split())) + r"(?!\w)",
            re.IGNORECASE,
        )
        for term in terms
    }
