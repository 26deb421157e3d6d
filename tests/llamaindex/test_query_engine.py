"""CacoQueryEngine around the kinds of engines that LlamaIndex has."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import pickle
from typing import Any

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import PydanticResponse, Response
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.instrumentation.events.query import QueryEndEvent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.question_gen.types import BaseQuestionGenerator, SubQuestion
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from pydantic import BaseModel, TypeAdapter

from caco.errors import HallucinationError, ModelNotAvailableError
from caco.models import Status, ValidationResult
from caco.testing import FakeClassifier
from caco.validator import Validator
from llamaindex_caco import CacoQueryEngine

SOURCE = "The LGPD was enacted in 2018. It was signed by Michel Temer."
RIGHT = "The LGPD was enacted in 2018."
WRONG = "The LGPD was enacted in 2015."
QUERY = "When was the LGPD enacted?"


def ask(engine: BaseQueryEngine, query: str = QUERY, *, is_async: bool = False):
    return asyncio.run(engine.aquery(query)) if is_async else engine.query(query)


@pytest.fixture
def guarded(make_node, make_engine, validator):
    """A checked retriever engine over one source, answering with the given text."""

    def make(answer: str, on_fail="annotate", **options):
        engine = make_engine([make_node(SOURCE, 0.9, id_="law")], [answer])
        return CacoQueryEngine(engine, on_fail, **{"validator": validator, **options})

    return make


both = pytest.mark.parametrize("is_async", [False, True])


@both
@pytest.mark.parametrize("on_fail", ["annotate", "raise", "replace", "redact"])
def test_a_faithful_answer_is_never_changed(guarded, on_fail, is_async):
    response = ask(guarded(RIGHT, on_fail), is_async=is_async)
    assert type(response) is Response
    assert response.response == RIGHT
    result = response.metadata["caco"]
    assert isinstance(result, ValidationResult)
    assert (result.is_hallucination, result.response) == (False, RIGHT)
    assert [node.node_id for node in response.source_nodes] == ["law"]
    assert set(response.metadata) == {"law", "caco"}


@both
def test_annotate_leaves_a_wrong_answer_and_says_so(guarded, is_async):
    response = ask(guarded(WRONG), is_async=is_async)
    assert response.response == WRONG
    assert response.metadata["caco"].is_hallucination is True


@both
def test_raise(guarded, is_async):
    with pytest.raises(HallucinationError) as caught:
        ask(guarded(WRONG, "raise"), is_async=is_async)
    assert caught.value.result.contradicted[0].text == WRONG
    assert pickle.loads(pickle.dumps(caught.value)).result == caught.value.result


@both
@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (None, "I could not find an answer that the sources support."),
        ("Sorry.", "Sorry."),
        (lambda result: f"Risk {result.score:.1f}", "Risk 1.0"),
    ],
)
def test_replace(guarded, message, shown, is_async):
    response = ask(guarded(WRONG, "replace", fallback_message=message), is_async=is_async)
    assert response.response == shown
    assert response.metadata["caco"].response == WRONG
    assert [node.node_id for node in response.source_nodes] == ["law"]


@both
def test_redact_keeps_what_holds(guarded, is_async):
    response = ask(guarded(f"{RIGHT} {WRONG}", "redact"), is_async=is_async)
    assert response.response == RIGHT
    nothing_left = ask(guarded(WRONG, "redact", fallback_message="None."), is_async=is_async)
    assert nothing_left.response == "None."


@both
def test_what_the_gate_withholds_is_rejected_as_a_whole(guarded, withholding, is_async):
    def shown(on_fail):
        return ask(guarded(RIGHT, on_fail, validator=withholding), is_async=is_async)

    for on_fail in ("annotate", "replace", "redact"):
        response = shown(on_fail)
        assert response.response == withholding.policy.message_for("english")
        assert response.metadata["caco"].gate.abstained is True
        assert response.metadata["caco"].is_hallucination is False
        assert response.metadata["caco"].response == RIGHT
    with pytest.raises(HallucinationError):
        shown("raise")


def test_a_fallback_function_must_return_text(guarded):
    with pytest.raises(TypeError, match="fallback_message must return a str, not NoneType"):
        guarded(WRONG, "replace", fallback_message=lambda result: None).query(QUERY)


def test_the_default_message_is_in_the_validators_language(make_node, make_engine):
    engine = make_engine([make_node("A lei foi sancionada em 2018.")], ["A lei é de 2015."])
    portuguese = Validator(classifier=FakeClassifier(default="contradiction"), language="pt")
    response = CacoQueryEngine(engine, "replace", validator=portuguese).query("Quando?")
    assert response.response == "Não encontrei uma resposta com apoio nas fontes."


def test_bad_arguments_are_named(guarded, validator, make_engine):
    with pytest.raises(ValueError, match=r"on_fail must be one of .*'annotate'.* not 'explode'"):
        guarded(RIGHT, "explode")
    with pytest.raises(TypeError, match="fallback_message must be a str or a function, not int"):
        guarded(RIGHT, "replace", fallback_message=3)
    with pytest.raises(ValueError, match="threshold"):
        guarded(RIGHT, threshold=7)
    with pytest.raises(TypeError, match="on_claim must be a function, not list"):
        guarded(RIGHT, on_claim=[])
    with pytest.raises(TypeError, match="query engine or a chat engine, not str"):
        CacoQueryEngine("engine")


def test_threshold_and_metadata_mode(guarded, make_node, make_engine, validator):
    assert guarded(RIGHT, threshold=0.001).query(QUERY).metadata["caco"].is_hallucination is True
    engine = make_engine([make_node("Sales rose.", metadata={"year": 2020})], ["year: 2020."])
    seen = CacoQueryEngine(engine, validator=validator).query("When?")
    assert seen.metadata["caco"].is_hallucination is False
    own_words = CacoQueryEngine(engine, validator=validator, metadata_mode=MetadataMode.NONE)
    assert own_words.query("When?").metadata["caco"].is_hallucination is True


@both
@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [NodeWithScore(node=ImageNode(image_url="http://127.0.0.1/a.png"))],
        [NodeWithScore(node=ImageNode(text="  "))],
    ],
    ids=["none", "image", "blank"],
)
def test_no_nodes_that_can_be_read_is_never_a_pass(make_engine, validator, nodes, is_async):
    engine = CacoQueryEngine(make_engine(nodes, [RIGHT]), "replace", validator=validator)
    response = ask(engine, is_async=is_async)
    result = response.metadata["caco"]
    assert result.is_hallucination is True
    assert result.status in (Status.NO_CONTEXT, Status.ERROR)
    assert response.response == "I could not find an answer that the sources support."


@both
@pytest.mark.parametrize("answer", ["", "   ", "Empty Response"])
def test_an_answer_that_says_nothing_is_an_error_and_no_pass(guarded, answer, is_async):
    result = ask(guarded(answer), is_async=is_async).metadata["caco"]
    assert (result.status, result.is_hallucination, result.score) == (Status.ERROR, True, 1.0)


@both
def test_a_response_without_sources_is_no_pass(validator, is_async, given_engine):
    engine = CacoQueryEngine(given_engine(Response(RIGHT)), validator=validator)
    assert ask(engine, is_async=is_async).metadata["caco"].status is Status.NO_CONTEXT


@both
def test_what_the_llm_or_the_engine_raises_comes_through(
    make_node, make_engine, validator, is_async
):
    engine = make_engine([make_node(SOURCE)], [RuntimeError("rate limit")])
    with pytest.raises(RuntimeError, match="rate limit"):
        ask(CacoQueryEngine(engine, "replace", validator=validator), is_async=is_async)

    class Unavailable(FakeClassifier):
        def classify(self, claim, context):
            raise ModelNotAvailableError("no weights")

    broken = Validator(classifier=Unavailable())
    with pytest.raises(ModelNotAvailableError):
        ask(
            CacoQueryEngine(make_engine([make_node(SOURCE)], [RIGHT]), validator=broken),
            is_async=is_async,
        )


@both
def test_a_response_that_the_engine_keeps_is_not_changed(
    validator, make_node, is_async, given_engine
):
    cached = Response(WRONG, [make_node(SOURCE)], {"other": 1})
    engine = CacoQueryEngine(given_engine(cached), "replace", validator=validator)
    shown = ask(engine, is_async=is_async)
    assert shown is not cached
    assert (cached.response, cached.metadata) == (WRONG, {"other": 1})
    assert shown.metadata["other"] == 1


class Answer(BaseModel):
    text: str


@both
def test_a_pydantic_answer(validator, make_node, is_async, given_engine):
    nodes = [make_node(SOURCE)]

    def shown(text, on_fail):
        engine = given_engine(PydanticResponse(Answer(text=text), nodes))
        return ask(CacoQueryEngine(engine, on_fail, validator=validator), is_async=is_async)

    right = shown(RIGHT, "replace")
    assert right.response == Answer(text=RIGHT)
    assert right.metadata["caco"].is_hallucination is False
    wrong = shown(WRONG, "annotate")
    assert isinstance(wrong, PydanticResponse)
    assert wrong.metadata["caco"].is_hallucination is True
    for on_fail in ("replace", "redact"):
        replaced = shown(f"{RIGHT} {WRONG}", on_fail)
        assert type(replaced) is Response
        assert replaced.response == "I could not find an answer that the sources support."


class Custom(CustomQueryEngine):
    answer: str = RIGHT
    nodes: list = []

    def custom_query(self, query_str: str):
        return Response(self.answer, self.nodes) if self.nodes else self.answer


@both
def test_a_custom_query_engine(validator, make_node, is_async):
    engine = CacoQueryEngine(Custom(nodes=[make_node(SOURCE)]), validator=validator)
    assert ask(engine, is_async=is_async).metadata["caco"].is_hallucination is False
    # One that answers with a bare string has no sources.
    bare = ask(CacoQueryEngine(Custom(), validator=validator), is_async=is_async)
    assert bare.metadata["caco"].status is Status.NO_CONTEXT


@both
@pytest.mark.parametrize(("answer", "fails"), [(RIGHT, False), (WRONG, True)])
def test_a_router(make_node, make_engine, make_llm, validator, answer, fails, is_async):
    tools = [
        QueryEngineTool.from_defaults(make_engine([make_node(SOURCE)], [answer]), name="law"),
        QueryEngineTool.from_defaults(make_engine([make_node("No.")], ["No."]), name="other"),
    ]
    llm = make_llm(['[{"choice": 1, "reason": "law"}]'])
    router = RouterQueryEngine(LLMSingleSelector.from_defaults(llm), tools, llm=llm)
    response = ask(CacoQueryEngine(router, validator=validator), is_async=is_async)
    assert response.metadata["caco"].is_hallucination is fails
    assert "selector_result" in response.metadata


@both
def test_a_router_to_several_engines(make_node, make_engine, make_llm, validator, is_async):
    tools = [
        QueryEngineTool.from_defaults(make_engine([make_node(SOURCE)], [RIGHT]), name="law"),
        QueryEngineTool.from_defaults(
            make_engine([make_node("It rains.")], ["It rains."]), name="b"
        ),
    ]
    both_chosen = '[{"choice": 1, "reason": "a"}, {"choice": 2, "reason": "b"}]'
    llm = make_llm([both_chosen, f"{RIGHT} It rains. {WRONG}"])
    router = RouterQueryEngine(LLMMultiSelector.from_defaults(llm), tools, llm=llm)
    response = ask(CacoQueryEngine(router, "redact", validator=validator), is_async=is_async)
    assert response.response == f"{RIGHT} It rains."


class OneQuestion(BaseQuestionGenerator):
    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    def generate(self, tools, query):
        return [SubQuestion(sub_question="When?", tool_name="law")]

    async def agenerate(self, tools, query):
        return self.generate(tools, query)


@both
@pytest.mark.parametrize(("answer", "fails"), [(RIGHT, False), (WRONG, True)])
def test_a_sub_question_engine_is_judged_by_the_documents_not_by_its_own_sub_answers(
    make_node, make_engine, make_llm, validator, answer, fails, is_async
):
    """Its source nodes hold the model's sub-answers too, which would support anything."""
    law = QueryEngineTool.from_defaults(make_engine([make_node(SOURCE)], [answer]), name="law")
    engine = SubQuestionQueryEngine(
        OneQuestion(),
        get_response_synthesizer(llm=make_llm([answer])),
        [law],
        verbose=False,
        use_async=False,
    )
    response = ask(CacoQueryEngine(engine, validator=validator), is_async=is_async)
    assert any(answer in node.get_content() for node in response.source_nodes[:1])
    assert response.metadata["caco"].is_hallucination is fails
    assert response.metadata["caco"].coverage.documents == 1


