"""CacoRetryQueryEngine: feedback, verification of every attempt, the best one kept."""

from __future__ import annotations

import asyncio
import logging

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RouterQueryEngine, TransformQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from pydantic import BaseModel

from caco.errors import HallucinationError
from caco.gate import GatingPolicy
from caco.models import ClaimResult, Status
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import CacoQueryEngine, CacoRetryQueryEngine

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer."
RIGHT = "The LGPD was enacted in 2018."
WRONG = "The LGPD was enacted in 2015."
WORSE = "The LGPD was enacted in 2014. It was signed by Dilma Rousseff."
HALF = f"{RIGHT} It was signed by Dilma Rousseff."
QUERY = "When was the LGPD enacted?"

both = pytest.mark.parametrize("is_async", [False, True])


def ask(engine, query=QUERY, *, is_async=False):
    return asyncio.run(engine.aquery(query)) if is_async else engine.query(query)


@pytest.fixture
def scripted(make_node, make_engine, make_retriever, make_llm, validator):
    """A retrying engine, its LLM and its retriever."""

    def make(script, max_retries=2, *, nodes=None, streaming=False, **options):
        llm = make_llm(script)
        retriever = make_retriever([make_node(SOURCE, id_="law")] if nodes is None else nodes)
        engine = make_engine(retriever, llm, streaming=streaming)
        options = {"validator": validator, **options}
        return CacoRetryQueryEngine(engine, max_retries, **options), llm, retriever

    return make


@both
def test_it_corrects_itself_with_the_feedback(scripted, is_async):
    engine, llm, retriever = scripted([WRONG, RIGHT])
    response = ask(engine, is_async=is_async)
    assert response.response == RIGHT
    result = response.metadata["caco"]
    assert result.is_hallucination is False
    assert [attempt.answer for attempt in result.attempts] == [WRONG, RIGHT]
    assert result.attempts[0].score > 0.5 > result.attempts[1].score
    assert WRONG in result.attempts[0].feedback
    assert result.attempts[1].feedback == ""
    assert QUERY in llm.prompts[1]
    assert "not backed by the documents" in llm.prompts[1]
    assert WRONG in llm.prompts[1]
    assert len(retriever.queries) == 1


@both
def test_the_embedded_model_hands_the_evidence_back(make_node, make_engine, make_llm, is_async):
    def answer(prompt: str) -> str:
        return RIGHT if "contradicted" in prompt else WRONG

    llm = make_llm(answer)
    engine = CacoRetryQueryEngine(make_engine([make_node(SOURCE)], llm))
    response = ask(engine, is_async=is_async)
    assert response.response == RIGHT
    assert "2018" in llm.prompts[1].split("Earlier answer")[1]


@both
def test_a_first_answer_that_holds_is_not_asked_for_again(scripted, is_async):
    engine, llm, _ = scripted([RIGHT, WRONG])
    response = ask(engine, is_async=is_async)
    assert len(llm.prompts) == 1
    assert len(response.metadata["caco"].attempts) == 1


@both
@pytest.mark.parametrize("script", [[WORSE, WRONG, WORSE], [WRONG, WORSE, WORSE]])
def test_the_best_of_failing_attempts_is_kept_and_said_to_fail(scripted, script, is_async):
    engine, llm, _ = scripted(script, validator=Validator(classifier=FakeClassifier(graded)))
    response = ask(engine, is_async=is_async)
    assert len(llm.prompts) == 3
    assert response.response == WRONG
    result = response.metadata["caco"]
    assert result.is_hallucination is True
    assert [attempt.answer for attempt in result.attempts] == script


@both
def test_of_equally_risky_attempts_the_one_with_fewer_faults_is_kept(scripted, is_async):
    script = [f"{WRONG} It was signed by Dilma Rousseff.", WRONG]
    engine, _, _ = scripted(script, max_retries=1)
    response = ask(engine, is_async=is_async)
    assert len({attempt.score for attempt in response.metadata["caco"].attempts}) == 1
    assert response.response == WRONG


