"""Stage-2 signals: each claim's score, and whether the source it cites is the one that backs it.

Markers are read where they stand: "[2]", "[1, 3]", "[1-3]", "[doc 2]", "【2】", "(Source: d2)",
"(Fonte: d1; d3)", "[^1]". A marker belongs to the claim that it stands in or follows. What it names
is looked up among the documents (`resolve_key` says how), by way of the answer's own list of
sources or footnotes where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from caco.citations.markers import (
    MARKER,
    Citation,
    definition_lines,
    definitions,
    find_citations,
    named_documents,
)
from caco.evidence import Context, as_documents, joined_text
from caco.models import Claim, ClaimResult, Document, Labels
from caco.validator import Validator

__all__ = ["CitationCheck", "CitationReport", "Support", "check_citations"]

Support = Literal["cited", "other", "none"]
"""Who backs a cited claim: a source it cites, only another document, or none."""

_BETWEEN = re.compile(r"[\s.,;:!?…\"'”’»)\]*_]*")


@dataclass(frozen=True)
class CitationCheck:
    """A cited claim and who backs it.

    Attributes:
        claim: The verdict on the claim against all documents.
        markers: Its citation markers, as they stand in the answer.
        cited: Ids of the documents that they name, in order.
        unknown: What they name that is no document.
        support: "cited": a cited document backs the claim, or the cited ones do together;
            "other": they do not, but the other documents do; "none": neither.
        supported_by: Ids of the documents that back it, cited ones if ``support`` is "cited".
        against_cited: The verdict on the claim against the cited documents alone; None when the
            markers name no document.
    """

    claim: ClaimResult
    markers: tuple[str, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    support: Support
    supported_by: tuple[str, ...]
    against_cited: ClaimResult | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the evidence texts."""
        return {
            "claim": self.claim.text,
            "start": self.claim.start,
            "end": self.claim.end,
            "markers": list(self.markers),
            "cited": list(self.cited),
            "unknown": list(self.unknown),
            "support": self.support,
            "supported_by": list(self.supported_by),
        }


