"""CacoEvaluator alone and in LlamaIndex's own evaluation tools."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import threading

import pytest
from llama_index.core import Settings
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.evaluation import BatchEvalRunner, EvaluationResult
from llama_index.core.indices.query.query_transform.feedback_transform import (
    FeedbackQueryTransformation,
)
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import (
    RetryGuidelineQueryEngine,
    RetryQueryEngine,
    RetrySourceQueryEngine,
)
from llama_index.core.schema import MetadataMode, QueryBundle
from llama_index.core.tools.eval_query_engine import EvalQueryEngineTool
from pydantic import BaseModel, ValidationError

from caco.errors import ModelNotAvailableError
from caco.models import Status, ValidationResult
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import CacoEvaluationResult, CacoEvaluator

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer."
RIGHT = "The LGPD was enacted in 2018."
WRONG = "The LGPD was enacted in 2015."
QUERY = "When was the LGPD enacted?"


@pytest.fixture
def evaluator(validator) -> CacoEvaluator:
    return CacoEvaluator(validator)


def test_a_faithful_answer_passes(evaluator):
    found = evaluator.evaluate(QUERY, RIGHT, [SOURCE])
    assert isinstance(found, CacoEvaluationResult)
    assert isinstance(found, EvaluationResult)
    assert (found.passing, found.invalid_result) == (True, False)
    assert found.score == pytest.approx(0.99)
    assert found.feedback == found.validation.summary
    assert (found.query, found.response, found.contexts) == (QUERY, RIGHT, [SOURCE])
    assert isinstance(found.validation, ValidationResult)


def test_a_wrong_answer_fails_and_the_feedback_says_why(evaluator):
    found = evaluator.evaluate(QUERY, f"{RIGHT} {WRONG}", [SOURCE])
    assert found.passing is False
    assert found.score < 0.5
    assert WRONG in found.feedback
    assert RIGHT not in found.feedback
    assert found.validation.contradicted[0].text == WRONG


def test_the_embedded_model_gives_the_evidence_as_feedback():
    found = CacoEvaluator().evaluate(response=WRONG, contexts=[SOURCE])
    assert found.passing is False
    assert "The LGPD was enacted in 2018." in found.feedback
    assert CacoEvaluator().evaluate(response=RIGHT, contexts=[SOURCE]).passing is True


@pytest.mark.parametrize("response", [RIGHT, WRONG, "Hello!", "I don't know.", None, ""])
@pytest.mark.parametrize("contexts", [[SOURCE], [], None, [" "]])
def test_every_field_that_others_read_is_set(evaluator, response, contexts):
    found = evaluator.evaluate(QUERY, response, contexts)
    assert type(found.passing) is bool
    assert type(found.score) is float
    assert 0.0 <= found.score <= 1.0
    assert found.feedback.strip() not in ("", "YES", "NO")
    assert found.response is not None
    # What FeedbackQueryTransformation needs, or it raises.
    Settings._llm = MockLLM()
    FeedbackQueryTransformation().run(QueryBundle(QUERY), {"evaluation": found})


@pytest.mark.parametrize("contexts", [[], None, [""], ["  \n"]])
def test_nothing_to_check_against_is_invalid_and_no_pass(evaluator, contexts):
    found = evaluator.evaluate(QUERY, RIGHT, contexts)
    assert (found.passing, found.score, found.invalid_result) == (False, 0.0, True)
    assert found.validation.status is Status.NO_CONTEXT
    assert found.invalid_reason


@pytest.mark.parametrize("response", [None, "", "  \n", "Empty Response"])
def test_no_answer_is_invalid_and_no_pass(evaluator, response):
    found = evaluator.evaluate(QUERY, response, [SOURCE])
    assert (found.passing, found.score, found.invalid_result) == (False, 0.0, True)
    assert found.validation.status is Status.ERROR
    assert "no answer" in found.invalid_reason


def test_a_declining_answer_passes_but_an_unjudged_one_does_not(evaluator):
    declines = evaluator.evaluate(QUERY, "I don't know.", [SOURCE])
    assert (declines.passing, declines.invalid_result) == (True, False)
    lenient = Validator(classifier=FakeClassifier(), on_missing_context="abstain")
    unjudged = CacoEvaluator(lenient).evaluate(QUERY, RIGHT, [])
    assert unjudged.validation.status is Status.ABSTAINED
    assert (unjudged.passing, unjudged.score, unjudged.invalid_result) == (False, 0.0, True)


def test_a_truncated_check_does_not_pass():
    short = Validator(classifier=FakeClassifier(), max_claims=1)
    found = CacoEvaluator(short).evaluate(QUERY, f"{RIGHT} It was signed by Temer.", [SOURCE])
    assert found.validation.coverage.truncated
    assert found.validation.score < 0.5
    assert (found.passing, found.score) == (False, 0.0)


def test_what_the_gate_withholds_does_not_pass_and_the_reason_is_said(withholding):
    found = CacoEvaluator(withholding).evaluate(QUERY, RIGHT, [SOURCE])
    assert found.validation.is_hallucination is False
    assert found.passing is False
    assert "by order" in found.feedback


class Unavailable(FakeClassifier):
    def classify(self, claim, context):
        raise ModelNotAvailableError("no weights here")


class Broken(FakeClassifier):
    def classify(self, claim, context):
        raise ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("classifier", "name", "message"),
    [
        (Unavailable(), ModelNotAvailableError.__name__, "no weights here"),
        (Broken(), ZeroDivisionError.__name__, "oops"),
    ],
)
def test_an_engine_that_fails_is_an_invalid_result_and_logged(classifier, name, message, caplog):
    evaluator = CacoEvaluator(Validator(classifier=classifier))
    with caplog.at_level(logging.ERROR, "llamaindex_caco"):
        for found in (
            evaluator.evaluate(QUERY, RIGHT, [SOURCE]),
            asyncio.run(evaluator.aevaluate(QUERY, RIGHT, [SOURCE])),
        ):
            assert (found.passing, found.score, found.invalid_result) == (False, 0.0, True)
            assert name in found.invalid_reason
            assert message in found.invalid_reason
    assert len(caplog.records) == 2


def test_on_missing_context_raise_becomes_an_invalid_result():
    strict = Validator(classifier=FakeClassifier(), on_missing_context="raise")
    found = CacoEvaluator(strict).evaluate(QUERY, RIGHT, [])
    assert (found.passing, found.invalid_result) == (False, True)


@pytest.mark.parametrize(
    ("response", "contexts", "message"),
    [
        (Response(RIGHT), [SOURCE], "response objects go to evaluate_response"),
        (float("nan"), [SOURCE], "response must be a str, not float"),
        (RIGHT, [None], "source 0 must be a node"),
        (RIGHT, 3, "not iterable"),
    ],
)
def test_wrong_types_are_invalid_results_that_say_so(evaluator, response, contexts, message):
    for found in (
        evaluator.evaluate(QUERY, response, contexts),
        asyncio.run(evaluator.aevaluate(QUERY, response, contexts)),
    ):
        assert (found.passing, found.invalid_result) == (False, True)
        assert message in found.invalid_reason


def test_a_stream_that_breaks_is_an_invalid_result(evaluator, make_node):
    def broken():
        yield RIGHT
        raise ConnectionError("gone")

    async def abroken():
        yield RIGHT
        raise ConnectionError("gone")

    for found in (
        evaluator.evaluate_response(QUERY, StreamingResponse(broken(), [make_node(SOURCE)])),
        asyncio.run(evaluator.aevaluate_response(QUERY, AsyncStreamingResponse(abroken()))),
        evaluator.evaluate_response(QUERY, 3),
    ):
        assert (found.passing, found.invalid_result) == (False, True)
        assert "ConnectionError: gone" in found.feedback or "not int" in found.feedback


def test_a_short_answer_is_read_with_the_question_and_not_with_earlier_feedback():
    """FeedbackQueryTransformation puts the bad answer and the feedback before the question."""
    Settings._llm = MockLLM()
    evaluator = CacoEvaluator()
    bad = evaluator.evaluate(QUERY, "2015", [SOURCE])
    assert bad.passing is False
    query = FeedbackQueryTransformation().run(QueryBundle(QUERY), {"evaluation": bad})
    again = FeedbackQueryTransformation().run(query, {"evaluation": bad})
    assert again.query_str.count("2015") > 2
    assert evaluator.evaluate(again.query_str, "2018", [SOURCE]).passing is True


def test_the_threshold_decides_and_a_bad_one_is_refused(validator):
    assert CacoEvaluator(validator, threshold=0.001).evaluate(QUERY, RIGHT, [SOURCE]).passing is (
        False
    )
    assert CacoEvaluator(validator, threshold=1.0).evaluate(QUERY, WRONG, [SOURCE]).passing is True
    for bad in (-0.1, 1.1, "0.5", True):
        with pytest.raises(ValueError, match=r"threshold must be in \[0, 1\]"):
            CacoEvaluator(validator, threshold=bad)


def test_wrong_arguments_are_named(validator):
    with pytest.raises(ValueError, match="reads 'english'"):
        CacoEvaluator(validator, language="portuguese")
    with pytest.raises(ValueError, match="klingon"):
        CacoEvaluator(language="klingon")
    with pytest.raises(ValueError, match=r"metadata_mode must be one of \['all',.* not 'some'"):
        CacoEvaluator(validator, metadata_mode="some")
    with pytest.raises(TypeError, match=r"must be a caco\.Validator, not a str; it lacks validate"):
        CacoEvaluator("x")
    assert CacoEvaluator(validator, language="en").validator is validator


def test_portuguese():
    found = CacoEvaluator(language="pt-br").evaluate(
        response="A LGPD foi sancionada em 2015.", contexts=["A LGPD foi sancionada em 2018."]
    )
    assert found.passing is False
    assert "contradita" in found.feedback


def test_evaluate_is_synchronous_even_inside_a_running_loop(validator):
    """The base class would start a second loop in a second thread."""
    threads = []
    validator.classifier.verdicts = lambda claim, context: (
        threads.append(threading.current_thread()) or "entailment"
    )

    async def inside() -> None:
        evaluator = CacoEvaluator(validator)
        evaluator.evaluate(QUERY, RIGHT, [SOURCE])
        evaluator.evaluate_response(QUERY, Response(RIGHT))

    asyncio.run(inside())
    assert threads
    assert set(threads) == {threading.current_thread()}


def test_aevaluate_leaves_the_loop_free(validator, loop_watch):
    validator.classifier.verdicts = loop_watch.within(lambda claim, context: "entailment")
    evaluator = CacoEvaluator(validator)
    found = loop_watch.run(lambda: evaluator.aevaluate(QUERY, RIGHT, [SOURCE]))
    assert found.passing is True


def test_aevaluate_takes_what_other_evaluators_take(evaluator, monkeypatch):
    slept = []

    async def sleep(seconds):
        assert evaluator.validator.classifier.calls == []
        slept.append(seconds)

    monkeypatch.setattr("llamaindex_caco.evaluator.asyncio.sleep", sleep)
    found = asyncio.run(
        evaluator.aevaluate(
            query=QUERY,
            response=RIGHT,
            contexts=[SOURCE],
            sleep_time_in_seconds=60,
            reference="something",
        )
    )
    assert found.passing is True
    assert slept == [60]
    assert evaluator.evaluate(QUERY, RIGHT, [SOURCE], reference="something").passing is True


class Answer(BaseModel):
    answer: str


async def _agen(text):
    for token in text.replace(" ", "\0 ").split("\0"):
        yield token


def _responses(text, nodes):
    return {
        "Response": Response(text, nodes),
        "StreamingResponse": StreamingResponse((token for token in text), nodes),
        "AsyncStreamingResponse": AsyncStreamingResponse(_agen(text), nodes),
        "PydanticResponse": PydanticResponse(Answer(answer=text), nodes),
    }


@pytest.mark.parametrize("kind", list(_responses("", [])))
@pytest.mark.parametrize(("text", "passing"), [(RIGHT, True), (WRONG, False)])
@pytest.mark.parametrize("is_async", [False, True])
def test_every_response_class(evaluator, make_node, kind, text, passing, is_async):
    response = _responses(text, [make_node(SOURCE)])[kind]
    if is_async:
        found = asyncio.run(evaluator.aevaluate_response(QUERY, response))
    else:
        found = evaluator.evaluate_response(QUERY, response)
    assert found.passing is passing
    assert found.response == text
    assert found.contexts == [SOURCE]


def test_a_streaming_response_can_still_be_shown_after_its_evaluation(evaluator, make_node):
    response = StreamingResponse((token for token in RIGHT), [make_node(SOURCE)])
    evaluator.evaluate_response(QUERY, response)
    assert str(response) == RIGHT


def test_reading_a_stream_leaves_the_loop_free(evaluator, make_node, loop_watch):
    next_token = loop_watch.within(lambda: RIGHT)

    def tokens():
        yield next_token()

    response = StreamingResponse(tokens(), [make_node(SOURCE)])
    found = loop_watch.run(lambda: evaluator.aevaluate_response(QUERY, response))
    assert found.passing is True


@pytest.mark.parametrize(
    "response", [None, Response(None), Response("Empty Response"), PydanticResponse(None)]
)
def test_a_response_that_says_nothing_is_invalid(evaluator, response):
    for found in (
        evaluator.evaluate_response(QUERY, response),
        asyncio.run(evaluator.aevaluate_response(QUERY, response)),
    ):
        assert (found.passing, found.invalid_result) == (False, True)


def test_an_answer_may_quote_the_metadata_that_the_model_saw(validator, make_node):
    node = make_node("Sales rose.", metadata={"year": 2020})
    response = Response("year: 2020.", [node])
    assert CacoEvaluator(validator).evaluate_response(QUERY, response).passing is True
    own_words = CacoEvaluator(validator, metadata_mode=MetadataMode.NONE)
    assert own_words.evaluate_response(QUERY, response).passing is False
    assert CacoEvaluator(validator, metadata_mode="none")._checker.metadata_mode == "none"
    with pytest.raises(ValueError, match="metadata_mode must be one of"):
        CacoEvaluator(validator, metadata_mode="some")


def test_the_result_survives_json_copies_and_pickling(evaluator):
    found = evaluator.evaluate(QUERY, WRONG, [SOURCE])
    again = CacoEvaluationResult.model_validate_json(found.model_dump_json())
    assert again == found
    assert again.validation == found.validation
    assert copy.deepcopy(found) == found
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.model_dump()["validation"]["is_hallucination"] is True
    with pytest.raises(ValidationError):
        CacoEvaluationResult(validation=3)
    assert "validation" in CacoEvaluationResult.model_json_schema()["properties"]


def test_the_evaluator_is_picklable():
    evaluator = pickle.loads(pickle.dumps(CacoEvaluator(threshold=0.4)))
    assert evaluator.evaluate(QUERY, RIGHT, [SOURCE]).passing is True


def test_it_has_no_prompts(evaluator):
    assert evaluator.get_prompts() == {}
    evaluator.update_prompts({})


@pytest.mark.filterwarnings("ignore:asyncio_module:DeprecationWarning")
def test_batch_eval_runner_over_strings_keeps_going_past_what_cannot_be_judged(validator):
    tries = []

    class Counting(CacoEvaluator):
        async def aevaluate(self, query=None, response=None, contexts=None, **kwargs):
            tries.append(response)
            return await super().aevaluate(query, response, contexts, **kwargs)

    runner = BatchEvalRunner({"caco": Counting(validator)}, workers=4)
    found = runner.evaluate_response_strs(
        queries=[QUERY] * 5,
        response_strs=[RIGHT, WRONG, None, "", RIGHT],
        contexts_list=[[SOURCE], [SOURCE], [SOURCE], [SOURCE], []],
    )["caco"]
    assert [item.passing for item in found] == [True, False, False, False, False]
    assert [item.invalid_result for item in found] == [False, False, True, True, True]
    # After an exception the runner would try again, and wait in between.
    assert len(tries) == 5


@pytest.mark.filterwarnings("ignore:asyncio_module:DeprecationWarning")
def test_batch_eval_runner_over_a_query_engine_and_over_responses(
    evaluator, make_node, make_engine
):
    engine = make_engine([make_node(SOURCE)], lambda prompt: RIGHT if "A?" in prompt else WRONG)
    runner = BatchEvalRunner({"caco": evaluator, "again": evaluator}, workers=4)
    found = runner.evaluate_queries(engine, queries=["A?", "B?", "A?"])
    assert [item.passing for item in found["caco"]] == [True, False, True]
    assert [item.query for item in found["again"]] == ["A?", "B?", "A?"]
    responses = [Response(RIGHT, [make_node(SOURCE)]), Response("Empty Response"), None]
    found = runner.evaluate_responses(queries=["A?"] * 3, responses=responses)
    assert [item.passing for item in found["caco"]] == [True, False, False]


@pytest.mark.filterwarnings("ignore:asyncio_module:DeprecationWarning")
def test_batch_eval_runner_with_keyword_lists(evaluator):
    runner = BatchEvalRunner({"caco": evaluator})
    found = runner.evaluate_response_strs(
        queries=[QUERY],
        response_strs=[RIGHT],
        contexts_list=[[SOURCE]],
        caco={"reference": ["something"]},
    )
    assert found["caco"][0].passing is True


@pytest.mark.parametrize("is_async", [False, True])
def test_eval_query_engine_tool_holds_back_a_failing_answer(
    evaluator, make_node, make_engine, is_async
):
    def ask(answer):
        tool = EvalQueryEngineTool.from_defaults(
            make_engine([make_node(SOURCE)], [answer]), evaluator=evaluator
        )
        return asyncio.run(tool.acall(QUERY)) if is_async else tool.call(QUERY)

    assert ask(RIGHT).content == RIGHT
    refused = ask(WRONG).content
    assert "failed evaluation" in refused
    assert WRONG in refused


def test_retry_query_engine_gets_feedback_it_can_use(evaluator, make_node, make_engine, make_llm):
    """It needs ``Settings.llm`` set, though it never asks it anything."""
    Settings._llm = make_llm(["never asked"])
    llm = make_llm([WRONG, RIGHT])
    engine = RetryQueryEngine(make_engine([make_node(SOURCE)], llm), evaluator, max_retries=2)
    assert str(engine.query(QUERY)) == RIGHT
    assert "not backed by the documents" in llm.prompts[1]
    assert WRONG in llm.prompts[1]
    assert Settings._llm.prompts == []


def test_retry_guideline_query_engine_works_too(evaluator, make_node, make_engine, make_llm):
    Settings._llm = make_llm(["never asked"])
    llm = make_llm([WRONG, RIGHT])
    engine = RetryGuidelineQueryEngine(
        make_engine([make_node(SOURCE)], llm), evaluator, max_retries=2
    )
    assert str(engine.query(QUERY)) == RIGHT
    assert len(llm.prompts) == 2


def test_retry_source_query_engine_accepts_it(evaluator, make_node, make_engine, make_llm):
    """Its retry answers with ``Settings.llm`` whatever ``llm`` it is given, and filters nothing."""
    Settings._llm = make_llm([RIGHT])
    engine = RetrySourceQueryEngine(
        make_engine([make_node(SOURCE)], [WRONG]), evaluator, llm=make_llm(["never asked"])
    )
    assert str(engine.query(QUERY)) == RIGHT


def test_truthiness_of_a_result_says_nothing(evaluator):
    """RetrySourceQueryEngine tests ``if eval_result``, which is why it never filters a source."""
    found = evaluator.evaluate(QUERY, WRONG, [SOURCE])
    assert bool(found) is True
    assert found.passing is False
