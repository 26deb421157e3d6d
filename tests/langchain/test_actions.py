"""What the actions of a gating policy make of the next attempt."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough

import caco
from caco.gate import GatingPolicy
from langchain_caco import CacoGuard, HallucinationError, NextAttempt, with_hallucination_retry

GOOD, BAD, WORSE = "The sky is blue.", "The sky is green.", "The sky is red."
ASK, MORE, COLDER = "ask_for_source", "increase_retrieval_weight", "lower_temperature"
WITHHELD = "Which source says so?"
HOW = pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])


def run(chain, value, how="invoke", config=None):
    if how in ("ainvoke", "abatch"):
        given = value if how == "ainvoke" else [value]
        out = asyncio.run(getattr(chain, how)(given, config))
        return out if how == "ainvoke" else out[0]
    if how in ("invoke", "batch"):
        out = getattr(chain, how)(value if how == "invoke" else [value], config)
        return out if how == "invoke" else out[0]
    if how == "stream":
        (out,) = chain.stream(value, config)
        return out

    async def collected():
        return [chunk async for chunk in chain.astream(value, config)]

    (out,) = asyncio.run(collected())
    return out


class Shelf(BaseRetriever):
    """Returns its first ``k`` documents: what supports the answer is the last of four."""

    k: int = 1
    asked: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.asked.append(self.k)
        texts = ["Grass grows.", "Snow melts.", "Rain falls.", GOOD]
        return [Document(page_content=text) for text in texts][: self.k]


class Moody(BaseChatModel):
    """Is right when it is cold; remembers what it was called with."""

    temperature: float = 0.8
    seen: Any = None

    @property
    def _llm_type(self) -> str:
        return "moody"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any):
        self.seen.append((self.temperature, messages[-1].text))
        message = AIMessage(GOOD if self.temperature == 0 else BAD)
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture
def shelf():
    return Shelf(asked=[])


@pytest.fixture
def guard(validator):
    def make(*actions, rules=("no_entailment",), **settings):
        own = [action for action in actions if action not in (ASK, MORE, COLDER)]
        policy = GatingPolicy(
            abstain_if=rules, on_abstain=actions, custom_actions=own, message=WITHHELD
        )
        return CacoGuard(**{"policy": policy, "validator": validator, **settings})

    return make


def retrieving(retriever, answer=GOOD):
    return RunnablePassthrough.assign(
        context=lambda given, config: retriever.invoke(given["question"], config)
    ) | RunnablePassthrough.assign(answer=lambda _: answer)


def piped(retriever, answer=GOOD):
    """The same, with the retriever in sight."""
    return RunnablePassthrough.assign(
        context=RunnableLambda(lambda given: given["question"]) | retriever
    ) | RunnablePassthrough.assign(answer=lambda _: answer)


def told(out):
    return [(attempt.answer, attempt.actions) for attempt in out["validation"].attempts]


# More documents


@HOW
def test_each_retry_retrieves_twice_as_much(guard, shelf, how):
    out = run(with_hallucination_retry(piped(shelf), guard(MORE), 2), {"question": "q"}, how)
    assert shelf.asked == [1, 2, 4]
    assert out["answer"] == GOOD
    assert not out["validation"].gate.abstained
    assert len(out["context"]) == 4
    assert told(out) == [(GOOD, (MORE,)), (GOOD, (MORE,)), (GOOD, ())]


@HOW
def test_around_does_the_same(guard, shelf, how):
    around = guard(MORE).around(piped(shelf), max_retries=2)
    out = run(around, {"question": "q"}, how)
    assert shelf.asked == [1, 2, 4]
    assert out["answer"] == GOOD
    named = CacoGuard.around(
        piped(shelf), 2, policy=guard(MORE).policy, validator=guard().validator
    )
    assert run(named, {"question": "q"}, how)["answer"] == GOOD


def test_the_documents_are_those_of_the_wider_retrieval(guard, shelf):
    """A chain whose output does not hold them: what its retriever returned is what counts."""
    chain = RunnableLambda(lambda given: given["question"]) | shelf | RunnableLambda(lambda _: GOOD)
    out = guard(MORE).around(chain, max_retries=2).invoke({"question": "q"})
    assert out == GOOD
    assert out.validation.coverage.documents == 4


@HOW
def test_a_configurable_number_reaches_into_functions(guard, shelf, how):
    configurable = shelf.configurable_fields(k=ConfigurableField(id="count"))
    again = with_hallucination_retry(retrieving(configurable), guard(MORE), 1)
    config = {"configurable": {"count": 2}}
    out = run(again, {"question": "q"}, how, config)
    assert shelf.asked == [2, 4]
    assert out["answer"] == GOOD
    assert config == {"configurable": {"count": 2}}


def test_what_is_out_of_reach_is_told(guard, shelf, caplog):
    again = with_hallucination_retry(retrieving(shelf), guard(MORE, ASK), 1)
    out = again.invoke({"question": "q"})
    assert shelf.asked == [1, 1]
    assert told(out) == [(GOOD, (ASK,)), (GOOD, ())]
    assert f"the policy asks for '{MORE}', which nothing here can carry out" in caplog.text


@HOW
def test_a_key_of_the_input_can_say_the_number(guard, how):
    asked = []

    def answer(given):
        asked.append(given["retrieval_k"])
        return {**given, "context": GOOD if given["retrieval_k"] == 12 else "?", "answer": GOOD}

    chain = RunnableLambda(answer)
    again = with_hallucination_retry(chain, guard(MORE), 3, k_key="retrieval_k")
    given = {"question": "q", "retrieval_k": 3}
    out = run(again, given, how)
    assert asked == [3, 6, 12]
    assert out["answer"] == GOOD
    assert told(out)[0][1] == (MORE,)
    assert given == {"question": "q", "retrieval_k": 3}


def test_with_such_a_key_the_chain_is_left_alone(guard, shelf):
    again = with_hallucination_retry(piped(shelf), guard(MORE), 1, k_key="n")
    again.invoke({"question": "q", "n": 1})
    assert shelf.asked == [1, 1]


@pytest.mark.parametrize("given", [{"question": "q"}, {"question": "q", "n": "3"}, "q"])
@pytest.mark.parametrize("how", ["invoke", "abatch"])
def test_an_input_that_does_not_say_the_number_is_refused_at_once(guard, shelf, given, how):
    again = with_hallucination_retry(piped(shelf), guard(MORE), 1, k_key="n")
    with pytest.raises(TypeError, match="k_key is 'n'"):
        run(again, given, how)
    assert shelf.asked == []


# Temperature


@HOW
@pytest.mark.parametrize("configurable", [False, True])
def test_the_retry_is_cold(guard, how, configurable):
    model = Moody(seen=[])
    used = (
        model.configurable_fields(temperature=ConfigurableField(id="heat"))
        if configurable
        else model
    )
    prompt = ChatPromptTemplate.from_template("{question}{feedback}")
    chain = RunnablePassthrough.assign(answer=prompt | used)
    given = {"question": "q", "context": [GOOD]}
    out = run(with_hallucination_retry(chain, guard(COLDER), 2), given, how)
    assert [temperature for temperature, _ in model.seen] == [0.8, 0.0]
    assert BAD in model.seen[1][1]
    assert out["answer"].text == GOOD
    assert told(out) == [(BAD, (COLDER,)), (GOOD, ())]
    assert model.temperature == 0.8


def test_it_stays_cold(guard):
    """The second attempt fails without being withheld, so that nothing is asked for again."""
    model, answers = Moody(seen=[]), iter([BAD, f"{GOOD} {BAD}", GOOD])
    chain = RunnablePassthrough.assign(
        mood=(lambda given: given["question"]) | model
    ) | RunnablePassthrough.assign(answer=lambda _: next(answers))
    given = {"question": "q", "context": [GOOD]}
    out = with_hallucination_retry(chain, guard(COLDER), 3).invoke(given)
    assert [temperature for temperature, _ in model.seen] == [0.8, 0.0, 0.0]
    assert [actions for _, actions in told(out)] == [(COLDER,), (), ()]


def test_a_model_alone_is_a_chain(guard):
    model = Moody(seen=[])
    checked = guard(COLDER, context_key=lambda _: [GOOD])
    out = with_hallucination_retry(model, checked, 1).invoke([HumanMessage("q")])
    assert out.text == GOOD
    attempts = out.response_metadata["caco"]["attempts"]
    assert [attempt["actions"] for attempt in attempts] == [[COLDER], []]
    json.dumps(out.response_metadata)


def test_all_at_once_in_the_policys_order(guard, shelf):
    model = Moody(seen=[])
    chain = RunnablePassthrough.assign(
        context=(lambda given: given["question"]) | shelf
    ) | RunnablePassthrough.assign(answer=(lambda given: given["question"]) | model)
    out = with_hallucination_retry(chain, guard(COLDER, ASK, MORE), 2).invoke({"question": "q"})
    assert shelf.asked == [1, 2, 4]
    assert [temperature for temperature, _ in model.seen] == [0.8, 0.0, 0.0]
    assert told(out)[0][1] == (COLDER, MORE)
    assert out["answer"].text == GOOD


# Nothing is done unasked


def test_a_rejection_that_is_not_the_policys_changes_nothing(guard, shelf):
    """Supported and contradicted claims: rejected by its score, not withheld by the rule."""
    chain = piped(shelf, f"Grass grows. {BAD}")
    out = with_hallucination_retry(chain, guard(MORE, COLDER), 1).invoke({"question": "q"})
    assert shelf.asked == [1, 1]
    assert [actions for _, actions in told(out)] == [(), ()]
    assert out["answer"].endswith(BAD)


def test_a_policy_without_actions_changes_nothing(guard, shelf):
    out = with_hallucination_retry(piped(shelf), guard(), 1).invoke({"question": "q"})
    assert shelf.asked == [1, 1]
    assert out["answer"] == WITHHELD
    assert [actions for _, actions in told(out)] == [(), ()]


# The message, in the end


@HOW
@pytest.mark.parametrize("max_retries", [0, 1])
def test_when_the_retries_are_used_up_the_user_is_asked(guard, shelf, how, max_retries):
    again = with_hallucination_retry(piped(shelf, BAD), guard(ASK), max_retries)
    out = run(again, {"question": "q"}, how)
    assert len(shelf.asked) == max_retries + 1
    assert out["answer"] == WITHHELD
    assert out["validation"].response == BAD
    assert told(out) == [(BAD, (ASK,)), (BAD, ())][: max_retries + 1]


@pytest.mark.parametrize(("which", "position"), [("best", 0), ("last", 1)])
def test_the_attempt_that_was_chosen_is_the_one_that_led_to_it(guard, which, position):
    answers = iter([BAD, f"{BAD} {WORSE}"])
    chain = RunnablePassthrough.assign(answer=lambda _: next(answers))
    checked = guard(ASK, rules=("contradiction",))
    given = {"question": "q", "context": [GOOD]}
    out = with_hallucination_retry(chain, checked, 1, on_exhausted=which).invoke(given)
    assert [bool(actions) for _, actions in told(out)] == [position == 0, position == 1]


@HOW
@pytest.mark.parametrize("raising", ["guard", "exhausted"])
def test_who_wants_an_exception_gets_it(guard, shelf, how, raising):
    checked = guard(ASK, on_fail="raise" if raising == "guard" else "annotate")
    exhausted = "raise" if raising == "exhausted" else "best"
    again = with_hallucination_retry(piped(shelf, BAD), checked, 1, on_exhausted=exhausted)
    with pytest.raises(HallucinationError) as caught:
        run(again, {"question": "q"}, how)
    assert [attempt.actions for attempt in caught.value.result.attempts] == [(), ()]
    assert pickle.loads(pickle.dumps(caught.value)).result == caught.value.result


# Your own actions


@HOW
def test_a_handler_changes_the_next_attempt(guard, how):
    seen = []

    def answer(given, config):
        seen.append((given["tone"], config["configurable"].get("model")))
        return {**given, "answer": GOOD if given["tone"] == "sober" else BAD}

    def sober(planned):
        assert planned.result.gate.abstained
        assert planned.input["feedback"]
        config = {**planned.config, "configurable": {"model": "large"}}
        return dataclasses.replace(planned, input={**planned.input, "tone": "sober"}, config=config)

    again = with_hallucination_retry(
        RunnableLambda(answer), guard("sober_up"), 2, on_action={"sober_up": sober}
    )
    out = run(again, {"question": "q", "tone": "merry", "context": [GOOD]}, how)
    assert seen == [("merry", None), ("sober", "large")]
    assert told(out) == [(BAD, ("sober_up",)), (GOOD, ())]


def test_a_handler_may_only_do_something(guard, shelf):
    paged = []

    def page(planned):
        paged.append(planned.result.response)

    chain = piped(shelf, BAD)
    checked = guard("page_me", MORE)
    out = with_hallucination_retry(chain, checked, 2, on_action={"page_me": page}).invoke(
        {"question": "q"}
    )
    assert paged == [BAD, BAD]
    assert told(out)[0][1] == ("page_me", MORE)


def test_a_handler_can_take_the_place_of_cacos_own(guard, shelf):
    calls = []
    checked = guard(MORE)
    again = CacoGuard.around(
        piped(shelf),
        1,
        policy=checked.policy,
        validator=checked.validator,
        on_action={MORE: calls.append},
    )
    again.invoke({"question": "q"})
    assert shelf.asked == [1, 1]
    assert [type(planned) for planned in calls] == [NextAttempt]


def test_a_handlers_configuration_does_not_cost_the_documents(guard, shelf):
    """Its callbacks are those of the attempt, whatever it returns."""

    def plain(planned):
        return dataclasses.replace(planned, config={"tags": ["mine"]})

    class Tags(BaseCallbackHandler):
        def __init__(self):
            self.tags = []

        def on_retriever_start(self, serialized, query, *, tags=None, **_):
            self.tags.append("mine" in (tags or []))

    tags = Tags()
    chain = RunnableLambda(lambda given: given["question"]) | shelf | RunnableLambda(lambda _: GOOD)
    again = guard("plain").around(chain, max_retries=1, on_action={"plain": plain})
    out = again.invoke({"question": "q"}, {"callbacks": [tags]})
    assert out.validation.status is caco.Status.CHECKED
    assert tags.tags == [False, True]


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch"])
def test_what_a_handler_raises_is_its_rows(guard, how):
    def refuse(planned):
        raise LookupError("no")

    chain = RunnableLambda(lambda given: {**given, "context": [GOOD]})
    again = with_hallucination_retry(chain, guard("x"), 1, on_action={"x": refuse})
    with pytest.raises(LookupError, match="no"):
        run(again, {"answer": BAD}, how)
    rows = [{"answer": BAD}, {"answer": GOOD}]
    outs = again.batch(rows, return_exceptions=True)
    assert [type(out) for out in outs] == [LookupError, dict]


def test_a_handler_must_return_an_attempt(guard):
    chain = RunnablePassthrough()
    again = with_hallucination_retry(chain, guard("x"), 1, on_action={"x": lambda _: {"a": 1}})
    with pytest.raises(TypeError, match=r"on_action\['x'\] must return a NextAttempt or None"):
        again.invoke({"answer": BAD, "context": [GOOD]})


def test_an_action_without_a_handler_is_yours_to_see(guard, caplog):
    chain = RunnablePassthrough()
    out = with_hallucination_retry(chain, guard("x"), 1).invoke({"answer": BAD, "context": [GOOD]})
    assert out["validation"].gate.actions == ("x",)
    assert told(out) == [(BAD, ()), (BAD, ())]
    assert "'x', which nothing here can carry out" in caplog.text


@pytest.mark.parametrize(
    ("on_action", "error", "said"),
    [
        ({"y": len}, ValueError, r"on_action has 'y'; the guard's policy asks for \['x'\]"),
        ({ASK: len}, ValueError, "on_action has 'ask_for_source'"),
        ({"x": 3}, TypeError, "must be callable"),
    ],
)
def test_handlers_that_cannot_be_used_are_refused(guard, on_action, error, said):
    with pytest.raises(error, match=said):
        with_hallucination_retry(RunnablePassthrough(), guard("x", ASK), 1, on_action=on_action)


def test_handlers_need_a_policy(validator):
    with pytest.raises(ValueError, match="on_action has 'x'"):
        CacoGuard.around(RunnablePassthrough(), validator=validator, on_action={"x": len})


# Batches


@pytest.mark.parametrize("how", ["batch", "abatch"])
def test_each_row_has_its_own_settings(guard, how):
    """The first is withheld each time, the second fails by its score, the third passes."""
    shelf = Shelf(asked=[])
    chain = RunnablePassthrough.assign(
        context=RunnableLambda(lambda given: given["question"]) | shelf
    )
    again = with_hallucination_retry(chain, guard(MORE), 2)
    rows = [
        {"question": "a", "answer": BAD},
        {"question": "b", "answer": f"Grass grows. {BAD}"},
        {"question": "c", "answer": "Grass grows."},
    ]
    outs = getattr(again, how)(rows)
    outs = asyncio.run(outs) if how == "abatch" else outs
    assert [len(out["context"]) for out in outs] == [1, 1, 1]  # of equals the first is kept
    assert sorted(shelf.asked) == [1, 1, 1, 1, 1, 2, 4]
    assert [out["answer"] for out in outs] == [WITHHELD, f"Grass grows. {BAD}", "Grass grows."]
    assert [len(out["validation"].attempts) for out in outs] == [3, 3, 1]


class Together(RunnablePassthrough):
    """Notes how many inputs it is given at once."""

    sizes: Any = None

    def batch(self, inputs, *arguments, **options):
        self.sizes.append(len(inputs))
        return super().batch(inputs, *arguments, **options)

    async def abatch(self, inputs, *arguments, **options):
        self.sizes.append(len(inputs))
        return await super().abatch(inputs, *arguments, **options)


@pytest.mark.parametrize("how", ["batch", "abatch"])
def test_rows_with_the_same_settings_run_together(guard, how):
    shelf, together = Shelf(asked=[]), Together(sizes=[])
    chain = together | RunnablePassthrough.assign(
        context=RunnableLambda(lambda given: given["question"]) | shelf
    )
    again = with_hallucination_retry(chain, guard(MORE), 1)
    rows = [{"question": "q", "answer": BAD}] * 3 + [{"question": "q", "answer": f"{GOOD} {BAD}"}]
    outs = getattr(again, how)(rows)
    asyncio.run(outs) if how == "abatch" else outs
    assert together.sizes == [4, 4]
    assert sorted(shelf.asked) == [1] * 4 + [2] * 4


def test_rows_whose_inputs_alone_differ_run_together(guard):
    """One is withheld, one fails by its score: the chain is the same for both."""
    together = Together(sizes=[])
    again = with_hallucination_retry(together, guard(MORE), 2, k_key="n")
    rows = [
        {"answer": answer, "context": "Grass grows.", "n": 1}
        for answer in (BAD, f"Grass grows. {BAD}")
    ]
    outs = again.batch(rows)
    assert together.sizes == [2, 2, 2]
    assert [len(out["validation"].attempts) for out in outs] == [3, 3]


def test_rows_with_other_configurations_do_not_share_a_copy(guard):
    first = Shelf(asked=[]).configurable_fields(k=ConfigurableField(id="count"))
    chain = RunnablePassthrough.assign(context=(lambda given: given["question"]) | first)
    again = with_hallucination_retry(chain, guard(MORE), 1)
    configs = [{"configurable": {"count": n}} for n in (1, 2)]
    outs = again.batch([{"question": "q", "answer": GOOD}] * 2, configs)
    assert [len(out["validation"].attempts) for out in outs] == [2, 2]
    assert [out["validation"].gate.abstained for out in outs] == [True, False]


# The rest of the Runnable


def test_what_is_kept_by_pickling_and_configuration(guard, shelf):
    again = with_hallucination_retry(
        piped(shelf), guard(MORE, "x"), 1, k_key="n", on_action={"x": len}
    )
    configured = again.configurable_fields(max_retries=ConfigurableField(id="retries"))
    prepared, _ = configured.prepare({"configurable": {"retries": 0}})
    assert (prepared.max_retries, prepared.k_key) == (0, "n")
    assert prepared.on_action == {"x": len}
    picklable = with_hallucination_retry(RunnablePassthrough(), guard("x"), on_action={"x": len})
    assert pickle.loads(pickle.dumps(picklable)).on_action == {"x": len}


def test_an_attempt_round_trips():
    entry = caco.Attempt("a", 0.5, "f", [MORE])
    assert entry.actions == (MORE,)
    assert caco.Attempt("a", 0.5, "f").actions == ()
    assert hash(entry) == hash(caco.Attempt("a", 0.5, "f", (MORE,)))
    result = caco.ValidationResult(0.5, True, (), "s", attempts=(entry,))
    assert caco.ValidationResult.from_dict(json.loads(result.to_json())) == result
    plain = result.to_dict()
    del plain["attempts"][0]["actions"]
    assert caco.ValidationResult.from_dict(plain).attempts[0].actions == ()
