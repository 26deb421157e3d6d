"""``caco signals``: what an answer's surface gives away, and, if asked, who backs what it cites."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from caco.cli.base import EXIT_FAILED, EXIT_PASSED, Command
from caco.cli.inputs import add_text_arguments, read_inputs
from caco.cli.terminal import Terminal
from caco.models import Document, Labels
from caco.text import resolve_language

if TYPE_CHECKING:
    from caco.citations import CitationReport
    from caco.signals import SignalReport

__all__ = ["COMMAND"]

_MAX_LINES = 6
_STYLES = {"low": "green", "medium": "yellow", "high": "red"}
_MARKS = {"low": "✓", "medium": "?", "high": "✗"}

_WORDS = MappingProxyType(
    {
        "english": {
            "low": "Low surface risk",
            "medium": "Medium surface risk",
            "high": "High surface risk",
            "score": "score {score:.2f}",
            "overconfident_language": "overconfident: {value}",
            "unsupported_claims": "sentences that stand in no document word for word: {count}",
            "no_context": "No document was given: sentences were not compared.",
            Labels.VALUE_ENTAILMENT.value: "supported",
            Labels.VALUE_NEUTRAL.value: "not supported",
            Labels.VALUE_CONTRADICTION.value: "contradicted",
            "cited": "{markers} backs it",
            "other": "{markers} does not back it; {others} does",
            "none": "{markers} does not back it, nor does another document",
            "unknown": "cites what is no document: {keys}",
        },
        "portuguese": {
            "low": "Risco superficial baixo",
            "medium": "Risco superficial médio",
            "high": "Risco superficial alto",
            "score": "pontuação {score:.2f}",
            "overconfident_language": "excesso de confiança: {value}",
            "unsupported_claims": "frases sem igual, palavra por palavra, nos documentos: {count}",
            "no_context": "Nenhum documento foi dado: as frases não foram comparadas.",
            Labels.VALUE_ENTAILMENT.value: "apoiada",
            Labels.VALUE_NEUTRAL.value: "sem apoio",
            Labels.VALUE_CONTRADICTION.value: "contradita",
            "cited": "{markers} a apoia",
            "other": "{markers} não a apoia; {others} apoia",
            "none": "{markers} não a apoia, nem outro documento",
            "unknown": "cita o que não é documento: {keys}",
        },
    }
)


def _add_arguments(parser: ArgumentParser) -> None:
    add_text_arguments(parser)
    parser.add_argument(
        "--language", help="english or portuguese (default: the word lists of both)"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="verify each claim with the model, and each citation against its source; "
        "exit status 1 if one fails",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _run(options: Namespace, terminal: Terminal) -> int:
    from caco.signals import detect_signals

    if options.verify and not options.context and not options.context_file:
        raise ValueError("--verify needs at least one --context or --context-file")
    response, documents = read_inputs(options)
    if not response.strip():
        raise ValueError("the response is empty")
    report = detect_signals(response, documents, language=options.language)
    language = resolve_language(options.language or "english")
    verified = _verified(response, documents, language) if options.verify else None
    if options.json:
        plain: dict[str, Any] = {**report.to_dict(), **(verified.to_dict() if verified else {})}
        terminal.raw(json.dumps(plain, indent=2, ensure_ascii=not terminal.is_unicode))
    else:
        _print_report(report, terminal, language)
        if verified is not None:
            _print_verified(verified, terminal, language)
    return EXIT_FAILED if verified is not None and _fails(verified) else EXIT_PASSED


def _verified(response: str, documents: list[Document], language: str) -> CitationReport:
    from caco.citations import check_citations
    from caco.validator import Validator

    return check_citations(response, documents, Validator(language=language))


def _fails(report: CitationReport) -> bool:
    unsupported = any(claim.label is not Labels.VALUE_ENTAILMENT for claim in report.claims)
    return unsupported or any(
        check.support != "cited" or check.unknown for check in report.citations
    )


def _print_report(report: SignalReport, terminal: Terminal, language: str) -> None:
    words = _WORDS[language]
    level = report.risk_level
    score = words["score"].format(score=report.hallucination_score)
    terminal.paragraph(f"{words[level]} ({score})", first=f"{_MARKS[level]} ", style=_STYLES[level])
    for issue in report.issues:
        text = words[issue.type].format(value=issue.value, count=issue.count)
        terminal.paragraph(text, first="- ", indent=2)
    if not report.compared:
        terminal.paragraph(words["no_context"], indent=2, style="dim")


def _print_verified(report: CitationReport, terminal: Terminal, language: str) -> None:
    words = _WORDS[language]
    checks = {id(check.claim): check for check in report.citations}
    for number, claim in enumerate(report.claims, 1):
        supported = claim.label is Labels.VALUE_ENTAILMENT
        mark, style = ("✓", "green") if supported else ("✗", "red")
        lead = f"{number:>2} {mark} "
        terminal.line()
        verdict = f"{words[claim.label.value]} ({claim.score:.2f})"
        terminal.paragraph(verdict, first=lead, style=style)
        terminal.paragraph(claim.text, indent=len(lead), max_lines=_MAX_LINES)
        check = checks.get(id(claim))
        if check is None:
            continue
        text = words[check.support].format(
            markers=", ".join(check.markers), others=", ".join(check.supported_by)
        )
        backed = check.support == "cited"
        terminal.paragraph(
            text, first="→ ", indent=len(lead), style="green" if backed else "yellow"
        )
        if check.unknown:
            text = words["unknown"].format(keys=", ".join(check.unknown))
            terminal.paragraph(text, first="→ ", indent=len(lead), style="yellow")


COMMAND = Command(
    name="signals",
    help="look for surface signals in an answer; --verify checks claims and citations too",
    add_arguments=_add_arguments,
    run=_run,
)
