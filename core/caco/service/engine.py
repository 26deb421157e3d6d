"""The engine that all requests share: checks, tensions, their decisions and receipts."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from caco.classifier.base import ClassifierContract
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import PairScorer, PairScores
from caco.gate import TENSION_RULE
from caco.models import Decision, Document, ValidationResult
from caco.receipts import Receipt, Site, make_receipt
from caco.service.settings import ServiceSettings
from caco.tension import CTS, Mode, cts
from caco.validator import Validator

__all__ = ["AbandonedError", "Check", "Checked", "Compute", "Computed", "Engine"]

LANGUAGES = ("english", "portuguese")
_SLICE = 128
"""Pairs scored between two looks at whether anybody still waits for them."""

_now = threading.local()


class AbandonedError(Exception):
    """Nobody waits any more for what was being computed."""


@dataclass(frozen=True)
class Check:
    """A request to check an answer; the fields are those of ``POST /validate``."""

    response: str
    documents: tuple[Document, ...]
    prompt: str | None
    language: str
    threshold: float
    user_role: str
    request_id: str

    @property
    def size(self) -> int:
        """Characters of the answer times those of the documents: the cost grows like this."""
        return len(self.response) * sum(len(document.text) for document in self.documents)


@dataclass(frozen=True)
class Checked:
    """A checked answer and the receipt that was logged for it."""

    result: ValidationResult
    receipt: Receipt


@dataclass(frozen=True)
class Compute:
    """A request for a tension; the fields are those of ``POST /compute``."""

    text: str
    documents: tuple[Document, ...]
    constraints: tuple[tuple[int, ...], ...]
    mode: Mode
    language: str
    user_role: str
    request_id: str


@dataclass(frozen=True)
class Computed:
    """A tension and the receipt that was logged for it."""

    tension: CTS
    receipt: Receipt


class _InterruptibleScorer:
    """Scores in slices, and stops between two of them when nobody waits any more.

    A pair's score does not depend on what is scored beside it.
    """

    def __init__(self, scorer: PairScorer) -> None:
        self._scorer = scorer
        self.name = scorer.name
        self.window_words = scorer.window_words
        self.max_tokens = scorer.max_tokens
        self.calibration = scorer.calibration

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        import numpy as np

        parts = []
        for start in range(0, max(1, len(pairs)), _SLICE):
            _stop_if_abandoned()
            parts.append(self._scorer.score(pairs[start : start + _SLICE]))
        if len(parts) == 1:
            return parts[0]
        return PairScores(
            np.concatenate([part.probabilities for part in parts]),
            np.concatenate([part.truncated for part in parts]),
        )


class Engine:
    """Checks answers with one model for all languages.

    Args:
        settings: The policy, the receipts and the limits.
        classifier: Verifies claims, in every language. None: `NLIClassifier` on the embedded model.
    """

    def __init__(
        self, settings: ServiceSettings, classifier: ClassifierContract | None = None
    ) -> None:
        self._policy = settings.policy
        self._receipts = settings.receipts
        self._max_claims = settings.max_claims
        if classifier is not None:
            self._classifiers = dict.fromkeys(LANGUAGES, classifier)
        else:
            scorer = _InterruptibleScorer(OnnxScorer())
            self._classifiers = {
                language: NLIClassifier(scorer, language=language) for language in LANGUAGES
            }

    @property
    def model(self) -> str:
        """The model's name."""
        classifier = self._classifiers[LANGUAGES[0]]
        return str(getattr(classifier, "name", type(classifier).__name__))

    def preload(self) -> None:
        """Load the model.

        Raises:
            ModelNotAvailableError: It could not be loaded.
        """
        for language in LANGUAGES:
            self._validator(language, 0.5).preload()

    def check(
        self, jobs: Sequence[Check], abandoned: Callable[[], bool] = lambda: False
    ) -> list[Checked | Exception]:
        """Check answers, those of the same language and threshold together.

        Args:
            jobs: The answers.
            abandoned: Asked now and then; when True, the work is given up.

        Returns:
            For each job what was found, or why its receipt could not be logged.

        Raises:
            AbandonedError: Nobody waits any more.

        Whatever a check raises surfaces as it is.
        """
        _now.abandoned = abandoned
        groups: dict[tuple[str, float], list[int]] = defaultdict(list)
        for index, job in enumerate(jobs):
            groups[job.language, job.threshold].append(index)
        found: dict[int, tuple[ValidationResult, CTS]] = {}
        for (language, threshold), indices in groups.items():
            validator = self._validator(language, threshold)
            results = validator.validate_batch(
                [
                    {"response": job.response, "context": job.documents, "prompt": job.prompt}
                    for job in (jobs[index] for index in indices)
                ]
            )
            for index, result in zip(indices, results, strict=True):
                found[index] = result, validator.tension(result, jobs[index].documents)
        return [self._concluded(job, *found[index]) for index, job in enumerate(jobs)]

    def compute(
        self, jobs: Sequence[Compute], abandoned: Callable[[], bool] = lambda: False
    ) -> list[Computed | Exception]:
        """Compute tensions; arguments and errors as in `check`, ``ValueError`` as in `caco.cts`."""
        _now.abandoned = abandoned
        outcomes: list[Computed | Exception] = []
        for job in jobs:
            tension = cts(
                job.text,
                job.documents,
                job.constraints,
                job.mode,
                classifier=self._classifiers[job.language],
                language=job.language,
            )
            too_tense = self._policy.needs_tension and tension.value > self._policy.tau_star
            decision = Decision(
                abstained=too_tense,
                reason=TENSION_RULE if too_tense else None,
                tau_star=self._policy.tau_star,
                actions=self._policy.on_abstain if too_tense else (),
            )
            receipt = _receipt(job.text, job, tension, decision)
            error = self._logging_error(receipt)
            outcomes.append(error or Computed(tension, receipt))
        return outcomes

    def _validator(self, language: str, threshold: float) -> Validator:
        return Validator(
            classifier=self._classifiers[language],
            threshold=threshold,
            language=language,
            max_claims=self._max_claims,
        )

    def _concluded(self, job: Check, result: ValidationResult, tension: CTS) -> Checked | Exception:
        decision = self._policy.decide(result, tension)
        receipt = _receipt(job.response, job, tension, decision)
        error = self._logging_error(receipt)
        return error or Checked(replace(result, gate=decision), receipt)

    def _logging_error(self, receipt: Receipt) -> OSError | ValueError | None:
        """Log a receipt; an answer whose receipt is lost is not given out."""
        try:
            self._receipts(receipt)
        except (OSError, ValueError) as error:
            return error
        return None


def _receipt(text: str, job: Check | Compute, tension: CTS, decision: Decision) -> Receipt:
    return make_receipt(
        text,
        [Site.of("generate", tension, job.documents)],
        decision,
        user_role=job.user_role,
        request_id=job.request_id,
    )


def _stop_if_abandoned() -> None:
    abandoned: Callable[[], bool] | None = getattr(_now, "abandoned", None)
    if abandoned is not None and abandoned():
        raise AbandonedError("nobody waits for it any more")
