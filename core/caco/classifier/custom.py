"""A user's own classifier in the engine: its results completed and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from caco.classifier.base import ClassifierContract
from caco.evidence import joined_text
from caco.models import Claim, ClaimResult, Document, Labels

__all__ = ["classify_with"]


def classify_with(
    classifier: ClassifierContract, claims: Sequence[Claim], documents: Sequence[Document]
) -> tuple[ClaimResult, ...]:
    """Run a custom classifier on one answer's claims and complete its results.

    Raises:
        TypeError: It returned something that is not a `ClaimResult`.
        ValueError: It returned more or fewer results than there are claims.

    What the classifier itself raises surfaces as it is.
    """
    texts = [claim.text for claim in claims]
    context = joined_text(documents)
    name = type(classifier).__name__
    batch = getattr(classifier, "classify_batch", None)
    if batch is not None:
        found = list(batch(texts, context))
    else:
        found = [classifier.classify(text, context) for text in texts]
    for result in found:
        if not isinstance(result, ClaimResult):
            raise TypeError(f"{name} returned a {type(result).__name__}, not a ClaimResult")
    if len(found) != len(texts):
        raise ValueError(f"{name} returned {len(found)} results for {len(texts)} claims")
    return tuple(_completed(r, c, documents) for r, c in zip(found, claims, strict=True))


def _completed(result: ClaimResult, claim: Claim, documents: Sequence[Document]) -> ClaimResult:
    """Add the claim's place, the evidence's where it occurs in a document, and the reason."""
    reason = result.reason
    if reason is None and result.label is Labels.VALUE_CONTRADICTION:
        reason = result.evidence or None
    result = replace(result, start=claim.start, end=claim.end, reason=reason)
    if not result.evidence or _quotes(result, documents):
        return result
    result = replace(result, evidence_document=None, evidence_start=None, evidence_end=None)
    for document in documents:
        start = document.text.find(result.evidence)
        if start >= 0:
            return replace(
                result,
                evidence_document=document.id,
                evidence_start=start,
                evidence_end=start + len(result.evidence),
            )
    return result


def _quotes(result: ClaimResult, documents: Sequence[Document]) -> bool:
    """Whether a result's evidence stands where it says."""
    return any(
        document.id == result.evidence_document
        and document.text[result.evidence_start : result.evidence_end] == result.evidence
        for document in documents
    )
