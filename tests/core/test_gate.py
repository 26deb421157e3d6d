"""Gating policies: reading them, deciding, tuning the threshold."""

from __future__ import annotations

import builtins
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import caco
from caco.gate import ACTIONS, RULES, GatingPolicy
from caco.models import ClaimResult, Coverage, Decision, Labels, Status, ValidationResult
from caco.tension import CTS, DEFAULT_WEIGHTS, Parts
from caco.testing import FakeClassifier
from caco.tuning import tune_tau_star
from caco.validator import Validator

YES, NO, AGAINST = (
    Labels.VALUE_ENTAILMENT,
    Labels.VALUE_NEUTRAL,
    Labels.VALUE_CONTRADICTION,
)


def tension(value: float) -> CTS:
    return CTS(value, 1.0, value, Parts(()), Parts(()), DEFAULT_WEIGHTS, "heuristic")


def checked(*labels: Labels, status=Status.CHECKED, score=None, **fields) -> ValidationResult:
    claims = tuple(
        ClaimResult(f"Claim {place}.", "", label, 0.9) for place, label in enumerate(labels)
    )
    risk = max((claim.risk for claim in claims), default=0.0) if score is None else score
    coverage = Coverage(claims_total=len(claims), truncated=fields.pop("truncated", False))
    return ValidationResult(
        score=risk,
        is_hallucination=ValidationResult.decide(status, risk, 0.5, truncated=coverage.truncated),
        claims=claims,
        summary="",
        status=status,
        coverage=coverage,
        **fields,
    )


@given(
    st.lists(st.sampled_from(RULES), unique=True),
    st.lists(st.sampled_from([YES, NO, AGAINST]), max_size=3),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_deciding_again_is_deciding_at_the_new_threshold(rules, labels, threshold, value):
    policy = GatingPolicy(tau_star=0.5, abstain_if=tuple(rules))
    before = checked(*labels)
    after = before.with_threshold(threshold)
    again = policy.decide_again(after, policy.decide(before, tension(value)))
    assert again == policy.decide(after, tension(value))


class TestRules:
    def fires(self, rule: str, result: ValidationResult, value: float = 0.0) -> bool:
        policy = GatingPolicy(abstain_if=(rule,))
        decision = policy.decide(result, tension(value))
        assert decision.reason == (rule if decision.abstained else None)
        assert decision.actions == (ACTIONS if decision.abstained else ())
        return decision.abstained

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            (checked(YES), False),
            (checked(NO), True),
            (checked(AGAINST), True),
            (checked(YES, NO), False),
            (checked(NO, AGAINST), True),
            (checked(status=Status.NO_CLAIMS), False),
            (checked(status=Status.ABSTAINED), False),
            (checked(NO, status=Status.ABSTAINED), True),
            (checked(status=Status.NO_CONTEXT), True),
        ],
    )
    def test_no_entailment(self, result, expected):
        assert self.fires("no_entailment", result) is expected

    def test_no_entailment_needs_more_than_weak_support(self):
        weak = ClaimResult("x", "", YES, 0.4)
        result = ValidationResult(0.6, True, (weak,), "", threshold=0.5)
        assert self.fires("no_entailment", result)
        assert not self.fires("no_entailment", result.with_threshold(0.7))

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            (checked(YES), False),
            (checked(NO), False),
            (checked(YES, AGAINST), True),
            (checked(status=Status.NO_CONTEXT), False),
        ],
    )
    def test_contradiction(self, result, expected):
        assert self.fires("contradiction", result) is expected

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            (checked(NO), False),
            (checked(status=Status.NO_CONTEXT), True),
            (checked(status=Status.ABSTAINED), False),
            (checked(NO, status=Status.ABSTAINED), True),
        ],
    )
    def test_no_context(self, result, expected):
        assert self.fires("no_context", result) is expected

    @pytest.mark.parametrize(("value", "expected"), [(0.69, False), (0.70, False), (0.71, True)])
    def test_tension(self, value, expected):
        assert self.fires("CTS > tau_star", checked(YES), value) is expected

    @pytest.mark.parametrize(
        ("result", "expected"),
        [
            (checked(YES), False),
            (checked(YES, NO), True),
            (checked(YES, truncated=True), True),
            (checked(status=Status.NO_CONTEXT), True),
            (checked(status=Status.NO_CLAIMS), False),
        ],
    )
    def test_score(self, result, expected):
        assert self.fires("score > threshold", result) is expected

    def test_every_rule_that_fired_is_listed(self):
        policy = GatingPolicy(tau_star=0.1, abstain_if=RULES, on_abstain=("lower_temperature",))
        decision = policy.decide(checked(AGAINST), tension(0.5))
        assert decision == Decision(
            True,
            "no_entailment, contradiction, CTS > tau_star, score > threshold",
            0.1,
            ("lower_temperature",),
        )

    @pytest.mark.parametrize("rules", [(), ("contradiction",)])
    def test_a_check_that_could_not_be_made_never_passes(self, rules):
        decision = GatingPolicy(abstain_if=rules).decide(checked(status=Status.ERROR))
        assert (decision.abstained, decision.reason) == (True, "check_failed")

    def test_no_rules_withhold_nothing(self):
        assert not GatingPolicy(abstain_if=()).decide(checked(AGAINST)).abstained

    def test_a_missing_tension_is_an_error(self):
        with pytest.raises(ValueError, match="needs the answer's tension"):
            GatingPolicy().decide(checked(YES))


