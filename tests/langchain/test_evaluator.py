"""Faithfulness as a LangSmith and openevals evaluator."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from caco.models import Coverage, Status, ValidationResult
from caco.validator import Validator
from langchain_caco.evaluator import caco_evaluator, faithfulness

ROME = "Rome has four gates."
FALSE = "Rome has nine gates."


@pytest.fixture
def evaluate(validator) -> Any:
    return caco_evaluator(validator)


def test_shape(evaluate):
    feedback = evaluate(inputs={"question": "?"}, outputs={"answer": ROME, "context": [ROME]})
    assert set(feedback) == {"key", "score", "comment"}
    assert feedback["key"] == "faithfulness"
    assert feedback["score"] > 0.9
    assert isinstance(feedback["comment"], str)
    assert feedback["comment"]


def test_a_false_answer(evaluate):
    feedback = evaluate(inputs={}, outputs={"answer": FALSE, "context": [ROME]})
    assert feedback["score"] < 0.1
    assert FALSE in feedback["comment"] or "source" in feedback["comment"]


def test_as_openevals_calls_one_for_groundedness(evaluate):
    assert evaluate(outputs={"answer": ROME}, context=[ROME])["score"] > 0.9
    with pytest.raises(ValueError, match="outputs"):
        evaluate(context=[ROME])


@pytest.mark.parametrize(
    "arguments",
    [
        {"inputs": {"question": "?"}, "outputs": {"answer": ROME, "documents": [ROME]}},
        {"inputs": {"context": ROME}, "outputs": {"output": ROME}},
        {"inputs": {"context": ROME}, "outputs": ROME},
        {"inputs": "?", "outputs": AIMessage(ROME), "context": [Document(page_content=ROME)]},
        {"inputs": {}, "outputs": {"answer": ROME}, "reference_outputs": {"context": [ROME]}},
        {"inputs": {"context": "Oslo."}, "outputs": {"answer": ROME}, "context": ROME},
        {
            "inputs": {"messages": [HumanMessage("?")]},
            "outputs": {
                "messages": [
                    HumanMessage("?"),
                    ToolMessage("x", tool_call_id="1", artifact=[Document(page_content=ROME)]),
                    AIMessage(ROME),
                ]
            },
        },
    ],
)
def test_where_answer_and_documents_are_found(evaluate, arguments):
    assert evaluate(**arguments)["score"] > 0.9


def test_documents_of_the_outputs_come_before_those_of_the_inputs(evaluate):
    inputs, outputs = {"context": "Oslo is cold."}, {"answer": ROME, "context": ROME}
    assert evaluate(inputs, outputs)["score"] > 0.9
    assert evaluate({"context": ROME}, {"answer": ROME, "context": "Oslo is cold."})["score"] < 0.1


def test_keys(validator):
    evaluate = caco_evaluator(validator, key="grounded", answer_key="reply", context_key="passages")
    feedback = evaluate({"passages": [ROME]}, {"reply": ROME})
    assert feedback["key"] == "grounded"
    assert feedback["score"] > 0.9


def test_no_documents_is_never_a_pass(evaluate):
    assert evaluate({}, {"answer": ROME})["score"] == 0.0


def test_no_answer_names_the_keys(evaluate):
    with pytest.raises(ValueError, match="replies"):
        evaluate({}, {"replies": ROME})


def test_only_tool_calls(evaluate):
    message = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    with pytest.raises(ValueError, match="tools"):
        evaluate({}, message)


class TestFaithfulness:
    def result(self, **changes: Any) -> ValidationResult:
        return replace(
            ValidationResult(score=0.2, is_hallucination=False, claims=(), summary="s"), **changes
        )

    def test_is_one_minus_the_risk(self):
        assert faithfulness(self.result()) == pytest.approx(0.8)

    def test_nothing_to_claim_is_faithful(self):
        assert faithfulness(self.result(status=Status.NO_CLAIMS, score=0.0)) == 1.0

    def test_abstaining_is_not_a_score(self):
        assert faithfulness(self.result(status=Status.ABSTAINED, score=0.0)) is None

    def test_a_truncated_check_is_not_a_pass(self):
        truncated = self.result(coverage=Coverage(truncated=True), is_hallucination=True)
        assert faithfulness(truncated) == 0.0


def test_langsmith_takes_it(evaluate):
    from langsmith.evaluation import run_evaluator

    evaluator = run_evaluator(evaluate)
    assert evaluator is not None
    parameters = inspect.signature(evaluate).parameters
    assert list(parameters)[:3] == ["inputs", "outputs", "reference_outputs"]


@pytest.mark.filterwarnings("ignore:'upload_")
def test_langsmith_evaluate_offline(evaluate, monkeypatch):
    from datetime import datetime, timezone
    from uuid import uuid4

    from langsmith import Client
    from langsmith import evaluate as run_evaluation
    from langsmith.schemas import Example

    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    examples = [
        Example(
            id=uuid4(),
            inputs={"question": "?", "context": ROME, "draft": draft},
            outputs={},
            dataset_id=uuid4(),
            created_at=datetime.now(timezone.utc),
        )
        for draft in (ROME, FALSE)
    ]
    client = Client(api_url="http://localhost:1", api_key="none", auto_batch_tracing=False)
    rows = run_evaluation(
        lambda inputs: {"answer": inputs["draft"]},
        data=examples,
        evaluators=[evaluate],
        upload_results=False,
        client=client,
    )
    scores = {
        row["example"].inputs["draft"]: row["evaluation_results"]["results"][0].score
        for row in rows
    }
    assert scores[ROME] > 0.9
    assert scores[FALSE] < 0.1


def test_the_default_validator_and_language():
    evaluate = caco_evaluator(language="portuguese")
    assert "documento" in evaluate({}, {"answer": "Roma tem quatro portas."})["comment"].lower()
    with pytest.raises(ValueError, match="klingon"):
        caco_evaluator(language="klingon")


def test_the_embedded_model():
    evaluate = caco_evaluator(Validator())
    context = "The Eiffel Tower in Paris was completed in 1889."
    good = evaluate({"context": context}, {"answer": "The Eiffel Tower was completed in 1889."})
    bad = evaluate({"context": context}, {"answer": "The Eiffel Tower was completed in 1925."})
    assert good["score"] > 0.5 > bad["score"]
