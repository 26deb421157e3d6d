"""The accuracy gate: it passes on the recorded build and fails on planted defects."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from caco.classifier.model_files import MODEL_FOLDER, TOKENIZER_FILE
from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import PairScores

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def gate():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import gate

        yield gate
        del sys.modules["gate"]


@pytest.fixture(scope="module")
def rows(gate):
    return gate.gate_rows()


class Changed:
    """The packaged model with something wrong about it."""

    def __init__(self, pairs: Callable = list, scores: Callable = lambda p: p) -> None:
        self._scorer = OnnxScorer()
        self._pairs = pairs
        self._scores = scores
        self.name = "changed"
        self.window_words = self._scorer.window_words
        self.max_tokens = self._scorer.max_tokens
        self.calibration = self._scorer.calibration

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        found = self._scorer.score(self._pairs(pairs))
        return PairScores(self._scores(found.probabilities), found.truncated)


def swapped_texts(pairs):
    return [(hypothesis, premise) for premise, hypothesis in pairs]


def cut_to_64_tokens(pairs):
    """Lose the end of each premise, so that the pair has at most 64 tokens; say nothing of it."""
    tokenizer = Tokenizer.from_file(str(MODEL_FOLDER / TOKENIZER_FILE))
    kept = []
    for premise, hypothesis in pairs:
        claim = len(tokenizer.encode(hypothesis).ids)
        offsets = tokenizer.encode(premise, add_special_tokens=False).offsets
        room = max(1, 64 - claim - 2)
        end = offsets[room - 1][1] if len(offsets) > room else len(premise)
        kept.append((premise[:end], hypothesis))
    return kept


DEFECTS = {
    "labels swapped": Changed(scores=lambda p: p[:, [1, 0, 2]]),
    "entailment and contradiction swapped": Changed(scores=lambda p: p[:, [2, 1, 0]]),
    "neutral and contradiction swapped": Changed(scores=lambda p: p[:, [0, 2, 1]]),
    "premise and hypothesis swapped": Changed(pairs=swapped_texts),
    "cut to 64 tokens": Changed(pairs=cut_to_64_tokens),
    "constant score": Changed(scores=lambda p: np.tile([0.6, 0.3, 0.1], (len(p), 1))),
}


def test_rows_are_the_recorded_ones(gate, rows):
    assert len(rows) == gate.ROWS == len({row.key for row in rows})
    assert {row.key for row in rows} == set(gate.recorded()), (
        "the rows changed: python benchmarks/accuracy.py record"
    )
    for language in ("english", "portuguese"):
        for supported in (True, False):
            own = [r for r in rows if r.language == language and r.supported is supported]
            assert len(own) >= 60


def test_the_recorded_build_was_mostly_right(gate, rows):
    assert gate.share_right(rows, gate.recorded()) > 0.85


def test_agreement_counts_rows(gate):
    before = {str(number): "neutral" for number in range(100)}
    assert gate.agreement(before, before) == 1.0
    assert gate.agreement({**before, "7": "entailment"}, before) == 0.99
    assert gate.agreement({"7": "neutral"}, before) == 1.0


def test_rows_that_were_never_recorded_are_an_error(gate):
    with pytest.raises(ValueError, match="1 of 2 rows were never recorded"):
        gate.agreement({"1": "neutral", "2": "neutral"}, {"1": "neutral"})
    with pytest.raises(ValueError, match="record"):
        gate.agreement({}, {})


def test_recording_writes_down_what_is_said(gate, rows, tmp_path, monkeypatch):
    few = rows[:4]
    monkeypatch.setattr(gate, "LABELS", tmp_path / "labels.json")
    monkeypatch.setattr(gate, "gate_rows", lambda: few)
    assert "all new" in gate.record()
    assert gate.recorded() == gate.labels_of(few)
    data = json.loads((tmp_path / "labels.json").read_text())
    assert data["model"] == OnnxScorer().name
    assert "1.000 of 4 rows as before" in gate.record()


@pytest.mark.slow
def test_labels_agree_with_the_recorded_run(gate, rows):
    share = gate.agreement(gate.labels_of(rows), gate.recorded())
    assert share >= gate.LEAST_AGREEMENT, (
        "labels changed; if that is meant: python benchmarks/accuracy.py record"
    )


@pytest.mark.slow
@pytest.mark.parametrize("scorer", DEFECTS.values(), ids=DEFECTS.keys())
def test_the_gate_fails_on_defects(gate, rows, scorer):
    share = gate.agreement(gate.labels_of(rows[:200], scorer), gate.recorded())
    assert share < gate.LEAST_AGREEMENT
