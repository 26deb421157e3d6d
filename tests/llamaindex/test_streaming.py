"""Answers that are checked while they stream."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)

from caco.errors import HallucinationError
from caco.models import Status
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import CacoQueryEngine

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer. It has 65 articles."
FIRST = "The LGPD was enacted in 2018."
WRONG = "It was signed by Dilma Rousseff."
LAST = "It has 65 articles."
ANSWER = f"{FIRST} {WRONG} {LAST}"
FAITHFUL = SOURCE
QUERY = "What about the LGPD?"


@pytest.fixture
def stream(make_node, make_engine, validator):
    """The checked streaming response to an answer, synchronous or asynchronous."""

    def make(answer, on_fail="annotate", *, is_async=False, **options):
        nodes = options.pop("nodes", [make_node(SOURCE, id_="law")])
        engine = make_engine(nodes, [answer], streaming=True)
        guarded = CacoQueryEngine(engine, on_fail, **{"validator": validator, **options})
        return asyncio.run(guarded.aquery(QUERY)) if is_async else guarded.query(QUERY)

    return make


def read(response) -> list[str]:
    if isinstance(response, StreamingResponse):
        return list(response.response_gen)

    async def tokens():
        return [token async for token in response.async_response_gen()]

    return asyncio.run(tokens())


both = pytest.mark.parametrize("is_async", [False, True])


@both
def test_annotate_passes_every_token_as_it_comes(stream, is_async):
    response = stream(ANSWER, is_async=is_async)
    assert isinstance(response, AsyncStreamingResponse if is_async else StreamingResponse)
    assert "caco" not in response.metadata
    tokens = read(response)
    assert len(tokens) == len(ANSWER.split())
    assert "".join(tokens) == ANSWER
    result = response.metadata["caco"]
    assert result.is_hallucination is True
    assert result.response == ANSWER
    assert "law" in response.metadata


@both
def test_the_verdict_equals_that_of_the_whole_text(stream, validator, is_async, given_engine):
    response = stream(ANSWER, is_async=is_async)
    read(response)
    (node,) = response.source_nodes
    whole = CacoQueryEngine(given_engine(), validator=validator).check_response(
        Response(ANSWER, [node]), QUERY
    )
    assert response.metadata["caco"] == whole.metadata["caco"]


def test_str_after_direct_iteration_is_the_text(stream):
    """LlamaIndex alone would say "None": iterating response_gen leaves response_txt unset."""
    response = stream(ANSWER)
    read(response)
    assert str(response) == ANSWER
    assert response.get_response().metadata["caco"].is_hallucination is True


@pytest.mark.parametrize("how", [str, lambda response: response.get_response().response])
def test_str_and_get_response_read_and_check_the_stream(stream, how):
    response = stream(ANSWER)
    assert how(response) == ANSWER
    assert response.metadata["caco"].is_hallucination is True


def test_print_response_stream(stream, capsys):
    response = stream(ANSWER)
    response.print_response_stream()
    assert capsys.readouterr().out == ANSWER
    assert response.metadata["caco"].is_hallucination is True


@pytest.mark.parametrize("how", ["response_gen", "async_response_gen", "get_response", "str"])
def test_every_way_of_reading_an_asynchronous_stream(stream, how):
    response = stream(ANSWER, is_async=True)

    async def text() -> str:
        if how == "response_gen":
            return "".join([token async for token in response.response_gen])
        if how == "async_response_gen":
            return "".join([token async for token in response.async_response_gen()])
        if how == "get_response":
            return (await response.get_response()).response
        return str(response)

    assert asyncio.run(text()) == ANSWER
    assert response.metadata["caco"].is_hallucination is True
    assert response.response_txt == ANSWER


@both
@pytest.mark.parametrize("answer", [FAITHFUL, "Hello!", "I don't know."])
@pytest.mark.parametrize("on_fail", ["annotate", "raise", "replace", "redact"])
def test_a_faithful_stream_is_never_changed(stream, answer, on_fail, is_async):
    response = stream(answer, on_fail, is_async=is_async)
    assert "".join(read(response)) == answer
    assert response.metadata["caco"].is_hallucination is False


@both
def test_raise_lets_verified_sentences_through_and_not_a_token_more(stream, is_async):
    response = stream(ANSWER, "raise", is_async=is_async)
    shown: list[str] = []

    async def consume():
        async for token in response.response_gen:
            shown.append(token)

    with pytest.raises(HallucinationError) as caught:
        if is_async:
            asyncio.run(consume())
        else:
            for token in response.response_gen:
                shown.append(token)
    assert "".join(shown) == FIRST
    assert caught.value.result.response == ANSWER
    assert response.metadata["caco"] == caught.value.result


@both
@pytest.mark.parametrize("on_fail", ["annotate", "raise", "replace", "redact"])
def test_a_gate_decides_on_the_whole_answer(stream, withholding, on_fail, is_async):
    """No sentence, though verified, is shown of an answer that is withheld."""
    response = stream(
        FAITHFUL, on_fail, is_async=is_async, validator=withholding, fallback_message="No."
    )
    if on_fail == "raise":
        shown = []

        async def consume():
            async for token in response.response_gen:
                shown.append(token)

        with pytest.raises(HallucinationError):
            asyncio.run(consume()) if is_async else shown.extend(response.response_gen)
        assert shown == []
    else:
        assert read(response) == [withholding.policy.message_for("english")]


def test_raise_shows_verified_sentences_before_the_answer_is_complete(
    make_node, make_engine, validator, given_engine
):
    def slow_answer():
        yield f"{FIRST} "
        yield "It was signed "
        raise RuntimeError("the connection broke")

    guarded = CacoQueryEngine(given_engine(), "raise", validator=validator).check_response(
        StreamingResponse(slow_answer(), [make_node(SOURCE)]), QUERY
    )
    shown = []
    with pytest.raises(RuntimeError, match="connection broke"):
        for token in guarded.response_gen:
            shown.append(token)
    assert "".join(shown) == FIRST
    assert "caco" not in guarded.metadata


@both
@pytest.mark.parametrize(
    ("on_fail", "shown"), [("replace", "Sorry."), ("redact", f"{FIRST} {LAST}")]
)
def test_replace_and_redact_show_nothing_before_the_verdict(stream, on_fail, shown, is_async):
    response = stream(ANSWER, on_fail, is_async=is_async, fallback_message="Sorry.")
    assert read(response) == [shown]
    assert response.response_txt == shown
    assert response.metadata["caco"].response == ANSWER


@both
def test_claims_are_judged_as_sentences_complete(stream, is_async):
    events: list[str] = []
    response = stream(ANSWER, is_async=is_async, on_claim=lambda claim: events.append(claim.text))

    async def consume():
        async for token in response.response_gen:
            events.append(token)

    if is_async:
        asyncio.run(consume())
    else:
        for token in response.response_gen:
            events.append(token)
    claims = [event for event in events if event in (FIRST, WRONG, LAST)]
    assert claims == [FIRST, WRONG, LAST]
    # The first sentence is judged as soon as the second begins, long before the end.
    assert events.index(FIRST) == events.index(" It") + 1
    assert events.index(WRONG) < events.index(" articles.")


@both
def test_without_sources_a_stream_is_no_pass(stream, is_async):
    response = stream(FAITHFUL, "raise", is_async=is_async, nodes=[])
    with pytest.raises(HallucinationError):
        read(response)
    assert response.metadata["caco"].is_hallucination is True


@both
def test_a_stream_that_says_nothing_is_an_error(stream, is_async):
    response = stream("", is_async=is_async)
    assert "".join(read(response)) == ""
    assert response.metadata["caco"].status is Status.ERROR


@both
def test_llama_indexs_stand_in_for_an_answer_is_none(make_node, validator, is_async, given_engine):
    async def later():
        yield "Empty Response"

    nodes = [make_node("Empty Response")]
    response = (
        AsyncStreamingResponse(later(), nodes)
        if is_async
        else StreamingResponse((token for token in ("Empty ", "Response")), nodes)
    )
    guarded = CacoQueryEngine(given_engine(), validator=validator).check_response(response)
    assert "".join(read(guarded)) == "Empty Response"
    assert guarded.metadata["caco"].status is Status.ERROR


def test_an_abandoned_stream_has_no_verdict(stream):
    response = stream(ANSWER)
    tokens = response.response_gen
    assert next(tokens)
    tokens.close()
    assert "caco" not in response.metadata


def test_a_response_that_was_already_read_is_checked_as_it_is(make_node, validator, given_engine):
    """LlamaIndex's RetryQueryEngine returns streams whose generator is exhausted."""
    response = StreamingResponse((token for token in ()), [make_node(SOURCE)], None, ANSWER)
    guarded = CacoQueryEngine(given_engine(), "redact", validator=validator).check_response(
        response
    )
    assert str(guarded) == f"{FIRST} {LAST}"


