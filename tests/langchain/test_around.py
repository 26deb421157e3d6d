"""``CacoGuard.around(chain)``, and the documents that retrievers were seen to return."""

from __future__ import annotations

import asyncio
import inspect
import sys
from uuid import uuid4

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.tools.retriever import create_retriever_tool

import caco
from langchain_caco import (
    AsyncCacoCallbackHandler,
    CacoCallbackHandler,
    CacoGuard,
    HallucinationError,
    HallucinationRetry,
)
from langchain_caco.capture import DocumentCapture, documents_seen

GOOD, BAD = "The sky is blue.", "The sky is green."
DOCS = [Document(page_content=GOOD, id="sky")]


def fact(number):
    return f"Box {number} holds {number} nuts."


def facts(query):
    """One document for each question, and always the same one more."""
    number = int(query.split()[-1].rstrip("?"))
    return [Document(page_content=fact(number), id=f"box-{number}"), *DOCS]


@pytest.fixture
def rag(model, retriever):
    """The usual chain from a question to a text; the model repeats the first document."""

    def make(answer=lambda prompt: prompt.split("\n")[0].removeprefix("human: ")):
        prompt = ChatPromptTemplate.from_template("{context}\n{question}{feedback}")
        found = retriever(facts) | (lambda docs: "\n".join(doc.page_content for doc in docs))
        parts = {"context": found, "question": RunnablePassthrough(), "feedback": lambda _: ""}
        return parts | prompt | model(answer) | StrOutputParser()

    return make


HOW = pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])


def run(chain, values, how, config=None):
    """Run a chain on each value in any of six ways; return the outputs."""

    async def gathered():
        return await asyncio.gather(*(chain.ainvoke(value, config) for value in values))

    async def streamed():
        last = []
        for value in values:
            chunks = [chunk async for chunk in chain.astream(value, config)]
            last.append(chunks[-1])
        return last

    if how == "batch":
        return chain.batch(values, config)
    if how == "stream":
        return [list(chain.stream(value, config))[-1] for value in values]
    if how == "invoke":
        return [chain.invoke(value, config) for value in values]
    if how == "abatch":
        return asyncio.run(chain.abatch(values, config))
    return asyncio.run(gathered() if how == "ainvoke" else streamed())


@HOW
def test_the_retrieved_documents_are_seen(rag, validator, how):
    chain = CacoGuard.around(rag(), validator=validator)
    outs = run(chain, [f"What is in box {n}?" for n in range(5)], how)
    for number, out in enumerate(outs):
        assert out == fact(number)
        result = out.validation
        assert not result.is_hallucination
        assert result.claims[0].evidence_document == f"box-{number}"
        assert result.coverage.documents == 2


@HOW
def test_a_wrong_answer_is_caught(rag, validator, how):
    chain = CacoGuard.around(rag(lambda _: BAD), validator=validator, on_fail="replace")
    for out in run(chain, ["box 1?", "box 2?"], how):
        assert out != BAD
        assert out.validation.is_hallucination
        assert out.validation.response == BAD


def test_without_it_the_guard_cannot_see_them(rag, validator):
    out = (rag() | CacoGuard(validator=validator)).invoke("box 1?")
    assert out.validation.status is caco.Status.NO_CONTEXT


def test_it_works_on_the_class_and_on_a_guard(rag, validator):
    assert isinstance(CacoGuard.around(rag()), HallucinationRetry)
    guard = CacoGuard(validator=validator, on_fail="raise", threshold=0.7)
    around = guard.around(rag(lambda _: BAD))
    assert around.guard is guard
    with pytest.raises(HallucinationError):
        around.invoke("box 1?")
    changed = guard.around(rag(), on_fail="annotate").guard
    assert (changed.on_fail, changed.threshold, changed.validator) == ("annotate", 0.7, validator)
    with pytest.raises(ValueError, match="on_failure"):
        CacoGuard.around(rag(), on_failure="raise")
    assert list(inspect.signature(CacoGuard.around).parameters)[:2] == ["chain", "max_retries"]
    assert "Wrap a chain" in inspect.getdoc(CacoGuard.around)