@both
def test_a_checking_engine_inside_reads_short_answers_with_the_question_alone(
    make_node, make_engine, is_async
):
    asked = []

    class Recording(Validator):
        def validate(self, response, context, prompt=None):
            asked.append(prompt)
            return super().validate(response, context, prompt)

        async def avalidate(self, response, context, prompt=None):
            return self.validate(response, context, prompt)

    validator = Recording(classifier=FakeClassifier(graded))
    inner = CacoQueryEngine(make_engine([make_node(SOURCE)], [WRONG]), validator=validator)
    ask(CacoRetryQueryEngine(inner, max_retries=2, validator=validator), is_async=is_async)
    assert asked == [QUERY] * 6


def graded(claim, context):
    risk = 0.7 if claim == WRONG else 0.9
    return ClaimResult(claim, "", "contradiction", risk)


def test_every_returned_answer_was_verified(scripted):
    engine, _, _ = scripted([WORSE, HALF, RIGHT], max_retries=1)
    result = engine.query(QUERY).metadata["caco"]
    assert result.is_hallucination is True
    assert len(result.attempts) == 2


@both
@pytest.mark.parametrize(
    ("on_fail", "shown"), [("annotate", HALF), ("replace", "Sorry."), ("redact", RIGHT)]
)
def test_on_fail_applies_to_the_best_attempt(scripted, on_fail, shown, is_async):
    engine, _, _ = scripted([HALF], on_fail=on_fail, fallback_message="Sorry.")
    response = ask(engine, is_async=is_async)
    assert response.response == shown
    assert len(response.metadata["caco"].attempts) == 3


@both
def test_raise_carries_the_history(scripted, is_async):
    engine, _, _ = scripted([WRONG], on_fail="raise")
    with pytest.raises(HallucinationError) as caught:
        ask(engine, is_async=is_async)
    assert len(caught.value.result.attempts) == 3


def test_feedback_is_never_nested(scripted):
    """RetryQueryEngine's third question holds the first bad answer twice."""
    engine, llm, _ = scripted([WRONG, WORSE, WORSE])
    engine.query(QUERY)
    assert WRONG not in llm.prompts[2]
    assert llm.prompts[2].count("Earlier answer:") == 1
    assert llm.prompts[2].count(QUERY) == 1


class Whole(BaseQueryEngine):
    """An engine that only answers as a whole."""

    def __init__(self, answers, nodes):
        super().__init__(None)
        self.answers, self.nodes, self.asked = list(answers), nodes, []

    def _get_prompt_modules(self):
        return {}

    def _query(self, query_bundle):
        self.asked.append(query_bundle)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return answer if not isinstance(answer, str) else Response(answer, self.nodes)

    async def _aquery(self, query_bundle):
        return self._query(query_bundle)


@both
def test_an_engine_that_only_answers_as_a_whole_keeps_the_question_for_retrieval(
    validator, make_node, is_async
):
    inner = Whole([WRONG, RIGHT], [make_node(SOURCE)])
    response = ask(CacoRetryQueryEngine(inner, validator=validator), is_async=is_async)
    assert response.response == RIGHT
    first, second = inner.asked
    assert first.query_str == QUERY
    assert WRONG in second.query_str
    assert second.embedding_strs == [QUERY]


@both
def test_a_router_is_queried_as_a_whole(make_node, make_engine, make_llm, validator, is_async):
    llm = make_llm([WRONG, RIGHT])
    tool = QueryEngineTool.from_defaults(make_engine([make_node(SOURCE)], llm), name="law")
    selector = LLMSingleSelector.from_defaults(make_llm(['[{"choice": 1, "reason": "x"}]']))
    router = RouterQueryEngine(selector, [tool], llm=llm)
    response = ask(CacoRetryQueryEngine(router, validator=validator), is_async=is_async)
    assert response.response == RIGHT
    assert "selector_result" in response.metadata


@both
def test_an_engine_that_retrieves_but_does_not_synthesize(validator, make_node, is_async):
    node = make_node(SOURCE)

    class Half(Whole):
        def retrieve(self, query_bundle):
            return [node]

    engine = CacoRetryQueryEngine(Half([WRONG, RIGHT], [node]), validator=validator)
    assert ask(engine, is_async=is_async).response == RIGHT


