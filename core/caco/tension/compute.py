"""`cts`: the tension of a text, in either form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from caco.classifier import ClassifierContract, NLIClassifier
from caco.consistency import ConflictReport
from caco.evidence import Context, as_documents, joined_text
from caco.extractor.rule import RuleExtractor
from caco.models import Claim, ClaimResult, Document, Labels
from caco.tension import heuristic, model
from caco.tension.parts import CTS, checked_weights
from caco.tension.satisfaction import Satisfaction, unsatisfied_share
from caco.text import resolve_language

__all__ = ["Mode", "cts", "tension_among", "tension_of"]

Mode = Literal["heuristic", "model"]


def cts(
    text: str,
    sources: Context = None,
    constraints: Sequence[Sequence[int]] = (),
    mode: Mode | None = None,
    *,
    classifier: ClassifierContract | None = None,
    language: str = "english",
    weights: Mapping[str, float] | None = None,
) -> CTS:
    """Compute the cognitive tension of a text against its sources.

    Args:
        text: The text; may be empty.
        sources: What it may rely on: a text, a `Document`, a mapping, or a sequence of those.
        constraints: A formula in conjunctive normal form: clauses of signed ints, as in DIMACS. Its
            least share of unsatisfied clauses is ``U_SAT``; 0 without clauses.
        mode: "heuristic": characters and words only, no model. "model": claims are verified by the
            classifier. None: "model" where a classifier is given, else "heuristic".
        classifier: Verifies claims in the model form. None there: `NLIClassifier` on the embedded
            model.
        language: "english" or "portuguese", or an alias; for the model form.
        weights: Weights by component's name, as `fit_weights` gives them. None: the defaults.

    Returns:
        The tension, its components and weights.

    Raises:
        ValueError: An unknown mode, language or weight, or a malformed formula.
        TypeError: The text, a source or the formula is of a wrong type.
        MissingExtraError: There are constraints, and python-sat is not installed.
        ModelNotAvailableError: The embedded model could not be loaded.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    if mode is not None and mode not in get_args(Mode):
        raise ValueError(f"mode must be one of {get_args(Mode)} or None, not {mode!r}")
    resolve_language(language)
    documents = as_documents(sources)
    head_weights = checked_weights(weights)
    satisfaction = unsatisfied_share(constraints)
    if mode == "model" or (mode is None and classifier is not None):
        reader = classifier if classifier is not None else NLIClassifier(language=language)
        claims = _verified(text, documents, reader, language)
        return _model_form(text, documents, claims, reader, language, head_weights, satisfaction)
    texts = [document.text for document in documents]
    contradiction = heuristic.contradiction_parts(text, texts)
    return CTS.combine(
        heuristic.strain_parts(text),
        {**contradiction, "U_SAT": satisfaction.share},
        head_weights,
        "heuristic",
        exact=satisfaction.exact,
    )


def tension_of(
    text: str,
    sources: Context,
    claims: Sequence[ClaimResult],
    classifier: ClassifierContract,
    *,
    language: str = "english",
    weights: Mapping[str, float] | None = None,
) -> CTS:
    """Compute the model form for a text whose claims have been verified.

    Args:
        text: The text.
        sources: What it was verified against.
        claims: Its claims; only check-worthy ones count.
        classifier: What verified them; reads the claims against each other.
        language: "english" or "portuguese", or an alias.
        weights: Weights by component's name. None: the defaults.

    Raises:
        ValueError: An unknown language or weight.
        TypeError: A source is of a wrong type.
    """
    return _model_form(
        text,
        as_documents(sources),
        claims,
        classifier,
        language,
        checked_weights(weights),
        Satisfaction(0.0, exact=True),
    )


def tension_among(
    documents: Sequence[Document],
    report: ConflictReport,
    *,
    weights: Mapping[str, float] | None = None,
) -> CTS:
    """Compute the model form for sources, each of them against the others.

    The strain is high where the sources have little in common; ``P_NLI`` is the mean over the
    sources of the worst contradiction with another one, and ``H_halluc`` is 0.

    Args:
        documents: The sources, with ids.
        report: What `caco.consistency.find_source_conflicts` found in them.
        weights: Weights by component's name. None: the defaults.

    Raises:
        ValueError: An unknown weight, or two documents with the same id.
    """
    given = as_documents(list(documents))
    worst = [
        max((score for _, _, score in report.seen_from(document.id or "")), default=0.0)
        for document in given
    ]
    strain, contradiction = model.source_parts([document.text for document in given], worst)
    head_weights = checked_weights(weights)
    return CTS.combine(strain, {**contradiction, "U_SAT": 0.0}, head_weights, "model")


def _model_form(
    text: str,
    documents: Sequence[Document],
    claims: Sequence[ClaimResult],
    classifier: ClassifierContract,
    language: str,
    weights: Mapping[str, float],
    satisfaction: Satisfaction,
) -> CTS:
    contradiction = model.contradiction_parts(text, claims, classifier, resolve_language(language))
    return CTS.combine(
        model.strain_parts(text, [document.text for document in documents]),
        {**contradiction, "U_SAT": satisfaction.share},
        weights,
        "model",
        exact=satisfaction.exact,
    )


def _verified(
    text: str, documents: Sequence[Document], classifier: ClassifierContract, language: str
) -> list[ClaimResult]:
    """Verify the check-worthy claims of a text."""
    found = RuleExtractor(language).claims(text) if text.strip() else []
    claims = [claim for claim in found if claim.checkworthy]
    if not any(document.text.strip() for document in documents):
        return [_unread(claim) for claim in claims]
    if isinstance(classifier, NLIClassifier):
        return list(classifier.verify([(claims, documents)])[0].results)
    context = joined_text(documents)
    return [classifier.classify(claim.text, context) for claim in claims]


def _unread(claim: Claim) -> ClaimResult:
    return ClaimResult(text=claim.text, evidence="", label=Labels.VALUE_NEUTRAL, score=1.0)
