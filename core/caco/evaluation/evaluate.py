"""`evaluate`: labelled sets through the engine, measured, with baselines beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caco.evaluation.baselines import Baseline, measure_baselines
from caco.evaluation.judging import Judgement, Progress, Validators, judge
from caco.evaluation.measures import (
    BINS,
    RESAMPLES,
    Bin,
    Estimate,
    Measured,
    mean_of,
    measure,
    reliability,
    require_sklearn,
    to_plain,
)
from caco.evaluation.rows import NOT_ENTAILED, Dataset
from caco.models import Labels, Status
from caco.validator import Validator

__all__ = ["DatasetReport", "Evaluation", "evaluate"]


@dataclass(frozen=True)
class DatasetReport:
    """How the engine does on one set.

    Attributes:
        dataset: The rows.
        judgements: What the engine says about each, in order.
        measured: The measures over the rows that were judged; None when none was.
        statuses: From each status to its share of the rows.
        milliseconds: Mean time of a row.
        baselines: From a baseline's name to how it does on the same rows.
        as_wrong: Balanced accuracy with every row that was not judged counted as wrong.
    """

    dataset: Dataset
    judgements: tuple[Judgement, ...]
    measured: Measured | None
    statuses: Mapping[Status, float]
    milliseconds: float
    baselines: Mapping[str, Baseline]
    as_wrong: float | None

    @property
    def judged(self) -> int:
        """How many rows have a verdict."""
        return sum(judgement.judged for judgement in self.judgements)

    @property
    def bad(self) -> int:
        """How many rows are labelled 1."""
        return sum(row.label for row in self.dataset.rows)

    @property
    def risks(self) -> list[float]:
        """Risks of the rows that were judged, each in [0, 1]."""
        return [judgement.risk for judgement in self.judgements if judgement.judged]

    @property
    def labels(self) -> list[bool]:
        """Labels of the rows that were judged."""
        pairs = zip(self.dataset.rows, self.judgements, strict=True)
        return [row.label for row, judgement in pairs if judgement.judged]

    @property
    def reliability(self) -> tuple[Bin, ...]:
        """The reliability table of the rows that were judged."""
        return reliability(self.risks, self.labels)

    @property
    def model_accuracy(self) -> float | None:
        """Of pairs, the accuracy of the model alone; None for answers and other classifiers."""
        pairs = zip(self.dataset.rows, self.judgements, strict=True)
        right = [
            _same_class(row.gold, judgement.model_label)
            for row, judgement in pairs
            if row.gold is not None and judgement.model_label is not None
        ]
        return sum(right) / len(right) if right else None

    def estimate(self, name: str) -> Estimate:
        """Return a measure's estimate; one without a value where it is not defined."""
        nothing = Estimate(None)
        return nothing if self.measured is None else self.measured.estimates.get(name, nothing)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes; the texts are not in it."""
        return {
            "name": self.dataset.name,
            "kind": self.dataset.kind,
            "rows": len(self.dataset.rows),
            "bad": self.bad,
            "judged": self.judged,
            "measures": {} if self.measured is None else to_plain(self.measured.estimates),
            "balanced_accuracy_unjudged_wrong": self.as_wrong,
            "model_accuracy": self.model_accuracy,
            "reliability": [vars(row) for row in self.reliability],
            "statuses": {str(status): share for status, share in self.statuses.items()},
            "milliseconds": self.milliseconds,
            "baselines": {
                name: {
                    "auroc": baseline.auroc.to_dict(),
                    "balanced_accuracy": baseline.balanced_accuracy.to_dict(),
                    "note": baseline.note,
                }
                for name, baseline in self.baselines.items()
            },
        }


@dataclass(frozen=True)
class Evaluation:
    """How the engine does on some sets.

    Attributes:
        reports: One for each set, in order.
        model: The model's name.
        threshold: The risk over which the engine calls an answer a hallucination.
        fitted: What the fitted baselines were fitted on.
    """

    reports: tuple[DatasetReport, ...]
    model: str
    threshold: float
    fitted: str

    @property
    def mean(self) -> Mapping[str, Estimate]:
        """The means over the sets that have verdicts, sets of claims left out; {} when none has."""
        measured = [
            report.measured
            for report in self.reports
            if report.measured is not None and not report.dataset.of_claims
        ]
        return mean_of(measured) if measured else {}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes."""
        return {
            "model": self.model,
            "threshold": self.threshold,
            "resamples": RESAMPLES,
            "bins": BINS,
            "baselines_fitted": self.fitted,
            "datasets": [report.to_dict() for report in self.reports],
            "mean": to_plain(self.mean),
        }


