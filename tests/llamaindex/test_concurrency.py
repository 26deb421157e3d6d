"""Many questions at once: nobody gets another's verdict, and the loop keeps turning."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import AsyncStreamingResponse, Response

from caco.validator import Validator
from llamaindex_caco import CacoQueryEngine, CacoRetryQueryEngine, caco_instrumentation

COUNT = 100


@pytest.fixture(scope="module")
def validator() -> Validator:
    validator = Validator()
    validator.preload()
    return validator


def document(number: int) -> str:
    return f"The fee of plan n{number} is {number + 100} euros."


def answer(number: int) -> str:
    """Every third answer is wrong."""
    return document(number if number % 3 else number + 500).replace(
        f"n{number + 500} ", f"n{number} "
    )


class Direct(BaseQueryEngine):
    """Answers with hardly any work: whatever holds up the loop is not the synthesizer's doing."""

    def __init__(self, make_node, *, streaming: bool = False) -> None:
        super().__init__(None)
        self.make_node = make_node
        self.streaming = streaming

    def _get_prompt_modules(self):
        return {}

    def _query(self, query_bundle):
        raise AssertionError("asynchronous only")

    async def _aquery(self, query_bundle):
        number = int(query_bundle.query_str.split()[0][1:])
        # Models do not all answer in the same instant.
        await asyncio.sleep(number % 20 * 0.005)
        nodes = [self.make_node(document(number), id_=f"n{number}")]
        if self.streaming:
            return AsyncStreamingResponse(tokens(answer(number)), nodes)
        return Response(answer(number), nodes)


async def tokens(text: str):
    for token in text.replace(" ", "\0 ").split("\0"):
        await asyncio.sleep(0.001)
        yield token


@pytest.fixture
def engine(make_node, make_engine):
    """LlamaIndex's own retriever engine with a document of its own for each question."""
    return make_engine(
        lambda query: [make_node(document(int(query[1:])), id_=query)],
        lambda prompt: answer(int(prompt.rsplit("Query: ", 1)[1].split()[0][1:])),
    )


def assert_unmixed(number: int, response) -> None:
    result = response.metadata["caco"]
    assert [node.node_id for node in response.source_nodes] == [f"n{number}"]
    assert f"plan n{number} " in result.response
    assert result.is_hallucination is (number % 3 == 0), result
    assert result.claims[0].evidence_document == f"n{number}"


async def ask_all(engine: BaseQueryEngine):
    async def ask(number: int):
        response = await engine.aquery(f"n{number}")
        if isinstance(response, AsyncStreamingResponse):
            await response.get_response()
        return response

    return await asyncio.gather(*(ask(number) for number in range(COUNT)))


@pytest.mark.parametrize("streaming", [False, True])
def test_a_hundred_concurrent_questions_hold_nothing_up(
    make_node, watched_validator, loop_watch, streaming
):
    guarded = CacoQueryEngine(Direct(make_node, streaming=streaming), validator=watched_validator)
    for number, response in enumerate(loop_watch.run(lambda: ask_all(guarded))):
        assert_unmixed(number, response)


def test_a_hundred_concurrent_retries_hold_nothing_up(make_node, watched_validator, loop_watch):
    retrying = CacoRetryQueryEngine(Direct(make_node), 1, validator=watched_validator)
    for number, response in enumerate(loop_watch.run(lambda: ask_all(retrying))):
        assert_unmixed(number, response)


def test_a_hundred_concurrent_questions_under_monitoring(make_node, watched_validator, loop_watch):
    async def work():
        await ask_all(Direct(make_node))
        assert await asyncio.to_thread(monitor.flush)

    with caco_instrumentation(watched_validator) as monitor:
        loop_watch.run(work)
    assert len(monitor.results) == COUNT
    assert monitor.errors == monitor.dropped == 0
    for record in monitor.results:
        number = int(record.query[1:])
        assert record.answer == answer(number)
        assert record.result.is_hallucination is (number % 3 == 0)


def test_a_hundred_concurrent_questions_to_a_retriever_engine(engine, validator):
    guarded = CacoQueryEngine(engine, validator=validator)
    for number, response in enumerate(asyncio.run(ask_all(guarded))):
        assert_unmixed(number, response)


def test_a_hundred_concurrent_retries(engine, validator):
    retrying = CacoRetryQueryEngine(engine, 1, validator=validator)
    for number, response in enumerate(asyncio.run(ask_all(retrying))):
        assert_unmixed(number, response)
        assert len(response.metadata["caco"].attempts) == (2 if number % 3 == 0 else 1)