@dataclass(frozen=True)
class CitationReport:
    """The second stage on one answer.

    Attributes:
        claims: The verdict on each check-worthy claim against all documents, in order.
        citations: A check for each of them that cites something, in order.
        uncited: The claims that cite nothing.
    """

    claims: tuple[ClaimResult, ...]
    citations: tuple[CitationCheck, ...]
    uncited: tuple[ClaimResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the claims with their scores, and the citations."""
        return {
            "claims": [
                {
                    "text": claim.text,
                    "label": claim.label.value,
                    "score": claim.score,
                    "risk": claim.risk,
                }
                for claim in self.claims
            ],
            "citations": [check.to_dict() for check in self.citations],
        }


@dataclass(frozen=True)
class _Cited:
    """A claim, its markers, and the documents apart: the cited ones and the others."""

    claim: Claim
    result: ClaimResult
    markers: tuple[str, ...]
    cited: tuple[Document, ...]
    others: tuple[Document, ...]
    unknown: tuple[str, ...]

    @property
    def groups(self) -> tuple[tuple[Document, ...], ...]:
        """What to verify it against: the cited together, each of them, the others together."""
        each = tuple((document,) for document in self.cited) if len(self.cited) > 1 else ()
        return (self.cited, *each, self.others)


def check_citations(
    response: str,
    context: Context,
    validator: Validator | None = None,
    prompt: str | None = None,
) -> CitationReport:
    """Verify every check-worthy claim, and each one that cites against what it cites.

    Args:
        response: The answer, with its citations.
        context: The documents, as in `Validator.validate`.
        validator: The engine; its threshold decides what counts as backed. None: the default one.
        prompt: The question that was asked.

    Returns:
        The claims' verdicts and the citation checks. Without a readable document every claim is
        neutral, and every citation "none".

    Raises:
        ValueError: The response is blank, or two documents have the same id.
        TypeError: The response or the context is of a wrong type.
    """
    if not isinstance(response, str):
        raise TypeError(f"response must be a str, not {type(response).__name__}")
    if not response.strip():
        raise ValueError("response is empty: there is nothing to check")
    engine = validator if validator is not None else Validator()
    documents = as_documents(context)
    found = engine.extractor.claims(response, joined_text(documents), prompt)
    listed = [match.span() for match in definition_lines(response)]
    claims = [claim for claim in found if claim.checkworthy and not _inside(claim, listed)]
    (results,) = engine.verify([(claims, documents)])
    entries = _cited_claims(response, claims, results, documents, positional=_positional(context))
    requests = [([entry.claim], group) for entry in entries for group in entry.groups]
    verdicts = iter(engine.verify(requests))
    checks = tuple(
        _checked(entry, [next(verdicts)[0] for _ in entry.groups], engine.threshold)
        for entry in entries
    )
    citing = {id(entry.result) for entry in entries}
    uncited = tuple(result for result in results if id(result) not in citing)
    return CitationReport(results, checks, uncited)


def _inside(claim: Claim, spans: Sequence[tuple[int, int]]) -> bool:
    return claim.start is not None and any(start <= claim.start < end for start, end in spans)


def _checked(entry: _Cited, verdicts: Sequence[ClaimResult], threshold: float) -> CitationCheck:
    """Judge a cited claim by its verdicts against `_Cited.groups`."""
    together, *each, others = verdicts
    by_each = [
        document.id or ""
        for document, verdict in zip(entry.cited, each or [together], strict=False)
        if _backed(verdict, threshold)
    ]
    cited = tuple(document.id or "" for document in entry.cited)
    support: Support = "none"
    supported_by: tuple[str, ...] = ()
    if entry.cited and (by_each or _backed(together, threshold)):
        support, supported_by = "cited", tuple(by_each) or cited
    elif entry.others and _backed(others, threshold):
        support, supported_by = "other", _supporters(others)
    return CitationCheck(
        claim=entry.result,
        markers=entry.markers,
        cited=cited,
        unknown=entry.unknown,
        support=support,
        supported_by=supported_by,
        against_cited=together if entry.cited else None,
    )


def _backed(verdict: ClaimResult, threshold: float) -> bool:
    return verdict.label is Labels.VALUE_ENTAILMENT and verdict.risk <= threshold


def _supporters(verdict: ClaimResult) -> tuple[str, ...]:
    names = [evidence.document for evidence in verdict.supporting]
    if verdict.evidence_document is not None:
        names.insert(0, verdict.evidence_document)
    return tuple(dict.fromkeys(names))


def _cited_claims(
    response: str,
    claims: Sequence[Claim],
    results: Sequence[ClaimResult],
    documents: Sequence[Document],
    *,
    positional: bool,
) -> list[_Cited]:
    """Return the claims that cite, with what they cite."""
    listed = definitions(response)
    found = find_citations(response)
    # An answer that cites "[0]" counts from 0, as the positions do.
    positional = positional and not any("0" in citation.keys for citation in found)
    markers: dict[int, list[Citation]] = {}
    for citation in found:
        index = _owner(citation, claims, response)
        if index is not None:
            markers.setdefault(index, []).append(citation)
    for index, claim in enumerate(claims):
        if claim.start is None:  # an LLM rewrote it: only what it kept of its markers is known
            markers[index] = find_citations(claim.text)
    entries = []
    for index in sorted(index for index in markers if markers[index]):
        keys = [key for citation in markers[index] for key in citation.keys]
        cited: dict[str, Document] = {}
        unknown = []
        for key in dict.fromkeys(keys):
            named = named_documents(key, listed, documents, positional=positional)
            cited.update({document.id or "": document for document in named})
            unknown += [] if named else [key]
        entries.append(
            _Cited(
                claim=claims[index],
                result=results[index],
                markers=tuple(citation.text for citation in markers[index]),
                cited=tuple(cited.values()),
                others=tuple(d for d in documents if (d.id or "") not in cited),
                unknown=tuple(unknown),
            )
        )
    return entries


def _owner(citation: Citation, claims: Sequence[Claim], response: str) -> int | None:
    """Return the index of the claim that a marker belongs to: around it, before it, after it."""
    before = after = None
    for index, claim in enumerate(claims):
        if claim.start is None or claim.end is None:
            continue
        if claim.start <= citation.start < claim.end:
            return index
        if claim.end <= citation.start:
            before = (index, response[claim.end : citation.start])
        elif after is None:
            after = (index, response[citation.end : claim.start])
    for neighbour in (before, after):
        if neighbour is not None and "\n\n" not in neighbour[1]:
            between = MARKER.sub("", neighbour[1])
            if _BETWEEN.fullmatch(between):
                return neighbour[0]
    return None


def _positional(context: Context) -> bool:
    """Whether no document was given an id, so that ids are positions counted from 0."""
    single = isinstance(context, (str, Document, Mapping)) or context is None
    items: Sequence[Any] = [context] if single else context  # type: ignore[assignment]
    return not any(
        item.id is not None
        if isinstance(item, Document)
        else isinstance(item, Mapping) and item.get("id") is not None
        for item in items
    )
