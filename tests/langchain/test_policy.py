"""A gating policy in a guard: what a withheld answer becomes, and where the policy comes from."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import inspect
import json
import pickle
import warnings

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.runnables import ConfigurableField, RunnableGenerator, RunnablePassthrough

import caco
from caco.gate import GatingPolicy, attempt_of
from caco.testing import FakeClassifier
from langchain_caco import CacoGuard, GuardedText, HallucinationError
from langchain_caco.gating import policy_of

GOOD, BAD = "The sky is blue.", "The sky is green."
DOCS = [Document(page_content=GOOD, id="sky")]
WITHHELD = "Which source says so?"
POLICY = GatingPolicy(abstain_if=("contradiction",), message=WITHHELD)
HOW = pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])


def run(chain, value, how):
    if how in ("ainvoke", "abatch"):
        out = asyncio.run(getattr(chain, how)(value if how == "ainvoke" else [value]))
        return out if how == "ainvoke" else out[0]
    if how in ("invoke", "batch"):
        out = getattr(chain, how)(value if how == "invoke" else [value])
        return out if how == "invoke" else out[0]
    if how == "stream":
        (out,) = chain.stream(value)
        return out

    async def collected():
        return [chunk async for chunk in chain.astream(value)]

    (out,) = asyncio.run(collected())
    return out


def state(answer, documents=DOCS):
    return {"question": "q", "answer": answer, "context": documents}


@pytest.fixture
def guard(validator):
    def make(**settings):
        settings = {"policy": POLICY, "validator": validator, **settings}
        return CacoGuard(**settings)

    return make


# What a withheld answer becomes


@HOW
@pytest.mark.parametrize("on_fail", ["annotate", "replace", "redact"])
class TestAWithheldAnswer:
    def test_in_a_dict(self, guard, on_fail, how):
        out = run(guard(on_fail=on_fail), state(BAD), how)
        assert out["answer"] == WITHHELD
        assert out["question"] == "q"
        assert out["validation"].gate.reason == "contradiction"
        assert out["validation"].response == BAD

    def test_as_a_text(self, guard, on_fail, how):
        out = run(guard(on_fail=on_fail, context_key=lambda _: DOCS), BAD, how)
        assert type(out) is GuardedText
        assert out == WITHHELD
        assert out.validation.response == BAD
        assert out.validation.gate.abstained

    def test_as_a_message(self, guard, on_fail, how):
        checked = guard(on_fail=on_fail, context_key=lambda _: DOCS)
        given = AIMessage(BAD, id="m", usage_metadata=None, response_metadata={"model_name": "x"})
        out = run(checked, given, how)
        assert (out.text, out.id) == (WITHHELD, "m")
        assert out.response_metadata["model_name"] == "x"
        assert out.response_metadata["caco"]["response"] == BAD
        assert out.response_metadata["caco"]["gate"]["abstained"] is True
        json.dumps(out.response_metadata)
        assert given.text == BAD

    def test_among_messages(self, guard, on_fail, how):
        given = {"messages": [HumanMessage("q"), AIMessage(BAD)], "context": DOCS}
        out = run(guard(on_fail=on_fail), given, how)
        assert [message.text for message in out["messages"]] == ["q", WITHHELD]

    def test_an_answer_that_passes_is_left_alone(self, guard, on_fail, how):
        out = run(guard(on_fail=on_fail), state(GOOD), how)
        assert out["answer"] == GOOD
        assert out["validation"].gate == caco.Decision(False, None, 0.7)


@HOW
def test_on_fail_raise_raises(guard, how):
    with pytest.raises(HallucinationError) as caught:
        run(guard(on_fail="raise"), state(BAD), how)
    assert caught.value.result.gate.abstained
    assert caught.value.result.response == BAD


@HOW
def test_on_fail_raise_raises_what_only_the_policy_withholds(guard, how):
    policy = GatingPolicy(tau_star=0.0, abstain_if=("CTS > tau_star",))
    checked = guard(policy=policy, on_fail="raise", threshold=1.0)
    with pytest.raises(HallucinationError) as caught:
        run(checked, state(BAD), how)
    assert not caught.value.result.is_hallucination


def test_what_the_policy_lets_through_is_on_fails(guard):
    policy = GatingPolicy(abstain_if=("no_context",), message=WITHHELD)
    out = guard(policy=policy, on_fail="replace", fallback_message="No.").invoke(state(BAD))
    assert out["answer"] == "No."
    assert guard(policy=policy).invoke(state(BAD))["answer"] == BAD
    mixed = guard(policy=policy, on_fail="redact").invoke(state(f"{GOOD} {BAD}"))
    assert mixed["answer"] == GOOD


def test_the_policys_message_comes_before_the_fallback(guard):
    out = guard(on_fail="replace", fallback_message="No.").invoke(state(BAD))
    assert out["answer"] == WITHHELD


@pytest.mark.parametrize(("language", "word"), [("en", "source"), ("pt", "fonte")])
def test_without_a_message_of_its_own_it_speaks_the_language(language, word):
    classifier = FakeClassifier(default=caco.Labels.VALUE_CONTRADICTION)
    own = caco.Validator(classifier=classifier, language=language)
    policy = GatingPolicy(abstain_if=("contradiction",))
    out = CacoGuard(validator=own, policy=policy).invoke(state("O céu é verde."))
    assert out["answer"] == policy.message_for(own.language)
    assert word in out["answer"]


def test_a_batch_withholds_row_by_row(guard):
    rows = [state(GOOD), state(BAD), state(GOOD)]
    outs = guard().batch(rows)
    assert [out["answer"] for out in outs] == [GOOD, WITHHELD, GOOD]
    mixed = guard(on_fail="raise").batch(rows, return_exceptions=True)
    assert [type(out) for out in mixed] == [dict, HallucinationError, dict]


def test_no_documents_can_be_withheld(validator):
    policy = GatingPolicy(abstain_if=("no_context",), message=WITHHELD)
    out = CacoGuard(validator=validator, policy=policy).invoke(BAD)
    assert out == WITHHELD
    assert out.validation.status is caco.Status.NO_CONTEXT
    unjudged = CacoGuard(validator=validator, policy=policy, on_missing_context="abstain")
    assert unjudged.invoke(BAD) == WITHHELD


def test_a_call_of_tools_is_left_alone(guard):
    message = AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}])
    assert guard().invoke(message) is message


# Streams


def chunks_of(text):
    def chunks(inputs):
        for _ in inputs:
            for position, word in enumerate(text.split(" ")):
                yield AIMessageChunk(word if position == 0 else f" {word}", id="run-1")

    return RunnableGenerator(chunks)


def test_a_buffered_stream_lets_nothing_of_it_out(guard):
    chain = chunks_of(BAD) | guard(context_key=lambda _: DOCS)
    (out,) = chain.stream("q")
    assert out.text == WITHHELD
    assert out.response_metadata["caco"]["response"] == BAD


def test_what_has_passed_through_is_marked(guard):
    chain = chunks_of(BAD) | guard(streaming="passthrough", context_key=lambda _: DOCS)
    outs = list(chain.stream("q"))
    assert "".join(out.text for out in outs) == BAD
    assert outs[-1].response_metadata["caco"]["gate"]["abstained"] is True
    assert chain.invoke("q").text == WITHHELD


def test_a_whole_message_in_a_passing_stream_is_withheld(guard):
    checked = guard(streaming="passthrough", context_key=lambda _: DOCS)
    (out,) = checked.stream(AIMessage(BAD))
    assert out.text == WITHHELD


def test_a_passing_stream_ends_with_the_exception(guard):
    checked = guard(streaming="passthrough", on_fail="raise", context_key=lambda _: DOCS)
    seen = []
    with pytest.raises(HallucinationError):
        seen.extend(out.text for out in (chunks_of(BAD) | checked).stream("q"))
    assert "".join(seen) == BAD


# Where the policy comes from


def test_it_goes_into_the_default_engine():
    policy = GatingPolicy(abstain_if=("contradiction",), message=WITHHELD)
    out = CacoGuard(policy=policy).invoke(
        state("The LGPD was created in 2015.", "In 2018 the LGPD was created.")
    )
    assert out["answer"] == WITHHELD
    assert CacoGuard(policy=policy).engine().policy is policy


def test_a_validator_without_one_is_left_as_it_was(validator, guard):
    assert guard().engine().policy == POLICY
    assert validator.policy is None


def test_the_validators_own_is_taken(validator):
    own = copy.copy(validator)
    own.policy = POLICY
    checked = CacoGuard(validator=own)
    assert checked.policy == POLICY
    assert checked.engine() is own
    assert checked.invoke(state(BAD))["answer"] == WITHHELD
    same = GatingPolicy.from_dict(POLICY.to_dict())
    assert CacoGuard(validator=own, policy=same).engine() is own


@pytest.mark.parametrize("on_fail", ["annotate", "raise"])
def test_two_policies_are_one_too_many(validator, on_fail):
    own = copy.copy(validator)
    own.policy = POLICY
    with pytest.raises(ValueError, match="the validator has another policy"):
        CacoGuard(validator=own, policy=GatingPolicy(), on_fail=on_fail)


def test_a_guard_with_another_validator_takes_that_ones_settings(validator):
    """What a guard took from its validator does not count as given to it."""
    first = copy.copy(validator)
    first.policy = POLICY
    second = caco.Validator(
        classifier=validator.classifier,
        language="pt",
        on_missing_context="abstain",
        policy=GatingPolicy(abstain_if=("no_context",)),
    )
    around = CacoGuard(validator=first).around(RunnablePassthrough(), validator=second)
    taken = around.guard
    assert (taken.policy, taken.language) == (second.policy, "portuguese")
    assert taken.on_missing_context == "abstain"


def test_a_validator_that_takes_none_is_refused(validator):
    class Other:
        """Has what a guard needs, and no policy."""

        language, on_missing_context = "english", "flag"
        validate, validate_batch = validator.validate, validator.validate_batch
        avalidate, avalidate_batch = validator.avalidate, validator.avalidate_batch

    assert CacoGuard(validator=Other()).invoke(state(BAD))["answer"] == BAD
    with pytest.raises(ValueError, match="Other takes no policy"):
        CacoGuard(validator=Other(), policy=POLICY)


@pytest.mark.parametrize("name", ["policy.json", "policy.yaml", "policy.YML"])
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_it_is_read_from_a_file(tmp_path, name, kind, validator):
    if not name.endswith("json"):
        pytest.importorskip("yaml")
    path = tmp_path / name
    path.write_text(json.dumps(POLICY.to_dict()), encoding="utf-8")  # which is YAML, too
    assert CacoGuard(validator=validator, policy=kind(path)).policy == POLICY


def test_it_is_read_from_plain_data(validator):
    checked = CacoGuard(validator=validator, policy={"abstain_if": ["contradiction"]})
    assert checked.policy == GatingPolicy(abstain_if=("contradiction",))


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"tau": 0.1}, "a policy has no"),
        ({"tau_star": 2}, "tau_star"),
        ({"tau_star": "high"}, "tau_star must be a number"),
        ({"abstain_if": ["never"]}, "unknown rule"),
        ("no/such/policy.json", "No such file"),
        (3, "policy must be a GatingPolicy, a mapping or the path"),
    ],
)
def test_a_policy_that_does_not_hold_is_a_value_error(policy, said):
    with pytest.raises(ValueError, match=said):
        CacoGuard(policy=policy)


def test_no_policy_is_none():
    assert policy_of(None) is None
    assert CacoGuard().policy is None


def test_an_answer_found_by_a_function_cannot_be_replaced(validator):
    with pytest.raises(ValueError, match="policy needs a str as answer_key"):
        CacoGuard(policy=POLICY, answer_key=lambda out: out["answer"])
    own = copy.copy(validator)
    own.policy = POLICY
    with pytest.raises(ValueError, match="policy needs a str as answer_key"):
        CacoGuard(validator=own, answer_key=lambda out: out["answer"])
    checked = CacoGuard(validator=own, answer_key=lambda out: out["answer"], on_fail="raise")
    with pytest.raises(HallucinationError):
        checked.invoke(state(BAD))


# The threshold of the guard is the one its policy decides by


def scored(score):
    return caco.Validator(classifier=FakeClassifier(score=score))


@pytest.mark.parametrize("how", ["invoke", "abatch"])
@pytest.mark.parametrize(
    ("rule", "threshold", "abstained"),
    [
        ("score > threshold", 0.3, True),
        ("score > threshold", 0.5, False),
        ("no_entailment", 0.3, True),
        ("no_entailment", 0.5, False),
    ],
)
def test_a_threshold_of_the_guard_counts_for_the_rules(rule, threshold, abstained, how):
    """Supported with a risk of 0.4."""
    policy = GatingPolicy(abstain_if=(rule,), message=WITHHELD)
    checked = CacoGuard(validator=scored(0.6), policy=policy, threshold=threshold)
    out = run(checked, state(GOOD), how)
    assert out["validation"].gate.abstained is abstained
    assert out["answer"] == (WITHHELD if abstained else GOOD)


@pytest.mark.parametrize(("tau_star", "abstained"), [(0.0, True), (1.0, False)])
def test_a_threshold_of_the_guard_leaves_the_tension_as_it_is(validator, tau_star, abstained):
    policy = GatingPolicy(tau_star=tau_star, abstain_if=("CTS > tau_star", "score > threshold"))
    checked = CacoGuard(validator=validator, policy=policy, threshold=1.0)
    gate = checked.invoke(state(BAD))["validation"].gate
    assert gate.abstained is abstained
    assert gate.reason == ("CTS > tau_star" if abstained else None)
    assert gate.actions == (policy.on_abstain if abstained else ())


# Serialisation


def loaded(text):
    options = {"valid_namespaces": ["langchain_caco"]}
    if "allowed_objects" in inspect.signature(loads).parameters:  # from langchain-core 1.2 on
        options["allowed_objects"] = [CacoGuard]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ``loads`` is a beta
        return loads(text, **options)


@pytest.mark.parametrize(
    "policy",
    [POLICY, GatingPolicy(0.2, on_abstain=("page_me",), custom_actions=("page_me",))],
)
def test_dumps_and_loads_keep_it(policy):
    text = dumps(CacoGuard(policy=policy, on_fail="replace"))
    assert "not_implemented" not in text
    copied = loaded(text)
    assert copied.policy == policy
    assert copied.on_fail == "replace"
    assert copied.engine().policy == policy


def test_dumps_writes_the_validators_policy(validator):
    own = copy.copy(validator)
    own.policy = POLICY
    assert loaded(dumps(CacoGuard(validator=own))).policy == POLICY


def test_a_retry_with_it_is_dumped():
    text = dumps(CacoGuard.around(RunnablePassthrough(), policy=POLICY))
    assert "not_implemented" not in text
    assert json.loads(text)["kwargs"]["guard"]["kwargs"]["policy"] == POLICY.to_dict()


def test_pickle_and_copies_keep_it(guard):
    for copied in (
        pickle.loads(pickle.dumps(guard())),
        copy.deepcopy(guard()),
        guard().model_copy(),
    ):
        assert copied.policy == POLICY
        assert copied.invoke(state(BAD))["answer"] == WITHHELD


def test_it_is_configurable(guard):
    checked = guard().configurable_fields(policy=ConfigurableField(id="policy"))
    assert checked.invoke(state(BAD))["answer"] == WITHHELD
    for other in ({"abstain_if": [], "message": "x"}, GatingPolicy(abstain_if=())):
        config = {"configurable": {"policy": other}}
        assert checked.invoke(state(BAD), config)["answer"] == BAD


def test_other_configurable_fields_keep_it(guard):
    checked = guard().configurable_fields(threshold=ConfigurableField(id="threshold"))
    out = checked.invoke(state(BAD), {"configurable": {"threshold": 1.0}})
    assert out["answer"] == WITHHELD
    assert not out["validation"].is_hallucination


# The feedback on an answer that is only withheld


def test_the_feedback_names_the_rule_where_no_claim_is_to_blame(validator):
    result = validator.validate(GOOD, GOOD)
    assert attempt_of(result).feedback == ""
    gate = caco.Decision(True, "CTS > tau_star", 0.0)
    entry = attempt_of(dataclasses.replace(result, gate=gate))
    assert entry.feedback == f"{result.summary} (CTS > tau_star)"
    failed = dataclasses.replace(validator.validate(BAD, GOOD), gate=gate)
    assert attempt_of(failed).feedback == failed.feedback()
