"""A validation result, printed for a person."""

from __future__ import annotations

from types import MappingProxyType

from caco.cli.terminal import Terminal
from caco.models import ClaimResult, Evidence, Labels, Status, ValidationResult
from caco.render import VERDICT_WORDS

__all__ = ["print_result"]

_MAX_LINES = 6

_MARKS = {
    Labels.VALUE_ENTAILMENT: ("✓", "green"),
    Labels.VALUE_NEUTRAL: ("?", "yellow"),
    Labels.VALUE_CONTRADICTION: ("✗", "red"),
}

_LEADS = MappingProxyType(
    {
        Labels.VALUE_ENTAILMENT: "source",
        Labels.VALUE_NEUTRAL: "nearest",
        Labels.VALUE_CONTRADICTION: "against",
    }
)
"""What stands before the evidence of each label."""

_WORDS = MappingProxyType(
    {
        "english": {
            **VERDICT_WORDS["english"],
            "place": "{document}, characters {start}-{end}",
            "source": "source: ",
            "nearest": "nearest: ",
            "against": "against: ",
            "also_for": "also for: ",
            "also_against": "but against: ",
        },
        "portuguese": {
            **VERDICT_WORDS["portuguese"],
            "place": "{document}, caracteres {start}-{end}",
            "source": "fonte: ",
            "nearest": "mais próximo: ",
            "against": "contra: ",
            "also_for": "também a favor: ",
            "also_against": "mas contra: ",
        },
    }
)

_STATUS_WORDS = {
    Status.ABSTAINED: "abstained",
    Status.NO_CLAIMS: "no_claims",
    Status.ERROR: "error",
}


def print_result(result: ValidationResult, terminal: Terminal) -> None:
    """Print the verdict, the summary and every check-worthy claim with its evidence."""
    words = _WORDS[result.language]
    key = _STATUS_WORDS.get(result.status, "failed" if result.is_hallucination else "passed")
    colour = {"passed": "green", "failed": "red", "error": "red"}.get(key, "yellow")
    mark = {"green": "✓", "red": "✗"}.get(colour, "?")
    risk = words["risk"].format(score=result.score, threshold=result.threshold)
    terminal.paragraph(f"{words[key]} ({risk})", first=f"{mark} ", style=colour)
    terminal.paragraph(result.summary, indent=2, max_lines=_MAX_LINES)
    claims = [claim for claim in result.claims if claim.checkworthy]
    for number, claim in enumerate(claims, 1):
        terminal.line()
        _print_claim(number, claim, words, terminal)


def _print_claim(
    number: int, claim: ClaimResult, words: dict[str, str], terminal: Terminal
) -> None:
    mark, colour = _MARKS[claim.label]
    lead = f"{number:>2} {mark} "
    indent = len(lead)
    verdict = f"{words[claim.label.value]} ({claim.score:.2f})"
    terminal.paragraph(verdict, first=lead, style=colour)
    terminal.paragraph(claim.text, indent=indent, max_lines=_MAX_LINES)
    contradicted = claim.label is Labels.VALUE_CONTRADICTION
    if claim.evidence:
        terminal.paragraph(
            claim.evidence,
            first=words[_LEADS[claim.label]],
            indent=indent,
            style="dim",
            max_lines=_MAX_LINES,
        )
        _print_place(claim, words, terminal, indent)
    # A reason may end by quoting the evidence, which stands right above.
    reason = (claim.reason or "").removesuffix(claim.evidence).rstrip(": ")
    if reason:
        terminal.paragraph(reason, first="→ ", indent=indent, max_lines=_MAX_LINES)
    for evidence in _other_side(claim):
        _print_also(evidence, words["also_for" if contradicted else "also_against"], terminal)


def _print_place(
    claim: ClaimResult, words: dict[str, str], terminal: Terminal, indent: int
) -> None:
    if claim.evidence_document is not None:
        place = words["place"].format(
            document=claim.evidence_document, start=claim.evidence_start, end=claim.evidence_end
        )
        terminal.paragraph(place, first="→ ", indent=indent, style="dim")


def _other_side(claim: ClaimResult) -> tuple[Evidence, ...]:
    if claim.label is Labels.VALUE_CONTRADICTION:
        return claim.supporting
    return claim.conflicting if claim.label is Labels.VALUE_ENTAILMENT else ()


def _print_also(evidence: Evidence, lead: str, terminal: Terminal) -> None:
    text = f"{evidence.document}: {evidence.text}"
    terminal.paragraph(text, first=lead, indent=5, style="yellow", max_lines=_MAX_LINES)
