"""The same answer and documents get the same verdict, whichever way they come in."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.schema import NodeWithScore, TextNode

from caco.models import Document, ValidationResult
from caco.validator import Validator
from llamaindex_caco import (
    CacoEvaluator,
    CacoQueryEngine,
    CacoRetryQueryEngine,
    caco_instrumentation,
)

LGPD = ["The LGPD was enacted on August 14, 2018, by President Michel Temer.", "It rains."]
LEAVE = ["Full-time employees accrue two days of paid leave for every month worked."]
SPEAKER = ["To restore the speaker, hold the power button for ten seconds.", "The light is red."]
BRIDGE = ["The bridge over the Douro opened in 1886. It is 385 metres long and made of iron."]
LEI = ["A LGPD foi sancionada em 14 de agosto de 2018 por Michel Temer."]
FUND = ["The fund returned 4.2% in 2021 and 3.1% in 2022.", "Fees are 0.4% a year."]

CASES = [
    (documents, answer)
    for documents, answers in [
        (
            LGPD,
            [
                "The LGPD was enacted in 2018.",
                "The LGPD was enacted in 2015.",
                "The LGPD was signed by Michel Temer. It has 65 articles.",
                "Hello! How can I help you?",
                "I don't know.",
                "# Answer\n\n- The LGPD was enacted in 2018.\n- Dilma Rousseff signed it.",
            ],
        ),
        (
            LEAVE,
            [
                "Full-time staff earn two days of paid leave a month.",
                "Full-time staff earn three days of paid leave a month.",
                "Part-time employees accrue one day of leave.",
                "**Two days** of paid leave accrue for every month worked [1].",
            ],
        ),
        (
            SPEAKER,
            [
                "Hold the power button for ten seconds to restore the speaker.",
                "Hold the power button for two seconds to restore the speaker.",
                "The light is green.",
                "The speaker weighs two kilos. The light is red.",
            ],
        ),
        (
            BRIDGE,
            [
                "The bridge opened in 1886.",
                "The bridge opened in 1896.",
                "It is 385 m long.",
                "The iron bridge is 358 metres long.",
                "The bridge was designed by Eiffel's pupil.",
            ],
        ),
        (
            LEI,
            [
                "A LGPD foi sancionada em 2018.",
                "A LGPD foi sancionada em 2015.",
                "Não sei.",
            ],
        ),
        (
            FUND,
            [
                "The fund returned 4.2% in 2021.",
                "The fund returned 4.2% in 2022.",
                "Fees are 0.4% per year.",
                "Fees are 4% per year.",
                "The fund lost money in 2021, and it returned 3.1% in 2022.",
            ],
        ),
        ([" "], ["The bridge opened in 1886."]),
        ([], ["The bridge opened in 1886.", "I don't know."]),
    ]
    for answer in answers
]

QUERY = "What do the documents say?"


def language_of(documents) -> str:
    return "portuguese" if documents is LEI else "english"


@pytest.fixture(scope="module")
def validators() -> dict[str, Validator]:
    return {language: Validator(language=language) for language in ("english", "portuguese")}


@pytest.fixture
def case(request, validators):
    texts, answer = request.param
    nodes = [NodeWithScore(node=TextNode(text=t, id_=f"d{i}")) for i, t in enumerate(texts)]
    validator = validators[language_of(texts)]
    documents = [Document(text, f"d{i}") for i, text in enumerate(texts)]
    return validator, nodes, answer, validator.validate(answer, documents, QUERY)


every_case = pytest.mark.parametrize(
    "case", CASES, indirect=True, ids=[answer[:40] for _, answer in CASES]
)


def test_there_are_thirty_cases():
    assert len(CASES) == 30


@every_case
def test_the_evaluator_and_the_engines_say_what_the_engine_says(case, given_engine):
    validator, nodes, answer, expected = case
    evaluator = CacoEvaluator(validator)
    found = [
        evaluator.evaluate_response(QUERY, Response(answer, nodes)).validation,
        asyncio.run(evaluator.aevaluate(QUERY, answer, nodes)).validation,
        CacoQueryEngine(given_engine(), validator=validator)
        .check_response(Response(answer, nodes), QUERY)
        .metadata["caco"],
        _streamed(given_engine, validator, nodes, answer),
        _retried(given_engine, validator, nodes, answer),
    ]
    assert found == [expected] * 5


@every_case
def test_monitoring_says_what_the_engine_says(case, given_engine):
    validator, nodes, answer, expected = case
    with caco_instrumentation(validator) as monitor:
        given_engine(Response(answer, nodes)).query(QUERY)
    assert [record.result for record in monitor.results] == [expected]


@every_case
def test_langchain_says_what_the_engine_says(case):
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document as LangChainDocument

    from langchain_caco import CacoGuard

    validator, nodes, answer, expected = case
    context = [LangChainDocument(page_content=node.text, id=node.node_id) for node in nodes]
    found = CacoGuard(validator=validator).invoke(
        {"question": QUERY, "context": context, "answer": answer}
    )["validation"]
    assert _verdict(found) == _verdict(expected)


def _verdict(result: ValidationResult):
    claims = [(c.text, c.label, c.evidence, round(c.score, 6)) for c in result.claims]
    return result.status, result.is_hallucination, round(result.score, 6), claims


def _streamed(given_engine, validator, nodes, answer) -> ValidationResult:
    stream = StreamingResponse((character for character in answer), nodes)
    guarded = CacoQueryEngine(given_engine(), validator=validator).check_response(stream, QUERY)
    assert str(guarded) == answer
    return guarded.metadata["caco"]


def _retried(given_engine, validator, nodes, answer) -> ValidationResult:
    engine = CacoRetryQueryEngine(given_engine(Response(answer, nodes)), 0, validator=validator)
    return replace(engine.query(QUERY).metadata["caco"], attempts=())