@both
def test_a_citation_engine(make_node, make_retriever, make_llm, is_async):
    text = " ".join(f"Filler sentence number {i} says nothing." for i in range(80))
    engine = CitationQueryEngine(
        make_retriever([make_node(f"{SOURCE} {text}", 0.9)]),
        llm=make_llm(["The LGPD was enacted in 2018 [1]."]),
        text_splitter=TokenTextSplitter(chunk_size=100, chunk_overlap=10),
    )
    response = ask(CacoQueryEngine(engine), is_async=is_async)
    assert len(response.source_nodes) > 3
    result = response.metadata["caco"]
    assert result.is_hallucination is False
    assert result.coverage.documents == len({node.node_id for node in response.source_nodes}) or (
        result.coverage.documents == len(response.source_nodes)
    )
    assert result.claims[0].evidence.endswith("The LGPD was enacted in 2018.")


@pytest.fixture
def chat_engine(make_node, make_retriever, make_llm):
    def make(answer):
        return ContextChatEngine.from_defaults(
            retriever=make_retriever([make_node(SOURCE)]),
            llm=make_llm([answer]),
            memory=ChatMemoryBuffer.from_defaults(token_limit=1000),
        )

    return make


@both
@pytest.mark.parametrize(("answer", "shown"), [(RIGHT, RIGHT), (WRONG, "No.")])
def test_a_chat_engine_answers_queries(chat_engine, validator, answer, shown, is_async):
    engine = CacoQueryEngine(
        chat_engine(answer), "replace", validator=validator, fallback_message="No."
    )
    response = ask(engine, is_async=is_async)
    assert type(response) is Response
    assert response.response == shown
    with pytest.raises(NotImplementedError, match="use query"):
        engine.retrieve(QueryBundle(QUERY))