@both
def test_a_transforming_engine(make_node, make_engine, make_llm, validator, is_async):
    inner = TransformQueryEngine(
        make_engine([make_node(SOURCE)], make_llm([WRONG, RIGHT])), IdentityQueryTransform()
    )
    engine = CacoRetryQueryEngine(inner, validator=validator)
    assert ask(engine, is_async=is_async).response == RIGHT


@both
def test_a_streaming_engine_is_read_verified_and_streamed_again(scripted, is_async):
    engine, _, _ = scripted([WRONG, RIGHT], streaming=True)
    response = ask(engine, is_async=is_async)
    assert isinstance(response, AsyncStreamingResponse if is_async else StreamingResponse)
    assert response.metadata["caco"].is_hallucination is False
    assert str(response) == RIGHT


class Answer(BaseModel):
    text: str


def test_a_pydantic_answer_stays_one(validator, make_node):
    nodes = [make_node(SOURCE)]
    answers = [PydanticResponse(Answer(text=text), nodes) for text in (WRONG, RIGHT)]
    response = CacoRetryQueryEngine(Whole(answers, nodes), validator=validator).query(QUERY)
    assert response.response == Answer(text=RIGHT)
    assert response.metadata["caco"].is_hallucination is False


@both
def test_an_llm_that_raises_at_first_is_not_hidden(scripted, is_async):
    engine, _, _ = scripted([RuntimeError("rate limit"), RIGHT])
    with pytest.raises(RuntimeError, match="rate limit"):
        ask(engine, is_async=is_async)


@both
def test_an_llm_that_raises_later_loses_nothing_and_is_said(scripted, is_async, caplog):
    engine, _, _ = scripted([WRONG, RuntimeError("rate limit")])
    with caplog.at_level(logging.WARNING, "llamaindex_caco"):
        response = ask(engine, is_async=is_async)
    assert response.response == WRONG
    result = response.metadata["caco"]
    assert result.is_hallucination is True
    assert [attempt.answer for attempt in result.attempts] == [WRONG, ""]
    assert "RuntimeError: rate limit" in result.attempts[1].feedback
    assert "rate limit" in caplog.text


@both
def test_without_nodes_nothing_is_retried_and_nothing_passes(scripted, is_async):
    engine, llm, _ = scripted([RIGHT], nodes=[], on_fail="replace", fallback_message="Sorry.")
    response = ask(engine, is_async=is_async)
    assert response.metadata["caco"].is_hallucination is True
    assert response.response == "Sorry."
    assert llm.prompts == []


@both
def test_an_empty_answer_is_retried(scripted, is_async):
    engine, llm, _ = scripted(["", RIGHT])
    response = ask(engine, is_async=is_async)
    assert response.response == RIGHT
    assert len(llm.prompts) == 2


@both
def test_an_answer_that_declines_is_not_retried(scripted, is_async):
    engine, llm, _ = scripted(["I don't know."])
    assert ask(engine, is_async=is_async).metadata["caco"].status is Status.ABSTAINED
    assert len(llm.prompts) == 1


@pytest.fixture
def gated() -> Validator:
    """Asks for more sources whenever an answer fails."""
    policy = GatingPolicy(
        abstain_if=("score > threshold",), on_abstain=("increase_retrieval_weight",)
    )
    return Validator(classifier=FakeClassifier(_verbatim), policy=policy)


@both
def test_the_gate_may_ask_for_more_sources(scripted, gated, make_node, is_async):
    nodes = [make_node(text, id_=text) for text in ("It rains.", "It snows.", SOURCE, "No.")]
    engine, _, retriever = scripted([RIGHT], nodes=nodes, validator=gated)
    response = ask(engine, is_async=is_async)
    assert response.metadata["caco"].is_hallucination is False
    assert [attempt.answer for attempt in response.metadata["caco"].attempts] == [RIGHT, RIGHT]
    assert len(response.source_nodes) == 4
    assert [query.query_str for query in retriever.queries] == [QUERY, QUERY]
    assert retriever.similarity_top_k == 2


