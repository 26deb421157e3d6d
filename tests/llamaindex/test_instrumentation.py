"""CacoEventHandler and caco_instrumentation: monitoring without changing the application."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
import time

import pytest
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.dispatcher import instrument_tags
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import CustomQueryEngine, RouterQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector
from llama_index.core.tools import QueryEngineTool

from caco.models import Status
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import (
    CacoEventHandler,
    CacoNodePostprocessor,
    CacoQueryEngine,
    CacoRetryQueryEngine,
    MonitorRecord,
    caco_instrumentation,
)

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer."
RIGHT = "The LGPD was enacted in 2018."
WRONG = "The LGPD was enacted in 2015."
QUERY = "When was the LGPD enacted?"

both = pytest.mark.parametrize("is_async", [False, True])


def ask(engine, query=QUERY, *, is_async=False):
    return asyncio.run(engine.aquery(query)) if is_async else engine.query(query)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    before = list(get_dispatcher().event_handlers)
    yield
    assert get_dispatcher().event_handlers == before


@pytest.fixture
def engine(make_node, make_engine):
    def make(answer, **options):
        return make_engine([make_node(SOURCE, id_="law")], [answer], **options)

    return make


@both
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize(("answer", "fails"), [(RIGHT, False), (WRONG, True)])
def test_an_existing_application_is_monitored(
    engine, validator, background, answer, fails, is_async
):
    heard = []
    with caco_instrumentation(validator, on_result=heard.append, background=background) as monitor:
        with instrument_tags({"request": "r1"}):
            response = ask(engine(answer), is_async=is_async)
        assert monitor.flush(10)
        (record,) = monitor.results
    assert isinstance(record, MonitorRecord)
    assert record.result.is_hallucination is fails
    assert (record.answer, record.query, record.error) == (answer, QUERY, None)
    assert record.tags == {"request": "r1"}
    assert record.run_id
    assert heard == [record]
    assert response.response == answer
    assert set(response.metadata) == {"law"}


def test_leaving_the_block_waits_for_the_checks(engine, make_node, make_engine):
    left = threading.Event()

    def held(claim, context):
        assert left.wait(20)
        return "entailment"

    with caco_instrumentation(Validator(classifier=FakeClassifier(held))) as monitor:
        for _ in range(3):
            engine(RIGHT).query(QUERY)
        assert monitor.flush(0.01) is False
        assert monitor.results == ()
        left.set()
    assert len(monitor.results) == 3


def test_it_removes_itself_also_after_an_error_and_only_itself(engine, validator):
    other = CacoEventHandler(validator, background=False)
    root = get_dispatcher()
    root.add_event_handler(other)
    try:
        with (
            pytest.raises(RuntimeError, match="application"),
            caco_instrumentation(validator) as monitor,
        ):
            engine(RIGHT).query(QUERY)
            raise RuntimeError("application")
        assert other in root.event_handlers
        assert monitor not in root.event_handlers
        engine(RIGHT).query(QUERY)
        assert (len(monitor.results), len(other.results)) == (1, 2)
    finally:
        root.event_handlers = [item for item in root.event_handlers if item is not other]


def test_a_dispatcher_of_ones_own(engine, validator):
    own = get_dispatcher("llama_index.core.response_synthesizers.base")
    with caco_instrumentation(validator, dispatcher=own) as monitor:
        engine(RIGHT).query(QUERY)
    assert len(monitor.results) == 1
    assert monitor not in own.event_handlers


@both
def test_the_nodes_are_those_after_the_postprocessors(make_node, make_engine, validator, is_async):
    nodes = [make_node(SOURCE, 0.9), make_node("The LGPD was enacted in 2015.", 0.1)]
    dropping = CacoNodePostprocessor(mode="claim", claim=RIGHT, action="drop", validator=validator)
    engine = make_engine(nodes, [WRONG], node_postprocessors=[dropping])
    with caco_instrumentation(validator) as monitor:
        ask(engine, is_async=is_async)
    (record,) = monitor.results
    assert record.result.is_hallucination is True
    assert record.result.coverage.documents == 1


@both
def test_a_router_is_counted_once(engine, make_llm, validator, is_async):
    """Its answer passes through two QueryEndEvents after one SynthesizeEndEvent."""
    llm = make_llm(['[{"choice": 1, "reason": "law"}]'])
    tool = QueryEngineTool.from_defaults(engine(WRONG), name="law")
    router = RouterQueryEngine(LLMSingleSelector.from_defaults(llm), [tool], llm=llm)
    with caco_instrumentation(validator) as monitor:
        ask(router, is_async=is_async)
    assert [record.answer for record in monitor.results] == [WRONG]


@both
def test_an_answer_combined_without_a_synthesizer_is_caught_at_the_end(
    engine, make_llm, validator, is_async
):
    llm = make_llm(
        ['[{"choice": 1, "reason": "a"}, {"choice": 2, "reason": "b"}]', f"{RIGHT} {WRONG}"]
    )
    tools = [
        QueryEngineTool.from_defaults(engine(RIGHT), name="a"),
        QueryEngineTool.from_defaults(engine(RIGHT), name="b"),
    ]
    router = RouterQueryEngine(LLMMultiSelector.from_defaults(llm), tools, llm=llm)
    with caco_instrumentation(validator) as monitor:
        ask(router, is_async=is_async)
    assert sorted(record.answer for record in monitor.results) == [
        RIGHT,
        RIGHT,
        f"{RIGHT} {WRONG}",
    ]


@both
def test_an_engine_without_a_synthesizer_is_monitored_at_its_end(
    make_node, validator, is_async, given_engine
):
    with caco_instrumentation(validator) as monitor:
        ask(given_engine(Response(WRONG, [make_node(SOURCE)])), is_async=is_async)
        ask(given_engine(Response(WRONG)), is_async=is_async)
        ask(given_engine(PydanticResponse(None)), is_async=is_async)
    statuses = [record.result.status for record in monitor.results]
    assert statuses == [Status.CHECKED, Status.NO_CONTEXT, Status.ERROR]
    assert all(record.result.is_hallucination for record in monitor.results)


@both
def test_a_stream_is_checked_once_read_and_its_tokens_are_untouched(engine, validator, is_async):
    with caco_instrumentation(validator) as monitor:
        response = ask(engine(WRONG, streaming=True), is_async=is_async)
        monitor.flush()
        assert monitor.results == ()
        if is_async:

            async def tokens():
                return [token async for token in response.async_response_gen()]

            found = asyncio.run(tokens())
        else:
            found = list(response.response_gen)
        monitor.flush()
        (record,) = monitor.results
    assert len(found) == len(WRONG.split())
    assert "".join(found) == WRONG
    assert record.result.is_hallucination is True
    assert record.query == QUERY


@both
def test_a_stream_read_through_str_or_get_response(engine, validator, is_async):
    with caco_instrumentation(validator) as monitor:
        assert str(ask(engine(WRONG, streaming=True), is_async=is_async)) == WRONG
        got = ask(engine(WRONG, streaming=True), is_async=is_async).get_response()
        assert (asyncio.run(got) if is_async else got).response == WRONG
    assert [record.answer for record in monitor.results] == [WRONG, WRONG]


def test_an_abandoned_stream_leaves_nothing(engine, validator):
    with caco_instrumentation(validator) as monitor:
        response = engine(WRONG, streaming=True).query(QUERY)
        next(response.response_gen)
        response.response_gen.close()
        del response
        gc.collect()
        assert monitor._seen == {}
    assert monitor.results == ()
    assert monitor.errors == 0


def test_memory_of_answers_seen_is_freed_with_them(engine, validator):
    with caco_instrumentation(validator) as monitor:
        for _ in range(5):
            engine(RIGHT).query(QUERY)
        gc.collect()
        assert monitor._seen == {}
    assert len(monitor.results) == 5


@both
def test_chat_engines_fire_too(make_node, make_retriever, make_llm, validator, is_async):
    chat = ContextChatEngine.from_defaults(
        retriever=make_retriever([make_node(SOURCE)]),
        llm=make_llm([WRONG]),
        memory=ChatMemoryBuffer.from_defaults(token_limit=1000),
    )

    async def streamed():
        response = await chat.astream_chat(QUERY)
        return [token async for token in response.async_response_gen()]

    with caco_instrumentation(validator) as monitor:
        if is_async:
            asyncio.run(chat.achat(QUERY))
            asyncio.run(streamed())
        else:
            chat.chat(QUERY)
            list(chat.stream_chat(QUERY).response_gen)
    assert [record.answer for record in monitor.results] == [WRONG, WRONG]


@both
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("on_fail", ["annotate", "redact", "replace"])
def test_what_a_guard_checked_is_not_checked_again(engine, validator, streaming, on_fail, is_async):
    guarded = CacoQueryEngine(engine(WRONG, streaming=streaming), on_fail, validator=validator)
    with caco_instrumentation(validator) as monitor:
        str(ask(guarded, is_async=is_async))
    assert [record.answer for record in monitor.results] == [WRONG]


def test_every_attempt_of_a_retry_is_seen(make_node, make_engine, validator):
    engine = make_engine([make_node(SOURCE)], [WRONG, RIGHT])
    with caco_instrumentation(validator) as monitor:
        CacoRetryQueryEngine(engine, validator=validator).query(QUERY)
    assert [record.answer for record in monitor.results] == [WRONG, RIGHT]
    # An earlier answer and what was wrong with it are no part of the question.
    assert [record.query for record in monitor.results] == [QUERY, QUERY]


def test_a_synthesizer_alone(make_node, make_llm, validator):
    synthesizer = get_response_synthesizer(llm=make_llm([WRONG]))
    with caco_instrumentation(validator) as monitor:
        synthesizer.synthesize(QUERY, [make_node(SOURCE)])
        synthesizer.synthesize(QUERY, [])
    first, second = monitor.results
    assert first.result.status is Status.CHECKED
    assert (second.answer, second.result.status) == ("", Status.ERROR)


class Broken(FakeClassifier):
    def classify(self, claim, context):
        raise ZeroDivisionError("oops")


@both
@pytest.mark.parametrize("background", [False, True])
def test_a_check_that_fails_is_counted_logged_and_recorded(engine, caplog, background, is_async):
    broken = Validator(classifier=Broken())
    with (
        caplog.at_level(logging.ERROR, "llamaindex_caco"),
        caco_instrumentation(broken, background=background) as monitor,
    ):
        assert ask(engine(RIGHT), is_async=is_async).response == RIGHT
    (record,) = monitor.results
    assert record.result is None
    assert record.answer == RIGHT
    assert isinstance(record.error, ZeroDivisionError)
    assert monitor.errors == 1
    assert "ZeroDivisionError: oops" in caplog.text


@pytest.mark.parametrize("background", [False, True])
def test_a_hook_that_fails_is_counted_and_logged_and_stops_nothing(
    engine, validator, caplog, background
):
    def hook(record):
        raise LookupError("no such dashboard")

    with (
        caplog.at_level(logging.ERROR, "llamaindex_caco"),
        caco_instrumentation(validator, on_result=hook, background=background) as monitor,
    ):
        for _ in range(2):
            engine(RIGHT).query(QUERY)
    assert len(monitor.results) == 2
    assert monitor.errors == 2
    assert "no such dashboard" in caplog.text


@pytest.mark.parametrize("streaming", [False, True])
def test_nodes_that_cannot_be_read_break_nothing_and_are_counted(
    make_node, make_engine, validator, caplog, streaming
):
    """The dispatcher swallows what a handler raises: it must be heard of all the same."""
    node = make_node(SOURCE)
    engine = make_engine([node], [RIGHT], streaming=streaming)
    with (
        caplog.at_level(logging.ERROR, "llamaindex_caco"),
        caco_instrumentation(validator) as monitor,
    ):
        monitor._checker = None
        assert str(engine.query(QUERY)) == RIGHT
    assert monitor.results == ()
    assert monitor.errors == 1
    assert "could not be monitored" in caplog.text


def test_a_full_queue_drops_and_says_so(engine, caplog):
    release = threading.Event()

    def wait(claim, context):
        release.wait(10)
        return "entailment"

    with (
        caplog.at_level(logging.WARNING, "llamaindex_caco"),
        caco_instrumentation(Validator(classifier=FakeClassifier(wait)), max_queue=1) as monitor,
    ):
        for _ in range(5):
            engine(RIGHT).query(QUERY)
        release.set()
    assert monitor.dropped >= 3
    assert len(monitor.results) + monitor.dropped == 5
    assert "dropped" in caplog.text


def test_results_are_bounded(engine, validator):
    with caco_instrumentation(validator, max_results=2) as monitor:
        for answer in (RIGHT, WRONG, RIGHT):
            engine(answer).query(QUERY)
    assert [record.answer for record in monitor.results] == [WRONG, RIGHT]


def test_the_worker_ends_when_idle_and_starts_again(engine, validator, monkeypatch):
    monkeypatch.setattr("llamaindex_caco.instrumentation._IDLE_SECONDS", 0.02)
    with caco_instrumentation(validator) as monitor:
        engine(RIGHT).query(QUERY)
        monitor.flush()
        deadline = time.monotonic() + 5
        while monitor._worker is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert monitor._worker is None
        engine(RIGHT).query(QUERY)
    assert len(monitor.results) == 2


def test_flush_inside_the_hook_is_refused_rather_than_waiting_for_itself(engine, validator, caplog):
    with caco_instrumentation(validator, on_result=lambda record: monitor.flush()) as monitor:
        engine(RIGHT).query(QUERY)
    assert monitor.errors == 1
    assert "would wait for itself" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_a_worker_of_its_own(engine, validator):
    with caco_instrumentation(validator) as monitor:
        engine(RIGHT).query(QUERY)
        monitor.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                engine(WRONG).query(QUERY)
                done = monitor.flush(10)
                code = 0 if done and len(monitor.results) == 2 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(monitor.results) == 1


def test_answers_of_many_threads_are_all_checked_against_their_own_sources(
    make_node, make_engine, validator
):
    engine = make_engine(
        lambda query: [make_node(f"Number {query}.")],
        lambda prompt: f"Number {prompt.rsplit('Query: ', 1)[1].split()[0]}.",
    )
    with caco_instrumentation(validator) as monitor:
        threads = [threading.Thread(target=engine.query, args=(f"n{i}",)) for i in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(monitor.results) == 30
    assert not any(record.result.is_hallucination for record in monitor.results)


def test_the_event_loop_is_not_held_up(engine, loop_watch):
    verdict = loop_watch.within(lambda claim, context: "entailment")

    async def work():
        await engine(RIGHT).aquery(QUERY)
        assert await asyncio.to_thread(monitor.flush)

    with caco_instrumentation(Validator(classifier=FakeClassifier(verdict))) as monitor:
        loop_watch.run(work)
    assert len(monitor.results) == 1


class Custom(CustomQueryEngine):
    def custom_query(self, query_str: str) -> str:
        return "No events come from here."


def test_what_llama_index_does_not_tell_cannot_be_seen(validator):
    """CustomQueryEngine dispatches no event: use CacoQueryEngine around it."""
    with caco_instrumentation(validator) as monitor:
        Custom().query(QUERY)
    assert monitor.results == ()


def test_bad_arguments(validator):
    for name in ("max_results", "max_queue"):
        for bad in (0, "many"):
            with pytest.raises(ValueError, match=f"{name} must be an int of at least 1"):
                CacoEventHandler(validator, **{name: bad})
    with pytest.raises(TypeError, match="on_result must be a function, not int"):
        CacoEventHandler(validator, on_result=3)
    with pytest.raises(TypeError, match=r"must be a caco\.Validator"):
        CacoEventHandler("x")
    with pytest.raises(TypeError, match="maximum"), caco_instrumentation(validator, maximum=3):
        pass
    assert CacoEventHandler.class_name() == "CacoEventHandler"