class TestReading:
    POLICY = GatingPolicy(
        tau_star=0.4,
        abstain_if=("contradiction", "CTS > tau_star"),
        on_abstain=("ask_for_source", "page_the_editor"),
        custom_actions=("page_the_editor",),
        message="No.",
    )
    YAML = """
tau_star: 0.4
abstain_if: [contradiction, "CTS > tau_star"]
on_abstain:
  - ask_for_source
  - page_the_editor
custom_actions: [page_the_editor]
message: "No."
"""

    def test_the_defaults_of_the_contract(self):
        assert GatingPolicy() == GatingPolicy(
            tau_star=0.70,
            abstain_if=("no_entailment", "CTS > tau_star"),
            on_abstain=("ask_for_source", "increase_retrieval_weight", "lower_temperature"),
        )

    def test_from_yaml_text_and_file(self, tmp_path):
        pytest.importorskip("yaml", exc_type=ImportError)
        path = tmp_path / "policy.yaml"
        path.write_text(self.YAML, encoding="utf-8")
        for source in (self.YAML, path, str(path)):
            assert GatingPolicy.from_yaml(source) == self.POLICY

    def test_from_json_text_and_file(self, tmp_path):
        text = json.dumps(self.POLICY.to_dict())
        path = tmp_path / "policy.json"
        path.write_text(text, encoding="utf-8")
        for source in (text, path, str(path)):
            assert GatingPolicy.from_json(source) == self.POLICY

    @pytest.mark.parametrize("form", ["json", "yaml"])
    def test_a_byte_order_mark_is_skipped(self, tmp_path, form):
        if form == "yaml":
            pytest.importorskip("yaml", exc_type=ImportError)
        path = tmp_path / "policy"
        path.write_text('{"tau_star": 0.5}', encoding="utf-8-sig")
        assert getattr(GatingPolicy, f"from_{form}")(path).tau_star == 0.5

    def test_a_file_that_is_not_utf8_is_named(self, tmp_path):
        path = tmp_path / "policy.json"
        path.write_bytes(b"\xff\xfe{}")
        with pytest.raises(ValueError, match=r"policy\.json is not JSON"):
            GatingPolicy.from_json(path)

    def test_from_dict_and_back(self):
        assert GatingPolicy.from_dict(self.POLICY.to_dict()) == self.POLICY
        assert GatingPolicy.from_dict({}) == GatingPolicy()
        assert pickle.loads(pickle.dumps(self.POLICY)) == self.POLICY
        assert len({self.POLICY, GatingPolicy.from_dict(self.POLICY.to_dict())}) == 1

    def test_rules_may_be_spaced_as_one_likes(self):
        policy = GatingPolicy(abstain_if=("cts>tau_star", "Score  > threshold"))
        assert policy.abstain_if == ("CTS > tau_star", "score > threshold")

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            ({"abstain_if": ["no_entailmnt"]}, "unknown rule 'no_entailmnt'.*no_entailment"),
            ({"abstain_if": ["CTS > 0.5"]}, "unknown rule"),
            ({"on_abstain": ["page_the_editor"]}, "unknown action 'page_the_editor'"),
            ({"tau": 0.5}, r"no \['tau'\]; it has \['tau_star'"),
            ({"tau_star": 1.5}, "tau_star"),
            ({"tau_star": float("nan")}, "tau_star"),
            ({"abstain_if": [" "]}, "blank"),
        ],
    )
    def test_what_is_unknown_is_an_error_at_once(self, data, reason):
        with pytest.raises(ValueError, match=reason):
            GatingPolicy.from_dict(data)

    @pytest.mark.parametrize(
        "data",
        [
            {"tau_star": "0.7"},
            {"tau_star": True},
            {"abstain_if": "contradiction"},
            {"abstain_if": [3]},
            {"message": 3},
            ["contradiction"],
            None,
        ],
    )
    def test_wrong_types(self, data):
        with pytest.raises(TypeError):
            GatingPolicy.from_dict(data)

    def test_broken_files(self, tmp_path):
        pytest.importorskip("yaml", exc_type=ImportError)
        path = tmp_path / "broken"
        path.write_text("{tau_star: [", encoding="utf-8")
        with pytest.raises(ValueError, match="broken is not YAML"):
            GatingPolicy.from_yaml(path)
        with pytest.raises(ValueError, match="the policy is not JSON"):
            GatingPolicy.from_json("{tau_star: [")
        with pytest.raises(OSError, match="missing"):
            GatingPolicy.from_yaml(str(tmp_path / "missing.yaml"))

    def test_yaml_makes_no_objects(self):
        pytest.importorskip("yaml", exc_type=ImportError)
        with pytest.raises(ValueError, match="is not YAML"):
            GatingPolicy.from_yaml("message: !!python/object/apply:os.getcwd []")

    def test_without_pyyaml_the_extra_is_named(self, monkeypatch):
        real = builtins.__import__

        def blocked(name, *rest):
            if name == "yaml":
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", blocked)
        with pytest.raises(caco.MissingExtraError, match=r"caco-guard\[yaml\]"):
            GatingPolicy.from_yaml("tau_star: 0.5")

    def test_messages(self):
        assert self.POLICY.message_for("english") == "No."
        assert "source" in GatingPolicy().message_for("english")
        assert "fonte" in GatingPolicy().message_for("portuguese")


