"""Many chains at once through one handler and one validator: none mixed up, the loop stays free."""

from __future__ import annotations

import asyncio
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from caco.models import Labels
from caco.testing import FakeClassifier
from caco.validator import Validator
from langchain_caco import CacoGuard
from langchain_caco.callbacks import AsyncCacoCallbackHandler, CacoCallbackHandler

PROMPT = ChatPromptTemplate.from_template("Sources:\n{context}\nQuestion: {question}")


def facts(number: str) -> list[str]:
    return [f"Town {number} has {int(number) + i} bells number {i}." for i in range(3)]


def answer(prompt: str) -> str:
    """Every seventh answer is about another town: whoever mixes documents up misses it."""
    number = int(re.findall(r"Question: (\d+)", prompt)[-1])
    source = re.findall(r"Town \d+ has \d+ bells number 1\.", prompt)[0]
    return facts(str(number + 1000))[1] if number % 7 == 0 else source


@pytest.fixture
def chain(model, retriever):
    found = retriever(lambda q: [Document(page_content=t, id=t[:12]) for t in facts(q)])
    sources = {
        "context": found | (lambda documents: "\n".join(d.page_content for d in documents)),
        "question": RunnablePassthrough(),
    }
    return sources | PROMPT | model(answer) | StrOutputParser()


@pytest.fixture
def slow_validator() -> Validator:
    def classify(claim: str, context: str) -> Labels:
        time.sleep(0.002)
        return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_CONTRADICTION

    return Validator(classifier=FakeClassifier(classify))


def assert_none_mixed_up(handler: Any, numbers: range) -> None:
    assert len(handler.results) == len(numbers)
    assert handler.active_runs == 0
    assert (handler.errors, handler.dropped) == (0, 0)
    wrong = sorted(record.answer for record in handler.results if record.result.is_hallucination)
    assert wrong == sorted(facts(str(n + 1000))[1] for n in numbers if n % 7 == 0)
    for record in handler.results:
        assert record.result.coverage.documents == 3


@pytest.mark.parametrize("kind", [CacoCallbackHandler, AsyncCacoCallbackHandler])
def test_200_concurrent_async_runs(chain, slow_validator, kind):
    handler = kind(slow_validator)
    numbers = range(1, 201)

    async def main() -> None:
        await asyncio.gather(*(chain.ainvoke(str(n), {"callbacks": [handler]}) for n in numbers))

    asyncio.run(main())
    assert_none_mixed_up(handler, numbers)


def test_200_concurrent_runs_over_one_guard_and_one_handler(chain, slow_validator):
    handler = CacoCallbackHandler(slow_validator)
    guarded = chain | CacoGuard(validator=slow_validator)
    numbers = range(1, 201)

    async def main() -> list[Any]:
        return await asyncio.gather(
            *(guarded.ainvoke(str(n), {"callbacks": [handler]}) for n in numbers)
        )

    outputs = asyncio.run(main())
    for number, output in zip(numbers, outputs, strict=True):
        assert output.validation.is_hallucination is (number % 7 == 0)
        assert output.validation.coverage.documents == 3
    assert_none_mixed_up(handler, numbers)


def test_threads_each_with_a_batch(chain, validator):
    handler = CacoCallbackHandler(validator)
    with ThreadPoolExecutor(8) as pool:
        blocks = [range(start, start + 25) for start in range(1, 201, 25)]
        list(
            pool.map(
                lambda block: chain.batch([str(n) for n in block], {"callbacks": [handler]}),
                blocks,
            )
        )
    assert_none_mixed_up(handler, range(1, 201))


def test_nested_batches_in_threads(chain, validator):
    handler = CacoCallbackHandler(validator)
    outer = RunnableLambda(lambda block: chain.batch(block))
    blocks = [[str(n) for n in range(start, start + 25)] for start in range(1, 201, 25)]
    outer.batch(blocks, {"callbacks": [handler]})
    assert_none_mixed_up(handler, range(1, 201))


def test_in_the_background(chain, slow_validator):
    handler = CacoCallbackHandler(slow_validator, background=True)
    chain.batch([str(n) for n in range(1, 101)], {"callbacks": [handler]})
    assert handler.flush(timeout=60)
    assert_none_mixed_up(handler, range(1, 101))


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("kind", [CacoCallbackHandler, AsyncCacoCallbackHandler])
def test_the_loop_stays_free(chain, loop_watch, kind, background):
    verdict = loop_watch.within(lambda claim, context: Labels.VALUE_ENTAILMENT)
    handler = kind(Validator(classifier=FakeClassifier(verdict)), background=background)

    async def main() -> None:
        await asyncio.gather(
            *(chain.ainvoke(str(n), {"callbacks": [handler]}) for n in range(1, 5))
        )
        assert await asyncio.to_thread(handler.flush)

    loop_watch.run(main)
    assert len(handler.results) == 4
