"""CacoChatEngine around chat engines that retrieve."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
    SimpleChatEngine,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.memory import ChatMemoryBuffer

from caco.errors import HallucinationError
from caco.models import Status
from llamaindex_caco import CacoChatEngine, CacoEvaluator, CacoQueryEngine

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer."
RIGHT = "The LGPD was enacted in 2018."
WRONG = "The LGPD was enacted in 2015."
QUERY = "When was the LGPD enacted?"


@pytest.fixture(params=["context", "condense_plus_context", "condense_question"])
def make_chat(request, make_node, make_retriever, make_llm, make_engine):
    def make(answer, streaming=False):
        llm, nodes = make_llm([answer]), [make_node(SOURCE, id_="law")]
        memory = ChatMemoryBuffer.from_defaults(token_limit=1000)
        if request.param == "condense_question":
            return CondenseQuestionChatEngine.from_defaults(
                query_engine=make_engine(nodes, llm, streaming=streaming), llm=llm, memory=memory
            )
        kind = {
            "context": ContextChatEngine,
            "condense_plus_context": CondensePlusContextChatEngine,
        }[request.param]
        return kind.from_defaults(retriever=make_retriever(nodes), llm=llm, memory=memory)

    return make


both = pytest.mark.parametrize("is_async", [False, True])


@both
@pytest.mark.parametrize(("answer", "shown"), [(RIGHT, RIGHT), (WRONG, "No.")])
def test_chat(make_chat, validator, answer, shown, is_async):
    engine = CacoChatEngine(
        make_chat(answer), "replace", validator=validator, fallback_message="No."
    )
    response = asyncio.run(engine.achat(QUERY)) if is_async else engine.chat(QUERY)
    assert isinstance(response, AgentChatResponse)
    assert str(response) == shown
    assert response.metadata["caco"].response == answer
    assert response.source_nodes[0].node_id == "law"
    assert response.sources
    assert [message.content for message in engine.chat_history] == [QUERY, answer]
    engine.reset()
    assert engine.chat_history == []


@both
@pytest.mark.parametrize(
    ("on_fail", "shown"), [("annotate", f"{RIGHT} {WRONG}"), ("redact", RIGHT)]
)
def test_stream_chat(make_chat, validator, on_fail, shown, is_async):
    answer = f"{RIGHT} {WRONG}"
    engine = CacoChatEngine(make_chat(answer, streaming=True), on_fail, validator=validator)

    async def consume():
        response = await engine.astream_chat(QUERY)
        return response, "".join([token async for token in response.async_response_gen()])

    if is_async:
        response, text = asyncio.run(consume())
    else:
        response = engine.stream_chat(QUERY)
        text = "".join(response.response_gen)
    assert isinstance(response, StreamingAgentChatResponse)
    assert text == shown
    assert str(response) == shown
    assert response.metadata["caco"].is_hallucination is True
    assert [message.content for message in engine.chat_history] == [QUERY, answer]


@both
def test_the_evaluator_reads_a_streaming_chat_response(make_chat, validator, is_async):
    chat, evaluator = make_chat(WRONG, streaming=True), CacoEvaluator(validator)

    async def evaluated():
        response = await chat.astream_chat(QUERY)
        first = await evaluator.aevaluate_response(QUERY, response)
        return first, await evaluator.aevaluate_response(QUERY, response)

    if is_async:
        found = asyncio.run(evaluated())
    else:
        response = chat.stream_chat(QUERY)
        found = [evaluator.evaluate_response(QUERY, response) for _ in range(2)]
    assert [(item.passing, item.response) for item in found] == [(False, WRONG)] * 2


@both
def test_a_streaming_chat_response_can_be_checked_alone(make_chat, validator, is_async):
    chat = make_chat(f"{RIGHT} {WRONG}", streaming=True)
    checker = CacoQueryEngine(chat, "redact", validator=validator)

    async def consumed():
        response = await checker.acheck_response(await chat.astream_chat(QUERY), QUERY)
        return response, (await response.get_response()).response

    if is_async:
        response, text = asyncio.run(consumed())
    else:
        response = checker.check_response(chat.stream_chat(QUERY), QUERY)
        text = str(response)
    assert text == RIGHT
    assert response.metadata["caco"].is_hallucination is True


def test_stream_chat_raises_before_the_wrong_sentence(make_chat, validator):
    engine = CacoChatEngine(
        make_chat(f"{RIGHT} {WRONG}", streaming=True), "raise", validator=validator
    )
    shown = []
    with pytest.raises(HallucinationError):
        for token in engine.stream_chat(QUERY).response_gen:
            shown.append(token)
    assert "".join(shown) == RIGHT


def test_a_chat_engine_without_sources_never_passes(make_llm, validator):
    # Its default memory is a database whose connection LlamaIndex leaves open.
    memory = ChatMemoryBuffer.from_defaults(token_limit=1000)
    chat = SimpleChatEngine.from_defaults(llm=make_llm([RIGHT]), memory=memory)
    response = CacoChatEngine(chat, "replace", validator=validator).chat(QUERY)
    assert response.metadata["caco"].status is Status.NO_CONTEXT
    assert response.response != RIGHT


def test_bad_arguments(make_chat, validator):
    with pytest.raises(ValueError, match="on_fail"):
        CacoChatEngine(make_chat(RIGHT), "explode")
    with pytest.raises(TypeError, match="chat_engine must be one, not str"):
        CacoChatEngine("engine")
    assert CacoChatEngine(make_chat(RIGHT), validator=validator).validator is validator
