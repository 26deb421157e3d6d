"""The engine's front door: an answer and its documents in, a verdict with evidence out."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal, TypeVar, get_args

from caco.aggregator import Aggregator
from caco.classifier.base import ClassifierContract
from caco.classifier.custom import classify_with
from caco.classifier.nli import NLIClassifier
from caco.errors import MissingContextError
from caco.evidence import Context, as_documents, joined_text
from caco.extractor.base import ExtractorContract
from caco.extractor.rule import RuleExtractor
from caco.gate import GatingPolicy
from caco.items import BatchItem, batch_items
from caco.models import (
    Claim,
    ClaimResult,
    Coverage,
    Document,
    Labels,
    Status,
    ValidationResult,
)
from caco.signals import detect_signals
from caco.summary import summarise
from caco.tension import CTS, cts, tension_of
from caco.text import resolve_language

__all__ = ["OnMissingContext", "Validator"]

OnMissingContext = Literal["flag", "abstain", "raise"]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Item:
    """One answer, ready to be verified."""

    response: str
    documents: tuple[Document, ...]
    claims: tuple[Claim, ...]
    chosen: tuple[Claim, ...]
    left_out: int

    @property
    def readable(self) -> bool:
        return _readable(self.documents)

    @property
    def declines(self) -> bool:
        return not self.chosen and any(claim.declines for claim in self.claims)


@dataclass(frozen=True)
class _Verdicts:
    """A classifier's results on the chosen claims of one answer, and what it read."""

    results: tuple[ClaimResult, ...]
    windows: int = 0
    pairs: int = 0
    truncated: bool = False


