"""A validation result as HTML: the answer's claims by verdict, and their evidence in its documents.

Answers and documents are hostile input: every text is escaped, control characters are replaced, and
each text is isolated, so that none can reorder what stands beside it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from types import MappingProxyType

from caco.evidence import Context, as_documents
from caco.models import ClaimResult, Document, Evidence, Labels, Status, ValidationResult

__all__ = ["VERDICT_WORDS", "render_fragment", "render_html"]

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

VERDICT_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "english": {
            Labels.VALUE_ENTAILMENT.value: "supported",
            Labels.VALUE_NEUTRAL.value: "not supported",
            Labels.VALUE_CONTRADICTION.value: "contradicted",
            "passed": "Faithful to the documents",
            "failed": "Not faithful to the documents",
            "abstained": "Not judged",
            "no_claims": "Nothing to check",
            "error": "Could not be checked",
            "risk": "risk {score:.2f}, threshold {threshold:.2f}",
        },
        "portuguese": {
            Labels.VALUE_ENTAILMENT.value: "apoiada",
            Labels.VALUE_NEUTRAL.value: "sem apoio",
            Labels.VALUE_CONTRADICTION.value: "contradita",
            "passed": "Fiel aos documentos",
            "failed": "Não é fiel aos documentos",
            "abstained": "Não julgada",
            "no_claims": "Nada a conferir",
            "error": "Não foi possível conferir",
            "risk": "risco {score:.2f}, limite {threshold:.2f}",
        },
    }
)
"""What an answer and its claims are called, on pages and on the command line."""

_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "english": {
            "lang": "en",
            "title": "Check of an answer",
            **VERDICT_WORDS["english"],
            "withheld": "To be withheld: {reason}",
            "answer": "Answer",
            "claims": "Claims",
            "documents": "Documents",
            "document": "Document {id}",
            "claim": "Claim {number}",
            "for": "for",
            "against": "against",
            "read": "read",
            "none": "No evidence in the documents.",
            "nothing": "No documents.",
            "evidence_of": "evidence of claim {numbers}",
        },
        "portuguese": {
            "lang": "pt",
            "title": "Verificação de uma resposta",
            **VERDICT_WORDS["portuguese"],
            "withheld": "A reter: {reason}",
            "answer": "Resposta",
            "claims": "Afirmações",
            "documents": "Documentos",
            "document": "Documento {id}",
            "claim": "Afirmação {number}",
            "for": "a favor",
            "against": "contra",
            "read": "lido",
            "none": "Sem evidência nos documentos.",
            "nothing": "Sem documentos.",
            "evidence_of": "evidência da afirmação {numbers}",
        },
    }
)

_STATUS_WORDS = {
    Status.ABSTAINED: "abstained",
    Status.NO_CLAIMS: "no_claims",
    Status.ERROR: "error",
}
_STANCES = {"for": "entailment", "against": "contradiction", "read": "neutral"}


@dataclass(frozen=True)
class _Quote:
    """A piece of a document that a claim was decided by."""

    claim: int
    stance: str
    document: str
    text: str
    start: int | None
    end: int | None


def render_fragment(result: ValidationResult, context: Context = None) -> str:
    """Return the inside of a page: verdict, answer, claims and documents.

    It is styled and made to respond by ``assets/view.css`` and ``assets/view.js``; without them it
    can still be read, and its links lead to the evidence.

    Args:
        result: What to show.
        context: The documents that the answer was checked against. None: the evidence is quoted,
            without its surroundings.

    Raises:
        ValueError: Two documents have the same id.
        TypeError: The context is of a wrong type.
    """
    documents = as_documents(context)
    words = _WORDS[result.language]
    claims = [claim for claim in result.claims if claim.checkworthy]
    texts = {document.id: document.text for document in documents}
    quotes = [quote for number, claim in enumerate(claims, 1) for quote in _quotes(number, claim)]
    located = [quote for quote in quotes if _stands(quote, texts)]
    anchors = {document.id: f"document-{place}" for place, document in enumerate(documents, 1)}
    return "\n".join(
        [
            f'<div class="caco" lang="{words["lang"]}">',
            _verdict(result, words),
            '<div class="columns">\n<div>',
            _section("answer", words["answer"], _answer(result, claims, located, anchors, words)),
            _section("claims", words["claims"], _claims(claims, quotes, located, anchors, words)),
            "</div>",
            _section(
                "documents", words["documents"], _documents(documents, located, anchors, words)
            ),
            "</div>\n</div>",
        ]
    )


def render_html(result: ValidationResult, context: Context = None) -> str:
    """Return a whole page that needs nothing else: no file, no network.

    Arguments and errors as in `render_fragment`.
    """
    words = _WORDS[result.language]
    style, script = _asset("view.css"), _asset("view.js")
    policy = (
        f"default-src 'none'; style-src '{_source_hash(style)}'; "
        f"script-src '{_source_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{words["lang"]}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{words['title']}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{words['title']}</h1>\n{render_fragment(result, context)}\n</main>\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return (resources.files("caco") / "assets" / name).read_text(encoding="utf-8")


def _source_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _escaped(text: str) -> str:
    return html.escape(_UNSAFE.sub("\ufffd", text))


def _isolated(text: str) -> str:
    return f'<bdi dir="auto">{_escaped(text)}</bdi>'


def _section(name: str, title: str, body: str) -> str:
    return (
        f'<section class="{name}" aria-labelledby="title-{name}">\n'
        f'<h2 id="title-{name}">{title}</h2>\n{body}\n</section>'
    )


def _verdict(result: ValidationResult, words: Mapping[str, str]) -> str:
    key = _STATUS_WORDS.get(result.status, "failed" if result.is_hallucination else "passed")
    risk = words["risk"].format(score=result.score, threshold=result.threshold)
    lines = [
        f'<p class="verdict {key}"><strong>{words[key]}</strong> ({risk})</p>',
        f'<p class="summary">{_isolated(result.summary)}</p>',
    ]
    if result.gate is not None and result.gate.abstained:
        text = words["withheld"].format(reason=result.gate.reason)
        lines.append(f'<p class="gate">{_escaped(text)}</p>')
    return "\n".join(lines)


def _answer(
    result: ValidationResult,
    claims: Sequence[ClaimResult],
    located: Sequence[_Quote],
    anchors: Mapping[str | None, str],
    words: Mapping[str, str],
) -> str:
    """Mark the claims in the answer; one that stands inside another is only in the list."""
    text = result.response
    parts: list[str] = []
    done = 0
    placed = sorted(
        (claim.start, claim.end, number)
        for number, claim in enumerate(claims, 1)
        if claim.start is not None and claim.end is not None
    )
    for start, end, number in placed:
        if not done <= start < end <= len(text):
            continue
        claim = claims[number - 1]
        quote = next((quote for quote in located if quote.claim == number), None)
        target = _anchor(quote, anchors) if quote else f"claim-{number}"
        label = claim.label.value
        parts += [
            _escaped(text[done:start]),
            f'<a class="claim {label}" href="#{target}" data-claim="{number}">',
            f'{_isolated(text[start:end])}<span class="hidden"> ({words[label]}) </span></a>',
        ]
        done = end
    parts.append(_escaped(text[done:]))
    return f'<div class="text" dir="auto">{"".join(parts)}</div>'


def _claims(
    claims: Sequence[ClaimResult],
    quotes: Sequence[_Quote],
    located: Sequence[_Quote],
    anchors: Mapping[str | None, str],
    words: Mapping[str, str],
) -> str:
    if not claims:
        return f"<p>{words['no_claims']}.</p>"
    items = []
    for number, claim in enumerate(claims, 1):
        label = claim.label.value
        lines = [
            f'<li id="claim-{number}" class="{label}" data-claim="{number}" tabindex="-1">',
            f'<p><strong class="label">{words[label]}</strong> ({claim.score:.2f}) '
            f"{_isolated(claim.text)}</p>",
        ]
        reason = (claim.reason or "").removesuffix(claim.evidence).rstrip(": ")
        if reason:
            lines.append(f'<p class="reason">{_isolated(reason)}</p>')
        own = [quote for quote in quotes if quote.claim == number]
        lines += [_quoted(quote, located, anchors, words) for quote in own]
        if not own:
            lines.append(f'<p class="reason">{words["none"]}</p>')
        items.append("\n".join([*lines, "</li>"]))
    return "<ol>\n" + "\n".join(items) + "\n</ol>"


def _quoted(
    quote: _Quote,
    located: Sequence[_Quote],
    anchors: Mapping[str | None, str],
    words: Mapping[str, str],
) -> str:
    name = _isolated(words["document"].format(id=quote.document)) if quote.document else ""
    if quote in located:
        name = f'<a href="#{_anchor(quote, anchors)}" data-claim="{quote.claim}">{name}</a>'
    stance = f'<span class="stance {_STANCES[quote.stance]}">{words[quote.stance]}</span>'
    return (
        f"<blockquote><p>{_isolated(quote.text)}</p><footer>{stance} {name}</footer></blockquote>"
    )


def _quotes(number: int, claim: ClaimResult) -> Iterator[_Quote]:
    """Give every quotation of a claim once, what decided it first."""
    decided = {
        Labels.VALUE_ENTAILMENT: "for",
        Labels.VALUE_CONTRADICTION: "against",
        Labels.VALUE_NEUTRAL: "read",
    }[claim.label]
    own = (claim.evidence_document or "", claim.evidence_start, claim.evidence_end)
    if claim.evidence:
        yield _Quote(number, decided, own[0], claim.evidence, own[1], own[2])
    sides: Iterable[tuple[str, tuple[Evidence, ...]]] = (
        ("for", claim.supporting),
        ("against", claim.conflicting),
    )
    for stance, evidence in sides:
        for item in evidence:
            if (item.document, item.start, item.end) != own:
                yield _Quote(number, stance, item.document, item.text, item.start, item.end)


def _stands(quote: _Quote, texts: Mapping[str | None, str]) -> bool:
    """Whether the quotation stands in its document where it says."""
    text = texts.get(quote.document)
    if text is None or quote.start is None or quote.end is None:
        return False
    return 0 <= quote.start < quote.end and text[quote.start : quote.end] == quote.text


def _anchor(quote: _Quote, anchors: Mapping[str | None, str]) -> str:
    return f"{anchors[quote.document]}-{quote.start}"


def _documents(
    documents: Sequence[Document],
    located: Sequence[_Quote],
    anchors: Mapping[str | None, str],
    words: Mapping[str, str],
) -> str:
    if not documents:
        return f"<p>{words['nothing']}</p>"
    parts = []
    for document in documents:
        own = [quote for quote in located if quote.document == document.id]
        anchor = anchors[document.id]
        title = _isolated(words["document"].format(id=document.id))
        parts.append(
            f'<article class="document" aria-labelledby="{anchor}">\n<h3 id="{anchor}">{title}</h3>'
            # Focusable: it scrolls, and must do so from the keyboard too.
            f'\n<div class="text" dir="auto" tabindex="0" role="group" aria-labelledby="{anchor}">'
            f"{_marked(document.text, own, anchor, words)}</div>\n</article>"
        )
    return "\n".join(parts)


def _marked(text: str, quotes: Sequence[_Quote], anchor: str, words: Mapping[str, str]) -> str:
    """Mark the quotations; where some overlap, each piece belongs to all that cover it."""
    edges = {0, len(text)}
    for quote in quotes:
        edges.update((quote.start or 0, quote.end or 0))
    cuts = sorted(edges)
    parts = []
    for start, end in pairwise(cuts):
        piece = _escaped(text[start:end])
        covering = [q for q in quotes if (q.start or 0) <= start and end <= (q.end or 0)]
        if not covering:
            parts.append(piece)
            continue
        numbers = sorted({quote.claim for quote in covering})
        kinds = sorted({_STANCES[quote.stance] for quote in covering})
        begins = any(quote.start == start for quote in covering)
        identity = f' id="{anchor}-{start}"' if begins else ""
        listed = ", ".join(map(str, numbers))
        note = words["evidence_of"].format(numbers=listed) if begins else ""
        hidden = f'<span class="hidden">[{note}: </span>' if note else ""
        closing = '<span class="hidden">]</span>' if note else ""
        parts.append(
            f'<mark{identity} class="{" ".join(kinds)}" tabindex="-1" '
            f'data-claims="{" ".join(map(str, numbers))}">{hidden}{piece}{closing}</mark>'
        )
    return "".join(parts)