def test_a_subclass_is_wrapped_as_itself(rag, validator):
    class Mine(CacoGuard):
        pass

    assert type(Mine.around(rag(), validator=validator).guard) is Mine


@HOW
def test_retries_retrieve_again_and_see_only_their_own_documents(model, validator, retriever, how):
    """The first draft says what only the second attempt's documents say."""
    texts = {False: "Grass is green.", True: GOOD}
    found = retriever(lambda query: [texts["statements" in query]])
    llm = model(lambda prompt: GOOD)
    prompt = ChatPromptTemplate.from_template("{context} {question}")
    chain = {"context": found, "question": RunnablePassthrough()} | prompt | llm | StrOutputParser()
    (out,) = run(CacoGuard.around(chain, max_retries=1, validator=validator), ["q"], how)
    assert [attempt.score > 0.5 for attempt in out.validation.attempts] == [True, False]
    assert out.validation.coverage.documents == 1


@HOW
def test_an_attempt_that_does_not_search_again_has_the_documents_of_the_one_before(
    retriever, validator, how
):
    search = retriever(facts)

    def answer(value, config: RunnableConfig):
        number = int(value["question"].split()[-1].rstrip("?"))
        if value["feedback"]:
            return fact(number)
        search.invoke(value["question"], config)
        return fact(number + 1)

    chain = CacoGuard.around(RunnableLambda(answer), 1, validator=validator)
    outs = run(chain, [{"question": f"box {n}?"} for n in range(4)], how)
    for number, out in enumerate(outs):
        assert out == fact(number)
        assert not out.validation.is_hallucination
        assert out.validation.claims[0].evidence_document == f"box-{number}"


def test_an_attempt_whose_search_finds_nothing_has_no_documents(retriever, validator):
    found = iter([DOCS, []])
    search = retriever(lambda _: next(found))
    answers = iter([BAD, GOOD])

    def answer(value, config: RunnableConfig):
        search.invoke("?", config)
        return next(answers)

    chain = CacoGuard.around(RunnableLambda(answer), 1, on_exhausted="last", validator=validator)
    assert chain.invoke({}).validation.status is caco.Status.NO_CONTEXT


def test_with_retries_a_dict_gets_the_feedback_and_without_it_is_left_alone(validator):
    inputs = []

    def answer(given):
        inputs.append(given)
        return {**given, "answer": GOOD if given.get("feedback") else BAD}

    given = {"question": "q", "context": DOCS}
    assert CacoGuard.around(answer, validator=validator).invoke(given)["answer"] == BAD
    assert inputs == [given]
    out = CacoGuard.around(answer, max_retries=1, validator=validator).invoke(given)
    assert out["answer"] == GOOD
    out = CacoGuard.around(answer, 1, feedback_key="hint", validator=validator).invoke(given)
    assert inputs[-1]["hint"]


def test_any_input_will_do_without_retries(validator):
    chain = CacoGuard.around(lambda number: fact(number), validator=validator)
    assert chain.invoke(3).validation.status is caco.Status.NO_CONTEXT


# Where the documents come from


def test_the_output_comes_first_then_the_retrievers_then_the_input(retriever, validator):
    seen = retriever(["seen"])

    def source(output, *, retrieve=True):
        def chain(given):
            if retrieve:
                seen.invoke("q")
            return output

        checked = CacoGuard(validator=validator, on_fail="raise")
        with pytest.raises(HallucinationError) as caught:
            checked.around(chain).invoke({"context": ["given"]})
        return caught.value.result.claims[0].evidence

    assert source({"answer": BAD, "context": ["put out"]}) == "put out"
    messages = [ToolMessage("", tool_call_id="1", artifact=[Document(page_content="tool")])]
    assert source({"messages": [*messages, AIMessage(BAD)]}) == "tool"
    assert source({"answer": BAD}) == "seen"
    assert source(BAD) == "seen"
    assert source(BAD, retrieve=False) == "given"


