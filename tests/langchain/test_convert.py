"""What LangChain passes around, read and written."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables.utils import AddableDict

import caco
from langchain_caco.convert import (
    GuardedText,
    answer_text,
    context_of,
    merged,
    question_of,
    to_caco_documents,
    tool_documents,
    trailing_chunk,
    with_answer,
    with_feedback,
    with_result,
    without_metadata,
)

CALL = {"name": "search", "args": {"q": "x"}, "id": "call-1"}
RESULT = caco.ValidationResult(0.9, True, (), "bad", response="Paris is big.")


def document(text, **options):
    return LangChainDocument(page_content=text, **options)


BLOCKS = [
    {"type": "reasoning", "reasoning": "hm"},
    {"type": "text", "text": "Paris "},
    {"type": "text", "text": "is big."},
]


@pytest.mark.parametrize(
    "value",
    [
        "Paris is big.",
        AIMessage("Paris is big.").text,
        AIMessage("Paris is big."),
        AIMessageChunk("Paris is big."),
        AIMessage(BLOCKS),
        AIMessage("Paris is big.", tool_calls=[CALL]),
        {"answer": "Paris is big."},
        {"answer": AIMessage("Paris is big.").text, "input": "q", "context": []},
        {"answer": AIMessage("Paris is big."), "context": "c"},
        {"result": "Paris is big.", "source_documents": []},
        {"output": "Paris is big."},
        {"response": "Paris is big."},
        {"generation": "Paris is big."},
        {"answer": None, "result": "Paris is big."},
        {"messages": [HumanMessage("q"), AIMessage("Paris is big.")]},
        {"messages": [AIMessage("old"), HumanMessage("q"), AIMessage("Paris is big.")]},
        {"messages": [AIMessage("Paris is big."), HumanMessage("thanks")]},
        {"output": {"not": "text"}, "messages": [AIMessage("Paris is big.")]},
        AddableDict(answer="Paris is big."),
        GuardedText("Paris is big.", RESULT),
    ],
)
def test_the_answer_is_found(value):
    text = answer_text(value)
    assert text == "Paris is big."
    assert type(text) is str


def test_the_answer_key_wins():
    value = {"answer": "no", "draft": "yes", "chat": [AIMessage("last")]}
    assert answer_text(value, "draft") == "yes"
    assert answer_text(value, "chat") == "last"
    assert answer_text(value, lambda whole: AIMessage(whole["draft"] + "!")) == "yes!"
    assert answer_text(value, lambda _: AIMessage("said")) == "said"


@pytest.mark.parametrize(
    "value",
    [
        AIMessage("", tool_calls=[CALL]),
        {"messages": [HumanMessage("q"), AIMessage("", tool_calls=[CALL])]},
        {"messages": [AIMessage(" ", tool_calls=[CALL]), ToolMessage("r", tool_call_id="call-1")]},
        {"answer": AIMessage([], tool_calls=[CALL])},
    ],
)
def test_a_call_of_tools_is_no_answer(value):
    assert answer_text(value) is None


@pytest.mark.parametrize(
    ("value", "key", "error", "said"),
    [
        ({"question": "q"}, None, ValueError, r"'answer', 'result'.*'messages'.*\['question'\]"),
        ({"answer": "a"}, "draft", ValueError, r"'draft'.*\['answer'\]"),
        ({}, None, ValueError, r"keys \[\]"),
        ("", None, ValueError, "empty"),
        (AIMessage(" \n"), None, ValueError, "empty"),
        ({"answer": " ", "context": "c"}, None, ValueError, r"empty.*\['answer', 'context'\]"),
        ({"messages": [HumanMessage("q")]}, None, ValueError, "no AIMessage.*HumanMessage"),
        ({"messages": []}, None, ValueError, "no AIMessage"),
        ({"answer": 3}, None, TypeError, "'answer' must be a str or an AIMessage, not int"),
        ({"answer": {"a": 1}}, None, TypeError, "'answer'.*not dict"),
        (3, None, TypeError, "the input must be a str, an AIMessage or a dict.*not int"),
        (None, None, TypeError, "not NoneType"),
        ([AIMessage("a")], None, TypeError, "not list"),
        (HumanMessage("q"), None, TypeError, "not HumanMessage"),
        (b"bytes", None, TypeError, "not bytes"),
        ("text", lambda _: 3, TypeError, "answer_key must be .*not int"),
    ],
)
def test_what_holds_no_answer_says_what_was_seen(value, key, error, said):
    with pytest.raises(error, match=said):
        answer_text(value, key)


@pytest.mark.parametrize("key", ["context", "documents", "docs", "source_documents", "contexts"])
@pytest.mark.parametrize(
    "context",
    [
        "The sky.",
        document("The sky."),
        [document("The sky.")],
        ["The sky."],
        ("The sky.",),
        [{"page_content": "The sky."}],
        {"text": "The sky."},
        [caco.Document("The sky.")],
    ],
)
def test_the_documents_are_found(key, context):
    assert context_of({"answer": "a", key: context}) == (caco.Document("The sky.", "0"),)


def test_the_first_key_that_holds_documents_wins():
    value = {"contexts": ["c"], "docs": ["b"], "context": []}
    assert [found.text for found in context_of(value)] == ["b"]


def test_what_is_there_but_empty_is_not_what_is_not_there():
    assert context_of({"answer": "a", "context": []}) == ()
    assert context_of({"answer": "a", "context": " "}) == ()
    assert context_of({"answer": "a", "context": None}) is None
    assert context_of({"answer": "a"}) is None
    assert context_of("a") is None
    assert context_of(AIMessage("a")) is None


def test_the_context_key_wins_and_must_be_there():
    value = {"answer": "a", "context": "no", "pages": ["yes"]}
    assert context_of(value, "pages")[0].text == "yes"
    assert context_of({**value, "pages": None}, "pages") == ()
    assert context_of(value, lambda whole: whole["pages"] * 2)[0].text == "yes"
    assert context_of("text", lambda _: None) is None
    with pytest.raises(ValueError, match=r"'sources'.*\['answer', 'context', 'pages'\]"):
        context_of(value, "sources")


@pytest.mark.parametrize(
    ("context", "error", "said"),
    [
        (3, TypeError, "'context': .*not int"),
        ([3], TypeError, "'context': document 0 .*not int"),
        ([{"title": "t"}], ValueError, r"'context': document 0 .*\['title'\]"),
        ([("text", 0.5)], TypeError, "not tuple"),
        (b"bytes", TypeError, "not bytes"),
        ([None], TypeError, "not NoneType"),
    ],
)
def test_a_wrong_context_names_its_key(context, error, said):
    with pytest.raises(error, match=said):
        context_of({"answer": "a", "context": context})


def test_tool_messages_carry_documents():
    messages = [
        HumanMessage("q"),
        ToolMessage("x", tool_call_id="1", artifact=[document("one", id="a"), document("two")]),
        ToolMessage("x", tool_call_id="2", artifact={"rows": 3}),
        ToolMessage("x", tool_call_id="3"),
        ToolMessage("x", tool_call_id="4", artifact=document("three")),
        AIMessage("answer"),
    ]
    assert [d.text for d in context_of({"messages": messages})] == ["one", "two", "three"]
    assert tool_documents(messages[3:4]) is None
    assert tool_documents([ToolMessage("x", tool_call_id="1", artifact=[])]) is None
    assert context_of({"messages": messages, "context": "given"})[0].text == "given"


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ("why?", "why?"),
        ({"question": "why?", "input": "x"}, "why?"),
        ({"input": "why?"}, "why?"),
        ({"query": "why?"}, "why?"),
        ({"input": {"deep": 1}, "messages": [HumanMessage("why?"), AIMessage("a")]}, "why?"),
        ([HumanMessage("x"), HumanMessage("why?")], "why?"),
        ({"answer": "a"}, None),
        ([AIMessage("a")], None),
        (3, None),
    ],
)
def test_the_question_is_found(value, question):
    assert question_of(value) == question


def ids(documents):
    return [(found.id, found.text) for found in to_caco_documents(documents)]


def test_documents_keep_their_ids_and_metadata():
    given_ = [document("one", id="a", metadata={"page": 3}), document("two")]
    first, second = to_caco_documents(given_)
    assert (first.id, first.text, dict(first.metadata)) == ("a", "one", {"page": 3})
    assert (second.id, second.text) == ("1", "two")


def test_a_document_that_comes_twice_is_taken_once():
    twice = [document("one", id="a"), document("two", id="b"), document("one", id="a")]
    assert ids(twice) == [("a", "one"), ("b", "two")]
    assert ids([document("one"), document("one"), document("two")]) == [("0", "one"), ("2", "two")]
    sources = [document("one", metadata={"s": 1}), document("one", metadata={"s": 2})]
    assert ids(sources) == [("0", "one"), ("1", "one")]


def test_chunks_that_share_an_id_are_told_apart():
    chunks = [document(text, id="page") for text in ("one", "two", "three", "one")]
    assert ids(chunks) == [("page", "one"), ("page#2", "two"), ("page#3", "three")]
    taken = [document("x", id="page#2"), document("one", id="page"), document("two", id="page")]
    assert [name for name, _ in ids(taken)] == ["page#2", "page", "page#3"]
    positions = [document("one", id="1"), document("two")]
    assert ids(positions) == [("1", "one"), ("1#2", "two")]


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", ""]), st.sampled_from([None, "0", "1", "p", "p#2"]))
    )
)
def test_ids_are_unique_and_no_text_is_lost(pairs):
    found = to_caco_documents([document(text, id=identity) for text, identity in pairs])
    assert len({item.id for item in found}) == len(found)
    assert all(isinstance(item.id, str) for item in found)
    assert {item.text for item in found} == {text for text, _ in pairs}
    named = {(identity, text) for text, identity in pairs if identity is not None}
    assert len(named) <= len(found)
    # The engine takes them as they are.
    assert caco.evidence.as_documents(found) == found


def test_metadata_that_cannot_be_compared_is_no_obstacle():
    numpy = pytest.importorskip("numpy")
    vectors = [document("one", metadata={"vector": numpy.zeros(3)}) for _ in range(2)]
    assert ids(vectors) == [("0", "one")]


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("old", lambda new: new),
        (AIMessage("old", id="m"), lambda new: new.text),
        ({"answer": "old", "k": 1}, lambda new: new["answer"]),
        ({"answer": AIMessage("old"), "k": 1}, lambda new: new["answer"].text),
        (
            {"messages": [HumanMessage("q"), AIMessage("old", id="m")]},
            lambda n: n["messages"][1].text,
        ),
    ],
)
def test_an_answer_is_replaced_in_its_own_shape(value, answer):
    before = copy.deepcopy(value)
    changed = with_answer(value, None, "new")
    assert answer(changed) == "new"
    assert value == before
    assert answer_text(changed) == "new"


def test_replacing_keeps_what_is_not_text():
    message = AIMessage(
        [*BLOCKS, {"type": "image", "url": "u"}],
        id="m",
        name="bot",
        response_metadata={"model": "x"},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        tool_calls=[CALL],
        additional_kwargs={
            "reasoning_content": "hm",
            "refusal": "old",
            "parsed": {"answer": "old"},
            "audio": {"transcript": "old"},
            "other": 1,
        },
    )
    changed = with_answer(message, None, "new")
    assert changed.content == [{"type": "text", "text": "new"}, {"type": "image", "url": "u"}]
    assert changed.additional_kwargs == {"other": 1}
    for name in ("id", "name", "response_metadata", "usage_metadata", "tool_calls"):
        assert getattr(changed, name) == getattr(message, name)
    assert type(changed) is AIMessage


def test_replacing_needs_to_know_where():
    with pytest.raises(ValueError, match="give its key"):
        with_answer({"a": "x"}, lambda whole: whole["a"], "new")


def test_a_verdict_is_attached_to_a_copy():
    value = {"answer": "a"}
    assert with_result(value, RESULT, "v") == {"answer": "a", "v": RESULT}
    assert value == {"answer": "a"}
    message = AIMessage("a", response_metadata={"model": "x"})
    changed = with_result(message, RESULT, "v")
    assert changed.response_metadata == {"model": "x", "caco": RESULT.to_dict()}
    assert message.response_metadata == {"model": "x"}
    assert caco.ValidationResult.from_dict(changed.response_metadata["caco"]) == RESULT


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        *(
            lambda text, protocol=protocol: pickle.loads(pickle.dumps(text, protocol))
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
    ],
)
def test_guarded_text_survives_copying(copied):
    text = GuardedText("Paris is big.", RESULT)
    again = copied(text)
    assert type(again) is GuardedText
    assert again == text == "Paris is big."
    assert again.validation == RESULT


def test_guarded_text_is_a_str():
    text = GuardedText("Paris", RESULT)
    assert isinstance(text, str)
    assert hash(text) == hash("Paris")
    assert {"Paris": 1}[text] == 1
    assert type(text + "!") is str
    assert type("!" + text) is str


def test_the_chunk_that_ends_a_text_hands_on_its_verdict():
    end = trailing_chunk("x", RESULT, "v")
    assert end == ""
    total = "Paris is" + " big." + end
    assert total == "Paris is big."
    assert total.validation == RESULT
    assert type("Something else" + end) is str
    with pytest.raises(TypeError):
        3 + end


def test_chunks_of_messages_add_up_with_one_verdict():
    chunks = [AIMessageChunk("a", id="m"), AIMessageChunk("b", id="m")]
    total = merged(*chunks)
    whole = total + trailing_chunk(total, RESULT, "v")
    assert whole.text == "ab"
    assert whole.id == "m"
    assert whole.response_metadata == {"caco": RESULT.to_dict()}
    assert without_metadata(whole).response_metadata == {}
    assert without_metadata("text") == "text"


def test_chunks_of_dicts_add_up_whatever_their_class():
    total = merged({"context": "c", "answer": "a"}, {"answer": "b"})
    assert total == {"context": "c", "answer": "ab"}
    assert total + trailing_chunk(total, RESULT, "v") == {**total, "v": RESULT}


def test_feedback_reaches_the_chain():
    assert with_feedback({"q": 1}, "feedback") == {"q": 1, "feedback": ""}
    assert with_feedback({"q": 1}, "hint", "fix", "draft") == {"q": 1, "hint": "fix"}
    assert with_feedback({"q": 1}, None, "fix", "draft") == {"q": 1}
    said = [HumanMessage("q")]
    expected = [HumanMessage("q"), AIMessage("draft"), HumanMessage("fix")]
    assert with_feedback(said, "feedback") == said
    assert with_feedback(said, "feedback", "fix", "draft") == expected
    state = with_feedback({"messages": said}, "feedback", "fix", "draft")
    assert state == {"messages": expected, "feedback": "fix"}
    assert with_feedback({"messages": "q"}, None, "fix", "d")["messages"][0] == "q"
    prompt = with_feedback(ChatPromptValue(messages=said), "feedback", "fix", "draft")
    assert prompt.to_messages() == expected
    assert with_feedback("q", "feedback") == "q"
    assert with_feedback("q", "feedback", "fix", "draft") == "q\n\nfix"
    assert said == [HumanMessage("q")]
    with pytest.raises(TypeError, match="not int"):
        with_feedback(3, "feedback")


def test_a_system_message_is_no_answer():
    with pytest.raises(TypeError, match="not SystemMessage"):
        answer_text({"answer": SystemMessage("x")})
