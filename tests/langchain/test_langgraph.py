"""The validate node and its route, in real graphs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest

pytest.importorskip("langgraph.graph")

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from pydantic import BaseModel
from typing_extensions import TypedDict

from caco.errors import HallucinationError, MissingContextError
from caco.models import Status, ValidationResult
from langchain_caco import CacoGuard
from langchain_caco.langgraph import make_validate_node, route_on_validation

ROME = "Rome has four gates."
NINE = "Rome has nine gates."
HELLO = "Hello! How can I help you today?"


class State(TypedDict, total=False):
    question: str
    context: list[Document]
    answer: str
    validation: dict[str, Any]
    feedback: str


class Graph:
    """retrieve → generate → validate → (end | generate), with what the generator was told."""

    def __init__(
        self, answers: list[Any], schema: Any, node: Any, checkpointer: Any = None
    ) -> None:
        self.answers = answers
        self.feedback: list[str] = []
        self.calls = 0
        builder = StateGraph(schema)
        builder.add_node("retrieve", lambda _: {"context": [Document(page_content=ROME, id="g")]})
        builder.add_node("generate", self.generate)
        builder.add_node("validate", node)
        builder.add_edge(START, "retrieve")
        builder.add_edge("retrieve", "generate")
        builder.add_edge("generate", "validate")
        builder.add_conditional_edges(
            "validate", route_on_validation, {"end": END, "retry": "generate"}
        )
        self.graph = builder.compile(checkpointer=checkpointer)

    def generate(self, state: Any) -> dict[str, Any]:
        values = state if isinstance(state, dict) else vars(state)
        self.feedback.append(values.get("feedback", ""))
        answer = self.answers[min(self.calls, len(self.answers) - 1)]
        self.calls += 1
        return {"answer": answer}

    def run(self, mode: str = "sync", thread: str | None = None) -> dict[str, Any]:
        settings = {"configurable": {"thread_id": thread}} if thread else None
        question = {"question": "How many gates?"}
        if mode == "async":
            return asyncio.run(self.graph.ainvoke(question, settings))
        return self.graph.invoke(question, settings)


@pytest.fixture
def graph(validator) -> Callable[..., Graph]:
    def make(
        answers: list[Any], schema: Any = State, checkpointer: Any = None, **settings: Any
    ) -> Graph:
        node = make_validate_node(validator=validator, **settings)
        return Graph(answers, schema, node, checkpointer)

    return make


@pytest.mark.parametrize("mode", ["sync", "async"])
class TestLoop:
    def test_a_faithful_answer_ends(self, graph, mode):
        made = graph([ROME])
        state = made.run(mode)
        assert made.calls == 1
        assert state["validation"]["next"] == "end"
        result = ValidationResult.from_dict(state["validation"])
        assert not result.is_hallucination
        assert result.claims[0].evidence_document == "g"

    def test_a_false_answer_goes_back_with_feedback(self, graph, mode):
        made = graph([NINE, ROME])
        state = made.run(mode)
        assert made.calls == 2
        assert made.feedback[0] == ""
        assert NINE in made.feedback[1]
        assert state["feedback"] == ""
        assert state["answer"] == ROME
        attempts = ValidationResult.from_dict(state["validation"]).attempts
        assert [attempt.answer for attempt in attempts] == [NINE, ROME]

    def test_retries_run_out(self, graph, mode):
        made = graph([NINE], max_retries=2)
        state = made.run(mode)
        assert made.calls == 3
        assert state["validation"]["is_hallucination"]
        assert state["validation"]["next"] == "end"
        assert len(state["validation"]["attempts"]) == 3

    def test_no_retries(self, graph, mode):
        made = graph([NINE], max_retries=0)
        assert made.run(mode)["validation"]["is_hallucination"]
        assert made.calls == 1

    def test_on_fail_raise(self, graph, mode):
        made = graph([NINE], max_retries=1, on_fail="raise")
        with pytest.raises(HallucinationError) as caught:
            made.run(mode)
        assert made.calls == 2
        assert len(caught.value.result.attempts) == 2


class TestState:
    def test_checkpoints_hold_plain_json_and_reload(self, graph, caplog):
        made = graph([NINE, ROME], checkpointer=InMemorySaver())
        made.run(thread="1")
        history = list(made.graph.get_state_history({"configurable": {"thread_id": "1"}}))
        verdicts = [s.values["validation"] for s in history if "validation" in s.values]
        assert verdicts
        for verdict in verdicts:
            assert json.loads(json.dumps(verdict)) == verdict
            ValidationResult.from_dict(verdict)
        assert "unregistered" not in caplog.text

    def test_each_run_has_its_own_retries(self, graph):
        made = graph([NINE, NINE, NINE, ROME], max_retries=1, checkpointer=InMemorySaver())
        first, second = made.run(thread="1"), made.run(thread="1")
        assert first["validation"]["is_hallucination"]
        assert not second["validation"]["is_hallucination"]
        assert [len(s["validation"]["attempts"]) for s in (first, second)] == [2, 2]

    def test_pydantic_state(self, graph):
        class Model(BaseModel):
            question: str = ""
            context: list[Document] = []
            answer: str = ""
            validation: dict[str, Any] | None = None
            feedback: str = ""

        made = graph([NINE, ROME], schema=Model)
        assert made.run()["answer"] == ROME
        assert NINE in made.feedback[1]

    def test_dataclass_state(self, graph):
        @dataclass
        class Data:
            question: str = ""
            context: list[Document] = field(default_factory=list)
            answer: str = ""
            validation: dict[str, Any] | None = None
            feedback: str = ""

        assert graph([NINE, ROME], schema=Data).run()["answer"] == ROME

    def test_keys(self, validator):
        class Own(TypedDict, total=False):
            passages: list[Document]
            reply: str
            verdict: dict[str, Any]

        builder = StateGraph(Own)
        builder.add_node("generate", lambda _: {"reply": ROME, "passages": [ROME]})
        builder.add_node(
            "validate",
            make_validate_node(
                validator=validator,
                answer_key="reply",
                context_key="passages",
                result_key="verdict",
                feedback_key=None,
            ),
        )
        builder.add_edge(START, "generate")
        builder.add_edge("generate", "validate")
        builder.add_conditional_edges(
            "validate",
            lambda state: route_on_validation(state, result_key="verdict"),
            {"end": END, "retry": "generate"},
        )
        assert not builder.compile().invoke({})["verdict"]["is_hallucination"]

    def test_an_undeclared_key_is_noticed_before_it_loops(self, validator):
        class Forgetful(TypedDict, total=False):
            context: list[Any]
            answer: str

        made = Graph([NINE], Forgetful, make_validate_node(validator=validator))
        with pytest.raises(ValueError, match="declare 'validation'"):
            made.graph.invoke({}, {"recursion_limit": 20})
        assert made.calls == 1

    def test_without_documents_it_is_never_a_pass(self, validator):
        node = make_validate_node(validator=validator, max_retries=0)
        assert node.invoke({"answer": ROME})["validation"]["status"] == Status.NO_CONTEXT.value
        assert node.invoke({"answer": ROME})["validation"]["is_hallucination"]

    @pytest.mark.parametrize("on_missing_context", ["flag", "raise"])
    def test_a_greeting_needs_no_documents(self, validator, on_missing_context):
        node = make_validate_node(
            validator=validator, on_fail="raise", on_missing_context=on_missing_context
        )
        for state in ({"answer": HELLO}, {"messages": [AIMessage(HELLO)]}):
            for update in (node.invoke(state), asyncio.run(node.ainvoke(state))):
                assert update["validation"]["status"] == Status.NO_CLAIMS.value
                assert not update["validation"]["is_hallucination"]
                assert route_on_validation(update) == "end"
                assert update["feedback"] == ""

    def test_missing_documents_can_be_an_error(self, validator):
        node = make_validate_node(validator=validator, on_missing_context="raise")
        with pytest.raises(MissingContextError):
            node.invoke({"answer": ROME})
        with pytest.raises(MissingContextError):
            asyncio.run(node.ainvoke({"answer": ROME}))

    def test_an_empty_search_is_not_replaced_by_something_else(self, validator):
        node = make_validate_node(validator=validator, max_retries=0)
        state = {"answer": ROME, "context": [], "messages": [ToolMessage(ROME, tool_call_id="1")]}
        assert node.invoke(state)["validation"]["status"] == Status.NO_CONTEXT.value


class TestMessages:
    class Chat(MessagesState):
        validation: dict[str, Any]

    def make(self, validator: Any, answers: list[str], **settings: Any) -> Any:
        seen: list[list[AnyMessage]] = []

        def generate(state: Any) -> dict[str, Any]:
            seen.append(state["messages"])
            return {"messages": [AIMessage(answers[min(len(seen), len(answers)) - 1])]}

        builder = StateGraph(self.Chat)
        builder.add_node("generate", generate)
        builder.add_node("validate", make_validate_node(validator=validator, **settings))
        builder.add_edge(START, "generate")
        builder.add_edge("generate", "validate")
        builder.add_conditional_edges(
            "validate", route_on_validation, {"end": END, "retry": "generate"}
        )
        return builder.compile(), seen

    def question(self) -> dict[str, Any]:
        call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
        return {
            "messages": [
                HumanMessage("How many gates?"),
                AIMessage("", tool_calls=[call]),
                ToolMessage(ROME, tool_call_id="1", name="search"),
            ]
        }

    def test_feedback_reaches_the_model_and_goes_again(self, validator):
        graph, seen = self.make(validator, [NINE, NINE, ROME])
        state = graph.invoke(self.question())
        assert [m.type for m in seen[2]][-4:] == ["ai", "human", "ai", "human"]
        assert NINE in seen[2][-1].text
        assert [m.type for m in state["messages"]] == ["human", "ai", "tool", "ai"]
        assert state["messages"][-1].text == ROME
        assert not state["validation"]["is_hallucination"]

    def test_when_retries_run_out_the_last_answer_stays(self, validator):
        graph, _ = self.make(validator, [NINE], max_retries=1)
        state = graph.invoke(self.question())
        assert [m.type for m in state["messages"]] == ["human", "ai", "tool", "ai"]
        assert state["validation"]["is_hallucination"]

    def test_the_question_is_the_users_not_the_feedback(self, validator):
        asked = []

        class Spying(type(validator)):
            def validate(self, response: str, context: Any, prompt: str | None = None) -> Any:
                asked.append(prompt)
                return super().validate(response, context, prompt)

        graph, _ = self.make(Spying(classifier=validator.classifier), [NINE, ROME])
        graph.invoke(self.question())
        assert asked == ["How many gates?"] * 2

    def test_artifacts_are_the_documents(self, validator):
        node = make_validate_node(validator=validator)
        artifact = [Document(page_content=ROME, id="guide")]
        messages = [
            HumanMessage("q"),
            ToolMessage("see artifact", tool_call_id="1", artifact=artifact),
            AIMessage(ROME),
        ]
        verdict = node.invoke({"messages": messages})["validation"]
        assert verdict["claims"][0]["evidence_document"] == "guide"

    def test_documents_in_the_state_win(self, validator):
        node = make_validate_node(validator=validator)
        messages = [HumanMessage("q"), ToolMessage("x", tool_call_id="1"), AIMessage(ROME)]
        update = node.invoke({"messages": messages, "documents": [ROME]})
        assert not update["validation"]["is_hallucination"]

    def test_only_tool_calls(self, validator):
        call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
        node = make_validate_node(validator=validator)
        with pytest.raises(ValueError, match="tools"):
            node.invoke({"messages": [HumanMessage("q"), AIMessage("", tool_calls=[call])]})


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "error", "said"),
        [
            ({"max_retries": -1}, ValueError, "max_retries"),
            ({"treshold": 0.5}, ValueError, "treshold"),
            ({"on_fail": "replace"}, ValueError, "on_fail"),
            ({"guard": "no"}, TypeError, "CacoGuard"),
            ({"guard": CacoGuard(), "threshold": 0.5}, TypeError, "threshold"),
        ],
    )
    def test_bad_arguments(self, arguments, error, said):
        with pytest.raises(error, match=said):
            make_validate_node(**arguments)

    def test_a_guard_of_ones_own(self, validator):
        node = make_validate_node(CacoGuard(validator=validator, threshold=0.001))
        assert node.invoke({"answer": ROME, "context": ROME})["validation"]["threshold"] == 0.001

    def test_no_answer_names_the_keys(self, validator):
        with pytest.raises(ValueError, match="replies"):
            make_validate_node(validator=validator).invoke({"replies": ROME})

    @pytest.mark.parametrize("state", [{}, {"validation": None}, {"validation": {"score": 1}}])
    def test_route_without_a_verdict(self, state):
        with pytest.raises(ValueError, match="validation"):
            route_on_validation(state)

    def test_route(self):
        assert route_on_validation({"validation": {"next": "end"}}) == "end"
        assert route_on_validation({"validation": {"next": "retry"}}) == "retry"

    def test_a_state_of_another_kind(self):
        with pytest.raises(TypeError, match="list"):
            route_on_validation([])


def test_reducer_of_another_name(validator):
    class Chat(TypedDict, total=False):
        messages: Annotated[list[AnyMessage], add_messages]
        validation: dict[str, Any]

    node = make_validate_node(validator=validator, answer_key="messages")
    update = node.invoke({"messages": [HumanMessage("q"), AIMessage(NINE)], "context": ROME})
    assert update["messages"][0].name == "caco_guard"