class Validator:
    """Checks answers against documents.

    Thread-safe, and picklable (models are loaded again lazily). Validators with the same model in
    one process share its weights.

    Args:
        extractor: Splits an answer into claims. None: `RuleExtractor`.
        classifier: Verifies claims. None: `NLIClassifier` on the embedded model.
        aggregator: Turns claims into a verdict; its threshold, weights and language win. None: an
            `Aggregator` with ``threshold`` and ``language``.
        threshold: Risk in [0, 1] above which an answer is called a hallucination.
        language: "english" or "portuguese" (aliases en, pt, pt-br): sentence splitting, word lists
            and the summary. The embedded model reads both.
        max_claims: Verify at most this many check-worthy claims of an answer. One that has more
            is truncated, and never passes. None: all.
        on_missing_context: What an empty or blank context gives: "flag" (status ``NO_CONTEXT``,
            ``is_hallucination`` True), "abstain" (status ``ABSTAINED``, not judged), or "raise"
            (`MissingContextError`).
        policy: Decides whether an answer is withheld (`ValidationResult.gate`).
        signals: True adds the stage-1 signals to the result.

    Raises:
        ValueError: An argument outside its range.
        TypeError: A part that is not of its contract.
    """

    def __init__(
        self,
        extractor: ExtractorContract | None = None,
        classifier: ClassifierContract | None = None,
        aggregator: Aggregator | None = None,
        threshold: float = 0.5,
        language: str = "english",
        *,
        max_claims: int | None = None,
        on_missing_context: OnMissingContext = "flag",
        policy: GatingPolicy | None = None,
        signals: bool = False,
    ) -> None:
        self.language = resolve_language(language)
        if max_claims is not None and (type(max_claims) is not int or max_claims < 1):
            raise ValueError(f"max_claims must be a positive int or None, not {max_claims!r}")
        if on_missing_context not in get_args(OnMissingContext):
            raise ValueError(
                f"on_missing_context must be one of {get_args(OnMissingContext)}, "
                f"not {on_missing_context!r}"
            )
        _check_part("extractor", extractor, "extract")
        _check_part("classifier", classifier, "classify")
        _check_part("aggregator", aggregator, "aggregate")
        if policy is not None and not isinstance(policy, GatingPolicy):
            raise TypeError(f"policy must be a GatingPolicy or None, not {type(policy).__name__}")
        self.extractor = extractor if extractor is not None else RuleExtractor(self.language)
        self.classifier = (
            classifier if classifier is not None else NLIClassifier(language=self.language)
        )
        self.aggregator = (
            aggregator
            if aggregator is not None
            else Aggregator(threshold=threshold, language=self.language)
        )
        self._threshold = threshold
        self.max_claims = max_claims
        self.on_missing_context = on_missing_context
        self.policy = policy
        self.signals = signals

    @property
    def threshold(self) -> float:
        """The threshold in force: the aggregator's."""
        return float(getattr(self.aggregator, "threshold", self._threshold))

    def preload(self) -> None:
        """Load now what the first check would load: the model, and what finds sentences' ends."""
        self.validate("The sky is blue.", "By day the sky is blue. At night it is black.")

    def validate(
        self, response: str, context: Context, prompt: str | None = None
    ) -> ValidationResult:
        """Check one answer.

        Args:
            response: The answer.
            context: The documents: a str, a `Document`, a mapping with ``text`` or
                ``page_content``, or a sequence of those. Their order never changes the verdict.
            prompt: The question that was asked; helps to read very short answers.

        Returns:
            The verdict; offsets point into ``response`` and the documents' texts as given.

        Raises:
            ValueError: The response is empty or blank, or two documents have the same id.
            TypeError: The response, context or prompt is of a wrong type.
            MissingContextError: There is nothing to check against, and ``on_missing_context`` is
                "raise".
            ModelNotAvailableError: The model could not be loaded.

        An exception of a custom extractor or classifier surfaces as it is.
        """
        return self._validate_items([self._item(self._checked(response, context, prompt))])[0]

    def validate_batch(
        self,
        items: Iterable[BatchItem] | Sequence[str] | None = None,
        context: Context = None,
        contexts: Sequence[Context] | None = None,
        *,
        responses: Sequence[str] | None = None,
    ) -> list[ValidationResult]:
        """Check many answers, all their pairs scored together.

        Args:
            items: Mappings with ``response``, ``context`` and perhaps ``prompt``, or (response,
                context) pairs; or, with ``context`` or ``contexts``, the responses.
            context: One context for all ``responses``.
            contexts: A context for each of ``responses``.
            responses: The answers, as in cavaquinho's ``validate_batch(responses=…, contexts=…)``.

        Returns:
            One result for each item, in order.

        Raises:
            ValueError: As in `validate`, naming the item; lists of different lengths; or neither
                ``items`` nor ``responses`` with their contexts.
            TypeError: As in `validate`, naming the item.
        """
        checked = []
        for position, item in enumerate(batch_items(items, context, contexts, responses)):
            try:
                checked.append(self._checked(*item))
            except (TypeError, ValueError) as error:
                error.args = (f"item {position}: {error}", *error.args[1:])
                raise
        return self._validate_items([self._item(item) for item in checked])

    async def avalidate(
        self, response: str, context: Context, prompt: str | None = None
    ) -> ValidationResult:
        """`validate` in a bounded pool of threads; the event loop stays free."""
        return await _in_thread(partial(self.validate, response, context, prompt))

    async def avalidate_batch(
        self,
        items: Iterable[BatchItem] | Sequence[str] | None = None,
        context: Context = None,
        contexts: Sequence[Context] | None = None,
        *,
        responses: Sequence[str] | None = None,
    ) -> list[ValidationResult]:
        """`validate_batch` in a bounded pool of threads; the event loop stays free."""
        return await _in_thread(
            partial(self.validate_batch, items, context, contexts, responses=responses)
        )

    def verify(
        self, requests: Iterable[tuple[Sequence[Claim], Context]]
    ) -> list[tuple[ClaimResult, ...]]:
        """Verify claims that are at hand, all their pairs scored together; nothing is aggregated.

        Args:
            requests: Groups of claims, each with its own documents.

        Returns:
            One result for each claim, by group and in order; without a readable document they are
            neutral.
        """
        items = [
            _Item("", as_documents(context), tuple(claims), tuple(claims), 0)
            for claims, context in requests
        ]
        verdicts = iter(self._verify([item for item in items if item.readable]))
        return [
            next(verdicts).results if item.readable else tuple(map(_unread, item.claims))
            for item in items
        ]

    def tension(self, result: ValidationResult, context: Context) -> CTS:
        """Return the tension of an answer that was checked, in the model form.

        Where there was nothing to read, all that the answer claims counts as unsupported.

        Args:
            result: The check.
            context: The documents it was checked against.
        """
        if result.coverage.claims_total and not result.coverage.claims_checked:
            # Its claims were never verified, so that the result does not hold them.
            return cts(result.response, context, classifier=self.classifier, language=self.language)
        return tension_of(
            result.response, context, result.claims, self.classifier, language=self.language
        )

    def _checked(
        self, response: object, context: object, prompt: object
    ) -> tuple[str, tuple[Document, ...], str | None]:
        """Return the arguments of a check, if they are of use."""
        if not isinstance(response, str):
            raise TypeError(f"response must be a str, not {type(response).__name__}")
        if prompt is not None and not isinstance(prompt, str):
            raise TypeError(f"prompt must be a str or None, not {type(prompt).__name__}")
        if not response.strip():
            raise ValueError("response is empty: there is nothing to check")
        documents = as_documents(context)  # type: ignore[arg-type]
        if self.on_missing_context == "raise" and not _readable(documents):
            raise MissingContextError(
                "there is no document, or only blank ones, to check the response against"
            )
        return response, documents, prompt

    def _item(self, checked: tuple[str, tuple[Document, ...], str | None]) -> _Item:
        response, documents, prompt = checked
        claims = tuple(self.extractor.claims(response, joined_text(documents), prompt))
        worthy = [claim for claim in claims if claim.checkworthy]
        limits = [m for m in (self.max_claims, self.extractor.max_claims) if m is not None]
        chosen = worthy[: min(limits)] if limits else worthy
        return _Item(response, documents, claims, tuple(chosen), len(worthy) - len(chosen))

    def _validate_items(self, items: Sequence[_Item]) -> list[ValidationResult]:
        to_verify = [item for item in items if item.chosen and item.readable]
        verdicts = iter(self._verify(to_verify))
        return [
            self._annotated(
                self._conclude(
                    item, next(verdicts) if item.chosen and item.readable else _Verdicts(())
                ),
                item.documents,
            )
            for item in items
        ]

    def _annotated(
        self, result: ValidationResult, documents: Sequence[Document]
    ) -> ValidationResult:
        """Add the surface signals and the gate's decision, where they are wanted."""
        if self.signals:
            result = replace(result, signals=detect_signals(result.response, documents).issues)
        if self.policy is not None:
            tension = self.tension(result, documents) if self.policy.needs_tension else None
            result = replace(result, gate=self.policy.decide(result, tension))
        return result

    def _verify(self, items: Sequence[_Item]) -> list[_Verdicts]:
        if isinstance(self.classifier, NLIClassifier):
            found = self.classifier.verify([(item.chosen, item.documents) for item in items])
            return [_Verdicts(v.results, v.windows, v.pairs, v.truncated) for v in found]
        return [
            _Verdicts(classify_with(self.classifier, item.chosen, item.documents)) for item in items
        ]

    def _conclude(self, item: _Item, verdicts: _Verdicts) -> ValidationResult:
        results = iter(verdicts.results)
        chosen = set(map(id, item.chosen)) if verdicts.results else set()
        claims = tuple(
            next(results) if id(claim) in chosen else _not_counted(claim)
            for claim in item.claims
            if id(claim) in chosen or not claim.checkworthy
        )
        truncated = verdicts.truncated or (item.left_out > 0 and item.readable)
        aggregate = self.aggregator.aggregate(claims)
        status, score = self._outcome(item, aggregate)
        verdict = ValidationResult.decide(status, score, aggregate.threshold, truncated=truncated)
        if status is aggregate.status:  # a custom aggregator may have reasons of its own
            verdict = verdict or aggregate.is_hallucination
        return replace(
            aggregate,
            score=score,
            status=status,
            is_hallucination=verdict,
            summary=self._summary(status, aggregate, score, item, truncated=truncated),
            coverage=Coverage(
                claims_total=len(item.chosen) + item.left_out,
                claims_checked=len(verdicts.results),
                documents=len(item.documents),
                windows=verdicts.windows,
                pairs_scored=verdicts.pairs,
                truncated=truncated,
            ),
            model=str(getattr(self.classifier, "name", type(self.classifier).__name__)),
            response=item.response,
        )

    def _outcome(self, item: _Item, aggregate: ValidationResult) -> tuple[Status, float]:
        """Status and score; a declining answer abstains, even where there is no document."""
        if item.declines:
            return Status.ABSTAINED, 0.0
        if not item.readable:
            if self.on_missing_context == "abstain":
                return Status.ABSTAINED, 0.0
            return Status.NO_CONTEXT, 1.0
        return aggregate.status, aggregate.score

    def _summary(
        self,
        status: Status,
        aggregate: ValidationResult,
        score: float,
        item: _Item,
        *,
        truncated: bool,
    ) -> str:
        if status is aggregate.status and not truncated:
            return aggregate.summary
        return summarise(
            status,
            aggregate.claims,
            score,
            aggregate.language,
            threshold=aggregate.threshold,
            truncated=truncated,
            unjudged=status is Status.ABSTAINED and not item.declines,
        )

    def __repr__(self) -> str:
        return (
            f"Validator(threshold={self.threshold}, language={self.language!r}, "
            f"classifier={type(self.classifier).__name__})"
        )


def _check_part(name: str, part: object, method: str) -> None:
    contract = {"extractor": ExtractorContract, "classifier": ClassifierContract}.get(name)
    if part is None or (contract is None and callable(getattr(part, method, None))):
        return
    if contract is None or not isinstance(part, contract):
        wanted = f"a {contract.__name__}" if contract else f"an object with {method}()"
        raise TypeError(f"{name} must be {wanted}, not {type(part).__name__}")


def _readable(documents: Iterable[Document]) -> bool:
    """Whether any document says anything: a letter or a digit."""
    return any(any(map(str.isalnum, document.text)) for document in documents)


def _unread(claim: Claim) -> ClaimResult:
    return ClaimResult(
        text=claim.text,
        evidence="",
        label=Labels.VALUE_NEUTRAL,
        score=1.0,
        start=claim.start,
        end=claim.end,
    )


def _not_counted(claim: Claim) -> ClaimResult:
    return replace(_unread(claim), checkworthy=False)


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="caco")


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


async def _in_thread(function: Callable[[], _Result]) -> _Result:
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_pool(), context.run, function)