@both
def test_a_chat_engines_response_object_can_be_checked_alone(chat_engine, validator, is_async):
    checker = CacoQueryEngine(chat_engine(WRONG), validator=validator)
    given = checker.query_engine.chat(QUERY)
    if is_async:
        response = asyncio.run(checker.acheck_response(given, QUERY))
    else:
        response = checker.check_response(given, QUERY)
    assert response.metadata["caco"].is_hallucination is True
    with pytest.raises(TypeError, match="not a response object: int"):
        checker.check_response(3)


def test_retrieve_and_synthesize_go_through_and_synthesize_is_checked(guarded):
    engine = guarded(WRONG)
    bundle = QueryBundle(QUERY)
    nodes = engine.retrieve(bundle)
    assert asyncio.run(engine.aretrieve(bundle)) == nodes
    assert engine.synthesize(bundle, nodes).metadata["caco"].is_hallucination is True
    response = asyncio.run(engine.asynthesize(bundle, nodes))
    assert response.metadata["caco"].is_hallucination is True


def test_events_about_a_checked_answer_serialise(guarded):
    """Other handlers of the dispatcher dump events as JSON."""
    response = guarded(WRONG).query(QUERY)
    dumped = json.loads(QueryEndEvent(query=QUERY, response=response).model_dump_json())
    verdict = dumped["response"]["metadata"]["caco"]
    assert verdict["is_hallucination"] is True
    assert verdict["claims"][0]["label"] == "contradiction"