def test_a_vector_index_retrieves_more_when_the_gate_asks(make_node, make_llm, gated):
    class Words(MockEmbedding):
        def _get_text_embedding(self, text):
            return [1.0, float(len(text))]

        def _get_query_embedding(self, query):
            return [1.0, 0.0]

    index = VectorStoreIndex(
        [node.node for node in map(make_node, ("It rains.", "It snows.", SOURCE))],
        embed_model=Words(embed_dim=2),
    )
    inner = index.as_query_engine(llm=make_llm([RIGHT]), similarity_top_k=2)
    response = CacoRetryQueryEngine(inner, validator=gated).query(QUERY)
    assert response.metadata["caco"].is_hallucination is False
    assert len(response.source_nodes) == 3
    assert inner.retriever.similarity_top_k == 2


def test_a_gate_that_cannot_be_obeyed_still_retries(gated, make_node):
    inner = Whole([WRONG, RIGHT], [make_node(SOURCE)])
    assert CacoRetryQueryEngine(inner, validator=gated).query(QUERY).response == RIGHT


def _verbatim(claim, context):
    return "entailment" if claim in context else "contradiction"


@both
def test_an_answer_that_the_gate_withholds_is_tried_again(scripted, withholding, is_async):
    engine, llm, _ = scripted([RIGHT], on_fail="replace", validator=withholding)
    response = ask(engine, is_async=is_async)
    assert len(llm.prompts) == 3
    assert "by order" in llm.prompts[1]
    assert response.response == withholding.policy.message_for("english")


def test_real_async_leaves_the_loop_free(make_node, make_engine, make_llm, loop_watch):
    verdict = loop_watch.within(lambda claim, context: "contradiction")
    engine = CacoRetryQueryEngine(
        make_engine([make_node(SOURCE)], make_llm([WRONG])),
        validator=Validator(classifier=FakeClassifier(verdict)),
    )
    response = loop_watch.run(lambda: engine.aquery(QUERY))
    assert len(response.metadata["caco"].attempts) == 3


def test_the_prompt_is_llama_index_like_and_in_the_validators_language(scripted):
    engine, llm, _ = scripted([WRONG, RIGHT])
    assert "feedback_prompt" in engine.get_prompts()
    engine.update_prompts({"feedback_prompt": PromptTemplate("{query_str} NOT {response}")})
    engine.query(QUERY)
    assert f"{QUERY} NOT {WRONG}" in llm.prompts[1]
    given, llm, _ = scripted([WRONG, RIGHT], feedback_prompt=PromptTemplate("Again: {query_str}"))
    given.query(QUERY)
    assert f"Again: {QUERY}" in llm.prompts[1]
    portuguese = Validator(classifier=FakeClassifier(_verbatim), language="pt")
    engine, llm, _ = scripted([WRONG, RIGHT], validator=portuguese)
    engine.query(QUERY)
    assert "Responda de novo" in llm.prompts[1]


def test_braces_in_answers_are_text(scripted):
    engine, llm, _ = scripted(["The LGPD has {query_str} {articles}.", RIGHT])
    engine.query("What {is} it?")
    assert "The LGPD has {query_str} {articles}." in llm.prompts[1]
    assert "What {is} it?" in llm.prompts[1]


@pytest.mark.parametrize("max_retries", [-1, 1.5, True, "2"])
def test_bad_arguments(scripted, max_retries):
    with pytest.raises(ValueError, match="max_retries must be an int of at least 0"):
        scripted([RIGHT], max_retries)
    with pytest.raises(ValueError, match="on_fail must be one of"):
        scripted([RIGHT], on_fail="explode")
    with pytest.raises(TypeError, match="query_engine must be one, not str"):
        CacoRetryQueryEngine("engine")


def test_no_retries_still_verifies(scripted):
    engine, llm, _ = scripted([WRONG], 0)
    assert engine.query(QUERY).metadata["caco"].is_hallucination is True
    assert len(llm.prompts) == 1


def test_the_image_of_a_question_is_kept(validator, make_node):
    inner = Whole([WRONG, RIGHT], [make_node(SOURCE)])
    CacoRetryQueryEngine(inner, validator=validator).query(QueryBundle(QUERY, image_path="a.png"))
    assert inner.asked[1].image_path == "a.png"
