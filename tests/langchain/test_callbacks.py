"""Monitoring of chains as they are: the right documents for the right answer, nothing lost."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import re
import threading
import time
import uuid
from operator import itemgetter
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)
from langchain_core.tools import ToolException, create_retriever_tool, tool

from caco.models import Status
from caco.testing import FakeClassifier
from caco.validator import Validator
from langchain_caco.callbacks import (
    AsyncCacoCallbackHandler,
    CacoCallbackHandler,
    MonitorRecord,
    caco_monitor,
)

PROMPT = ChatPromptTemplate.from_template("Sources:\n{context}\nQuestion: {question}")


def fact(city: str) -> str:
    return f"The city of {city} has {len(city)} gates."


def joined(documents: list[Document]) -> str:
    return "\n".join(document.page_content for document in documents)


def first_fact(prompt: str) -> str:
    """The answer of a model that copies its first source, or lies when it is asked to."""
    found = re.search(r"The city of \w+ has \d+ gates\.", prompt)
    assert found is not None
    return found[0].replace("gates", "towers") if "lie about" in prompt else found[0]


def city_of(question: str) -> str:
    return question.rsplit(" ", 1)[-1]


@pytest.fixture
def cities(retriever):
    return retriever(lambda query: [Document(page_content=fact(city_of(query)), id=city_of(query))])


@pytest.fixture(params=["a dict for a prompt", "a retriever in a lambda"])
def chain(model, cities, request):
    if request.param == "a retriever in a lambda":

        def prompt(question: str, config: RunnableConfig) -> str:
            # Passed on by hand: before Python 3.11 it does not reach async code by itself.
            return f"Sources:\n{joined(cities.invoke(question, config))}\nQuestion: {question}"

        ask = RunnableLambda(prompt)
    else:
        ask = {"context": cities | joined, "question": RunnablePassthrough()} | PROMPT
    return ask | model(first_fact) | StrOutputParser()


@pytest.fixture
def monitor(validator) -> CacoCallbackHandler:
    return CacoCallbackHandler(validator)


def config(handler: Any, **more: Any) -> dict[str, Any]:
    return {"callbacks": [handler], **more}


def assert_each_faithful(handler: Any, expected: list[str]) -> None:
    """Each answer once, each with its own documents: with another's it would not be supported."""
    assert sorted(record.answer for record in handler.results) == sorted(expected)
    for record in handler.results:
        assert record.error is None
        assert not record.result.is_hallucination, record
        assert record.result.coverage.documents == 1
    assert handler.active_runs == 0


