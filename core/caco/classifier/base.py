"""What a classifier must do."""

from __future__ import annotations

from abc import ABC, abstractmethod

from caco.models import ClaimResult

__all__ = ["ClassifierContract"]


class ClassifierContract(ABC):
    """Decides what a text says about a claim.

    A subclass needs just `classify`. If it also defines ``classify_batch(claims, context)``, taking
    a list of str and returning one `ClaimResult` for each in the same order, that is used instead,
    once per answer. The engine fills in what such a result leaves out: the claim's place in the
    answer, and the document and offsets of its ``evidence`` where that text occurs in a document.
    """

    @abstractmethod
    def classify(self, claim: str, context: str) -> ClaimResult:
        """Classify one claim.

        Args:
            claim: The claim as it stands in the answer.
            context: All documents, joined by blank lines.

        Returns:
            The verdict; ``text``, ``evidence``, ``label`` and ``score`` suffice.
        """
