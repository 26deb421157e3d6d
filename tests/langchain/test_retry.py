"""``with_hallucination_retry``: feedback in, verified answers out, and the history of attempts."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import (
    ConfigurableField,
    RunnableGenerator,
    RunnableLambda,
    RunnablePassthrough,
)
from langchain_core.runnables.utils import AddableDict

import caco
from langchain_caco import (
    CacoGuard,
    GuardedText,
    HallucinationError,
    HallucinationRetry,
    with_hallucination_retry,
)

GOOD, BAD, WORSE = "The sky is blue.", "The sky is green.", "The sky is red."
DOCS = [Document(page_content=GOOD, id="sky")]
GIVEN = {"question": "q", "context": DOCS}
CALL = {"name": "search", "args": {}, "id": "call-1"}


@pytest.fixture
def guard(validator):
    return CacoGuard(validator=validator)


def scripted(*answers):
    """A chain that gives one answer after the other, and remembers its inputs."""
    inputs, left = [], iter(answers)

    def answer(given):
        inputs.append(given)
        return {**given, "answer": next(left)} if isinstance(given, dict) else next(left)

    chain = RunnableLambda(answer)
    return chain, inputs


def corrected(given):
    """An answer that heeds feedback."""
    return {**given, "answer": GOOD if given["feedback"] else BAD}


HOW = pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])


def run(chain, given, how="invoke", **options):
    """Run a chain in any of six ways and return its one output."""
    if how in ("invoke", "batch"):
        out = getattr(chain, how)(given if how == "invoke" else [given], **options)
        return out if how == "invoke" else out[0]
    if how in ("ainvoke", "abatch"):
        out = asyncio.run(getattr(chain, how)(given if how == "ainvoke" else [given], **options))
        return out if how == "ainvoke" else out[0]
    if how == "stream":
        (out,) = chain.stream(given, **options)
        return out

    async def collect():
        return [chunk async for chunk in chain.astream(given, **options)]

    (out,) = asyncio.run(collect())
    return out


@HOW
def test_a_rejected_answer_is_tried_again_with_feedback(guard, how):
    chain, inputs = scripted(BAD, GOOD)
    out = run(with_hallucination_retry(chain, guard), GIVEN, how)
    assert out["answer"] == GOOD
    result = out["validation"]
    assert not result.is_hallucination
    assert [given["feedback"] == "" for given in inputs] == [True, False]
    assert BAD in inputs[1]["feedback"]
    assert GOOD in inputs[1]["feedback"]
    assert result.attempts == (
        caco.Attempt(BAD, 0.99, inputs[1]["feedback"]),
        caco.Attempt(GOOD, pytest.approx(0.01), ""),
    )
    assert "feedback" not in GIVEN


def test_a_good_answer_is_not_tried_again(guard):
    chain, inputs = scripted(GOOD)
    out = with_hallucination_retry(chain, guard).invoke(GIVEN)
    assert len(inputs) == 1
    assert [attempt.answer for attempt in out["validation"].attempts] == [GOOD]


def test_the_feedback_key_can_be_chosen(guard):
    chain, inputs = scripted(BAD, GOOD)
    with_hallucination_retry(chain, guard, feedback_key="hint").invoke(GIVEN)
    assert [bool(given["hint"]) for given in inputs] == [False, True]
    assert "feedback" not in inputs[0]


def test_the_feedback_reaches_the_model_through_its_prompt(guard, model):
    llm = model(lambda prompt: GOOD if "not backed by the documents" in prompt else BAD)
    prompt = ChatPromptTemplate.from_template("{context}\n{question}\n{feedback}")
    chain = prompt | llm | StrOutputParser()
    out = with_hallucination_retry(chain, guard).invoke(GIVEN)
    assert type(out) is GuardedText
    assert out == GOOD
    assert len(out.validation.attempts) == 2
    assert BAD in llm.prompts[1]


@HOW
def test_messages_get_the_draft_and_the_feedback(validator, model, how):
    llm = model(lambda prompt: GOOD if prompt.count("human:") == 2 else BAD)
    checked = CacoGuard(validator=validator, context_key=lambda _: DOCS)
    out = run(with_hallucination_retry(llm, checked), [HumanMessage("q")], how)
    assert out.text == GOOD
    assert [attempt["answer"] for attempt in out.response_metadata["caco"]["attempts"]] == [
        BAD,
        GOOD,
    ]
    assert f"human: q\nai: {BAD}\nhuman: These statements" in llm.prompts[1]


def test_a_dict_of_messages_gets_them_appended(validator, model):
    llm = model(lambda prompt: GOOD if f"ai: {BAD}" in prompt else BAD)
    prompt = ChatPromptTemplate.from_messages([("system", "s"), MessagesPlaceholder("messages")])
    chain = RunnablePassthrough.assign(answer=prompt | llm)
    given = {"messages": [HumanMessage("q")], "context": DOCS}
    out = with_hallucination_retry(chain, CacoGuard(validator=validator)).invoke(given)
    assert out["answer"].text == GOOD
    assert len(given["messages"]) == 1


def test_a_text_gets_the_feedback_after_it(validator, model):
    llm = model(lambda prompt: GOOD if "not backed" in prompt else BAD)
    checked = CacoGuard(validator=validator, context_key=lambda _: DOCS)
    assert with_hallucination_retry(llm, checked).invoke("q").text == GOOD
    assert llm.prompts[1].startswith("human: q\n\nThese statements")


@HOW
def test_an_input_that_feedback_cannot_reach_is_refused_at_once(guard, how):
    chain, inputs = scripted(GOOD)
    with pytest.raises(TypeError, match="must take a dict, messages or a str, not int"):
        run(with_hallucination_retry(chain, guard), 3, how)
    assert inputs == []


# When no attempt passes


class Graded(caco.ClassifierContract):
    """Red is worse than green."""

    def classify(self, claim, context):
        if claim in context:
            return caco.ClaimResult(claim, claim, caco.Labels.VALUE_ENTAILMENT, 0.99)
        score = 0.95 if "red" in claim else 0.75
        return caco.ClaimResult(claim, "", caco.Labels.VALUE_CONTRADICTION, score)


@pytest.fixture
def graded():
    def make(**settings):
        return CacoGuard(validator=caco.Validator(classifier=Graded()), **settings)

    return make


@HOW
@pytest.mark.parametrize(("which", "answer"), [("best", BAD), ("last", WORSE)])
def test_the_best_or_the_last_attempt_is_kept(graded, which, answer, how):
    chain, inputs = scripted(WORSE, BAD, WORSE)
    out = run(with_hallucination_retry(chain, graded(), 2, on_exhausted=which), GIVEN, how)
    assert len(inputs) == 3
    assert out["answer"] == answer
    result = out["validation"]
    assert result.is_hallucination
    assert result.response == answer
    assert [attempt.answer for attempt in result.attempts] == [WORSE, BAD, WORSE]
    assert all(attempt.feedback for attempt in result.attempts)


@HOW
def test_exhaustion_can_raise(graded, how):
    chain, _ = scripted(BAD, WORSE)
    again = with_hallucination_retry(chain, graded(), 1, on_exhausted="raise")
    with pytest.raises(HallucinationError) as caught:
        run(again, GIVEN, how)
    result = caught.value.result
    assert result.response == BAD
    assert [attempt.answer for attempt in result.attempts] == [BAD, WORSE]
    assert pickle.loads(pickle.dumps(caught.value)).result == result


@HOW
def test_the_guard_says_what_is_done_with_the_best_attempt(graded, how):
    def retry(**settings):
        chain, _ = scripted(WORSE, BAD)
        return with_hallucination_retry(chain, graded(**settings), 1)

    out = run(retry(on_fail="replace", fallback_message="No."), GIVEN, how)
    assert out["answer"] == "No."
    assert out["validation"].response == BAD
    with pytest.raises(HallucinationError):
        run(retry(on_fail="raise"), GIVEN, how)


def test_equal_attempts_keep_the_first(graded):
    chain, _ = scripted({"text": BAD, "n": 1}, {"text": BAD, "n": 2})
    checked = graded(answer_key=lambda out: out["answer"]["text"])
    out = with_hallucination_retry(chain, checked, 1).invoke(GIVEN)
    assert out["answer"]["n"] == 1


def test_an_attempt_that_was_not_read_to_the_end_is_never_the_best(validator):
    own = caco.Validator(classifier=Graded(), max_claims=1)
    chain, _ = scripted(f"{GOOD} {GOOD}", BAD)
    out = with_hallucination_retry(chain, CacoGuard(validator=own), 1).invoke(GIVEN)
    assert [attempt.score < 0.5 for attempt in out["validation"].attempts] == [True, False]
    assert out["answer"] == BAD
    assert out["validation"].is_hallucination


def test_no_retries_means_one_verified_attempt(guard):
    chain, inputs = scripted(BAD)
    out = with_hallucination_retry(chain, guard, 0).invoke(GIVEN)
    assert inputs == [{**GIVEN, "feedback": ""}]
    assert out["validation"].is_hallucination
    assert len(out["validation"].attempts) == 1


def test_an_attempt_without_documents_is_no_pass(guard):
    chain, inputs = scripted(BAD, GOOD)
    out = with_hallucination_retry(chain, guard, 1).invoke({"question": "q"})
    assert len(inputs) == 2
    assert "No document was available" in inputs[1]["feedback"]
    assert out["validation"].status is caco.Status.NO_CONTEXT


# What ends a retry otherwise


@HOW
def test_an_error_of_the_chain_surfaces(guard, how):
    def fails(given):
        if given["feedback"]:
            raise KeyError("broken")
        return {**given, "answer": BAD}

    with pytest.raises(KeyError, match="broken"):
        run(with_hallucination_retry(RunnableLambda(fails), guard), GIVEN, how)


@HOW
def test_a_call_of_tools_is_handed_on(guard, how):
    message = AIMessage("", tool_calls=[CALL])
    chain = RunnableLambda(lambda _: message)
    assert run(with_hallucination_retry(chain, guard), GIVEN, how) is message


@HOW
def test_an_output_without_an_answer_is_named(guard, how):
    chain = RunnableLambda(lambda _: {"draft": BAD})
    with pytest.raises(ValueError, match=r"looked for 'answer'.*\['draft'\]"):
        run(with_hallucination_retry(chain, guard), GIVEN, how)


# Batches


@pytest.mark.parametrize("how", ["batch", "abatch"])
def test_only_rejected_rows_are_run_again(validator, how):
    seen = []

    def answer(given):
        seen.append((given["n"], bool(given["feedback"])))
        wanted = {0: GOOD, 1: BAD, 2: GOOD if given["feedback"] else BAD}[given["n"]]
        return {**given, "answer": wanted}

    class Counted(caco.Validator):
        batches: list[int] = []

        def validate_batch(self, items=None, *arguments, **options):
            items = list(items)
            self.batches.append(len(items))
            return super().validate_batch(items, *arguments, **options)

    own = Counted(classifier=validator.classifier)
    Counted.batches.clear()
    again = with_hallucination_retry(RunnableLambda(answer), CacoGuard(validator=own), 1)
    rows = [{**GIVEN, "n": n} for n in range(3)]
    call = getattr(again, how)(rows)
    outs = asyncio.run(call) if how == "abatch" else call
    assert [out["answer"] for out in outs] == [GOOD, BAD, GOOD]
    assert [out["validation"].is_hallucination for out in outs] == [False, True, False]
    assert sorted(seen) == [(0, False), (1, False), (1, True), (2, False), (2, True)]
    assert Counted.batches == [3, 2]


@pytest.mark.parametrize("how", ["batch", "abatch"])
def test_a_bad_row_spoils_only_itself(guard, how):
    def answer(given):
        if given["n"] == 1:
            raise RuntimeError("broken")
        return {**given, "answer": GOOD}

    again = with_hallucination_retry(RunnableLambda(answer), guard)
    rows = [{**GIVEN, "n": 0}, {**GIVEN, "n": 1}, 3, {**GIVEN, "n": 2}]
    call = getattr(again, how)(rows, return_exceptions=True)
    outs = asyncio.run(call) if how == "abatch" else call
    assert [type(out) for out in outs] == [dict, RuntimeError, TypeError, dict]
    assert again.batch([]) == []


# The Runnable


class Events(BaseCallbackHandler):
    def __init__(self):
        self.events, self.tags, self.open, self.names = [], [], 0, []

    def on_custom_event(self, name, data, **_):
        self.events.append((name, data["is_hallucination"]))

    def on_chain_start(self, serialized, inputs, *, tags=None, name=None, **_):
        self.tags += [tag for tag in tags or [] if tag.startswith("caco:")]
        self.names.append(name)
        self.open += 1

    def on_chain_end(self, outputs, **_):
        self.open -= 1

    on_chain_error = on_chain_end


@HOW
def test_every_attempt_is_told_and_tagged(guard, how):
    handler = Events()
    again = with_hallucination_retry(RunnableLambda(corrected), guard)
    run(again, GIVEN, how, config={"callbacks": [handler], "run_name": "mine"})
    assert handler.events == [("caco_validation", True), ("caco_validation", False)]
    assert handler.tags == ["caco:attempt:1", "caco:attempt:2"]
    assert handler.open == 0
    assert handler.names[0] == "mine"


def test_a_stream_gives_the_answer_whole(guard, model):
    llm = model(lambda prompt: GOOD if "not backed" in prompt else BAD)
    prompt = ChatPromptTemplate.from_template("{question}{feedback}")
    chain = RunnablePassthrough.assign(answer=prompt | llm | StrOutputParser())
    for streaming in ("buffer", "passthrough"):
        checked = guard.model_copy(update={"streaming": streaming})
        (out,) = with_hallucination_retry(chain, checked).stream(GIVEN)
        assert out["answer"] == GOOD


def test_it_stands_in_a_chain(guard):
    again = with_hallucination_retry(RunnableLambda(corrected), guard)
    chain = RunnablePassthrough() | again | (lambda out: out["answer"].upper())
    assert chain.invoke(GIVEN) == GOOD.upper()
    assert list(chain.stream(GIVEN)) == [GOOD.upper()]
    assert chain.batch([GIVEN, GIVEN]) == [GOOD.upper()] * 2


def test_keyword_arguments_reach_the_chain(guard):
    def answer(given, *, extra="none"):
        return {**given, "answer": GOOD, "extra": extra}

    again = with_hallucination_retry(RunnableLambda(answer), guard)
    assert again.invoke(GIVEN, extra="some")["extra"] == "some"
    assert again.batch([GIVEN, GIVEN], extra="some")[1]["extra"] == "some"
    assert asyncio.run(again.ainvoke(GIVEN, extra="some"))["extra"] == "some"


def test_what_can_be_configured_in_the_chain_still_can(guard):
    prompt = ChatPromptTemplate.from_template("a").configurable_fields(
        messages=ConfigurableField(id="prompt_messages")
    )
    again = with_hallucination_retry(prompt, guard)
    assert [spec.id for spec in again.config_specs] == ["prompt_messages"]


def test_schemas(guard):
    chain = ChatPromptTemplate.from_template("{question}{feedback}") | RunnableLambda(corrected)
    again = with_hallucination_retry(chain, guard)
    assert set(again.get_input_jsonschema()["properties"]) == {"question", "feedback"}
    assert again.get_output_jsonschema()["anyOf"]
    assert "HallucinationRetry" in [node.name for node in again.get_graph().nodes.values()]


def test_pickle_and_dumps(guard):
    again = with_hallucination_retry(RunnablePassthrough(), guard)
    copied = pickle.loads(pickle.dumps(again))
    given = {**GIVEN, "answer": BAD}
    assert copied.invoke(given)["validation"] == again.invoke(given)["validation"]
    text = dumps(with_hallucination_retry(ChatPromptTemplate.from_template("{a}"), guard))
    assert "not_implemented" not in text
    assert '"retry", "HallucinationRetry"' in text


def test_a_function_or_a_dict_can_be_the_chain(guard):
    assert with_hallucination_retry(corrected, guard).invoke(GIVEN)["answer"] == GOOD
    chain = {"answer": lambda given: GOOD, "context": lambda given: given["context"]}
    assert not with_hallucination_retry(chain, guard).invoke(GIVEN)["validation"].is_hallucination


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"max_retries": -1}, ValueError, "max_retries"),
        ({"on_exhausted": "ignore"}, ValueError, "on_exhausted"),
        ({"guard": caco.Validator()}, TypeError, "guard must be a CacoGuard, not Validator"),
        ({"chain": 3}, TypeError, "int"),
    ],
)
def test_arguments_that_cannot_hold_are_refused(guard, options, error, said):
    with pytest.raises(error, match=said):
        with_hallucination_retry(**{"chain": corrected, "guard": guard, **options})
    with pytest.raises(ValueError, match="retries"):
        HallucinationRetry(bound=RunnableLambda(corrected), guard=guard, retries=3)


def test_chunks_pass_through_where_none_can_be_taken_back(guard):
    def chunks(inputs):
        for given in inputs:
            yield AddableDict(context=given["context"])
            yield AddableDict(answer="The sky")
            yield AddableDict(answer=" is blue.")

    passing = guard.model_copy(update={"streaming": "passthrough"})
    outs = list(with_hallucination_retry(RunnableGenerator(chunks), passing, 0).stream(GIVEN))
    assert [out["answer"] for out in outs if "answer" in out] == ["The sky", " is blue."]
    assert not outs[-1]["validation"].is_hallucination
    (whole,) = with_hallucination_retry(RunnableGenerator(chunks), passing, 1).stream(GIVEN)
    assert whole["answer"] == GOOD
