"""Nodes to documents, response objects to text."""

from __future__ import annotations

import asyncio
import sys
from subprocess import run

import pytest
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.schema import ImageNode, IndexNode, MetadataMode, NodeWithScore, TextNode
from llama_index.core.tools import ToolOutput
from pydantic import BaseModel

from caco.models import Document
from llamaindex_caco.convert import (
    aanswer_text,
    answer_text,
    documents_from,
    source_nodes,
    wait_for,
)


def test_a_node_reads_as_the_model_saw_it(make_node):
    node = make_node("Sales rose.", id_="n1", metadata={"year": 2020, "secret": "x"})
    node.node.excluded_llm_metadata_keys = ["secret"]
    (document,) = documents_from([node])
    assert document == Document("year: 2020\n\nSales rose.", "n1")
    assert documents_from([node], MetadataMode.NONE)[0].text == "Sales rose."


def test_strings_documents_and_bare_nodes_are_sources_too():
    sources = ["one", Document("two", "b"), Document("three"), TextNode(text="four", id_="d")]
    found = [(document.id, document.text) for document in documents_from(sources)]
    assert found == [("0", "one"), ("b", "two"), ("2", "three"), ("d", "four")]
    assert documents_from("a single text") == (Document("a single text", "0"),)
    assert documents_from(None) == ()
    with pytest.raises(TypeError, match="source 0 must be a node, a str or"):
        documents_from([3])


def test_one_id_with_one_text_is_read_once_and_with_two_texts_twice(make_node):
    nodes = [make_node(text, id_="same") for text in ("A.", "A.", "B.", "A.", "B.", "C.")]
    found = [(document.id, document.text) for document in documents_from(nodes)]
    assert found == [("same", "A."), ("same#2", "B."), ("same#3", "C.")]


def test_equal_texts_under_two_ids_stay_two_documents(make_node):
    assert len(documents_from([make_node("A.", id_="1"), make_node("A.", id_="2")])) == 2
    assert len(documents_from(["A.", "A."])) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Sub question: When?\nResponse: In 2015.",
        "\nQuestion: When?\nAnswer: In 2015.",
    ],
)
def test_a_models_own_sub_answers_are_no_source(make_node, text):
    real = make_node("In 2018.", id_="real")
    assert [document.id for document in documents_from([make_node(text), real])] == ["real"]


def test_a_question_and_answer_document_of_the_corpus_is_a_source(make_node):
    text = "\nQuestion: When?\nAnswer: In 2015."
    assert documents_from([make_node(text, score=0.5)])
    assert documents_from([make_node(text, metadata={"file_name": "faq.md"})])
    assert documents_from([make_node(text.strip())])


def test_nodes_without_text():
    nodes = [
        NodeWithScore(node=ImageNode(image_url="http://127.0.0.1/a.png", id_="image")),
        NodeWithScore(node=TextNode(text="", id_="blank")),
        NodeWithScore(node=IndexNode(text="Pointer.", index_id="other", id_="index")),
    ]
    found = {document.id: document.text for document in documents_from(nodes)}
    assert found == {"image": "", "blank": "", "index": "Pointer."}


async def _agen(*tokens):
    for token in tokens:
        yield token


class Person(BaseModel):
    name: str
    born_in: int
    story: str
    roles: list[str] = []
    nickname: str | None = None


PERSON = Person(name="Ada", born_in=1815, story="She wrote the first program.", roles=["author"])


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("plain", "plain"),
        (Response("said"), "said"),
        (Response(None), ""),
        (Response("Empty Response"), ""),
        (StreamingResponse(token for token in ("a ", "b")), "a b"),
        (PydanticResponse(None), ""),
        (
            PydanticResponse(PERSON),
            "name: Ada\n\nborn in: 1815\n\nShe wrote the first program.\n\nroles: author",
        ),
        (AgentChatResponse("said"), "said"),
        (StreamingAgentChatResponse(response="said"), "said"),
    ],
)
def test_what_a_response_says(response, text):
    assert answer_text(response) == text
    assert asyncio.run(aanswer_text(response)) == text


def test_an_asynchronous_stream_is_read_with_and_without_a_running_loop():
    assert answer_text(AsyncStreamingResponse(_agen("a ", "b"))) == "a b"

    async def inside() -> tuple[str, str]:
        awaited = await aanswer_text(AsyncStreamingResponse(_agen("a ", "b")))
        return awaited, answer_text(AsyncStreamingResponse(_agen("c")))

    assert asyncio.run(inside()) == ("a b", "c")


def test_a_stream_that_was_iterated_directly_has_nothing_left_to_say():
    """Iterating ``response_gen`` leaves ``response_txt`` None: the text is gone, not "None"."""
    response = StreamingResponse(token for token in ("a", "b"))
    assert list(response.response_gen) == ["a", "b"]
    assert answer_text(response) == ""


def test_wait_for_hands_an_exception_on():
    async def broken():
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        wait_for(broken())


def test_the_nodes_of_a_chat_response_may_be_its_tools(make_node):
    inner = Response("x", [make_node("A.", id_="a")])
    tool = ToolOutput(tool_name="t", content="x", raw_input={}, raw_output=inner)
    pydantic_tool = ToolOutput(
        tool_name="t",
        content="x",
        raw_input={},
        raw_output=PydanticResponse(PERSON, [make_node("B.", id_="b")]),
    )
    chat = AgentChatResponse("said", sources=[pydantic_tool])
    assert [node.node_id for node in source_nodes(chat)] == ["b"]
    assert [node.node_id for node in source_nodes(AgentChatResponse("s", [tool]))] == ["a"]
    assert source_nodes("text") == []


def test_something_else_is_a_type_error():
    with pytest.raises(TypeError, match="not int"):
        answer_text(3)


def test_without_llama_index_the_error_names_the_extra():
    program = (
        "import sys; sys.modules['llama_index'] = None; sys.modules['llama_index.core'] = None\n"
        "import caco.errors\n"
        "try:\n    import llamaindex_caco\n"
        "except caco.errors.MissingExtraError as error:\n    print(error)"
    )
    done = run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert 'pip install "caco-guard[llamaindex]"' in done.stdout