class TestCorrelation:
    def test_a_chain_and_its_run(self, chain, monitor):
        run_id = uuid.uuid4()
        answer = chain.invoke("about Rome", config(monitor, run_id=run_id))
        (record,) = monitor.results
        assert answer == record.answer == fact("Rome")
        assert record.run_id == run_id
        assert record.result.claims[0].evidence_document == "Rome"
        assert not record.result.is_hallucination

    def test_a_false_answer(self, chain, monitor):
        chain.invoke("lie about Rome", config(monitor))
        (record,) = monitor.results
        assert record.result.is_hallucination
        assert "towers" in record.answer
        assert (monitor.checked, monitor.errors, monitor.active_runs) == (1, 0, 0)

    def test_batch_of_30(self, chain, monitor):
        cities = [f"C{'x' * i}" for i in range(30)]
        chain.batch([f"about {city}" for city in cities], config(monitor))
        assert_each_faithful(monitor, [fact(city) for city in cities])

    def test_batch_finds_the_one_that_lies(self, chain, monitor):
        questions = [f"{'lie ' if i == 17 else ''}about C{'x' * i}" for i in range(30)]
        chain.batch(questions, config(monitor))
        wrong = [record.answer for record in monitor.results if record.result.is_hallucination]
        assert wrong == [fact("C" + "x" * 17).replace("gates", "towers")]

    @pytest.mark.parametrize("kind", [CacoCallbackHandler, AsyncCacoCallbackHandler])
    def test_gather_of_30(self, chain, validator, kind):
        handler = kind(validator)
        cities = [f"C{'x' * i}" for i in range(30)]

        async def main() -> None:
            await asyncio.gather(
                *(chain.ainvoke(f"about {city}", config(handler)) for city in cities)
            )

        asyncio.run(main())
        assert_each_faithful(handler, [fact(city) for city in cities])

    def test_batch_inside_a_lambda_is_one_root_with_many_answers(self, chain, monitor):
        cities = [f"C{'x' * i}" for i in range(30)]
        outer = RunnableLambda(lambda questions: chain.batch(questions))
        outer.invoke([f"about {city}" for city in cities], config(monitor))
        assert_each_faithful(monitor, [fact(city) for city in cities])

    def test_retrieval_outside_and_batch_inside_a_lambda(self, model, cities, monitor):
        names = [f"C{'x' * i}" for i in range(10)]
        answer = PROMPT | model(first_fact) | StrOutputParser()

        def run(questions: list[str]) -> list[str]:
            found = cities.batch(questions)
            return answer.batch(
                [{"context": d, "question": q} for d, q in zip(found, questions, strict=True)]
            )

        RunnableLambda(run).invoke([f"about {name}" for name in names], config(monitor))
        assert_each_faithful(monitor, [fact(name) for name in names])

    def test_create_retrieval_chain(self, model, cities, monitor):
        pytest.importorskip("langchain_classic")
        from langchain_classic.chains import create_retrieval_chain
        from langchain_classic.chains.combine_documents import create_stuff_documents_chain

        prompt = ChatPromptTemplate.from_template("{context}\nQuestion: {input}")
        chain = create_retrieval_chain(
            cities, create_stuff_documents_chain(model(first_fact), prompt)
        )
        run_ids = [uuid.uuid4() for _ in range(5)]
        configs = [config(monitor, run_id=run_id) for run_id in run_ids]
        names = [f"C{'x' * i}" for i in range(5)]
        chain.batch([{"input": f"about {name}"} for name in names], configs)
        assert_each_faithful(monitor, [fact(name) for name in names])
        assert {record.run_id for record in monitor.results} == set(run_ids)
        assert {r.result.claims[0].evidence_document for r in monitor.results} == set(names)

    def test_answer_in_a_dict(self, model, cities, monitor):
        chain = RunnablePassthrough.assign(
            context=itemgetter("question") | cities
        ) | RunnablePassthrough.assign(answer=PROMPT | model(first_fact))
        chain.invoke({"question": "about Rome"}, config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_query_rewriter_before_the_retriever_is_not_the_answer(self, model, cities, monitor):
        rewriter = model("about Oslo") | StrOutputParser()
        chain = (
            rewriter
            | {"context": cities | joined, "question": RunnablePassthrough()}
            | PROMPT
            | model(first_fact)
        )
        chain.invoke("say Oslo", config(monitor))
        assert_each_faithful(monitor, [fact("Oslo")])

    def test_grader_after_the_retriever_is_not_the_answer_either(self, model, cities, monitor):
        chain = (
            RunnablePassthrough.assign(context=itemgetter("question") | cities | joined)
            | RunnablePassthrough.assign(grade=PROMPT | model("relevant") | StrOutputParser())
            | RunnablePassthrough.assign(answer=PROMPT | model(first_fact) | StrOutputParser())
        )
        chain.invoke({"question": "about Rome"}, config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_what_a_retriever_asks_for_is_not_seen(self, model, retriever, monitor):
        inner = retriever([fact("Oslo"), fact("Rome")])
        writer = model("rewritten query")

        class Reranking(BaseRetriever):
            def _get_relevant_documents(
                self, query: str, *, run_manager: CallbackManagerForRetrieverRun
            ) -> list[Document]:
                callbacks = {"callbacks": run_manager.get_child()}
                writer.invoke(query, callbacks)
                return inner.invoke(query, callbacks)[1:]

        chain = Reranking() | RunnableLambda(joined) | model(lambda _: fact("Oslo"))
        chain.invoke("q", config(monitor))
        (record,) = monitor.results
        assert record.result.is_hallucination, "only the second document was passed on"
        assert record.result.coverage.documents == 1

    def test_a_model_within_a_retriever_gives_no_answer(self, model, retriever, monitor):
        writer = model("rewritten query")

        class Rewriting(BaseRetriever):
            def _get_relevant_documents(
                self, query: str, *, run_manager: CallbackManagerForRetrieverRun
            ) -> list[Document]:
                writer.invoke(query, {"callbacks": run_manager.get_child()})
                return []

        both = RunnableParallel(first=retriever([fact("Rome")])) | RunnableParallel(
            second=RunnableLambda(lambda _: "q") | Rewriting()
        )
        both.invoke("q", config(monitor))
        assert list(monitor.results) == []

    def test_only_what_the_prompt_was_shown_counts(self, model, retriever, monitor):
        found = retriever([fact("Oslo"), fact("Rome")])
        sources = {
            "context": found | (lambda documents: joined(documents[1:])),
            "question": RunnablePassthrough(),
        }
        chain = sources | PROMPT | model(lambda _: fact("Oslo"))
        chain.invoke("q", config(monitor))
        assert monitor.results[0].result.is_hallucination

    def test_answer_without_a_model_that_fires_events(self, cities, monitor):
        chain = {"context": cities | joined, "question": RunnablePassthrough()} | RunnableLambda(
            lambda given: first_fact(given["context"])
        )
        chain.invoke("about Rome", config(monitor))
        RunnableLambda(lambda questions: chain.batch(questions)).invoke(
            ["about Oslo", "about Bern"], config(monitor)
        )
        assert_each_faithful(monitor, [fact("Rome"), fact("Oslo"), fact("Bern")])

    def test_retrieval_that_fires_no_events(self, model, monitor):
        chain = RunnablePassthrough.assign(
            context=lambda given: [Document(page_content=fact(given["question"]))]
        ) | RunnablePassthrough.assign(answer=PROMPT | model(first_fact) | StrOutputParser())
        chain.batch([{"question": "Rome"}, {"question": "Oslo"}], config(monitor))
        assert_each_faithful(monitor, [fact("Rome"), fact("Oslo")])

    def test_context_given_by_the_caller(self, model, monitor):
        chain = PROMPT | model(first_fact) | StrOutputParser()
        chain.invoke({"context": fact("Rome"), "question": "?"}, config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_context_given_by_the_caller_and_answer_in_a_dict(self, model, monitor):
        chain = RunnablePassthrough.assign(answer=PROMPT | model(first_fact))
        ids = [uuid.uuid4(), uuid.uuid4()]
        inputs = [{"context": fact(city), "question": "?"} for city in ("Rome", "Oslo")]
        chain.batch(inputs, [config(monitor, run_id=run_id) for run_id in ids])
        assert_each_faithful(monitor, [fact("Rome"), fact("Oslo")])
        assert {record.run_id for record in monitor.results} == set(ids)

    def test_documents_that_only_the_output_tells(self, monitor):
        chain = RunnableLambda(lambda city: {"answer": fact(city), "documents": [fact(city)]})
        chain.invoke("Rome", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_unparsable_output_falls_back_to_the_model(self, model, cities, monitor):
        chain = (
            {"context": cities | joined, "question": RunnablePassthrough()}
            | PROMPT
            | model(lambda prompt: json.dumps({"city": first_fact(prompt)}))
            | JsonOutputParser()
        )
        chain.invoke("about Rome", config(monitor))
        (record,) = monitor.results
        assert record.answer == json.dumps({"city": fact("Rome")})

    def test_a_retriever_that_finds_nothing_is_never_a_pass(self, model, retriever, monitor):
        chain = (
            {"context": retriever([]) | joined, "question": RunnablePassthrough()}
            | PROMPT
            | model("Rome has ten gates.")
        )
        chain.invoke("q", config(monitor))
        (record,) = monitor.results
        assert record.result.status is Status.NO_CONTEXT
        assert record.result.is_hallucination

    def test_an_answer_without_any_documents_is_counted_not_judged(self, model, monitor):
        (ChatPromptTemplate.from_template("{question}") | model("Hello.")).invoke(
            {"question": "hi"}, config(monitor)
        )
        assert list(monitor.results) == []
        assert monitor.without_documents == 1

    def test_a_retriever_alone_says_nothing(self, cities, monitor):
        cities.invoke("about Rome", config(monitor))
        assert list(monitor.results) == []
        assert monitor.active_runs == 0

    def test_chain_in_chain_gives_each_answer_once(self, chain, model, monitor):
        outer = RunnableParallel(summary=chain, question=RunnablePassthrough())
        outer.invoke("about Rome", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_with_retry_checks_what_was_returned_with_its_own_documents(self, model, monitor):
        attempts = []

        class Changing(BaseRetriever):
            def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
                attempts.append(query)
                return [Document(page_content=fact("Rome" if len(attempts) > 1 else "Oslo"))]

        def fails_once(text: str) -> str:
            if len(attempts) == 1:
                raise KeyError("first")
            return text

        chain = (
            {"context": Changing() | joined, "question": RunnablePassthrough()}
            | PROMPT
            | model(first_fact)
            | StrOutputParser()
            | fails_once
        ).with_retry(retry_if_exception_type=(KeyError,), wait_exponential_jitter=False)
        assert chain.invoke("q", config(monitor)) == fact("Rome")
        assert_each_faithful(monitor, [fact("Rome")])

    def test_documents_that_share_an_id(self, model, retriever, monitor):
        pages = [Document(page_content=fact(c), id="page") for c in ("Oslo", "Rome", "Rome")]
        chain = (
            {"context": retriever(pages) | joined, "question": RunnablePassthrough()}
            | PROMPT
            | model(lambda _: fact("Rome"))
        )
        chain.invoke("q", config(monitor))
        (record,) = monitor.results
        assert record.error is None
        assert record.result.coverage.documents == 2

    def test_two_handlers_see_the_same(self, chain, validator):
        first, second = CacoCallbackHandler(validator), CacoCallbackHandler(validator)
        chain.invoke("about Rome", {"callbacks": [first, second]})
        assert [r.answer for r in first.results] == [r.answer for r in second.results]

    def test_documents_for_run_while_it_runs(self, model, cities, monitor):
        seen = []

        def look(text: Any, config: Any) -> Any:
            seen.append(monitor.documents_for_run(config["callbacks"].parent_run_id))
            return text

        chain = {
            "context": cities | joined,
            "question": RunnablePassthrough(),
        } | RunnableLambda(look)
        ids = [uuid.uuid4(), uuid.uuid4()]
        chain.batch(["about Rome", "about Oslo"], [config(monitor, run_id=i) for i in ids])
        assert sorted(documents[0].id for documents in seen) == ["Oslo", "Rome"]
        assert monitor.documents_for_run(ids[0]) is None


class TestStreaming:
    def test_stream_is_checked_once_whole(self, chain, monitor):
        chunks = list(chain.stream("about Rome", config(monitor)))
        assert len(chunks) > 3
        assert_each_faithful(monitor, [fact("Rome")])

    def test_astream(self, chain, validator):
        handler = AsyncCacoCallbackHandler(validator)

        async def main() -> None:
            async for _ in chain.astream("about Rome", config(handler)):
                pass

        asyncio.run(main())
        assert_each_faithful(handler, [fact("Rome")])

    def test_abandoned_stream_leaves_nothing(self, chain, monitor):
        for _ in range(20):
            stream = chain.stream("about Rome", config(monitor))
            next(stream)
            stream.close()
        assert monitor.active_runs == 0
        assert list(monitor.results) == [], "half an answer is not an answer"

    def test_abandoned_async_stream_leaves_nothing(self, chain, validator):
        handler = AsyncCacoCallbackHandler(validator)

        async def main() -> None:
            for _ in range(20):
                stream = chain.astream("about Rome", config(handler))
                await anext(stream)
                await stream.aclose()
            deadline = time.monotonic() + 5
            while handler.active_runs and time.monotonic() < deadline:
                await asyncio.sleep(0.01)

        asyncio.run(main())
        assert handler.active_runs == 0
        assert list(handler.results) == []

    def test_runs_that_never_end_are_bounded(self, validator, caplog):
        monitor = CacoCallbackHandler(validator, max_runs=50)
        with caplog.at_level(logging.WARNING, "langchain_caco"):
            for _ in range(200):
                root = uuid.uuid4()
                monitor.on_chain_start({}, "q", run_id=root)
                monitor.on_chain_start({}, "q", run_id=uuid.uuid4(), parent_run_id=root)
        assert monitor.active_runs <= 50
        assert "max_runs" in caplog.text

    def test_events_of_unknown_runs_are_harmless(self, monitor):
        orphan = uuid.uuid4()
        monitor.on_retriever_end([Document(page_content="x")], run_id=orphan)
        monitor.on_chain_end("an answer", run_id=orphan)
        monitor.on_tool_end("output", run_id=orphan)
        monitor.on_llm_error(ValueError(), run_id=orphan)
        assert monitor.active_runs == 0
        assert list(monitor.results) == []


class TestAgents:
    @pytest.mark.parametrize("response_format", ["content", "content_and_artifact"])
    def test_retriever_tool_called_by_a_chain(self, model, cities, monitor, response_format):
        search = create_retriever_tool(cities, "search", "d", response_format=response_format)
        call = {"name": "search", "args": {"query": "about Rome"}, "id": "1", "type": "tool_call"}

        def agent(question: str, config: Any) -> str:
            found = search.invoke(call, config)
            return str(model(first_fact).invoke([found], config).text)

        RunnableLambda(agent).invoke("q", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])
        assert monitor.results[0].result.claims[0].evidence_document == "Rome"

    def test_artifact_of_a_tool_that_has_no_retriever(self, model, monitor):
        @tool(response_format="content_and_artifact")
        def look_up(city: str) -> Any:
            """Look a city up."""
            return "see the artifact", [Document(page_content=fact(city), id=city)]

        def agent(city: str, config: Any) -> str:
            call = {"name": "look_up", "args": {"city": city}, "id": "1", "type": "tool_call"}
            look_up.invoke(call, config)
            return str(model(fact(city)).invoke(city, config).text)

        RunnableLambda(agent).invoke("Rome", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])
        assert monitor.results[0].result.claims[0].evidence_document == "Rome"

    def test_a_tool_that_failed_is_no_source(self, model, monitor):
        @tool
        def look_up(city: str) -> str:
            """Look a city up."""
            raise ToolException(fact(city))

        look_up.handle_tool_error = True

        def agent(city: str, config: Any) -> str:
            call = {"name": "look_up", "args": {"city": city}, "id": "1", "type": "tool_call"}
            look_up.invoke(call, config)
            return str(model(fact(city)).invoke(city, config).text)

        RunnableLambda(agent).invoke("Rome", config(monitor))
        assert list(monitor.results) == []
        assert monitor.without_documents == 1

    def test_text_of_a_tool_is_a_source(self, model, monitor):
        @tool
        def look_up(city: str) -> str:
            """Look a city up."""
            return fact(city)

        def agent(city: str, config: Any) -> str:
            found = look_up.invoke({"city": city}, config)
            return str(model(first_fact).invoke(found, config).text)

        RunnableLambda(agent).batch(["Rome", "Oslo"], config(monitor))
        assert_each_faithful(monitor, [fact("Rome"), fact("Oslo")])

    def test_langgraph(self, model, cities, monitor):
        pytest.importorskip("langgraph")
        from langgraph.graph import END, START, StateGraph
        from typing_extensions import TypedDict

        class State(TypedDict, total=False):
            question: str
            context: list[Document]
            answer: str

        answer = PROMPT | model(first_fact) | StrOutputParser()
        builder = StateGraph(State)
        builder.add_node("retrieve", lambda s: {"context": cities.invoke(s["question"])})
        builder.add_node("generate", lambda s: {"answer": answer.invoke(s)})
        builder.add_edge(START, "retrieve")
        builder.add_edge("retrieve", "generate")
        builder.add_edge("generate", END)
        graph = builder.compile()
        names = [f"C{'x' * i}" for i in range(10)]
        graph.batch([{"question": f"about {name}"} for name in names], config(monitor))
        assert_each_faithful(monitor, [fact(name) for name in names])

    @pytest.mark.parametrize("mode", ["batch", "gather"])
    def test_agents_with_a_retriever_tool(self, cities, monitor, mode):
        pytest.importorskip("langchain.agents")
        from langchain.agents import create_agent
        from langchain_core.language_models import BaseChatModel
        from langchain_core.messages import HumanMessage
        from langchain_core.outputs import ChatGeneration, ChatResult

        class AgentModel(BaseChatModel):
            @property
            def _llm_type(self) -> str:
                return "agent"

            def bind_tools(self, tools: Any, **_: Any) -> Any:
                return self

            def _generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatResult:
                question, *found = messages
                call = {"name": "search", "args": {"query": question.text}, "id": "1"}
                message = (
                    AIMessage(first_fact(found[-1].text))
                    if found
                    else AIMessage("Let me look.", tool_calls=[call])
                )
                return ChatResult(generations=[ChatGeneration(message=message)])

        agent = create_agent(AgentModel(), [create_retriever_tool(cities, "search", "d")])
        names = [f"C{'x' * i}" for i in range(10)]
        inputs = [{"messages": [HumanMessage(f"about {name}")]} for name in names]
        if mode == "batch":
            agent.batch(inputs, config(monitor))
        else:

            async def main() -> None:
                await asyncio.gather(*(agent.ainvoke(i, config(monitor)) for i in inputs))

            asyncio.run(main())
        assert_each_faithful(monitor, [fact(name) for name in names])
        assert {r.result.claims[0].evidence_document for r in monitor.results} == set(names)

    def test_the_verdict_of_the_verify_tool_is_no_source(self, model, validator, monitor):
        from langchain_caco.tools import CacoVerifyTool

        verify = CacoVerifyTool(validator=validator)
        arguments = {"answer": "Rome has nine gates.", "sources": [fact("Rome")]}
        call = {"name": verify.name, "args": arguments, "id": "1", "type": "tool_call"}

        def agent(question: str, config: Any) -> str:
            verify.invoke(call, config)
            return str(model("Rome has nine gates.").invoke(question, config).text)

        RunnableLambda(agent).invoke("q", config(monitor))
        assert list(monitor.results) == []
        assert monitor.without_documents == 1


class TestRetrieversOfLangchain:
    """Retrievers made of retrievers: what the outer one returns is what counts."""

    @pytest.fixture(autouse=True)
    def _needs_langchain_classic(self):
        pytest.importorskip("langchain_classic")

    def run(self, retriever: Any, model: Any, monitor: Any) -> Any:
        chain = (
            {"context": retriever | joined, "question": RunnablePassthrough()}
            | PROMPT
            | model(fact("Rome"))
        )
        chain.batch(["q"] * 3, config(monitor))
        asyncio.run(chain.ainvoke("q", config(monitor)))
        assert len(monitor.results) == 4
        assert monitor.active_runs == 0
        (documents,) = {record.result.coverage.documents for record in monitor.results}
        return documents, monitor.results[0].result.is_hallucination

    def test_ensemble(self, retriever, model, monitor):
        from langchain_classic.retrievers import EnsembleRetriever

        both = EnsembleRetriever(
            retrievers=[retriever([fact("Oslo")]), retriever([fact("Rome"), fact("Oslo")])],
            weights=[0.5, 0.5],
        )
        assert self.run(both, model, monitor) == (2, False)

    def test_multi_query_with_a_model_of_its_own(self, retriever, model, monitor):
        from langchain_classic.retrievers import MultiQueryRetriever

        several = MultiQueryRetriever.from_llm(
            retriever([fact("Rome")]), model("first query\nsecond query")
        )
        assert self.run(several, model, monitor) == (1, False)

    def test_contextual_compression(self, retriever, model, monitor):
        from langchain_classic.retrievers import ContextualCompressionRetriever
        from langchain_core.documents import BaseDocumentCompressor

        class LastOnly(BaseDocumentCompressor):
            def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
                return documents[-1:]

        compressed = ContextualCompressionRetriever(
            base_compressor=LastOnly(),
            base_retriever=retriever([fact("Rome"), fact("Oslo")]),
        )
        assert self.run(compressed, model, monitor) == (1, True)


class TestOtherRunnables:
    def test_map(self, chain, monitor):
        chain.map().invoke(["about Rome", "about Oslo"], config(monitor))
        assert_each_faithful(monitor, [fact("Rome"), fact("Oslo")])

    def test_fallbacks(self, chain, cities, monitor):
        def fail(given: Any) -> str:
            raise KeyError(given)

        broken = {"context": cities | joined, "question": RunnablePassthrough()} | RunnableLambda(
            fail
        )
        broken.with_fallbacks([chain]).invoke("about Rome", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_two_answers_from_the_same_documents(self, model, cities, monitor):
        chain = {"context": cities | joined, "question": RunnablePassthrough()} | RunnableParallel(
            short=PROMPT | model(first_fact) | StrOutputParser(),
            long=PROMPT | model("The city of Rome has 4 gates. It is old.") | StrOutputParser(),
        )
        chain.invoke("about Rome", config(monitor))
        answers = {r.answer: r.result.is_hallucination for r in monitor.results}
        assert answers == {fact("Rome"): False, "The city of Rome has 4 gates. It is old.": True}

    def test_two_chains_side_by_side(self, chain, monitor):
        RunnableParallel(first=chain, second=RunnableLambda(lambda _: "about Oslo") | chain).invoke(
            "about Rome", config(monitor)
        )
        assert_each_faithful(monitor, [fact("Rome"), fact("Oslo")])

    def test_a_completion_model(self, cities, monitor):
        from langchain_core.language_models import FakeListLLM

        chain = (
            {"context": cities | joined, "question": RunnablePassthrough()}
            | PROMPT
            | FakeListLLM(responses=[fact("Rome")])
            | RunnableLambda(lambda text: {"city": text})
        )
        chain.invoke("about Rome", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_astream_events(self, chain, monitor):
        async def main() -> None:
            async for _ in chain.astream_events("about Rome", config(monitor), version="v2"):
                pass

        asyncio.run(main())
        assert_each_faithful(monitor, [fact("Rome")])

    def test_copies_monitor_on_their_own(self, chain, monitor):
        chain.invoke("about Rome", config(monitor))
        for again in (copy.deepcopy(monitor), pickle.loads(pickle.dumps(monitor))):
            chain.invoke("about Oslo", config(again))
            assert [r.answer for r in again.results] == [fact("Rome"), fact("Oslo")]
            assert again.flush(timeout=0)
        assert len(monitor.results) == 1


class TestErrors:
    @pytest.fixture
    def broken(self) -> Validator:
        def fail(claim: str, context: str) -> Any:
            raise RuntimeError("out of memory")

        return Validator(classifier=FakeClassifier(fail))

    def test_error_is_recorded_counted_and_logged(self, chain, broken, caplog):
        monitor = CacoCallbackHandler(broken)
        assert chain.invoke("about Rome", config(monitor)) == fact("Rome")
        (record,) = monitor.results
        assert record.result is None
        assert "out of memory" in str(record.error)
        assert (monitor.checked, monitor.errors) == (0, 1)
        assert "out of memory" in caplog.text
        assert monitor.active_runs == 0

    def test_raise_error_sync(self, chain, broken):
        monitor = CacoCallbackHandler(broken, raise_error=True)
        with pytest.raises(Exception, match="out of memory"):
            chain.invoke("about Rome", config(monitor))
        assert monitor.errors == 1

    @pytest.mark.parametrize("kind", [CacoCallbackHandler, AsyncCacoCallbackHandler])
    def test_raise_error_async(self, chain, broken, kind):
        with pytest.raises(Exception, match="out of memory"):
            asyncio.run(chain.ainvoke("about Rome", config(kind(broken, raise_error=True))))

    def test_chain_that_fails_leaves_nothing(self, chain, monitor):
        def fail(text: str) -> str:
            raise KeyError(text)

        with pytest.raises(KeyError):
            (chain | fail).invoke("about Rome", config(monitor))
        assert monitor.active_runs == 0

    @pytest.mark.parametrize("kind", ["model", "tool", "retriever"])
    def test_part_that_fails_leaves_nothing(self, model, retriever, monitor, kind):
        def fail(_: str) -> Any:
            raise KeyError("broken")

        @tool
        def broken(query: str) -> str:
            """Break."""
            raise KeyError(query)

        part = {"model": model(fail), "tool": broken, "retriever": retriever(fail)}[kind]
        with pytest.raises(KeyError):
            (RunnablePassthrough() | part).invoke("q", config(monitor))
        assert monitor.active_runs == 0
        assert list(monitor.results) == []

    def test_a_model_that_fails_and_its_fallback(self, model, cities, monitor):
        def fail(_: str) -> Any:
            raise KeyError("broken")

        both = model(fail).with_fallbacks([model(first_fact)])
        chain = {"context": cities | joined, "question": RunnablePassthrough()} | PROMPT | both
        chain.invoke("about Rome", config(monitor))
        assert_each_faithful(monitor, [fact("Rome")])

    def test_hook_that_returns_a_coroutine_nobody_awaits(self, chain, validator, caplog):
        async def hook(record: MonitorRecord) -> None: ...

        monitor = CacoCallbackHandler(validator, on_result=lambda record: hook(record))
        chain.invoke("about Rome", config(monitor))
        assert monitor.errors == 1
        assert "coroutine" in caplog.text

    def test_hook_that_fails_breaks_nothing(self, chain, validator, caplog):
        def fail(record: MonitorRecord) -> None:
            raise OSError("disk full")

        seen: list[MonitorRecord] = []
        monitor = CacoCallbackHandler(validator, on_result=[fail, seen.append])
        chain.invoke("about Rome", config(monitor))
        assert len(seen) == len(monitor.results) == 1
        assert (monitor.checked, monitor.errors) == (1, 1)
        assert "disk full" in caplog.text

    def test_hook_that_fails_surfaces_on_request(self, chain, validator):
        def fail(record: MonitorRecord) -> None:
            raise OSError("disk full")

        monitor = CacoCallbackHandler(validator, on_result=fail, raise_error=True)
        with pytest.raises(OSError, match="disk full"):
            chain.invoke("about Rome", config(monitor))

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"max_results": 0}, ValueError),
            ({"queue_size": 0}, ValueError),
            ({"max_runs": 0}, ValueError),
            ({"threshold": 1.5}, ValueError),
            ({"language": "klingon"}, ValueError),
            ({"background": True, "raise_error": True}, ValueError),
            ({"on_result": "print"}, TypeError),
        ],
    )
    def test_bad_arguments(self, arguments, error):
        with pytest.raises(error):
            CacoCallbackHandler(**arguments)

    def test_coroutine_hooks_need_somebody_who_awaits(self, validator):
        async def hook(record: MonitorRecord) -> None: ...

        for make in (
            lambda: CacoCallbackHandler(validator, on_result=hook),
            lambda: AsyncCacoCallbackHandler(validator, on_result=hook, background=True),
        ):
            with pytest.raises(TypeError, match="coroutine"):
                make()


class TestHandler:
    def test_results_are_bounded(self, chain, validator):
        monitor = CacoCallbackHandler(validator, max_results=3)
        chain.batch([f"about C{'x' * i}" for i in range(10)], config(monitor))
        assert len(monitor.results) == 3
        assert monitor.checked == 10

    def test_threshold(self, chain, validator):
        strict = CacoCallbackHandler(validator, threshold=0.001)
        chain.invoke("about Rome", config(strict))
        assert strict.results[0].result.threshold == 0.001
        assert strict.results[0].result.is_hallucination

    def test_async_hook_is_awaited(self, chain, validator):
        seen = []

        async def hook(record: MonitorRecord) -> None:
            await asyncio.sleep(0)
            seen.append(record)

        handler = AsyncCacoCallbackHandler(validator, on_result=hook)
        asyncio.run(chain.ainvoke("about Rome", config(handler)))
        assert len(seen) == 1

    def test_async_handler_in_a_sync_chain(self, chain, validator):
        handler = AsyncCacoCallbackHandler(validator)
        chain.batch(["about Rome", "about Oslo"], config(handler))
        assert_each_faithful(handler, [fact("Rome"), fact("Oslo")])

    def test_the_default_validator(self):
        assert isinstance(CacoCallbackHandler(language="pt").validator, Validator)
        assert CacoCallbackHandler(language="pt").validator.language == "portuguese"


class TestBackground:
    @pytest.fixture
    def slow(self) -> Any:
        gate = threading.Event()

        def wait(claim: str, context: str) -> Any:
            assert gate.wait(10)
            return "entailment"

        from caco.models import Labels

        def classify(claim: str, context: str) -> Labels:
            wait(claim, context)
            return Labels.VALUE_ENTAILMENT

        return gate, Validator(classifier=FakeClassifier(classify))

    def test_the_chain_does_not_wait(self, chain, slow):
        gate, validator = slow
        monitor = CacoCallbackHandler(validator, background=True)
        chain.batch([f"about C{'x' * i}" for i in range(5)], config(monitor))
        assert list(monitor.results) == []
        assert monitor.flush(timeout=0.01) is False
        gate.set()
        assert monitor.flush(timeout=10) is True
        assert len(monitor.results) == 5

    def test_a_full_queue_says_so(self, chain, slow, caplog):
        gate, validator = slow
        monitor = CacoCallbackHandler(validator, background=True, queue_size=2)
        for _ in range(10):
            chain.invoke("about Rome", config(monitor))
        assert monitor.dropped in (7, 8)  # the first may still wait to be taken up
        assert "queue is full" in caplog.text
        gate.set()
        monitor.flush()
        assert len(monitor.results) + monitor.dropped == 10

    def test_flush_without_work_returns_at_once(self, validator):
        assert CacoCallbackHandler(validator).flush(timeout=0) is True
        assert CacoCallbackHandler(validator, background=True).flush(timeout=0) is True

    def test_no_thread_is_left(self, chain, validator):
        before = threading.active_count()
        monitor = CacoCallbackHandler(validator, background=True)
        chain.invoke("about Rome", config(monitor))
        monitor.flush()
        deadline = time.monotonic() + 5
        while threading.active_count() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert threading.active_count() <= before

    def test_errors_in_the_background_are_counted(self, chain, caplog):
        def fail(claim: str, context: str) -> Any:
            raise RuntimeError("out of memory")

        monitor = CacoCallbackHandler(Validator(classifier=FakeClassifier(fail)), background=True)
        chain.invoke("about Rome", config(monitor))
        chain.invoke("about Rome", config(monitor))
        monitor.flush()
        assert monitor.errors == 2
        assert "out of memory" in caplog.text

    def test_flush_from_a_hook_is_refused(self, chain, validator):
        problems = []

        def hook(record: MonitorRecord) -> None:
            try:
                monitor.flush()
            except RuntimeError as error:
                problems.append(error)

        monitor = CacoCallbackHandler(validator, background=True, on_result=hook)
        chain.invoke("about Rome", config(monitor))
        monitor.flush()
        assert len(problems) == 1

    def test_aflush(self, chain, validator):
        handler = AsyncCacoCallbackHandler(validator, background=True)

        async def main() -> bool:
            await chain.ainvoke("about Rome", config(handler))
            return await handler.aflush(timeout=10)

        assert asyncio.run(main()) is True
        assert_each_faithful(handler, [fact("Rome")])


class TestMonitorContext:
    def test_chains_are_seen_without_a_change(self, chain, validator):
        with caco_monitor(validator=validator) as monitor:
            chain.invoke("about Rome")
            chain.batch(["about Oslo", "about Bern"])
            asyncio.run(chain.ainvoke("about Paris"))
        chain.invoke("about Lima")
        assert_each_faithful(monitor, [fact(c) for c in ("Rome", "Oslo", "Bern", "Paris")])

    def test_given_explicitly_too_it_counts_once(self, chain, validator):
        with caco_monitor(validator=validator) as monitor:
            chain.invoke("about Rome", config(monitor))
        assert len(monitor.results) == 1

    def test_at_the_end_everything_is_checked(self, chain, validator):
        with caco_monitor(validator=validator, background=True) as monitor:
            chain.batch([f"about C{'x' * i}" for i in range(10)])
        assert len(monitor.results) == 10

    def test_nested_the_inner_one_sees(self, chain, validator):
        with caco_monitor(validator=validator) as outer:
            with caco_monitor(validator=validator) as inner:
                chain.invoke("about Rome")
            chain.invoke("about Oslo")
        assert [r.answer for r in inner.results] == [fact("Rome")]
        assert [r.answer for r in outer.results] == [fact("Oslo")]

    def test_a_bare_thread_is_not_seen(self, chain, validator):
        with caco_monitor(validator=validator) as monitor:
            thread = threading.Thread(target=chain.invoke, args=("about Rome",))
            thread.start()
            thread.join()
        assert list(monitor.results) == []

    def test_ends_with_the_block_that_raises(self, chain, validator):
        with pytest.raises(KeyError), caco_monitor(validator=validator) as monitor:
            raise KeyError
        chain.invoke("about Rome")
        assert list(monitor.results) == []

    def test_a_handler_of_ones_own(self, chain, validator):
        mine = AsyncCacoCallbackHandler(validator)
        with caco_monitor(mine) as monitor:
            asyncio.run(chain.ainvoke("about Rome"))
        assert monitor is mine
        assert len(mine.results) == 1
        with pytest.raises(TypeError, match="threshold"), caco_monitor(mine, threshold=0.5):
            pass

    def test_registering_is_global_and_done_once(self, validator):
        from langchain_core.tracers import context

        before = len(context._configure_hooks)
        for _ in range(5):
            with caco_monitor(validator=validator):
                pass
        assert len(context._configure_hooks) == before


class TestReporting:
    def test_langsmith_feedback(self, chain, validator):
        class Client:
            def __init__(self) -> None:
                self.sent: list[dict[str, Any]] = []

            def create_feedback(self, run_id: Any = None, key: str = "f", **more: Any) -> None:
                self.sent.append({"run_id": run_id, "key": key, **more})

        client = Client()
        monitor = CacoCallbackHandler(validator, langsmith_client=client)
        run_id = uuid.uuid4()
        chain.invoke("about Rome", config(monitor, run_id=run_id))
        chain.invoke("lie about Rome", config(monitor))
        good, bad = client.sent
        assert good["run_id"] == run_id
        assert good["key"] == "faithfulness"
        assert good["score"] > 0.9
        assert bad["score"] < 0.1
        assert bad["comment"] == monitor.results[1].result.summary

    def test_the_real_client_takes_what_is_sent(self, chain, validator):
        import inspect

        from langsmith import Client

        parameters = inspect.signature(Client.create_feedback).parameters
        assert {"run_id", "key", "score", "comment"} <= set(parameters)

    def test_feedback_that_fails_breaks_nothing(self, chain, validator, caplog):
        class Client:
            def create_feedback(self, **_: Any) -> None:
                raise ConnectionError("unreachable")

        for kind, call in (
            (CacoCallbackHandler, lambda c: chain.invoke("about Rome", c)),
            (AsyncCacoCallbackHandler, lambda c: asyncio.run(chain.ainvoke("about Rome", c))),
        ):
            handler = kind(validator, langsmith_client=Client())
            call(config(handler))
            assert (handler.checked, handler.errors) == (1, 1)
        assert "unreachable" in caplog.text

    def test_prometheus(self, chain, validator):
        registry = pytest.importorskip("prometheus_client").REGISTRY

        def count(outcome: str) -> float:
            name = "caco_langchain_answers_total"
            return registry.get_sample_value(name, {"outcome": outcome}) or 0.0

        before = count("faithful"), count("hallucination")
        monitor = CacoCallbackHandler(validator)
        chain.batch(["about Rome", "lie about Oslo", "about Bern"], config(monitor))
        assert count("faithful") == before[0] + 2
        assert count("hallucination") == before[1] + 1

    @pytest.mark.parametrize("background", [False, True])
    def test_opentelemetry(self, chain, validator, background):
        pytest.importorskip("opentelemetry.sdk")
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        monitor = CacoCallbackHandler(validator, background=background)
        with provider.get_tracer("test").start_as_current_span("request"):
            chain.invoke("lie about Rome", config(monitor))
            monitor.flush()
        (span,) = exporter.get_finished_spans()
        assert span.attributes["caco.outcome"] == "hallucination"
        assert span.attributes["caco.is_hallucination"] is True
        assert span.attributes["caco.score"] == monitor.results[0].result.score

    def test_a_span_that_has_ended_is_left_alone(self, chain, validator, caplog):
        pytest.importorskip("opentelemetry.sdk")
        from opentelemetry.sdk.trace import TracerProvider

        gate = threading.Event()
        monitor = CacoCallbackHandler(
            validator, background=True, on_result=lambda record: gate.wait(10)
        )
        with TracerProvider().get_tracer("test").start_as_current_span("request"):
            chain.invoke("about Rome", config(monitor))
            chain.invoke("about Rome", config(monitor))
        gate.set()
        monitor.flush()
        assert "ended span" not in caplog.text
        assert monitor.errors == 0

    def test_neither_package_is_needed(self, chain, validator, monkeypatch):
        import sys

        from langchain_caco import telemetry

        for name in ("prometheus_client", "opentelemetry"):
            monkeypatch.setitem(sys.modules, name, None)
        # Not through the caches: a counter can be registered only once in a process.
        monkeypatch.setattr(telemetry, "_trace", telemetry._trace.__wrapped__)
        monkeypatch.setattr(telemetry, "_counter", telemetry._counter.__wrapped__)
        assert telemetry._trace() is None
        assert telemetry._counter() is None
        monitor = CacoCallbackHandler(validator)
        chain.invoke("about Rome", config(monitor))
        assert monitor.checked == 1


def test_an_ai_message_with_blocks(model, cities, monitor):
    chain = {"context": cities | joined, "question": RunnablePassthrough()} | RunnableLambda(
        lambda given: AIMessage(
            [
                {"type": "reasoning", "reasoning": "The city of Rome has 99 gates."},
                {"type": "text", "text": first_fact(given["context"])},
            ]
        )
    )
    chain.invoke("about Rome", config(monitor))
    assert_each_faithful(monitor, [fact("Rome")])


def test_the_embedded_model(model, retriever):
    found = retriever([Document(page_content="The Eiffel Tower was completed in 1889.", id="g")])

    def answers(text: str) -> Any:
        return found | RunnableLambda(joined) | model(text)

    with caco_monitor(background=True) as monitor:
        answers("The Eiffel Tower was completed in 1889.").invoke("q")
        answers("The Eiffel Tower was completed in 1925.").invoke("q")
    right, wrong = monitor.results
    assert not right.result.is_hallucination
    assert wrong.result.is_hallucination
    assert wrong.result.claims[0].evidence_document == "g"
