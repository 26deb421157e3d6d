"""The frozen data: invariants, JSON round trips, re-deciding, feedback, redaction."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco.models import (
    Attempt,
    ClaimResult,
    Coverage,
    Decision,
    Document,
    Evidence,
    Labels,
    Probabilities,
    Signal,
    Status,
    ValidationResult,
)

RESPONSE = "The tower is tall. It was built in 1850. It is made of iron."


def claim(text: str, label: str, score: float, **extra: object) -> ClaimResult:
    start = RESPONSE.index(text)
    return ClaimResult(
        text=text,
        evidence="",
        label=Labels(label),
        score=score,
        start=start,
        end=start + len(text),
        **extra,
    )


def result(*claims: ClaimResult, **extra: object) -> ValidationResult:
    values: dict[str, object] = {"score": 0.8, "is_hallucination": True, "summary": "s"}
    return ValidationResult(claims=claims, **{**values, "response": RESPONSE, **extra})


def full_result() -> ValidationResult:
    evidence = Evidence("d1", "Built in 1848.", 0, 14, 0.9)
    wrong = claim(
        "It was built in 1850.",
        "contradiction",
        0.9,
        reason="response 1850, source 1848",
        evidence_document="d1",
        evidence_start=0,
        evidence_end=14,
        conflicting=(evidence,),
        supporting=(evidence,),
    )
    return result(
        claim("The tower is tall.", "entailment", 0.9),
        wrong,
        coverage=Coverage(2, 2, 1, 1, 4),
        signals=(Signal("overconfident_language", "always"), Signal("unsupported_claims", count=2)),
        gate=Decision(True, "contradiction", 0.7, ("ask_for_source",)),
        attempts=(Attempt("a", 0.5, "f"),),
        model="m",
        language="portuguese",
    )


def test_labels_are_their_values() -> None:
    assert Labels.VALUE_ENTAILMENT == "entailment"
    assert str(Labels.VALUE_NEUTRAL) == "neutral"
    assert f"{Status.CHECKED}" == "CHECKED"


def test_probabilities_are_reached_by_label_and_by_value() -> None:
    probabilities = Probabilities(entailment=0.7, neutral=0.2, contradiction=0.1)
    assert probabilities["entailment"] == probabilities[Labels.VALUE_ENTAILMENT] == 0.7
    assert set(probabilities) == {"entailment", "neutral", "contradiction"}
    assert sum(probabilities.values()) == pytest.approx(1)
    with pytest.raises(KeyError):
        probabilities["maybe"]


@pytest.mark.parametrize("label", list(Labels))
@given(score=st.floats(0, 1))
def test_default_probabilities_sum_to_one(label: Labels, score: float) -> None:
    made = ClaimResult(text="a", evidence="", label=label, score=score)
    assert sum(made.probabilities.values()) == pytest.approx(1)
    assert made.probabilities[label] == score


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), "high", None])
def test_scores_outside_the_unit_interval_are_refused(score: object) -> None:
    with pytest.raises(ValueError, match="score"):
        ClaimResult(text="a", evidence="", label=Labels.VALUE_NEUTRAL, score=score)


def test_unknown_labels_and_wrong_types_are_refused() -> None:
    with pytest.raises(ValueError, match="maybe"):
        ClaimResult(text="a", evidence="", label="maybe", score=0.5)
    with pytest.raises(TypeError, match="evidence"):
        ClaimResult(text="a", evidence=None, label="neutral", score=0.5)
    with pytest.raises(TypeError, match="text"):
        Document(text=b"bytes")
    with pytest.raises(TypeError, match="id"):
        Document(text="a", id=3)


def test_json_round_trip_keeps_everything() -> None:
    original = full_result()
    again = ValidationResult.from_dict(json.loads(original.to_json()))
    assert again == original
    assert hash(again) == hash(original)
    assert pickle.loads(pickle.dumps(original)) == original


def test_json_holds_plain_types_only() -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(full_result().to_dict())


def test_another_schema_is_refused() -> None:
    data = full_result().to_dict()
    with pytest.raises(ValueError, match="schema_version"):
        ValidationResult.from_dict({**data, "schema_version": 99})
    del data["summary"]
    with pytest.raises(ValueError, match="summary"):
        ValidationResult.from_dict(data)


@pytest.mark.parametrize(
    ("status", "truncated", "score", "threshold", "expected"),
    [
        (Status.CHECKED, False, 0.6, 0.5, True),
        (Status.CHECKED, False, 0.5, 0.5, False),
        (Status.CHECKED, True, 0.0, 1.0, True),
        (Status.NO_CONTEXT, False, 1.0, 1.0, True),
        (Status.ERROR, False, 0.0, 1.0, True),
        (Status.NO_CLAIMS, False, 0.0, 0.0, False),
        (Status.ABSTAINED, False, 0.0, 0.0, False),
    ],
)
def test_redeciding_never_passes_what_was_not_checked(
    status: Status, truncated: bool, score: float, threshold: float, expected: bool
) -> None:
    before = result(status=status, score=score, coverage=Coverage(truncated=truncated))
    after = before.with_threshold(threshold)
    assert after.is_hallucination is expected
    assert after.threshold == threshold
    assert before.threshold == 0.5
    with pytest.raises(ValueError, match="threshold"):
        before.with_threshold(1.5)


def test_claims_by_label_leave_out_what_is_not_checkworthy() -> None:
    made = result(
        claim("The tower is tall.", "entailment", 0.9),
        claim("It was built in 1850.", "contradiction", 0.9),
        claim("It is made of iron.", "neutral", 0.9, checkworthy=False),
    )
    assert [c.text for c in made.supported] == ["The tower is tall."]
    assert [c.text for c in made.contradicted] == ["It was built in 1850."]
    assert made.unsupported == ()
    assert [c.text for c in made.failing] == ["It was built in 1850."]


def test_feedback_names_the_failing_claims_and_their_evidence() -> None:
    text = full_result().feedback()
    assert "It was built in 1850." in text
    assert "response 1850, source 1848" in text
    assert "d1" in text
    assert "The tower is tall." not in text
    assert result(claim("The tower is tall.", "entailment", 0.9), score=0.1).feedback() == ""
    assert result(status=Status.NO_CONTEXT).feedback()
    assert result(status=Status.ERROR).feedback()


def test_redaction_removes_the_failing_claims_only() -> None:
    made = full_result()
    assert made.redacted() == "The tower is tall. It is made of iron."
    clean = result(claim("The tower is tall.", "entailment", 0.9), score=0.1)
    assert clean.redacted() == RESPONSE


def test_redaction_takes_a_bullet_with_its_item() -> None:
    response = "Facts:\n\n- is tall\n- is old\n"
    start = response.index("is old")
    item = ClaimResult("is old", "", Labels.VALUE_NEUTRAL, 0.9, start=start, end=start + 6)
    made = ValidationResult(0.9, True, (item,), "s", response=response)
    assert made.redacted() == "Facts:\n\n- is tall"


@pytest.mark.parametrize(
    "extra",
    [
        {"status": Status.NO_CONTEXT},
        {"status": Status.ERROR},
        {"coverage": Coverage(truncated=True)},
    ],
)
def test_redaction_keeps_nothing_that_was_not_verified(extra: dict[str, object]) -> None:
    assert result(claim("The tower is tall.", "entailment", 0.9), **extra).redacted() == ""
    rewritten = ClaimResult("tall tower", "", Labels.VALUE_NEUTRAL, 0.9)
    assert result(rewritten).redacted() == ""