def test_the_verdict_is_an_object_that_pydantic_dumps_and_reads_back(guarded):
    response = guarded(WRONG).query(QUERY)
    verdict = response.metadata["caco"]
    assert isinstance(verdict, ValidationResult)
    adapter = TypeAdapter(dict[str, Any])
    for dumped in (
        adapter.dump_python(response.metadata)["caco"],
        adapter.dump_python(response.metadata, mode="json")["caco"],
        json.loads(adapter.dump_json(response.metadata))["caco"],
        dataclasses.asdict(response)["metadata"]["caco"],
        json.loads(json.dumps(response.metadata, default=ValidationResult.to_dict))["caco"],
    ):
        assert ValidationResult.from_dict(dumped) == verdict
    assert json.loads(adapter.dump_json(response.metadata))["caco"] == verdict.to_dict()


def test_prompts_of_the_wrapped_engine_stay_reachable(guarded):
    names = guarded(RIGHT).get_prompts()
    assert "query_engine:response_synthesizer:text_qa_template" in names


def test_it_is_a_tool_like_any_engine(guarded):
    tool = QueryEngineTool.from_defaults(guarded(WRONG, "replace", fallback_message="No."))
    assert tool.call(QUERY).content == "No."


def test_the_question_helps_to_read_a_short_answer(make_node, make_engine):
    engine = make_engine(
        [make_node(SOURCE)], lambda prompt: "2018" if "right" in prompt else "2015"
    )
    checked = CacoQueryEngine(engine)
    assert checked.query(f"{QUERY} (right)").metadata["caco"].is_hallucination is False
    assert checked.query(QUERY).metadata["caco"].is_hallucination is True
