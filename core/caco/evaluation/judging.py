"""Rows through the engine: what it says about each, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from caco.classifier.nli import NLIClassifier
from caco.classifier.scoring import COLUMNS
from caco.evaluation.rows import Dataset, Row
from caco.evidence import as_documents
from caco.models import Claim, Status, ValidationResult
from caco.text import normalise
from caco.validator import Validator

__all__ = ["UNJUDGED", "Judgement", "Progress", "Validators", "judge"]

UNJUDGED = frozenset({Status.ABSTAINED, Status.ERROR})
"""Statuses without a verdict: the row is neither passed nor failed."""

Progress = Callable[[str, int, int], None]
"""Is told the set's name, the rows done and the rows there are."""

_CHUNK = 16


class Validators:
    """A validator for each language.

    Args:
        make: Makes the validator of a language. Called once for each.
        language: What rows are in that do not say it.
        only: True: all rows are taken to be in ``language``, whatever they say.
    """

    def __init__(
        self, make: Callable[[str], Validator], language: str = "english", *, only: bool = False
    ) -> None:
        self._make = make
        self._language = language
        self._only = only
        self._made: dict[str, Validator] = {}

    @classmethod
    def of(cls, validator: Validator) -> Validators:
        """Use one validator for all rows."""
        return cls(lambda _: validator, validator.language, only=True)

    def language_of(self, row: Row) -> str:
        """Return the language that a row is judged in."""
        return self._language if self._only or row.language is None else row.language

    def __getitem__(self, language: str) -> Validator:
        if language not in self._made:
            self._made[language] = self._make(language)
        return self._made[language]


@dataclass(frozen=True)
class Judgement:
    """What the engine says about a row.

    Attributes:
        status: The check's status; ``ERROR`` for a blank response, which cannot be checked.
        risk: In [0, 1]; means nothing where the status is in `UNJUDGED`.
        flagged: Whether the engine calls it a hallucination; of a pair, not entailed.
        label: Of a pair, the class the classifier gives it.
        model_label: Of a pair, the class of the highest probability of the model alone, without
            caco's rules and calibration. None where the classifier is not `NLIClassifier`.
        result: The check of an answer; None for a pair or a blank response.
    """

    status: Status
    risk: float
    flagged: bool
    label: str | None = None
    model_label: str | None = None
    result: ValidationResult | None = None

    @property
    def judged(self) -> bool:
        """Whether there is a verdict."""
        return self.status not in UNJUDGED


def judge(
    dataset: Dataset, validators: Validators, progress: Progress | None = None
) -> tuple[list[Judgement], float]:
    """Run every row of a set through the engine.

    Args:
        dataset: The rows. Answers are validated; of pairs, the classifier alone judges the
            hypothesis against the premise.
        validators: The engines.
        progress: Is told how far it is.

    Returns:
        What is said about each row, in order, and the mean milliseconds of a row.

    What a custom part of a validator raises surfaces as it is.
    """
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(dataset.rows):
        groups.setdefault(validators.language_of(row), []).append(index)
    work = _pairs if dataset.kind == "pairs" else _answers
    for language in groups:
        validators[language].preload()
    found: dict[int, Judgement] = {}
    began = time.perf_counter()
    for language, places in groups.items():
        for part in _chunks(places):
            rows = [dataset.rows[index] for index in part]
            found.update(zip(part, work(rows, validators[language]), strict=True))
            if progress is not None:
                progress(dataset.name, len(found), len(dataset.rows))
    seconds = time.perf_counter() - began
    return [found[index] for index in range(len(found))], 1000 * seconds / len(found)


def _chunks(places: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(places), _CHUNK):
        yield places[start : start + _CHUNK]


def _answers(rows: Sequence[Row], validator: Validator) -> list[Judgement]:
    ready = [row for row in rows if row.response.strip()]
    results = iter(
        validator.validate_batch(
            {"response": row.response, "context": row.context, "prompt": row.prompt}
            for row in ready
        )
    )
    return [
        _judged(next(results)) if row.response.strip() else Judgement(Status.ERROR, 1.0, True)
        for row in rows
    ]


def _judged(result: ValidationResult) -> Judgement:
    return Judgement(result.status, result.score, result.is_hallucination, result=result)


def _pairs(rows: Sequence[Row], validator: Validator) -> list[Judgement]:
    claims = [Claim(text=row.response, hypothesis=normalise(row.response).text) for row in rows]
    groups = validator.verify(
        ([claim], row.context) for claim, row in zip(claims, rows, strict=True)
    )
    alone = _model_labels(rows, validator)
    judged = []
    for row, (result,), label in zip(rows, groups, alone, strict=True):
        blank = not any(map(str.isalnum, row.text))
        status = Status.NO_CONTEXT if blank else Status.CHECKED
        flagged = result.risk > validator.threshold
        judged.append(Judgement(status, result.risk, flagged, result.label.value, label))
    return judged


def _model_labels(rows: Iterable[Row], validator: Validator) -> list[str | None]:
    pairs = [(as_documents(row.context)[0].text, row.response) for row in rows]
    if not isinstance(validator.classifier, NLIClassifier):
        return [None] * len(pairs)
    scores = validator.classifier.scorer.score(pairs)
    return [COLUMNS[column] for column in scores.probabilities.argmax(axis=1)]
