"""What any checker has to beat: baselines that read words, not meaning."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from caco.evaluation.measures import Estimate, measure, require_sklearn
from caco.evaluation.rows import Dataset, Row
from caco.evidence import content_words

__all__ = ["BASELINES", "Baseline", "measure_baselines"]

FOLDS = 5
_LEAST_ROWS = 10
"""Rows of each label that a fit needs, so that every fold has some of both."""

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[^\W_]+(?:[.,:/'-][^\W_]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n]\s*)[\"'“(]*$")


@dataclass(frozen=True)
class Baseline:
    """How a baseline does on a set.

    Attributes:
        auroc: Area under the ROC curve of its risks.
        balanced_accuracy: Of its verdicts: at 0.5 for what is fitted, else at the threshold that
            is best on the other folds.
        note: Why there are no numbers; "" when there are.
    """

    auroc: Estimate
    balanced_accuracy: Estimate
    note: str = ""


class _UnfitError(Exception):
    """The rows do not allow a fit; says why."""


def measure_baselines(
    dataset: Dataset, fit_on: Dataset | None = None, *, seed: int = 0
) -> dict[str, Baseline]:
    """Measure every baseline on a set.

    Args:
        dataset: The rows that are predicted.
        fit_on: Other rows, on which TF-IDF with logistic regression and the thresholds are fitted.
            None: each fifth of ``dataset`` is predicted by a fit on the other four; rows with the
            same documents are in the same fifth.
        seed: Of the fifths.

    Returns:
        From a baseline's name to how it does.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    labels = np.array([row.label for row in dataset.rows])
    require_sklearn()
    found = {"majority": _majority(dataset, fit_on)}
    try:
        splits = _splits(dataset, fit_on, seed)
        fitted = _tfidf_risks(dataset, fit_on, splits)
    except _UnfitError as reason:
        nothing = Baseline(Estimate(None), Estimate(None), str(reason))
        return {**found, **dict.fromkeys(BASELINES[1:], nothing)}
    for name, risk_of in _RISKS.items():
        risks = np.array([risk_of(row) for row in dataset.rows])
        others = risks if fit_on is None else np.array([risk_of(row) for row in fit_on.rows])
        flagged = np.zeros(len(risks), dtype=np.bool_)
        for known, asked in splits:
            known_labels = labels[known] if fit_on is None else _labels(fit_on)
            flagged[asked] = risks[asked] > _best_threshold(others[known], known_labels)
        found[name] = _measured(risks, flagged, labels)
    found["tfidf_logistic"] = _measured(fitted, fitted > 0.5, labels)
    return found


def _labels(dataset: Dataset) -> npt.NDArray[np.bool_]:
    return np.array([row.label for row in dataset.rows])


def _measured(
    risks: npt.NDArray[np.float64], flagged: npt.NDArray[np.bool_], labels: npt.NDArray[np.bool_]
) -> Baseline:
    estimates = measure(risks.tolist(), flagged.tolist(), labels.tolist()).estimates
    return Baseline(estimates["auroc"], estimates["balanced_accuracy"])


def _majority(dataset: Dataset, fit_on: Dataset | None) -> Baseline:
    known = _labels(dataset if fit_on is None else fit_on)
    risks = np.full(len(dataset.rows), float(known.mean()))
    return _measured(risks, risks >= 0.5, _labels(dataset))


_Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


def _splits(dataset: Dataset, fit_on: Dataset | None, seed: int) -> list[_Split]:
    """Return (rows to fit on, rows to predict); the first are of ``fit_on`` where it is given."""
    from sklearn.model_selection import StratifiedGroupKFold

    known = _labels(dataset if fit_on is None else fit_on)
    fewest = min(int(known.sum()), int((~known).sum()))
    if fewest < _LEAST_ROWS:
        raise _UnfitError(
            f"a fit needs {_LEAST_ROWS} rows of each label, and there are {fewest} of one"
        )
    if fit_on is not None:
        return [(np.arange(len(fit_on.rows)), np.arange(len(dataset.rows)))]
    groups = [row.text for row in dataset.rows]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(groups))}
    if len(numbers) < FOLDS:
        raise _UnfitError(f"{FOLDS} folds need as many documents, and there are {len(numbers)}")
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    splits = list(folds.split(known, known, [numbers[text] for text in groups]))
    if any(len(set(known[rows].tolist())) < 2 for rows, _ in splits):
        raise _UnfitError("rows of one label share a document, so no fold has both")
    return splits


def _best_threshold(risks: npt.NDArray[np.float64], labels: npt.NDArray[np.bool_]) -> float:
    """Return the threshold of the best balanced accuracy (highest Youden index)."""
    from sklearn.metrics import roc_curve

    false, true, thresholds = roc_curve(labels, risks)
    # A verdict is risk > threshold, where the curve has risk >= threshold.
    return float(np.nextafter(thresholds[int(np.argmax(true - false))], -np.inf))


def _tfidf_risks(
    dataset: Dataset, fit_on: Dataset | None, splits: Sequence[_Split]
) -> npt.NDArray[np.float64]:
    """Return risks by logistic regression on TF-IDF of the response and what it shares."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    known_rows = (dataset if fit_on is None else fit_on).rows
    risks = np.zeros(len(dataset.rows))
    for known, asked in splits:
        train = [known_rows[index] for index in known]
        test = [dataset.rows[index] for index in asked]
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2))
        try:
            vectorizer.fit([row.response for row in train] + [row.text for row in train])
        except ValueError as error:  # no word is in two texts
            raise _UnfitError("there are too few words to fit on") from error

        def features(rows: Sequence[Row], by: TfidfVectorizer = vectorizer) -> csr_matrix:
            response = by.transform([row.response for row in rows])
            shared = response.multiply(by.transform([row.text for row in rows]))
            return csr_matrix(hstack([response, shared, csr_matrix(shared.sum(axis=1))]))

        model = LogisticRegression(class_weight="balanced", max_iter=1000)
        model.fit(features(train), [row.label for row in train])
        risks[asked] = model.predict_proba(features(test))[:, 1]
    return risks


def _length(row: Row) -> float:
    return float(len(_WORD.findall(row.response)))


def _word_overlap(row: Row) -> float:
    words = content_words(row.response)
    return len(words - content_words(row.text)) / len(words) if words else 0.0


def _entity_overlap(row: Row) -> float:
    """Share of the response's numbers and names that the documents do not have."""
    marked = {
        match.group()
        for match in _TOKEN.finditer(row.response)
        if _is_marked(match.group(), row.response[: match.start()])
    }
    known = {match.group().lower() for match in _TOKEN.finditer(row.text)}
    missing = [token for token in marked if token.lower() not in known]
    return len(missing) / len(marked) if marked else 0.0


def _is_marked(token: str, before: str) -> bool:
    if any(map(str.isdigit, token)):
        return True
    return token[0].isupper() and _SENTENCE_START.search(before) is None


_RISKS: Mapping[str, Callable[[Row], float]] = MappingProxyType(
    {"length": _length, "word_overlap": _word_overlap, "entity_overlap": _entity_overlap}
)
BASELINES = ("majority", *_RISKS, "tfidf_logistic")
"""The baselines, in order: the more frequent label; longer is riskier; content words, then numbers
and names, that the documents do not have; logistic regression on TF-IDF."""
