"""Numbers for Prometheus: what was asked, how long it took, what was found."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from caco.gate import withheld
from caco.models import ValidationResult

__all__ = ["Metrics"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The counters of one service, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "caco_requests",
            "Requests by path and status.",
            ("path", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "caco_request_seconds",
            "Seconds from a request's head to the end of its answer.",
            ("path",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._batch = Histogram(
            "caco_batch_size",
            "Answers checked together.",
            buckets=_SIZES,
            registry=self._registry,
        )
        self._answers = Counter(
            "caco_answers",
            "Checked answers by status, verdict and whether they should be withheld.",
            ("status", "hallucination", "abstained"),
            registry=self._registry,
        )
        self._waiting = Gauge(
            "caco_waiting_requests",
            "Requests that wait for the engine.",
            ("lane",),
            registry=self._registry,
        )

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request; ``path`` is a route's, never what a client made up."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def batch(self, size: int) -> None:
        """Count a batch."""
        self._batch.observe(size)

    def answer(self, result: ValidationResult) -> None:
        """Count a checked answer."""
        self._answers.labels(
            result.status.value, _word(result.is_hallucination), _word(withheld(result))
        ).inc()

    def watch(self, lane: str, waiting: Callable[[], int]) -> None:
        """Show how many requests wait in a lane."""
        self._waiting.labels(lane).set_function(waiting)

    def text(self) -> bytes:
        """Return everything in Prometheus' text format, version 0.0.4."""
        text: bytes = generate_latest(self._registry)
        return text


def _word(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
