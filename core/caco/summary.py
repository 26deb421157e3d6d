"""A result in one or two sentences of the user's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from caco.models import ClaimResult, Labels, Status

__all__ = ["summarise"]

_QUOTE_LENGTH = 160

_SENTENCES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "english": {
            "supported": "All {total} claims are supported by the documents (risk {score:.2f}).",
            "supported_one": "The claim is supported by the documents (risk {score:.2f}).",
            "weak": 'No claim is unsupported, but "{claim}" is only weakly supported '
            "(risk {score:.2f}).",
            "failed": "{failed} of {total} claims not supported (risk {score:.2f}).",
            "contradiction": 'Worst: "{claim}" is contradicted by document {document}: '
            '"{evidence}"',
            "contradiction_bare": 'Worst: "{claim}" is contradicted.',
            "neutral": 'Worst: "{claim}" is not supported; the nearest passage, in document '
            '{document}: "{evidence}"',
            "neutral_bare": 'Worst: "{claim}" is not supported by any document.',
            "conflict": 'The documents disagree on "{claim}": {supporting} supports it, '
            "{conflicting} contradicts it.",
            Status.NO_CLAIMS.value: "The answer makes no claim that could be checked.",
            Status.NO_CONTEXT.value: "There is no document to check the answer against.",
            Status.ABSTAINED.value: "The answer declines to answer; nothing was judged.",
            Status.ERROR.value: "The check could not be made.",
            "unjudged": "There is no document to check the answer against; it was not judged.",
            "truncated": "Not everything was read, so this is not a pass.",
        },
        "portuguese": {
            "supported": "As {total} afirmações têm apoio nos documentos (risco {score:.2f}).",
            "supported_one": "A afirmação tem apoio nos documentos (risco {score:.2f}).",
            "weak": 'Nenhuma afirmação sem apoio, mas "{claim}" tem apoio fraco '
            "(risco {score:.2f}).",
            "failed": "{failed} de {total} afirmações sem apoio (risco {score:.2f}).",
            "contradiction": 'Pior: "{claim}" é contradita pelo documento {document}: "{evidence}"',
            "contradiction_bare": 'Pior: "{claim}" é contradita.',
            "neutral": 'Pior: "{claim}" não tem apoio; o trecho mais próximo, no documento '
            '{document}: "{evidence}"',
            "neutral_bare": 'Pior: "{claim}" não tem apoio em nenhum documento.',
            "conflict": 'Os documentos divergem sobre "{claim}": {supporting} apoia, '
            "{conflicting} contradiz.",
            Status.NO_CLAIMS.value: "A resposta não faz nenhuma afirmação verificável.",
            Status.NO_CONTEXT.value: "Não há documento com que conferir a resposta.",
            Status.ABSTAINED.value: "A resposta se abstém; nada foi julgado.",
            Status.ERROR.value: "Não foi possível fazer a verificação.",
            "unjudged": "Não há documento com que conferir a resposta; ela não foi julgada.",
            "truncated": "Nem tudo foi lido; portanto, não é uma aprovação.",
        },
    }
)


def summarise(
    status: Status,
    claims: Sequence[ClaimResult],
    score: float,
    language: str,
    *,
    threshold: float = 0.5,
    truncated: bool = False,
    unjudged: bool = False,
) -> str:
    """Return the summary of a check.

    Args:
        status: The outcome.
        claims: All claims; only check-worthy ones are spoken of.
        score: Risk in [0, 1].
        language: "english" or "portuguese".
        threshold: Risk in [0, 1] above which a supported claim is named as weakly supported.
        truncated: Whether something was left unread.
        unjudged: Whether the status is ABSTAINED for want of documents.
    """
    words = _SENTENCES[language]
    if status is not Status.CHECKED:
        return words["unjudged"] if unjudged else words[status.value]
    counted = [claim for claim in claims if claim.checkworthy]
    failed = [claim for claim in counted if claim.label is not Labels.VALUE_ENTAILMENT]
    sentences = []
    if failed:
        sentences.append(
            words["failed"].format(failed=len(failed), total=len(counted), score=score)
        )
        sentences.append(_worst(max(failed, key=lambda claim: claim.risk), words))
    elif max(claim.risk for claim in counted) > threshold:
        weakest = max(counted, key=lambda claim: claim.risk)
        sentences.append(words["weak"].format(claim=_short(weakest.text), score=weakest.risk))
    else:
        key = "supported_one" if len(counted) == 1 else "supported"
        sentences.append(words[key].format(total=len(counted), score=score))
    disputed = next((c for c in counted if c.supporting and c.conflicting), None)
    if disputed is not None:
        sentences.append(
            words["conflict"].format(
                claim=_short(disputed.text),
                supporting=disputed.supporting[0].document,
                conflicting=disputed.conflicting[0].document,
            )
        )
    if truncated:
        sentences.append(words["truncated"])
    return " ".join(sentences)


def _worst(claim: ClaimResult, words: Mapping[str, str]) -> str:
    key = claim.label.value
    if not claim.evidence or claim.evidence_document is None:
        key += "_bare"
    return words[key].format(
        claim=_short(claim.text), document=claim.evidence_document, evidence=_short(claim.evidence)
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTE_LENGTH else text[: _QUOTE_LENGTH - 1].rstrip() + "…"
