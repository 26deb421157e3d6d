"""The calibrated head, and what it makes of a claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.classifier.calibration import Calibration
from caco.classifier.nli import NLIClassifier
from caco.evidence import Corpus, as_documents, language_of
from caco.models import Claim, Labels
from caco.validator import Validator

share = st.floats(0.0, 1.0)
count = st.integers(0, 200)
HEAD = Calibration(scale=0.7, bias=0.1, unseen=0.5)


@given(share, count)
def test_without_a_head_the_model_has_its_way(entailment: float, unseen: int) -> None:
    assert Calibration().support(entailment, unseen) == entailment


@given(share, share, count, count)
def test_more_entailment_or_fewer_unseen_words_is_more_support(
    low: float, high: float, few: int, many: int
) -> None:
    low, high = sorted((low, high))
    few, many = sorted((few, many))
    assert HEAD.support(low, few) <= HEAD.support(high, few)
    assert HEAD.support(low, many) <= HEAD.support(low, few)
    assert 0.0 <= HEAD.support(low, many) <= 1.0


def test_the_formula() -> None:
    # logit(0.9) = 2.1972; 0.7 * 2.1972 + 0.1 - 0.5 * ln(4) = 0.9449
    assert HEAD.support(0.9, 3) == pytest.approx(0.7201, abs=1e-4)


@pytest.mark.parametrize(
    "head", [Calibration(100.0), Calibration(1.0, -1e4), Calibration(1, 0, 1e3)]
)
def test_a_steep_head_does_not_overflow(head: Calibration) -> None:
    assert head.support(0.0, 1000) == pytest.approx(0.0, abs=1e-12)


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


def unseen(claim: str, *documents: str) -> list[str]:
    corpus = Corpus(as_documents(list(documents)), "english", 80)
    return corpus.unseen(Claim(claim, hypothesis=claim))


MUSEUM = "The museum is closed on Mondays and on public holidays."


def test_words_are_looked_for_in_all_documents() -> None:
    assert unseen("The museum sells tickets on Mondays.", MUSEUM) == ["sells", "tickets"]
    assert unseen("The museum sells tickets.", MUSEUM, "It sells tickets.") == []
    assert unseen("**The** museum [1]", MUSEUM) == []


def test_another_language_is_not_held_against_a_claim() -> None:
    assert unseen("O museu fecha às segundas-feiras e nos feriados.", MUSEUM) == []
    assert unseen("O museu fecha às segundas.", MUSEUM, "O parque abre às nove.") != []
    assert unseen("The dog barks.", MUSEUM) == ["dog", "barks"]
