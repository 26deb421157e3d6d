"""Many runs at once over one guard: nothing is mixed up, and the event loop stays free."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from langchain_caco import CacoCallbackHandler, CacoGuard, with_hallucination_retry

RUNS = 200


def fact(number):
    return f"Box {number} holds {number} nuts."


def facts(query):
    number = int(query.split()[-1])
    return [
        Document(page_content=f"Crate {number} is red."),
        Document(page_content=fact(number), id="box", metadata={"number": number}),
    ]


@pytest.fixture
def rag(model, retriever):
    """Every third answer is wrong: it says what another run's documents say."""

    def answer(prompt):
        number = int(prompt.split()[-1])
        return fact(number + 1 if number % 3 == 0 else number)

    prompt = ChatPromptTemplate.from_template("{context} {question}")
    parts = {"context": retriever(facts), "question": RunnablePassthrough()}
    return parts | prompt | model(answer) | StrOutputParser()


def check(outs):
    assert len(outs) == RUNS
    for number, out in enumerate(outs):
        wrong = number % 3 == 0
        assert out == fact(number + 1 if wrong else number)
        assert out.validation.is_hallucination is wrong, number
        assert out.validation.coverage.documents == 2
        if not wrong:
            assert out.validation.claims[0].evidence == fact(number)


QUESTIONS = [f"box {number}" for number in range(RUNS)]


def test_gathered_runs(rag, validator):
    chain = CacoGuard.around(rag, validator=validator)

    async def main():
        return await asyncio.gather(*(chain.ainvoke(question) for question in QUESTIONS))

    check(asyncio.run(main()))


def test_one_handler_tells_all_runs_apart(rag, validator):
    """A plain guard, which learns the documents from the one handler that all runs share."""
    handler = CacoCallbackHandler(validator=validator, max_results=RUNS)
    chain = (rag | CacoGuard(validator=validator)).with_config(callbacks=[handler])

    async def main():
        return await asyncio.gather(*(chain.ainvoke(question) for question in QUESTIONS))

    check(asyncio.run(main()))
    check(chain.batch(QUESTIONS))


def test_threads(rag, validator):
    chain = CacoGuard.around(rag, validator=validator)
    with ThreadPoolExecutor(16) as pool:
        check(list(pool.map(chain.invoke, QUESTIONS)))


@pytest.mark.parametrize("how", ["batch", "abatch"])
def test_batches(rag, validator, how):
    chain = CacoGuard.around(rag, validator=validator)
    outs = chain.batch(QUESTIONS) if how == "batch" else asyncio.run(chain.abatch(QUESTIONS))
    check(outs)


def test_retries_at_once(validator):
    """The history of each run is its own."""

    def answer(given):
        number = given["number"]
        return {**given, "answer": fact(number) if given["feedback"] else fact(number + 1)}

    chain = with_hallucination_retry(RunnableLambda(answer), CacoGuard(validator=validator))
    rows = [{"number": n, "context": [fact(n)]} for n in range(RUNS)]

    async def main():
        return await asyncio.gather(*(chain.ainvoke(row) for row in rows))

    for outs in (asyncio.run(main()), chain.batch(rows)):
        for number, out in enumerate(outs):
            answers = [attempt.answer for attempt in out["validation"].attempts]
            assert answers == [fact(number + 1), fact(number)]
            assert not out["validation"].is_hallucination


def test_loops_in_several_threads_share_a_guard(rag, validator):
    chain = CacoGuard.around(rag, validator=validator)

    def loop(question):
        return asyncio.run(chain.ainvoke(question))

    with ThreadPoolExecutor(8) as pool:
        check(list(pool.map(loop, QUESTIONS)))


def test_the_loop_is_free_while_the_model_works(loop_watch, watched_validator):
    guard = CacoGuard(validator=watched_validator)

    def row(number):
        shelves = range(10 * number, 10 * number + 3)
        return {
            "answer": " ".join(f"Shelf {shelf} carries {shelf} old books." for shelf in shelves),
            "context": [f"In room {n} of house {number} there are {n} lamps." for n in range(8)],
        }

    async def main():
        return await asyncio.gather(*(guard.ainvoke(row(number)) for number in range(4)))

    assert all(out["validation"].is_hallucination for out in loop_watch.run(main))