def test_the_context_key_may_be_the_inputs(validator):
    checked = CacoGuard(validator=validator, context_key="pages")
    chain = checked.around(lambda given: {"answer": GOOD})
    assert not chain.invoke({"pages": DOCS})["validation"].is_hallucination
    with pytest.raises(ValueError, match=r"looked for 'pages'"):
        chain.invoke({"question": "q"})


def test_a_retriever_within_a_function_is_seen(retriever, validator):
    found = retriever(facts)

    def chain(question):
        return found.invoke(question)[0].page_content

    async def achain(question):
        return (await found.ainvoke(question))[0].page_content

    around = CacoGuard.around(RunnableLambda(chain, achain), validator=validator)
    # Before Python 3.11 an async function has to hand its config on itself: LangChain cannot.
    implicit = ("ainvoke", "abatch") if sys.version_info >= (3, 11) else ()
    for how in ("invoke", "batch", *implicit):
        for out in run(around, ["box 3?", "box 4?"], how):
            assert not out.validation.is_hallucination
            assert out.validation.coverage.documents == 2


def test_a_batch_within_a_function_mixes_nothing(rag, validator):
    inner = CacoGuard.around(rag(), validator=validator)
    questions = [f"box {n}?" for n in range(8)]
    for chain in (
        RunnableLambda(lambda _: inner.batch(questions)),
        RunnableLambda(lambda _: [inner.invoke(question) for question in questions]),
    ):
        outs = chain.invoke("go", {"callbacks": [DocumentCapture()]})
        for number, out in enumerate(outs):
            assert out.validation.claims[0].evidence_document == f"box-{number}"
            assert out.validation.coverage.documents == 2

    async def inside(_):
        return await inner.abatch(questions)

    outs = asyncio.run(RunnableLambda(inside).ainvoke("go"))
    assert [out.validation.coverage.documents for out in outs] == [2] * 8


def test_a_guard_within_is_given_the_documents_of_its_own_chain(rag, validator):
    """A plain guard inside a wrapped chain: one run's documents, though all have one root."""
    inner = rag() | CacoGuard(validator=validator)
    questions = [f"box {n}?" for n in range(8)]
    outer = CacoGuard.around(
        RunnableLambda(lambda _: {"answer": GOOD, "outs": inner.batch(questions)}),
        validator=validator,
    )
    out = outer.invoke({"question": "q"})
    for number, guarded in enumerate(out["outs"]):
        assert guarded.validation.claims[0].evidence_document == f"box-{number}"
        assert guarded.validation.coverage.documents == 2
    assert out["validation"].coverage.documents == 9


class Searching(BaseRetriever):
    """Asks another retriever and keeps the last document only."""

    inner: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        return self.inner.invoke(query, {"callbacks": run_manager.get_child()})[-1:]


def test_what_a_retriever_keeps_to_itself_is_not_a_source(retriever, validator):
    found = Searching(inner=retriever([BAD, GOOD]))
    for answer, wrong in ((GOOD, False), (BAD, True)):
        chain = found | RunnableLambda(lambda _, answer=answer: answer)
        (out,) = run(CacoGuard.around(chain, validator=validator), ["q"], "invoke")
        assert out.validation.is_hallucination is wrong
        assert out.validation.coverage.documents == 1


def test_a_retriever_that_finds_nothing_is_no_pass(retriever, validator):
    chain = retriever([]) | RunnableLambda(lambda _: GOOD)
    out = CacoGuard.around(chain, validator=validator).invoke("q")
    assert out.validation.status is caco.Status.NO_CONTEXT


def test_several_retrievers_are_all_seen(retriever, validator):
    def chain(_):
        retriever(["Grass is green."]).invoke("q")
        retriever(DOCS).invoke("q")
        return f"{GOOD} Grass is green."

    out = CacoGuard.around(chain, validator=validator).invoke("q")
    assert not out.validation.is_hallucination
    assert out.validation.coverage.documents == 2


