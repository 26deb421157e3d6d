"""`BatchValidator`: columns in, the same columns and the verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

from caco.batch.columns import (
    Answer,
    ColumnNames,
    as_column,
    as_plain,
    read_answer,
)
from caco.batch.plain import json_text
from caco.batch.results import RESULT_TYPES
from caco.classifier import CrossEncoderClassifier, NLIClassifier
from caco.models import Status, ValidationResult, unit_interval
from caco.signals import risk_level
from caco.tension import Mode, cts
from caco.text import resolve_language
from caco.validator import Validator

if TYPE_CHECKING:
    import pandas

__all__ = ["BatchValidator"]

ROW_ERRORS = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""What a single row's content may raise; anything else concerns all rows and surfaces."""

_ERROR = "error"
_FAILED: Mapping[str, Any] = {
    "verdict": _ERROR,
    "is_hallucination": True,
    "score": 1.0,
    "cts": 1.0,
    "risk_level": "high",
    "status": Status.ERROR.value,
    "claims": [],
}
"""What stands for a check that could not be made; it is never a pass."""


class BatchValidator:
    """Checks tables of answers: a callable that takes columns and returns them with the verdicts.

    It fits ``datasets.Dataset.map(batched=True)``, Ray's ``map_batches`` and pandas as it is, and
    Spark's ``mapInPandas`` by `frames`. It is picklable and loads nothing before it is called; the
    model is loaded once per process.

    Added columns, each with ``prefix`` before its name: ``verdict`` ("faithful", "hallucination",
    "not_judged" where nothing was claimed or the answer abstains, "error"), ``is_hallucination``,
    ``score`` (risk in [0, 1]), ``cts`` (tension in [0, 1]), ``risk_level`` ("low" up to a score of
    0.3, "medium" up to 0.6, "high"; a check that left something unread is "high"), ``status``,
    ``claims`` (JSON text: a list of objects with the fields of `caco.ClaimResult`) and ``error``:
    why a row could not be checked, else None. Such a row has the status ``ERROR`` and never passes.

    Args:
        validator: Checks the answers. None: the default one, with the following settings.
        threshold: Risk in [0, 1] above which an answer is called a hallucination.
        language: "english" or "portuguese", or an alias.
        max_claims: Verify at most this many claims of an answer. None: all.
        threads: CPUs that the embedded model may use. None: those of this process, at most 8.
        model: Name or folder of a cross-encoder, for GPUs (extra ``torch``); see
            `caco.export_cross_encoder`. None: the embedded model, on onnxruntime.
        device: Where such a model runs: "cuda", "cpu". None: on a GPU if there is one.
        tension: How ``cts`` is computed: "model" or "heuristic".
        response_column: Which column holds the answers. None: see `ColumnNames`.
        context_column: Which column holds the documents: a text, a list of texts or of objects
            with ``text`` and ``id``, or such a list as JSON text. None: see `ColumnNames`.
        prompt_column: Which column holds the questions. None: see `ColumnNames`.
        prefix: Put before the names of the added columns.

    Raises:
        ValueError: A setting outside its range or without effect, as ``threads`` beside ``model``,
            or any beside ``validator``.
        TypeError: ``validator`` is not a `Validator`.
    """

    def __init__(
        self,
        validator: Validator | None = None,
        *,
        threshold: float = 0.5,
        language: str = "english",
        max_claims: int | None = None,
        threads: int | None = None,
        model: str | None = None,
        device: str | None = None,
        tension: Mode = "model",
        response_column: str | None = None,
        context_column: str | None = None,
        prompt_column: str | None = None,
        prefix: str = "",
    ) -> None:
        if tension not in get_args(Mode):
            raise ValueError(f"tension must be one of {get_args(Mode)}, not {tension!r}")
        given = (threshold, language, max_claims, threads, model, device)
        if validator is not None and not isinstance(validator, Validator):
            raise TypeError(f"validator must be a Validator, not {type(validator).__name__}")
        if validator is not None and given != (0.5, "english", None, None, None, None):
            raise ValueError("give a validator or its settings, not both")
        self._given = validator
        self.threshold = unit_interval("threshold", threshold)
        self.language = resolve_language(language)
        self.max_claims = max_claims
        self.threads = threads
        self.model = model
        self.device = device
        self.tension: Mode = tension
        self.names = ColumnNames(response_column, context_column, prompt_column)
        self.prefix = prefix
        if (device is not None and model is None) or (threads is not None and model is not None):
            raise ValueError("device= is for a model=, and threads= for the embedded one")
        self._build()  # wrong settings show now; nothing is loaded

    @cached_property
    def validator(self) -> Validator:
        """What checks the answers; its model is loaded at the first check."""
        return self._build()

    def _build(self) -> Validator:
        if self._given is not None:
            return self._given
        classifier = (
            NLIClassifier(language=self.language, threads=self.threads)
            if self.model is None
            else CrossEncoderClassifier(self.model, self.device, language=self.language)
        )
        return Validator(
            classifier=classifier,
            threshold=self.threshold,
            language=self.language,
            max_claims=self.max_claims,
        )

    @property
    def result_schema(self) -> str:
        """The added columns as a SQL schema: "verdict string, …", as Spark takes it."""
        types = {**RESULT_TYPES, _ERROR: "string"}
        return ", ".join(f"`{self.prefix}{name}` {kind}" for name, kind in types.items())

    @property
    def settings(self) -> dict[str, Any]:
        """Plain data on which the results depend; runs with the same settings may be joined."""
        validator = self.validator
        classifier = validator.classifier
        return {
            "threshold": validator.threshold,
            "language": validator.language,
            "max_claims": validator.max_claims,
            "model": str(getattr(classifier, "name", type(classifier).__name__)),
            "tension": self.tension,
            "prefix": self.prefix,
        }

    def __call__(self, batch: Any) -> Any:  # noqa: ANN401 (a mapping or a pandas frame)
        """Check the rows of a batch.

        Args:
            batch: A mapping from names to columns of equal length (lists, numpy arrays, …), or a
                pandas ``DataFrame``.

        Returns:
            A dict with the same columns and the added ones as lists; of a frame, a frame.

        Raises:
            ValueError: A column is missing, has another length, or has the name of an added one.
            TypeError: The batch is neither a mapping nor a frame.
            ModelNotAvailableError: The model could not be loaded.
        """
        if isinstance(batch, Mapping):
            columns = {str(name): values for name, values in batch.items()}
            return {**columns, **self._results(columns)}
        if hasattr(batch, "columns") and hasattr(batch, "assign"):
            return batch.assign(**self._results({str(name): batch[name] for name in batch.columns}))
        raise TypeError(
            f"a batch must be a mapping of columns or a pandas frame, not {type(batch).__name__}"
        )

    def frames(self, batches: Iterable[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        """Check one pandas frame after the other, as Spark's ``mapInPandas`` hands them over."""
        for batch in batches:
            yield self(batch)

    def check(self, answers: Sequence[Answer]) -> list[dict[str, Any] | str]:
        """Check answers together.

        Args:
            answers: What to check.

        Returns:
            For each the added columns, ``claims`` as plain data and names without the prefix; or
            why it could not be checked.

        Raises:
            ModelNotAvailableError: The model could not be loaded.
        """
        try:
            results = self.validator.validate_batch(
                [
                    {"response": a.response, "context": a.documents, "prompt": a.prompt}
                    for a in answers
                ]
            )
            return [
                self._found(answer, result) for answer, result in zip(answers, results, strict=True)
            ]
        except ROW_ERRORS as error:
            if len(answers) == 1:
                return [f"{type(error).__name__}: {error}"]
            # What was scored is remembered: only the row that failed costs again.
            return [outcome for answer in answers for outcome in self.check([answer])]

    def _found(self, answer: Answer, result: ValidationResult) -> dict[str, Any]:
        if self.tension == "heuristic":
            value = cts(answer.response, answer.documents, mode="heuristic").value
        else:
            value = self.validator.tension(result, answer.documents).value
        return {
            "verdict": _verdict(result),
            "is_hallucination": result.is_hallucination,
            "score": result.score,
            "cts": value,
            "risk_level": risk_level(1.0 if result.coverage.truncated else result.score),
            "status": result.status.value,
            "claims": result.to_dict()["claims"],
        }

    def _results(self, columns: Mapping[str, Any]) -> dict[str, list[Any]]:
        names = self.names.resolve(columns)
        added = [*RESULT_TYPES, _ERROR]
        clash = sorted({self.prefix + name for name in added} & set(columns))
        if clash:
            raise ValueError(f"the batch has columns that would be added: {clash}; give a prefix")
        kinds = [name for name in (names.response, names.context, names.prompt) if name is not None]
        cells = {name: as_column(columns[name]) for name in kinds}
        if len({len(column) for column in cells.values()}) > 1:
            lengths = {name: len(column) for name, column in cells.items()}
            raise ValueError(f"the columns have different lengths: {lengths}")
        rows = [
            {name: as_plain(column[place]) for name, column in cells.items()}
            for place in range(len(cells[kinds[0]]))
        ]
        found = [
            {**outcome, _ERROR: None} if isinstance(outcome, dict) else {**_FAILED, _ERROR: outcome}
            for outcome in self._outcomes(rows, names)
        ]
        return {
            self.prefix + name: [
                json_text(row[name]) if name == "claims" else row[name] for row in found
            ]
            for name in added
        }

    def _outcomes(
        self, rows: Sequence[Mapping[str, Any]], names: ColumnNames
    ) -> list[dict[str, Any] | str]:
        answers: dict[int, Answer] = {}
        reasons: dict[int, str] = {}
        for place, row in enumerate(rows):
            try:
                answers[place] = read_answer(row, names)
            except (TypeError, ValueError) as error:
                reasons[place] = str(error)
        checked = dict(zip(answers, self.check(list(answers.values())), strict=True))
        return [checked[p] if p in checked else reasons[p] for p in range(len(rows))]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "validator"}


def _verdict(result: ValidationResult) -> str:
    if result.status is Status.ERROR:
        return _ERROR
    if result.is_hallucination:
        return "hallucination"
    return "faithful" if result.status is Status.CHECKED else "not_judged"