def evaluate(
    datasets: Sequence[Dataset],
    validator: Validator | Validators | None = None,
    *,
    fit_on: Dataset | None = None,
    claims: bool = True,
    baselines: bool = True,
    progress: Progress | None = None,
    seed: int = 0,
) -> Evaluation:
    """Measure the engine on labelled sets.

    Rows that were not judged (statuses ``ABSTAINED`` and ``ERROR``) are in no measure: their shares
    are in the statuses, and `DatasetReport.as_wrong` says what they could cost.

    Args:
        datasets: The sets, at least one.
        validator: The engine, or one for each language. None: the default ones.
        fit_on: Rows that the baselines are fitted on. None: other parts of the same set.
        claims: True measures the claims that a set labels as a set of their own, too.
        baselines: False leaves the baselines out.
        progress: Is told how far it is.
        seed: Of the resamples and the folds.

    Returns:
        The measures.

    Raises:
        ValueError: No sets.
        MissingExtraError: scikit-learn is not installed.
    """
    require_sklearn()
    if not datasets:
        raise ValueError("there is nothing to evaluate")
    if isinstance(validator, Validator):
        validator = Validators.of(validator)
    engines = validator or Validators(lambda language: Validator(language=language))
    reports = []
    if claims:
        datasets = [part for whole in datasets for part in whole.with_claims()]
    for dataset in datasets:
        judgements, milliseconds = judge(dataset, engines, progress)
        beside = measure_baselines(dataset, fit_on, seed=seed) if baselines else {}
        reports.append(_report(dataset, judgements, milliseconds, beside, seed))
    engine = engines[engines.language_of(datasets[0].rows[0])]
    return Evaluation(
        tuple(reports),
        str(getattr(engine.classifier, "name", type(engine.classifier).__name__)),
        engine.threshold,
        "each fifth of the set on the other four" if fit_on is None else fit_on.name,
    )


def _report(
    dataset: Dataset,
    judgements: Sequence[Judgement],
    milliseconds: float,
    baselines: Mapping[str, Baseline],
    seed: int,
) -> DatasetReport:
    rows = list(zip(dataset.rows, judgements, strict=True))
    judged = [(row, judgement) for row, judgement in rows if judgement.judged]
    right = [_same_class(row.gold, judgement.label) for row, judgement in judged if row.gold]
    measured = (
        measure(
            [judgement.risk for _, judgement in judged],
            [judgement.flagged for _, judgement in judged],
            [row.label for row, _ in judged],
            right if dataset.kind == "pairs" else None,
            seed=seed,
        )
        if judged
        else None
    )
    strict = measure(
        [0.0] * len(rows),
        [judgement.flagged if judgement.judged else not row.label for row, judgement in rows],
        [row.label for row, _ in rows],
        resamples=1,
    )
    counts = Counter(judgement.status for judgement in judgements)
    return DatasetReport(
        dataset=dataset,
        judgements=tuple(judgements),
        measured=measured,
        statuses={status: counts[status] / len(rows) for status in Status if counts[status]},
        milliseconds=milliseconds,
        baselines=baselines,
        as_wrong=strict.estimates["balanced_accuracy"].value,
    )


def _same_class(gold: str | None, label: str | None) -> bool:
    """Whether a class is right; where the data do not tell two apart, either is."""
    if gold == NOT_ENTAILED:
        return label != Labels.VALUE_ENTAILMENT.value
    return gold == label