class TestInTheValidator:
    def test_the_example_of_the_contract(self):
        policy = caco.GatingPolicy(
            tau_star=0.70,
            abstain_if=("no_entailment", "CTS > tau_star"),
            on_abstain=("ask_for_source", "increase_retrieval_weight", "lower_temperature"),
        )
        validator = caco.Validator(policy=policy)
        law = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
        wrong = validator.validate("The LGPD was created in 2015.", law)
        assert wrong.gate == Decision(True, "no_entailment", 0.70, policy.on_abstain)
        right = validator.validate("The LGPD was enacted in 2018.", law)
        assert right.gate == Decision(False, None, 0.70, ())
        assert ValidationResult.from_dict(wrong.to_dict()) == wrong

    def test_every_status_is_decided(self):
        policy = GatingPolicy(abstain_if=RULES)
        validator = caco.Validator(classifier=FakeClassifier(), policy=policy)
        assert validator.validate("Hello!", "Text.").gate.abstained is False
        assert validator.validate("The sky is blue.", "Text.").gate.abstained is False
        nothing = validator.validate("The sky is blue.", "")
        assert nothing.gate.reason == "no_entailment, no_context, score > threshold"
        unjudged = caco.Validator(policy=policy, on_missing_context="abstain")
        reason = unjudged.validate("The sky is blue.", "").gate.reason
        assert reason == "no_entailment, no_context"
        assert unjudged.validate("I don't know.", "").gate.abstained is False

    def test_the_tension_is_that_of_the_validator(self):
        engine = caco.Validator(policy=GatingPolicy(tau_star=0.0, abstain_if=("CTS > tau_star",)))
        result = engine.validate("The sky is green.", "The sky is blue.")
        assert engine.tension(result, "The sky is blue.").value > 0.0
        assert result.gate.reason == "CTS > tau_star"

    def test_it_is_not_computed_where_no_rule_needs_it(self):
        classifier = FakeClassifier()
        policy = GatingPolicy(abstain_if=("contradiction",))
        response = "The red house is old. The red house is not old."
        for engine in (
            caco.Validator(classifier=classifier),
            caco.Validator(classifier=classifier, policy=policy),
        ):
            classifier.calls.clear()
            engine.validate(response, "Text.")
            assert len(classifier.calls) == 2

    def test_batches_and_pickling(self):
        engine = pickle.loads(pickle.dumps(caco.Validator(policy=GatingPolicy())))
        pairs = [("The sky is blue.", "The sky is blue."), ("Cats bark.", "The sky is blue.")]
        assert [r.gate.abstained for r in engine.validate_batch(pairs)] == [False, True]

    def test_without_a_policy_there_is_no_decision(self):
        assert caco.Validator(classifier=FakeClassifier()).validate("It is so.", "x").gate is None

    def test_a_policy_of_a_wrong_type(self):
        with pytest.raises(TypeError, match="GatingPolicy"):
            caco.Validator(policy={"tau_star": 0.5})


_SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


class TestTuning:
    @given(_SHARES, st.floats(0, 1))
    def test_the_lowest_threshold_that_keeps_to_the_target(self, values, target):
        tuning = tune_tau_star(values, target_abstention=target)
        rate = sum(value > tuning.tau_star for value in values) / len(values)
        assert rate == tuning.chosen.abstention_rate <= target
        lower = [value for value in {0.0, *values} if value < tuning.tau_star]
        assert all(sum(v > tau for v in values) / len(values) > target for tau in lower)
        assert tuning.chosen in tuning.table
        assert tuning.bad is None

    @given(st.lists(st.tuples(st.floats(0.01, 1), st.booleans()), min_size=1), st.floats(0, 1))
    def test_the_highest_threshold_that_keeps_to_a_miss_rate(self, rows, target):
        values, labels = zip(*rows, strict=True)
        if not any(labels):
            with pytest.raises(ValueError, match="labelled bad"):
                tune_tau_star(values, labels, target_miss_rate=target)
            return
        tuning = tune_tau_star(values, labels, target_miss_rate=target)
        bad = [value for value, label in rows if label]
        missed = sum(value <= tuning.tau_star for value in bad) / len(bad)
        assert missed == tuning.chosen.miss_rate <= target
        higher = [value for value in values if value > tuning.tau_star]
        assert all(sum(v <= tau for v in bad) / len(bad) > target for tau in higher)

    def test_the_table(self):
        tuning = tune_tau_star(
            [0.1, 0.2, 0.3, 0.4], [False, True, False, True], target_abstention=0.5
        )
        assert tuning.tau_star == 0.2
        row = tuning.chosen
        assert (row.miss_rate, row.bad_among_answered, row.good_withheld) == (0.5, 0.5, 0.5)
        taus = [row.tau_star for row in tuning.table]
        assert taus == sorted(set(taus)) == [0.0, 0.1, 0.2, 0.3, 0.4]
        assert tuning.table[0].bad_among_answered == 0.0
        assert json.loads(json.dumps(tuning.to_dict()))["tau_star"] == 0.2

    @pytest.mark.parametrize(
        ("values", "labels", "targets", "reason"),
        [
            ([], None, {"target_abstention": 0.1}, "no answers"),
            ([0.1], None, {}, "either"),
            ([0.1], [True], {"target_abstention": 0.1, "target_miss_rate": 0.1}, "either"),
            ([0.1], [True, False], {"target_abstention": 0.1}, "2 labels"),
            ([0.1], None, {"target_miss_rate": 0.1}, "needs labels"),
            ([1.1], None, {"target_abstention": 0.1}, "tension"),
            ([0.1], None, {"target_abstention": 1.1}, "target_abstention"),
            ([0.0], [True], {"target_miss_rate": 0.1}, "even at 0"),
        ],
    )
    def test_what_cannot_be(self, values, labels, targets, reason):
        with pytest.raises(ValueError, match=reason):
            tune_tau_star(values, labels, **targets)


def test_an_answer_without_documents_is_in_tension() -> None:
    policy = GatingPolicy(tau_star=0.05, abstain_if=("CTS > tau_star",))
    validator = Validator(policy=policy)
    answer = "The bridge opened in 1932. It cost 4 million crowns."
    unread = validator.validate(answer, "")
    assert unread.gate is not None and unread.gate.abstained
    assert validator.tension(unread, "").contradiction["H_halluc"] == 1.0
    greeting = validator.validate("Hello!", "The bridge opened in 1932.")
    assert greeting.gate is not None and not greeting.gate.abstained
