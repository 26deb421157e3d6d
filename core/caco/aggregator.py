"""Claims to one score and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, get_args

from caco.models import ClaimResult, Labels, Status, ValidationResult, unit_interval
from caco.summary import summarise
from caco.text import resolve_language

__all__ = ["Aggregator", "Strategy"]

Strategy = Literal["worst_claim", "weighted_mean"]

DEFAULT_WEIGHTS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "worst_claim": {"contradiction": 1.0, "neutral": 1.0, "entailment": 0.0},
        "weighted_mean": {"contradiction": 1.0, "neutral": 0.5, "entailment": 0.0},
    }
)


class Aggregator:
    """Combines per-claim results into a verdict.

    ``worst_claim``: the score is the highest risk among the check-worthy claims, where a claim's
    risk is the sum over labels of weight x P(label). With the default weights (1, 1, 0) that is
    1 - P(entailment): an answer is as faithful as its least supported claim.

    ``weighted_mean``: cavaquinho's formula, the mean over check-worthy claims of weight[label] x
    score, by default with weights 1.0 (contradiction), 0.5 (neutral), 0.0 (entailment).

    Args:
        weights: Weight in [0, 1] for each label (`Labels` or its value); a missing one counts 0.
        threshold: Score in [0, 1] above which an answer is called a hallucination.
        language: Language of the summary.
        strategy: "worst_claim" or "weighted_mean".

    Raises:
        ValueError: A weight or threshold outside [0, 1], an unknown strategy, label or language.
    """

    def __init__(
        self,
        weights: Mapping[Labels, float] | Mapping[str, float] | None = None,
        threshold: float = 0.5,
        language: str = "english",
        strategy: Strategy = "worst_claim",
    ) -> None:
        if strategy not in get_args(Strategy):
            raise ValueError(f"strategy must be one of {get_args(Strategy)}, not {strategy!r}")
        given: Mapping[str, float] = DEFAULT_WEIGHTS[strategy] if weights is None else weights  # type: ignore[assignment]
        self.weights = {
            Labels(label): unit_interval(f"the weight of {label}", weight)
            for label, weight in given.items()
        }
        self.threshold = unit_interval("threshold", threshold)
        self.language = resolve_language(language)
        self.strategy = strategy

    def aggregate(self, claims: Sequence[ClaimResult]) -> ValidationResult:
        """Return the verdict on an answer's claims.

        Only check-worthy claims count. Without any, the status is ``NO_CLAIMS`` and the score 0.
        """
        counted = [claim for claim in claims if claim.checkworthy]
        status = Status.CHECKED if counted else Status.NO_CLAIMS
        score = min(1.0, max(0.0, self._score(counted))) if counted else 0.0
        return ValidationResult(
            score=score,
            is_hallucination=ValidationResult.decide(
                status, score, self.threshold, truncated=False
            ),
            claims=tuple(claims),
            summary=summarise(status, claims, score, self.language, threshold=self.threshold),
            status=status,
            threshold=self.threshold,
            language=self.language,
        )

    def _score(self, claims: Sequence[ClaimResult]) -> float:
        if self.strategy == "weighted_mean":
            return sum(self.weights.get(c.label, 0.0) * c.score for c in claims) / len(claims)
        return max(self._risk(claim) for claim in claims)

    def _risk(self, claim: ClaimResult) -> float:
        return sum(weight * claim.probabilities[label] for label, weight in self.weights.items())