# Tools, agents, graphs


@pytest.mark.parametrize("response_format", ["content", "content_and_artifact"])
def test_a_retriever_tool_is_seen_once(retriever, validator, response_format):
    search = create_retriever_tool(
        retriever(facts), "search", "finds", response_format=response_format
    )

    def agent(given):
        call = {"name": "search", "args": {"query": "box 3"}, "id": "1", "type": "tool_call"}
        search.invoke(call)
        return fact(3)

    out = CacoGuard.around(agent, validator=validator).invoke({"input": "q"})
    assert not out.validation.is_hallucination
    assert out.validation.coverage.documents == 2


def test_a_tool_that_searches_by_itself_is_seen_by_its_artifact(validator):
    @tool(response_format="content_and_artifact")
    def search(query: str):
        """Find documents."""
        return "found", DOCS

    def agent(given):
        search.invoke({"name": "search", "args": {"query": "q"}, "id": "1", "type": "tool_call"})
        return GOOD

    out = CacoGuard.around(agent, validator=validator).invoke({"input": "q"})
    assert not out.validation.is_hallucination


def test_a_graph_with_a_retriever_in_a_node(retriever, validator):
    graphs = pytest.importorskip("langgraph.graph")
    found = retriever(facts)

    # Handed on by hand: on Python 3.10 an asynchronous graph does not do it.
    def search(state, config: RunnableConfig):
        documents = found.invoke(state["messages"][-1].text, config)
        return {"messages": [AIMessage(documents[0].page_content)]}

    builder = graphs.StateGraph(graphs.MessagesState)
    builder.add_node("search", search)
    builder.add_edge(graphs.START, "search")
    graph = CacoGuard.around(builder.compile(), validator=validator)
    questions = [{"messages": [HumanMessage(f"box {n}?")]} for n in range(4)]
    for how in ("invoke", "ainvoke", "batch"):
        for number, out in enumerate(run(graph, questions, how)):
            assert out["messages"][-1].text == fact(number)
            assert out["validation"].claims[0].evidence_document == f"box-{number}"
            assert out["validation"].coverage.documents == 2


def test_a_guard_can_be_a_node(validator):
    graphs = pytest.importorskip("langgraph.graph")

    class State(graphs.MessagesState):
        context: list
        validation: object

    builder = graphs.StateGraph(State)
    builder.add_node("guard", CacoGuard(validator=validator, on_fail="replace"))
    builder.add_edge(graphs.START, "guard")
    given = {"messages": [HumanMessage("q"), AIMessage(BAD)], "context": DOCS}
    out = builder.compile().invoke(given)
    assert out["validation"].is_hallucination
    assert len(out["messages"]) == 2
    assert out["messages"][-1].text != BAD


# Handlers that saw documents


class Seen(BaseCallbackHandler):
    """A handler that knows the documents of some runs."""

    def __init__(self, documents):
        self.documents, self.asked = documents, []

    def documents_for_run(self, run_id):
        self.asked.append(run_id)
        return self.documents


def test_the_guard_asks_the_handlers_of_its_run(validator):
    guard = CacoGuard(validator=validator)
    silent, knows = Seen(None), Seen(DOCS)
    out = guard.invoke(GOOD, {"callbacks": [silent, knows]})
    assert not out.validation.is_hallucination
    assert len(knows.asked) == 1
    chain = RunnablePassthrough() | guard
    chain.invoke(GOOD, {"callbacks": [silent]})
    run_id, parent_run_id = silent.asked[-2:]
    assert run_id != parent_run_id
    out = asyncio.run(guard.ainvoke(GOOD, {"callbacks": [Seen(DOCS)]}))
    assert not out.validation.is_hallucination


def test_the_guard_asks_nobody_when_it_was_told(validator):
    handler = Seen(DOCS)
    config = {"callbacks": [handler]}
    out = CacoGuard(validator=validator).invoke({"answer": GOOD, "context": []}, config)
    assert out["validation"].status is caco.Status.NO_CONTEXT
    assert handler.asked == []


