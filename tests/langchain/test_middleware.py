"""The guard in ``create_agent``: real agents, scripted models."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, FakeMessagesListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import create_retriever_tool, tool
from langgraph.checkpoint.memory import InMemorySaver

from caco.errors import HallucinationError, MissingContextError
from caco.extractor import ExtractorContract
from caco.gate import GatingPolicy
from caco.models import Labels, Status, ValidationResult
from caco.testing import FakeClassifier
from caco.validator import Validator
from langchain_caco import CacoGuard
from langchain_caco.middleware import CacoGuardMiddleware

ROME = "Rome has four gates."
NINE = "Rome has nine gates."
TEN = "Rome has ten gates. Rome has four gates."
HELLO = "Hello! How can I help you today?"
DESIGNS = ("wrap", "jump")


class WholeAnswer(ExtractorContract):
    """Takes the whole answer as one claim."""

    def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
        return [response]


class AgentModel(BaseChatModel):
    """Calls the tool first, then says what it is told to; a str or a message per call."""

    script: list[Any]
    seen: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "agent"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.seen.append(list(messages))
        reply = self.script[min(len(self.seen), len(self.script)) - 1]
        return AIMessage(reply) if isinstance(reply, str) else reply.model_copy()

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Any:
        message = self._next(messages)
        calls = [
            {"name": c["name"], "args": json.dumps(c["args"]), "id": c["id"], "index": 0}
            for c in message.tool_calls
        ]
        for word in message.text.split(" "):
            piece = AIMessageChunk(word + " ", tool_call_chunks=calls)
            chunk = ChatGenerationChunk(message=piece)
            if run_manager is not None:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
            calls = []


def search_call(number: int = 1) -> AIMessage:
    call = {"name": "search", "args": {"query": "Rome"}, "id": str(number), "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


@tool
def search(query: str) -> str:
    """Search."""
    return ROME


@pytest.fixture
def agent(validator) -> Callable[..., Any]:
    def make(script: list[Any], tools: Sequence[Any] = (search,), **options: Any) -> Any:
        checkpointer = options.pop("checkpointer", None)
        others = options.pop("others", [])
        guard = CacoGuardMiddleware(validator=validator, **options)
        model = AgentModel(script=script, seen=[])
        made = create_agent(
            model, list(tools), middleware=[guard, *others], checkpointer=checkpointer
        )
        return made, model

    return make


def ask(made: Any, mode: str = "sync", **config: Any) -> dict[str, Any]:
    question = {"messages": [HumanMessage("How many gates has Rome?")]}
    settings = {"configurable": config} if config else None
    if mode == "async":
        return asyncio.run(made.ainvoke(question, settings))
    return made.invoke(question, settings)


def verdict(state: dict[str, Any]) -> ValidationResult:
    return ValidationResult.from_dict(state["messages"][-1].response_metadata["caco"])


def kinds(state: dict[str, Any]) -> list[str]:
    return [message.type for message in state["messages"]]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("mode", ["sync", "async"])
class TestBothDesigns:
    def test_a_faithful_answer_passes_with_its_verdict(self, agent, design, mode):
        made, model = agent([search_call(), ROME], design=design)
        state = ask(made, mode)
        assert state["messages"][-1].text == ROME
        assert not verdict(state).is_hallucination
        assert len(model.seen) == 2

    def test_a_false_answer_is_rewritten_with_feedback(self, agent, design, mode):
        made, model = agent([search_call(), NINE, ROME], design=design)
        state = ask(made, mode)
        assert state["messages"][-1].text == ROME
        assert not verdict(state).is_hallucination
        draft, feedback = model.seen[2][-2:]
        assert draft.text == NINE
        assert NINE in feedback.text
        assert ROME in feedback.text, "the evidence is in the feedback"

    def test_the_history_is_clean(self, agent, design, mode):
        made, _ = agent([search_call(), NINE, NINE, ROME], design=design)
        state = ask(made, mode)
        assert kinds(state) == ["human", "ai", "tool", "ai"]
        assert NINE not in str([message.content for message in state["messages"]])

    def test_the_attempts_are_told(self, agent, design, mode):
        made, _ = agent([search_call(), NINE, ROME], design=design)
        attempts = verdict(ask(made, mode)).attempts
        assert [attempt.answer for attempt in attempts] == [NINE, ROME]
        assert attempts[0].score > 0.5 > attempts[1].score
        assert NINE in attempts[0].feedback
        assert attempts[1].feedback == ""

    def test_the_best_attempt_is_kept(self, agent, design, mode):
        strict = {"design": design, "max_retries": 2}
        made, model = agent([search_call(), NINE, TEN, NINE], **strict)
        state = ask(made, mode)
        assert len(model.seen) == 4
        scores = [attempt.score for attempt in verdict(state).attempts]
        assert verdict(state).score == min(scores)
        assert verdict(state).is_hallucination
        assert state["messages"][-1].text == verdict(state).response
        assert kinds(state) == ["human", "ai", "tool", "ai"]

    def test_no_retries(self, agent, design, mode):
        made, model = agent([search_call(), NINE], design=design, max_retries=0)
        assert verdict(ask(made, mode)).is_hallucination
        assert len(model.seen) == 2

    def test_on_fail_raise(self, agent, design, mode):
        made, _ = agent([search_call(), NINE], design=design, on_fail="raise", max_retries=1)
        with pytest.raises(HallucinationError) as caught:
            ask(made, mode)
        assert [attempt.answer for attempt in caught.value.result.attempts] == [NINE, NINE]

    def test_on_fail_replace(self, agent, design, mode):
        made, _ = agent(
            [search_call(), NINE],
            design=design,
            on_fail="replace",
            fallback_message="I cannot say.",
            max_retries=1,
        )
        state = ask(made, mode)
        assert state["messages"][-1].text == "I cannot say."
        assert verdict(state).is_hallucination
        assert NINE not in str([message.content for message in state["messages"]])

    def test_on_fail_redact(self, agent, design, mode):
        made, _ = agent([search_call(), TEN], design=design, on_fail="redact", max_retries=0)
        assert ask(made, mode)["messages"][-1].text == ROME

    def test_a_retry_may_search_again(self, agent, design, mode):
        script = [search_call(1), NINE, search_call(2), ROME]
        made, _ = agent(script, design=design)
        state = ask(made, mode)
        assert kinds(state) == ["human", "ai", "tool", "ai", "tool", "ai"]
        assert state["messages"][-1].text == ROME
        assert not verdict(state).is_hallucination

    def test_retries_are_counted_per_run_not_per_call(self, agent, design, mode):
        script = [search_call(1), NINE, search_call(2), NINE, search_call(3), NINE]
        made, model = agent(script, design=design, max_retries=2)
        state = ask(made, mode)
        assert len(model.seen) == 6
        assert verdict(state).is_hallucination

    def test_documents_are_those_since_the_last_question(self, agent, design, mode):
        made, _ = agent([ROME], design=design, max_retries=0)
        history = [
            HumanMessage("first"),
            search_call(1),
            ToolMessage(ROME, tool_call_id="1"),
            AIMessage(ROME),
            HumanMessage("second"),
        ]
        question = {"messages": history}
        state = asyncio.run(made.ainvoke(question)) if mode == "async" else made.invoke(question)
        assert verdict(state).status is Status.NO_CONTEXT


@pytest.mark.parametrize("design", DESIGNS)
class TestDocuments:
    @pytest.mark.parametrize("response_format", ["content", "content_and_artifact"])
    def test_retriever_tools(self, agent, retriever, design, response_format):
        found = retriever([Document(page_content=ROME, id="guide"), "Oslo is cold."])
        find = create_retriever_tool(found, "search", "d", response_format=response_format)
        made, _ = agent([search_call(), ROME], tools=[find], design=design)
        result = verdict(ask(made))
        assert not result.is_hallucination
        if response_format == "content_and_artifact":
            assert result.claims[0].evidence_document == "guide"
            assert result.coverage.documents == 2

    def test_a_tool_that_failed_is_no_source(self, agent, design):
        @tool
        def search(query: str) -> ToolMessage:
            """Search."""
            return ToolMessage(ROME, tool_call_id="1", status="error")

        made, _ = agent([search_call(), ROME], tools=[search], design=design, max_retries=0)
        assert verdict(ask(made)).status is Status.NO_CONTEXT

    def test_no_tool_called_is_never_a_pass(self, agent, design):
        made, model = agent([ROME], design=design, max_retries=1)
        result = verdict(ask(made))
        assert result.status is Status.NO_CONTEXT
        assert result.is_hallucination
        assert "No document" in model.seen[1][-1].text

    def test_no_tool_called_can_be_left_unjudged(self, agent, design):
        made, model = agent([ROME], design=design, on_missing_context="abstain")
        assert verdict(ask(made)).status is Status.ABSTAINED
        assert len(model.seen) == 1

    def test_no_tool_called_can_be_an_error(self, agent, design):
        made, _ = agent([ROME], design=design, on_missing_context="raise")
        with pytest.raises(MissingContextError):
            ask(made)

    @pytest.mark.parametrize("on_missing_context", ["flag", "raise"])
    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_a_greeting_needs_no_documents(self, agent, design, mode, on_missing_context):
        made, model = agent(
            [HELLO], design=design, on_fail="raise", on_missing_context=on_missing_context
        )
        state = ask(made, mode)
        result = verdict(state)
        assert state["messages"][-1].text == HELLO
        assert len(model.seen) == 1
        assert (result.status, result.is_hallucination) == (Status.NO_CLAIMS, False)
        assert result.score == 0.0
        assert "no claim" in result.summary

    def test_a_greeting_with_a_claim_needs_documents(self, agent, design):
        made, model = agent([f"{HELLO} {ROME}"], design=design, max_retries=1)
        assert verdict(ask(made)).status is Status.NO_CONTEXT
        assert len(model.seen) == 2

    def test_the_gating_policy_does_not_withhold_a_greeting(self, agent, design):
        policy = GatingPolicy(abstain_if=("no_context", "no_entailment", "score > threshold"))
        gated = Validator(classifier=FakeClassifier(), policy=policy)
        guard = CacoGuardMiddleware(validator=gated, design=design, on_fail="replace")
        model = AgentModel(script=[HELLO], seen=[])
        state = ask(create_agent(model, [search], middleware=[guard]))
        assert state["messages"][-1].text == HELLO
        assert verdict(state).gate is not None
        assert not verdict(state).gate.abstained
        assert len(model.seen) == 1

    def test_a_verdict_of_the_verify_tool_is_no_source(self, agent, validator, design):
        from langchain_caco.tools import CacoVerifyTool

        call = {
            "name": "verify_answer",
            "args": {"answer": NINE, "sources": [ROME]},
            "id": "1",
            "type": "tool_call",
        }
        made, _ = agent(
            [AIMessage("", tool_calls=[call]), NINE],
            tools=[CacoVerifyTool(validator=validator)],
            design=design,
            max_retries=0,
        )
        assert verdict(ask(made)).status is Status.NO_CONTEXT


class TestStreaming:
    def streamed(self, made: Any, mode: str) -> list[Any]:
        question = {"messages": [HumanMessage("q")]}
        if mode == "sync":
            return [m for m, _ in made.stream(question, stream_mode="messages")]

        async def main() -> list[Any]:
            return [m async for m, _ in made.astream(question, stream_mode="messages")]

        return asyncio.run(main())

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_rejected_drafts_do_not_leak(self, agent, mode):
        made, _ = agent([search_call(), NINE, ROME])
        messages = self.streamed(made, mode)
        assert "nine" not in " ".join(str(message.content) for message in messages)
        assert [m.text.strip() for m in messages if m.type == "ai" and m.text.strip()] == [ROME]

    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_replaced_answers_do_not_leak(self, agent, mode):
        made, _ = agent([search_call(), NINE], on_fail="replace", fallback_message="No.")
        assert "nine" not in " ".join(str(m.content) for m in self.streamed(made, mode))

    def test_the_jump_design_streams_no_tokens_of_drafts(self, agent):
        made, _ = agent([search_call(), NINE, ROME], design="jump")
        assert not any(isinstance(m, AIMessageChunk) for m in self.streamed(made, "sync"))

    @pytest.mark.parametrize("design", DESIGNS)
    @pytest.mark.parametrize("mode", ["sync", "async"])
    def test_drafts_of_a_model_picked_by_another_middleware_do_not_leak(self, agent, design, mode):
        picked = AgentModel(script=[search_call(), NINE, ROME], seen=[])

        class Picks(AgentMiddleware):
            def wrap_model_call(self, request: Any, handler: Any) -> Any:
                return handler(request.override(model=picked))

            async def awrap_model_call(self, request: Any, handler: Any) -> Any:
                return await handler(request.override(model=picked))

        made, _ = agent([ROME], design=design, others=[Picks()])
        messages = self.streamed(made, mode)
        assert len(picked.seen) == 3
        assert not any(isinstance(m, AIMessageChunk) for m in messages)

    @pytest.mark.parametrize("design", DESIGNS)
    def test_a_model_with_a_state_of_its_own_keeps_it(self, validator, design):
        class Listed(FakeMessagesListChatModel):
            def bind_tools(self, tools: Any, **_: Any) -> Any:
                return self

        model = Listed(responses=[search_call(), AIMessage(NINE), AIMessage(ROME)])
        guard = CacoGuardMiddleware(validator=validator, design=design)
        made = create_agent(model, [search], middleware=[guard])
        state = made.invoke({"messages": [HumanMessage("q")]}, {"recursion_limit": 20})
        assert state["messages"][-1].text == ROME

    def test_the_model_keeps_its_tags(self, validator):
        model = AgentModel(script=[search_call(), ROME], seen=[], tags=["mine"])
        create_agent(model, [search], middleware=[CacoGuardMiddleware(validator=validator)]).invoke(
            {"messages": [HumanMessage("q")]}
        )
        assert model.tags == ["mine"]


@pytest.mark.parametrize("design", DESIGNS)
class TestState:
    def test_checkpoints_hold_plain_json(self, agent, design, caplog):
        made, _ = agent([search_call(), NINE, ROME], design=design, checkpointer=InMemorySaver())
        ask(made, thread_id="1")
        values = made.get_state({"configurable": {"thread_id": "1"}}).values
        for message in values["messages"]:
            json.dumps(message.response_metadata)
        others = {key: value for key, value in values.items() if key != "messages"}
        json.dumps(others)
        assert "unregistered" not in caplog.text

    def test_each_question_has_its_own_retries(self, agent, design):
        script = [search_call(1), NINE, NINE, search_call(2), NINE, ROME]
        made, model = agent(script, design=design, max_retries=1, checkpointer=InMemorySaver())
        first = ask(made, thread_id="1")
        second = ask(made, thread_id="1")
        assert verdict(first).is_hallucination
        assert not verdict(second).is_hallucination
        assert len(verdict(second).attempts) == 2
        assert len(model.seen) == 6

    def test_a_run_that_failed_does_not_use_up_the_next_ones_retries(self, agent, design):
        script = [search_call(1), NINE, NINE, search_call(2), NINE, ROME]
        made, _ = agent(
            script,
            design=design,
            max_retries=1,
            on_fail="raise",
            checkpointer=InMemorySaver(),
        )
        with pytest.raises(HallucinationError):
            ask(made, thread_id="1")
        second = ask(made, thread_id="1")
        assert not verdict(second).is_hallucination
        assert [attempt.answer for attempt in verdict(second).attempts] == [NINE, ROME]

    def test_private_state_does_not_show(self, agent, design):
        made, _ = agent([search_call(), NINE, ROME], design=design)
        assert set(ask(made)) == {"messages"}

    def test_the_message_keeps_what_the_model_gave_it(self, agent, design):
        reply = AIMessage(
            ROME,
            id="r1",
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            response_metadata={"finish_reason": "stop"},
        )
        made, _ = agent([search_call(), reply], design=design)
        message = ask(made)["messages"][-1]
        assert message.id == "r1"
        assert message.usage_metadata["total_tokens"] == 3
        assert message.response_metadata["finish_reason"] == "stop"


def test_the_check_does_not_run_on_the_event_loop(validator):
    threads = []

    class Spying(type(validator)):
        def validate(self, *arguments: Any, **options: Any) -> Any:
            threads.append(threading.current_thread())
            return super().validate(*arguments, **options)

    spy = Spying(classifier=validator.classifier)
    for design in DESIGNS:
        made = create_agent(
            AgentModel(script=[search_call(), ROME], seen=[]),
            [search],
            middleware=[CacoGuardMiddleware(validator=spy, design=design)],
        )
        ask(made, "async")
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_many_agents_at_once(agent):
    made, _ = agent([ROME], on_missing_context="abstain")

    async def main() -> list[Any]:
        question = {"messages": [HumanMessage("q")]}
        return await asyncio.gather(*(made.ainvoke(question) for _ in range(30)))

    assert all(len(state["messages"]) == 2 for state in asyncio.run(main()))


def test_beside_other_middleware(agent):
    calls = []

    class Counting(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            calls.append(1)
            return handler(request)

    made, _ = agent([search_call(), NINE, ROME], others=[Counting()])
    assert ask(made)["messages"][-1].text == ROME
    assert len(calls) == 3, "an inner middleware sees each attempt"


def test_an_answer_that_says_nothing_is_left_alone(agent):
    for design in DESIGNS:
        made, _ = agent([search_call(), AIMessage("")], design=design)
        message = ask(made)["messages"][-1]
        assert message.text == ""
        assert "caco" not in message.response_metadata


def test_structured_output_through_a_tool(agent, validator):
    from pydantic import BaseModel

    class Reply(BaseModel):
        gates: int

    call = {"name": "Reply", "args": {"gates": 4}, "id": "9", "type": "tool_call"}
    for design in DESIGNS:
        made = create_agent(
            AgentModel(script=[search_call(), AIMessage("", tool_calls=[call])], seen=[]),
            [search],
            response_format=Reply,
            middleware=[CacoGuardMiddleware(validator=validator, design=design)],
        )
        assert ask(made)["structured_response"] == Reply(gates=4)


def test_structured_output_of_the_provider(agent):
    from langchain.agents.structured_output import ProviderStrategy
    from pydantic import BaseModel

    class Reply(BaseModel):
        answer: str

    def reply(text: str) -> str:
        return json.dumps({"answer": text})

    @tool
    def search(query: str) -> str:
        """Search."""
        return reply(ROME)

    def run(script: list[Any], **options: Any) -> Any:
        def entails(claim: str, context: str) -> Labels:
            return Labels.VALUE_ENTAILMENT if "four" in claim else Labels.VALUE_CONTRADICTION

        validator = Validator(WholeAnswer(), FakeClassifier(entails))
        made = create_agent(
            AgentModel(script=script, seen=[]),
            [search],
            response_format=ProviderStrategy(Reply),
            middleware=[CacoGuardMiddleware(validator=validator, **options)],
        )
        return ask(made)

    corrected = run([search_call(), reply(NINE), reply(ROME)])
    assert corrected["structured_response"] == Reply(answer=ROME)
    replaced = run([search_call(), reply(NINE)], on_fail="replace")
    assert replaced.get("structured_response") is None
    assert NINE not in str([message.content for message in replaced["messages"]])


def test_a_guard_of_ones_own(validator):
    guard = CacoGuard(validator=validator, on_fail="replace", fallback_message="No.")
    made = create_agent(
        AgentModel(script=[search_call(), NINE], seen=[]),
        [search],
        middleware=[CacoGuardMiddleware(guard, max_retries=0)],
    )
    assert ask(made)["messages"][-1].text == "No."


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"design": "loop"}, ValueError, "design"),
        ({"max_retries": -1}, ValueError, "max_retries"),
        ({"on_fail": "explode"}, ValueError, "on_fail"),
        ({"treshold": 0.5}, ValueError, "treshold"),
        ({"guard": "no"}, TypeError, "CacoGuard"),
        ({"guard": CacoGuard(), "on_fail": "raise"}, TypeError, "on_fail"),
    ],
)
def test_bad_arguments(arguments, error, said):
    with pytest.raises(error, match=said):
        CacoGuardMiddleware(**arguments)


def test_wrap_adds_no_node_to_the_graph(validator):
    def nodes(design: str) -> set[str]:
        made = create_agent(
            AgentModel(script=[ROME], seen=[]),
            [search],
            middleware=[CacoGuardMiddleware(validator=validator, design=design)],
        )
        return {name for name in made.get_graph().nodes if "Caco" in name}

    assert nodes("wrap") == set()
    assert len(nodes("jump")) == 2


def test_a_missing_package_is_named(monkeypatch):
    import importlib
    import sys

    from caco.errors import MissingExtraError

    monkeypatch.delitem(sys.modules, "langchain_caco.middleware")
    monkeypatch.setitem(sys.modules, "langchain.agents.middleware", None)
    with pytest.raises(MissingExtraError, match=r"caco-guard\[agents\]"):
        importlib.import_module("langchain_caco.middleware")
