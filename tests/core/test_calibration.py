"""The calibrated head, and what it makes of a claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.classifier.calibration import SHARED_WORDS, Calibration, missing_words
from caco.classifier.claim_search import ClaimSearch
from caco.classifier.nli import NLIClassifier
from caco.evidence import Corpus, as_documents, language_of
from caco.models import Claim, Labels
from caco.validator import Validator

share = st.floats(0.0, 1.0)
HEAD = Calibration(scale=0.7, bias=0.1, foreign=2.0)


@given(share, share)
def test_without_a_head_the_model_has_its_way(entailment: float, nearness: float) -> None:
    assert Calibration().support(entailment, nearness) == entailment


@given(share, share, share)
def test_more_entailment_or_more_shared_words_is_more_support(
    low: float, high: float, nearness: float
) -> None:
    low, high = sorted((low, high))
    assert HEAD.support(low, nearness) <= HEAD.support(high, nearness)
    assert HEAD.support(nearness, low) <= HEAD.support(nearness, high)
    assert 0.0 <= HEAD.support(low, high) <= 1.0


def test_words_beyond_the_share_say_nothing() -> None:
    assert HEAD.support(0.7, SHARED_WORDS) == HEAD.support(0.7, 1.0) > HEAD.support(0.7, 0.3)
    assert missing_words(0.2) == pytest.approx(SHARED_WORDS - 0.2)


def test_the_formula() -> None:
    # logit(0.9) = 2.1972; 0.7 * 2.1972 + 0.1 - 2 * (0.6 - 0.1) = 0.6381
    assert HEAD.support(0.9, 0.1) == pytest.approx(0.6543, abs=1e-4)


class FixedScorer:
    """Says the same of every pair."""

    name, window_words, max_tokens = "fixed", 80, 512

    def __init__(self, calibration: tuple[float, ...], entailment: float) -> None:
        self.calibration = calibration
        self.entailment = entailment

    def score(self, pairs):
        import numpy as np

        from caco.classifier.scoring import PairScores

        row = [self.entailment, 1 - self.entailment, 0.0]
        return PairScores(np.array([row] * len(pairs)), np.zeros(len(pairs), dtype=bool))


@pytest.mark.parametrize(
    ("calibration", "label"),
    [
        ((1.0, 0.0), Labels.VALUE_ENTAILMENT),
        ((1.0, -2.0), Labels.VALUE_NEUTRAL),
        ((1.0, 0.0, 9.0), Labels.VALUE_NEUTRAL),
    ],
)
def test_the_head_decides_the_label(calibration, label) -> None:
    classifier = NLIClassifier(FixedScorer(calibration, 0.7))
    result = Validator(classifier=classifier).validate(
        "Penguins cannot fly over mountains.", "The museum opens at nine."
    )
    claim = result.claims[0]
    assert claim.label is label
    assert sum(claim.probabilities[one] for one in Labels) == pytest.approx(1.0)
    assert claim.probabilities[label] == max(claim.probabilities[one] for one in Labels)


def test_verbatim_support_needs_no_head() -> None:
    classifier = NLIClassifier(FixedScorer((1.0, -9.0), 0.1))
    result = Validator(classifier=classifier).validate("The gate is red.", "The gate is red.")
    assert not result.is_hallucination


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The fee is 9 euros for members.", "english"),
        ("A taxa é de 9 euros para os sócios.", "portuguese"),
        ("Lumo 9000", None),
        ("", None),
    ],
)
def test_language_of_a_text(text: str, language: str | None) -> None:
    assert language_of(text) == language


def nearness(claim: str, document: str) -> float:
    corpus = Corpus(as_documents(document), "english", 80)
    return ClaimSearch(Claim(claim, hypothesis=claim), corpus, "english", HEAD).nearness


def test_another_language_is_not_held_against_a_claim() -> None:
    document = "The museum is closed on Mondays and on public holidays."
    assert nearness("O museu fecha às segundas-feiras e nos feriados.", document) == 1.0
    assert nearness("The dog barks at strangers in the park.", document) < 0.5
    assert nearness("Museum closed Mondays", document) == 1.0