def test_a_capture_given_as_a_callback_serves_each_row_of_a_batch(rag, validator):
    chain = rag() | CacoGuard(validator=validator)
    for how in ("batch", "abatch", "ainvoke"):
        outs = run(chain, [f"box {n}?" for n in range(6)], how, {"callbacks": [DocumentCapture()]})
        for number, out in enumerate(outs):
            assert out.validation.claims[0].evidence_document == f"box-{number}"
            assert out.validation.coverage.documents == 2


@pytest.mark.parametrize("handler", [CacoCallbackHandler, AsyncCacoCallbackHandler])
@pytest.mark.parametrize("how", ["batch", "abatch", "ainvoke"])
def test_a_monitoring_handler_serves_each_row_of_a_batch(rag, validator, handler, how):
    chain = rag() | CacoGuard(validator=validator)
    config = {"callbacks": [handler(validator=validator)]}
    outs = run(chain, [f"box {n}?" for n in range(6)], how, config)
    for number, out in enumerate(outs):
        assert out.validation.claims[0].evidence_document == f"box-{number}"
        assert out.validation.coverage.documents == 2


def test_an_outer_wrapper_saw_what_the_inner_chain_was_given(retriever, validator):
    inner = CacoGuard.around(RunnableLambda(lambda _: GOOD), validator=validator)
    outer = CacoGuard.around(retriever(DOCS) | inner, validator=validator)
    out = outer.invoke("q")
    assert not out.validation.is_hallucination


def test_the_nearest_run_with_a_retriever_answers():
    capture = DocumentCapture()
    root, left, right, search, model = (uuid4() for _ in range(5))
    capture.on_chain_start(None, {}, run_id=root)
    for branch in (left, right):
        capture.on_chain_start(None, {}, run_id=branch, parent_run_id=root)
    assert capture.documents_for_run(left) is None
    capture.on_retriever_start(None, "q", run_id=search, parent_run_id=left)
    capture.on_retriever_end(DOCS, run_id=search, parent_run_id=left)
    capture.on_chain_start(None, {}, run_id=model, parent_run_id=left)
    assert capture.documents_for_run(model) == tuple(DOCS)
    assert capture.documents_for_run(right) == tuple(DOCS)
    nothing = uuid4()
    capture.on_retriever_start(None, "q", run_id=nothing, parent_run_id=right)
    capture.on_retriever_end([], run_id=nothing, parent_run_id=right)
    assert capture.documents_for_run(right) == ()
    assert capture.documents_for_run(uuid4()) is None
    assert documents_seen([object(), capture], model, None) == tuple(DOCS)
    assert documents_seen([], model, None) is None
    assert documents_seen([capture], uuid4(), left) == tuple(DOCS)


@pytest.mark.parametrize("how", ["stream", "astream"])
def test_tokens_pass_through_a_wrapped_chain(rag, validator, how):
    chain = CacoGuard.around(rag(), validator=validator, streaming="passthrough")

    async def collect():
        return [chunk async for chunk in chain.astream("box 7?")]

    chunks = list(chain.stream("box 7?")) if how == "stream" else asyncio.run(collect())
    assert len(chunks) > 3
    assert "".join(chunks) == fact(7)
    assert chunks[-1].validation.claims[0].evidence_document == "box-7"
    retrying = CacoGuard.around(rag(), 1, validator=validator, streaming="passthrough")
    assert len(list(retrying.stream("box 7?"))) == 1


def test_events_of_a_wrapped_chain(rag, validator):
    chain = CacoGuard.around(rag(), validator=validator)

    async def collect():
        return [event async for event in chain.astream_events("box 7?", version="v2")]

    events = asyncio.run(collect())
    kinds = [event["event"] for event in events]
    assert kinds.count("on_custom_event") == 1
    assert "on_retriever_end" in kinds
    assert "on_chat_model_end" in kinds
    (custom,) = [event for event in events if event["event"] == "on_custom_event"]
    assert custom["run_id"] == events[0]["run_id"]