def test_reading_a_stream_leaves_the_loop_free(make_node, make_engine, loop_watch):
    verdict = loop_watch.within(lambda claim, context: "entailment")
    engine = make_engine([make_node(SOURCE)], [FAITHFUL], streaming=True)
    guarded = CacoQueryEngine(engine, validator=Validator(classifier=FakeClassifier(verdict)))

    async def work():
        response = await guarded.aquery(QUERY)
        return "".join([token async for token in response.response_gen])

    assert loop_watch.run(work) == FAITHFUL


def test_the_embedded_model_on_a_stream(make_node, make_engine):
    engine = make_engine([make_node(SOURCE)], [ANSWER], streaming=True)
    response = CacoQueryEngine(engine, "redact").query(QUERY)
    assert str(response) == f"{FIRST} {LAST}"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_size_of_the_tokens_changes_nothing(make_node, validator, size, given_engine):
    answer = "Sure!\n\n- The LGPD was enacted in 2018.\n- It has 3.5 articles, e.g. no. 7.\n\nBye!"
    seen = []
    tokens = (answer[i : i + size] for i in range(0, len(answer), size))
    guarded = CacoQueryEngine(
        given_engine(), validator=validator, on_claim=seen.append
    ).check_response(StreamingResponse(tokens, [make_node(SOURCE)]))
    assert str(guarded) == answer
    result = guarded.metadata["caco"]
    assert seen == [claim for claim in result.claims if claim.checkworthy]
