"""Claims to a score: both strategies, weights, thresholds, languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.aggregator import Aggregator
from caco.models import ClaimResult, Labels, Status


def claim(label: str, score: float, **extra: object) -> ClaimResult:
    return ClaimResult(text=label, evidence="", label=Labels(label), score=score, **extra)


claims = st.lists(st.builds(claim, st.sampled_from([x.value for x in Labels]), st.floats(0, 1)))


@given(claims)
def test_worst_claim_is_one_minus_the_least_support(items: list[ClaimResult]) -> None:
    result = Aggregator().aggregate(items)
    expected = max((1 - c.probabilities["entailment"] for c in items), default=0.0)
    assert result.score == pytest.approx(expected, abs=1e-9)
    assert result.is_hallucination == (result.score > 0.5)


def test_one_bad_claim_is_not_diluted_by_good_ones() -> None:
    good = [claim("entailment", 0.99)] * 20
    assert Aggregator().aggregate([*good, claim("neutral", 0.9)]).is_hallucination
    diluted = Aggregator(strategy="weighted_mean").aggregate([*good, claim("neutral", 0.9)])
    assert not diluted.is_hallucination


def test_weighted_mean_is_the_upstream_formula() -> None:
    items = [claim("contradiction", 0.9), claim("neutral", 0.8), claim("entailment", 0.7)]
    result = Aggregator(strategy="weighted_mean").aggregate(items)
    assert result.score == pytest.approx((0.9 * 1.0 + 0.8 * 0.5 + 0.7 * 0.0) / 3)


def test_weights_are_used_and_may_be_keyed_by_label_or_value() -> None:
    items = [claim("neutral", 1.0)]
    by_value = Aggregator(weights={"contradiction": 1.0, "neutral": 0.2})
    by_label = Aggregator(weights={Labels.VALUE_CONTRADICTION: 1.0, Labels.VALUE_NEUTRAL: 0.2})
    assert by_value.aggregate(items).score == pytest.approx(0.2)
    assert by_label.aggregate(items).score == pytest.approx(0.2)


def test_only_checkworthy_claims_count() -> None:
    items = [claim("neutral", 1.0, checkworthy=False)]
    result = Aggregator().aggregate(items)
    assert (result.status, result.score, result.is_hallucination) == (Status.NO_CLAIMS, 0.0, False)
    assert result.claims == tuple(items)


def test_summary_is_in_the_language_and_names_the_worst_claim() -> None:
    bad = ClaimResult("Foi em 2015", "Foi em 2018.", "contradiction", 0.9, evidence_document="lei")
    summary = Aggregator(language="pt-br").aggregate([claim("entailment", 0.9), bad]).summary
    assert "Foi em 2015" in summary
    assert "Foi em 2018." in summary
    assert "lei" in summary
    assert "afirmações" in summary


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strategy": "mean"}, "strategy must be one of"),
        ({"threshold": 1.2}, "threshold must be in"),
        ({"threshold": -0.1}, "threshold must be in"),
        ({"language": "french"}, "french"),
        ({"weights": {"bad": 1.0}}, "bad"),
        ({"weights": {"neutral": 2.0}}, "weight of neutral"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Aggregator(**arguments)
