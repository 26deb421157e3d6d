"""Fakes for tests of code that uses caco: no model is loaded, every verdict is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from caco.classifier.base import ClassifierContract
from caco.models import ClaimResult, Labels

__all__ = ["FakeClassifier"]


class FakeClassifier(ClassifierContract):
    """A classifier that says what it is told to say.

    ```
    classifier = FakeClassifier({"The sky is green.": caco.Labels.VALUE_CONTRADICTION})
    validator = caco.Validator(classifier=classifier)
    ```

    Args:
        verdicts: From the claim's text to its label or its whole result; or a function of
            (claim, context) that returns one of them.
        default: The label of claims that a mapping does not have.
        score: The confidence given to every label, in [0, 1].
        evidence: The evidence given with every label.

    Attributes:
        calls: The (claim, context) pairs that were asked, in order.
    """

    def __init__(
        self,
        verdicts: Mapping[str, Labels | ClaimResult]
        | Callable[[str, str], Labels | ClaimResult]
        | None = None,
        *,
        default: Labels = Labels.VALUE_ENTAILMENT,
        score: float = 0.99,
        evidence: str = "",
    ) -> None:
        self.verdicts = {} if verdicts is None else verdicts
        self.default = default
        self.score = score
        self.evidence = evidence
        self.calls: list[tuple[str, str]] = []

    def classify(self, claim: str, context: str) -> ClaimResult:
        """Return the chosen verdict and remember the call."""
        self.calls.append((claim, context))
        if callable(self.verdicts):
            verdict = self.verdicts(claim, context)
        else:
            verdict = self.verdicts.get(claim, self.default)
        if isinstance(verdict, ClaimResult):
            return verdict
        reason = self.evidence if verdict is Labels.VALUE_CONTRADICTION else None
        return ClaimResult(claim, self.evidence, verdict, self.score, reason)
