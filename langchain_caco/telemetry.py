"""Verdicts for Prometheus and OpenTelemetry, where these packages are installed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from caco.models import Status, ValidationResult

__all__ = ["annotate_span", "count", "current_span", "outcome"]


def outcome(result: ValidationResult | None) -> str:
    """Return a verdict in one word: faithful, hallucination, or the status that is neither."""
    if result is None:
        return "error"
    if result.status is Status.CHECKED:
        return "hallucination" if result.is_hallucination else "faithful"
    return str(result.status).lower()


def count(name: str) -> None:
    """Add one to ``caco_langchain_answers_total{outcome=name}``."""
    counter = _counter()
    if counter is not None:
        counter.labels(outcome=name).inc()


def current_span() -> Any:  # noqa: ANN401 (an optional package's type)
    """Return the OpenTelemetry span in force, or None without OpenTelemetry."""
    trace = _trace()
    return trace.get_current_span() if trace is not None else None


def annotate_span(span: Any, result: ValidationResult | None) -> None:  # noqa: ANN401
    """Write a verdict on a span that is still recording."""
    if span is None or not span.is_recording():
        return
    span.set_attribute("caco.outcome", outcome(result))
    if result is not None:
        span.set_attribute("caco.score", result.score)
        span.set_attribute("caco.threshold", result.threshold)
        span.set_attribute("caco.is_hallucination", result.is_hallucination)
        span.set_attribute("caco.claims", len(result.claims))
        span.set_attribute("caco.model", result.model)


@lru_cache(maxsize=1)
def _counter() -> Any:  # noqa: ANN401
    try:
        from prometheus_client import Counter
    except ImportError:
        return None
    return Counter(
        "caco_langchain_answers", "Answers seen by caco's LangChain monitor", ["outcome"]
    )


@lru_cache(maxsize=1)
def _trace() -> Any:  # noqa: ANN401
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace
