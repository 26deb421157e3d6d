"""The accuracy gate: 400 rows on which every build must judge as the recorded one did.

The rows are claims about short documents written for this purpose (`gate_documents.jsonl`), in
both languages: the claims written with them, and claims that `caco.evaluation.mutants` makes from
their sentences. `gate_labels.json` holds what the recorded build said about each. Agreement is
about being the same, not about being right: a change for the better is recorded anew.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import PairScorer
from caco.evaluation import mutants
from caco.models import Claim, Document
from caco.text import normalise

ROWS = 400
LEAST_AGREEMENT = 0.98
SEED = 7

_FOLDER = Path(__file__).parent
DOCUMENTS = _FOLDER / "gate_documents.jsonl"
LABELS = _FOLDER / "gate_labels.json"


@dataclass(frozen=True)
class GateRow:
    """One claim about one document.

    Attributes:
        claim: The claim.
        document: The document.
        language: "english" or "portuguese".
        supported: Whether the document supports it.
    """

    claim: str
    document: str
    language: str
    supported: bool

    @property
    def key(self) -> str:
        """What the row is recorded under."""
        text = "\0".join((self.language, self.document, self.claim))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def gate_rows() -> list[GateRow]:
    """Return the rows: all claims written by hand, the rest drawn from those that were made."""
    data = [json.loads(line) for line in DOCUMENTS.read_text(encoding="utf-8").splitlines()]
    written = [
        GateRow(claim["text"], row["text"], row["language"], not claim["label"])
        for row in data
        for claim in row["claims"]
    ]
    made = []
    for language in ("english", "portuguese"):
        texts = [row["text"] for row in data if row["language"] == language]
        made += [
            GateRow(mutant.claim, mutant.document.text, language, mutant.supported)
            for mutant in mutants([Document(text) for text in texts], language, seed=SEED)
        ]
    random.Random(SEED).shuffle(made)
    return [*written, *made[: ROWS - len(written)]]


def labels_of(rows: Iterable[GateRow], scorer: PairScorer | None = None) -> dict[str, str]:
    """Return the label that the classifier gives each row, by the row's key.

    Args:
        rows: The rows.
        scorer: The model. None: the packaged one.
    """
    found: dict[str, str] = {}
    groups: dict[tuple[str, str], list[GateRow]] = {}
    for row in rows:
        groups.setdefault((row.language, row.document), []).append(row)
    for (language, document), own in groups.items():
        classifier = NLIClassifier(scorer, language=language)
        claims = [Claim(text=row.claim, hypothesis=normalise(row.claim).text) for row in own]
        (verified,) = classifier.verify([(claims, [Document(document, "0")])])
        for row, result in zip(own, verified.results, strict=True):
            found[row.key] = result.label.value
    return found


def recorded() -> dict[str, str]:
    """Return the recorded labels.

    Raises:
        OSError: Nothing was recorded.
    """
    labels: dict[str, str] = json.loads(LABELS.read_text(encoding="utf-8"))["labels"]
    return labels


def agreement(labels: Mapping[str, str], before: Mapping[str, str]) -> float:
    """Return the share of rows with the label they had.

    Raises:
        ValueError: There are no rows, or one was never recorded.
    """
    unknown = [key for key in labels if key not in before]
    if unknown or not labels:
        raise ValueError(
            f"{len(unknown)} of {len(labels)} rows were never recorded: "
            "run python benchmarks/accuracy.py record"
        )
    return sum(before[key] == label for key, label in labels.items()) / len(labels)


def share_right(rows: Sequence[GateRow], labels: Mapping[str, str]) -> float:
    """Return the share of rows whose label says rightly whether they are supported."""
    right = [(labels[row.key] == "entailment") is row.supported for row in rows]
    return sum(right) / len(right)


def record(folder: str | None = None) -> str:
    """Write down what the packaged model, or another, says; return what changed."""
    rows = gate_rows()
    scorer = OnnxScorer(folder)
    labels = labels_of(rows, scorer)
    before = recorded() if LABELS.exists() else {}
    known = {key: label for key, label in labels.items() if key in before}
    same = f"{agreement(known, before):.3f} of {len(known)} rows as before" if known else "all new"
    data = {"model": scorer.name, "labels": dict(sorted(labels.items()))}
    LABELS.write_text(json.dumps(data, indent=0) + "\n", encoding="utf-8")
    return f"{scorer.name}: {len(rows)} rows, {share_right(rows, labels):.3f} right; {same}"
