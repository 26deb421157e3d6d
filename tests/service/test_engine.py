"""What the service adds to the engine: slices that can be given up."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="needs the extra service")
import numpy as np

from caco.classifier.scoring import PairScores
from caco.models import Document
from caco.service.engine import AbandonedError, Check, Engine, _InterruptibleScorer, _now
from caco.service.settings import ServiceSettings


class Counting:
    """Scores a pair by the length of its hypothesis."""

    name, window_words, max_tokens, calibration = "counting", 40, 256, (1.0, 0.0)

    def __init__(self):
        self.calls = []

    def score(self, pairs):
        self.calls.append(len(pairs))
        rows = [
            [len(hypothesis) / 1000, 1 - len(hypothesis) / 1000, 0.0] for _, hypothesis in pairs
        ]
        return PairScores(np.array(rows).reshape(-1, 3), np.zeros(len(pairs), dtype=np.bool_))


@pytest.fixture(autouse=True)
def _nobody_gives_up():
    _now.abandoned = None
    yield
    _now.abandoned = None


@pytest.mark.parametrize("number", [0, 1, 128, 129, 300])
def test_slices_give_the_same_scores(number):
    pairs = [("premise", "x" * index) for index in range(number)]
    inner = Counting()
    scores = _InterruptibleScorer(inner).score(pairs)
    whole = Counting().score(pairs)
    assert np.array_equal(scores.probabilities, whole.probabilities)
    assert np.array_equal(scores.truncated, whole.truncated)
    assert sum(inner.calls) == number
    assert max(inner.calls) <= 128


def test_it_stops_between_slices():
    inner = Counting()
    looks = iter([False, False, True])
    _now.abandoned = lambda: next(looks)
    with pytest.raises(AbandonedError):
        _InterruptibleScorer(inner).score([("a", "b")] * 1000)
    assert inner.calls == [128, 128]


def test_a_check_that_nobody_waits_for_is_given_up():
    engine = Engine(ServiceSettings())
    documents = (Document("The bridge was opened in 1900.", "a"),)
    job = Check("It opened in 1901.", documents, None, "english", 0.5, "user", "")
    with pytest.raises(AbandonedError):
        engine.check([job], lambda: True)
