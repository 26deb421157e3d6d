"""Fit the calibrated head of the packaged model on labelled answers, and say what it gains.

usage: python benchmarks/fit_head.py FILE.jsonl.gz … [--limit N] [--model FOLDER] [--write]

The head (`caco.classifier.calibration`) weighs the log-odds of the best premise's P(entailment)
and the words of a claim that no document has. An answer is as risky as its riskiest claim, so the
fit goes round by round: find each answer's riskiest claim, fit on those, find them anew. Both
labels of each set weigh the same. Prints, for each set, what the head fitted on the *other* sets
gives beside the model alone; --write puts the head fitted on all of them into config.json.
Sets whose name starts with "halueval" are read with their questions. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from machine import describe_machine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from caco.classifier.calibration import Calibration, logit
from caco.classifier.model_files import MODEL_FOLDER
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import OnnxScorer
from caco.evaluation import read_dataset, take
from caco.evaluation.measures import measure
from caco.evaluation.rows import Row
from caco.evidence import Corpus, as_documents
from caco.extractor import RuleExtractor

ROUNDS = 6
CHUNK = 16

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """A labelled answer: for each claim the model's support and its words that no document has."""

    claims: tuple[tuple[float, int], ...]
    bad: bool


def read_answers(rows: Sequence[Row], classifier: NLIClassifier) -> list[Answer]:
    """Put answers through the model; those that claim nothing are left out."""
    extractor = RuleExtractor()
    found: list[Answer] = []
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        extracted = [
            [c for c in extractor.claims(row.response, "", row.prompt) if c.checkworthy]
            for row in part
        ]
        corpora = [
            Corpus(as_documents(row.context), classifier.language, classifier.window_words)
            for row in part
        ]
        searches = classifier.search(extracted, corpora)
        for row, group in zip(part, searches, strict=True):
            if group:
                claims = tuple((search.support, search.unseen_words) for search in group)
                found.append(Answer(claims, row.label))
    return found


def fit(sets: Sequence[Sequence[Answer]]) -> Calibration:
    """Fit the head on several sets, each answer by its riskiest claim."""
    head = Calibration()
    for _ in range(ROUNDS):
        features: list[tuple[float, float]] = []
        labels: list[bool] = []
        weights: list[float] = []
        for answers in sets:
            counts = np.bincount([answer.bad for answer in answers], minlength=2)
            for answer in answers:
                support, unseen = answer.claims[int(supports(head, answer).argmin())]
                features.append((logit(support), math.log1p(unseen)))
                labels.append(not answer.bad)
                weights.append(1 / counts[int(answer.bad)])
        scale = len(labels) / sum(weights)
        model = LogisticRegression(max_iter=1000).fit(
            np.array(features), labels, sample_weight=np.array(weights) * scale
        )
        slope, against = model.coef_[0]
        head = Calibration(float(slope), float(model.intercept_[0]), float(-against))
    return head


def supports(head: Calibration, answer: Answer) -> Array:
    """The head's probability of support for each claim."""
    return np.array([head.support(support, unseen) for support, unseen in answer.claims])


def risks(head: Calibration, answers: Sequence[Answer]) -> Array:
    """One risk for each answer."""
    return np.array([1 - float(supports(head, answer).min()) for answer in answers])


def row_of(name: str, answers: Sequence[Answer], heads: Sequence[Calibration]) -> str:
    """One line of the table: AUROC, balanced accuracy at 0.5, and the best one, for each head."""
    bad = np.array([answer.bad for answer in answers])
    cells = [f"{name:26s}{len(answers):6d}"]
    for head in heads:
        risk = risks(head, answers)
        own = measure(risk.tolist(), (risk > 0.5).tolist(), bad.tolist(), resamples=1).estimates
        best = max(balanced_accuracy_score(bad, risk > t) for t in np.linspace(0.02, 0.98, 97))
        cells.append(
            f"{own['auroc'].value:8.3f}{own['balanced_accuracy'].value:8.3f}"
            f"{best:8.3f}{own['ece'].value:8.3f}"
        )
    return "  ".join(cells)


def main() -> None:
    """Read the command line, print the table, and perhaps write the head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, help="answers of each set, after a shuffle")
    parser.add_argument("--model", type=Path, default=MODEL_FOLDER)
    parser.add_argument("--write", action="store_true", help="put the head into config.json")
    arguments = parser.parse_args()
    classifier = NLIClassifier(OnnxScorer(arguments.model))
    sets: dict[str, list[Answer]] = {}
    for file in arguments.files:
        asked = file.name.startswith("halueval")
        data = take(read_dataset(file, with_prompt=asked), arguments.limit)
        sets[data.name] = read_answers(data.rows, classifier)
    heading = "   AUROC     BA    best     ECE"
    print(f"{'':34s}{'model alone':34s}head fitted on the other sets")
    print(f"{'set':26s}{'n':>6s}  {heading}  {heading}")
    for name, answers in sets.items():
        others = [other for key, other in sets.items() if key != name]
        print(row_of(name, answers, (Calibration(), fit(others))))
    head = fit(list(sets.values()))
    pooled = [answer for answers in sets.values() for answer in answers]
    print(row_of("pooled (fitted on all)", pooled, (Calibration(), head)))
    print(f"head: {head}")
    print(describe_machine("scikit-learn"))
    if arguments.write:
        path = arguments.model / "config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        config["calibration"] = {name: round(v, 3) for name, v in head._asdict().items()}
        path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
