"""The check before a tool is called: real agents, scripted models, tools that note each run."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain.agents")

from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.documents import Document
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

import caco
from caco.gate import GatingPolicy
from caco.models import Labels
from caco.receipts import ReceiptLog, receipt_from_dict
from caco.testing import FakeClassifier
from langchain_caco import CacoGuard
from langchain_caco.middleware import CacoGuardMiddleware
from langchain_caco.tool_gate import rendered

try:
    from langchain.tools import InjectedState
except ImportError:  # its place in later versions
    from langgraph.prebuilt import InjectedState

ORDER = "Order 17 was placed by Ana Souza. Its total was 59 euros."
FACTS = "total: 59\ncustomer: Ana"
STRICT = GatingPolicy(tau_star=0.2, abstain_if=(), on_abstain=())
MODES = pytest.mark.parametrize("mode", ["sync", "async"])
DESIGNS = pytest.mark.parametrize("design", ["wrap", "jump"])


class Scripted(FakeMessagesListChatModel):
    """Gives one message after the other, the last for ever; remembers what it was given."""

    seen: Any = None

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **options: Any) -> ChatResult:
        self.seen.append(messages)
        said = self.responses[min(len(self.seen), len(self.responses)) - 1]
        return ChatResult(generations=[ChatGeneration(message=said.model_copy(deep=True))])


def calls(*named: tuple[str, dict[str, Any]], text: str = "", first: int = 0) -> AIMessage:
    return AIMessage(
        text,
        tool_calls=[
            {"name": name, "args": arguments, "id": f"{name}-{first + n}", "type": "tool_call"}
            for n, (name, arguments) in enumerate(named)
        ],
    )


LOOK_UP = calls(("look_up", {"order": 17}))


@pytest.fixture
def ran():
    """What the tools were called with, in order."""
    return []


def agent_tools(ran):
    @tool
    def look_up(order: int) -> str:
        """Look an order up."""
        ran.append(("look_up", order))
        return FACTS

    @tool
    def refund(total: int, customer: str = "") -> str:
        """Pay money back."""
        ran.append(("refund", total))
        return "done: 1"

    return [look_up, refund]


@pytest.fixture
def tools(ran):
    return agent_tools(ran)


def as_told(claim: str, context: str) -> caco.ClaimResult:
    """A line is entailed where a tool said it, else contradicted."""
    known = all(line in context for line in claim.splitlines())
    label = Labels.VALUE_ENTAILMENT if known else Labels.VALUE_CONTRADICTION
    return caco.ClaimResult(claim, context[:20], label, 0.99)


@pytest.fixture
def agent(tools):
    """Makes an agent from a script; without ``guarded`` options it has the strict policy."""

    def make(script, *, given=tools, others=(), checkpointer=None, **guarded):
        guarded.setdefault("policy", STRICT)
        guarded.setdefault("validator", caco.Validator(classifier=FakeClassifier(as_told)))
        guarded.setdefault("on_missing_context", "abstain")
        said = [AIMessage(one) if isinstance(one, str) else one for one in script]
        model = Scripted(responses=said, seen=[])
        guard = CacoGuardMiddleware(**guarded)
        made = create_agent(model, given, middleware=[*others, guard], checkpointer=checkpointer)
        return made, model

    return make


def ask(made, mode="sync", text="Refund order 17.", **config):
    question, settings = {"messages": [HumanMessage(text)]}, {"configurable": config}
    if mode == "async":
        return asyncio.run(made.ainvoke(question, settings))
    return made.invoke(question, settings)


def results(state):
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


REFUND_59, REFUND_80 = ("refund", {"total": 59}), ("refund", {"total": 80})


# The check


@MODES
@DESIGNS
def test_a_call_that_contradicts_what_is_known_is_not_made(agent, ran, mode, design):
    made, model = agent([LOOK_UP, calls(REFUND_80), "total: 59"], design=design)
    state = ask(made, mode)
    assert ran == [("look_up", 17)]
    refusal = results(state)[1]
    assert refusal.status == "error"
    assert (refusal.name, refusal.tool_call_id) == ("refund", "refund-0")
    assert "refund was not called" in refusal.text
    assert "at most 0.20" in refusal.text
    assert "total: 80" in refusal.text, "the agent is told what is at odds"
    assert model.seen[2][-1] == refusal, "and reads it before it goes on"
    assert state["messages"][-1].text == "total: 59"


@MODES
@DESIGNS
def test_a_call_that_agrees_is_made(agent, ran, mode, design):
    made, _ = agent([LOOK_UP, calls(REFUND_59), "total: 59"], design=design)
    state = ask(made, mode)
    assert ran == [("look_up", 17), ("refund", 59)]
    assert [message.status for message in results(state)] == ["success", "success"]


@MODES
def test_a_corrected_call_is_made(agent, ran, mode):
    made, _ = agent([LOOK_UP, calls(REFUND_80), calls(REFUND_59, first=1), "total: 59"])
    ask(made, mode)
    assert ran == [("look_up", 17), ("refund", 59)]


@MODES
def test_calls_made_together_are_checked_each_for_itself(agent, ran, mode):
    both = calls(REFUND_80, REFUND_59, ("look_up", {"order": 18}), ("refund", {"total": 90}))
    made, _ = agent([LOOK_UP, both, "total: 59"], exempt_tools=["look_up"])
    state = ask(made, mode)
    assert sorted(ran[1:]) == [("look_up", 18), ("refund", 59)]
    statuses = {message.tool_call_id: message.status for message in results(state)[1:]}
    assert statuses == {
        "refund-0": "error",
        "refund-1": "success",
        "look_up-2": "success",
        "refund-3": "error",
    }


@MODES
@pytest.mark.parametrize("noted", [False, True])
def test_with_nothing_known_there_is_nothing_to_contradict(agent, ran, mode, noted):
    log = []
    strictest = dataclasses.replace(STRICT, tau_star=0.0)
    options = {"receipts": log.append} if noted else {}
    said = calls(REFUND_80, text="The order cost 80 euros in all.")
    made, _ = agent([said, "done: 1"], policy=strictest, **options)
    ask(made, mode)
    assert ran == [("refund", 80)]
    assert [(r.decision.abstained, r.sites[0].CTS > 0) for r in log] == [(False, True)] * noted


def test_a_failed_call_and_a_refusal_are_no_knowledge(agent, ran):
    @tool
    def broken(order: int) -> str:
        """Fail."""
        raise RuntimeError("total: 80")

    class Failing(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            try:
                return handler(request)
            except RuntimeError as error:
                call = request.tool_call
                return ToolMessage(str(error), tool_call_id=call["id"], status="error")

    script = [
        calls(("broken", {"order": 1})),
        calls(REFUND_80),
        LOOK_UP,
        calls(("refund", {"total": 70}), first=1),
        calls(("refund", {"total": 70}), first=2),
        "total: 59",
    ]
    given = [broken, *agent_tools(ran)]
    made, _ = agent(script, given=given, others=[Failing()], exempt_tools=["look_up"])
    state = ask(made)
    assert ran == [("refund", 80), ("look_up", 17)]
    assert [message.status for message in results(state)] == [
        "error",
        "success",
        "success",
        "error",
        "error",
    ]


def test_what_was_found_in_an_earlier_turn_is_known(agent, ran):
    script = [LOOK_UP, "total: 59", calls(REFUND_80), "No."]
    made, _ = agent(script, checkpointer=InMemorySaver())
    ask(made, text="What did order 17 cost?", thread_id="1")
    state = ask(made, text="Refund it.", thread_id="1")
    assert ran == [("look_up", 17)]
    assert results(state)[-1].status == "error"


def test_what_the_agent_says_with_the_call_is_part_of_the_plan(agent, ran):
    said = calls(("refund", {}), text="total: 80")
    agreed = calls(("refund", {}), text="total: 59", first=1)

    @tool
    def refund() -> str:
        """Pay everything back."""
        ran.append("refund")
        return "done: 1"

    made, _ = agent([LOOK_UP, said, agreed, "total: 59"], given=[agent_tools(ran)[0], refund])
    state = ask(made)
    assert [message.status for message in results(state)] == ["success", "error", "success"]
    assert ran == [("look_up", 17), "refund"]


def test_documents_of_artifacts_are_what_is_known(agent, ran):
    @tool(response_format="content_and_artifact")
    def find(query: str) -> Any:
        """Find documents."""
        return "two hits", [Document(page_content="total: 80", id="lease")]

    log = []
    made, _ = agent(
        [calls(("find", {"query": "x"})), calls(REFUND_80), "total: 80"],
        given=[find, agent_tools(ran)[1]],
        receipts=log.append,
        exempt_tools=[find],
    )
    ask(made)
    assert ran == [("refund", 80)]
    assert [receipt.sites[0].provenance for receipt in log] == [("lease",)]


@MODES
def test_a_plan_that_says_nothing_passes(agent, ran, mode):
    @tool
    def ping() -> str:
        """Ping."""
        ran.append("ping")
        return "pong: 1"

    log = []
    made, _ = agent(
        [LOOK_UP, calls(("ping", {})), "total: 59"],
        given=[agent_tools(ran)[0], ping],
        policy=dataclasses.replace(STRICT, tau_star=0.0),
        receipts=log.append,
    )
    ask(made, mode)
    assert ran == [("look_up", 17), "ping"]
    assert [(r.sites[0].name, r.sites[0].CTS) for r in log][1:] == [("tool:ping", 0.0)]


# An agent that goes on with it


@MODES
@DESIGNS
@pytest.mark.parametrize("max_retries", [0, 2])
def test_an_agent_that_repeats_itself_is_not_asked_for_ever(agent, ran, mode, design, max_retries):
    policy = dataclasses.replace(STRICT, message="Who says so?", on_abstain=("ask_for_source",))
    again = [calls(REFUND_80, ("refund", {"total": 90}), first=2 * n) for n in range(9)]
    made, model = agent([LOOK_UP, *again], policy=policy, design=design, max_retries=max_retries)
    state = ask(made, mode)
    assert ran == [("look_up", 17)]
    assert len(model.seen) == 2 + max_retries
    answer = state["messages"][-1]
    assert (answer.text, answer.type) == ("Who says so?", "ai")
    result = caco.ValidationResult.from_dict(answer.response_metadata["caco"])
    assert result.gate == caco.Decision(True, "CTS > tau_star", 0.2, ("ask_for_source",))
    assert result.status is caco.Status.ABSTAINED
    assert "refund was not called" in result.summary


@DESIGNS
def test_refusals_of_an_earlier_turn_do_not_count(agent, ran, design):
    script = [LOOK_UP, calls(REFUND_80), calls(REFUND_80, first=1), calls(REFUND_59, first=2)]
    made, _ = agent(
        [*script, "total: 59"], design=design, max_retries=1, checkpointer=InMemorySaver()
    )
    first = ask(made, thread_id="1")
    assert first["messages"][-1].text == STRICT.message_for("english")
    second = ask(made, text="Just what it was.", thread_id="1")
    assert second["messages"][-1].text == "total: 59"
    assert ran == [("look_up", 17), ("refund", 59)]


@MODES
@DESIGNS
def test_the_history_is_clean_then_too(agent, mode, design):
    script = [LOOK_UP, "total: 80", calls(REFUND_80), calls(REFUND_80, first=1)]
    made, _ = agent(script, design=design, max_retries=1)
    state = ask(made, mode)
    kinds = ["human", "ai", "tool", "ai", "tool", "ai", "tool", "ai"]
    assert [message.type for message in state["messages"]] == kinds
    assert state["messages"][-1].text == STRICT.message_for("english")


@DESIGNS
def test_or_ends_with_the_exception_that_was_asked_for(agent, ran, design):
    made, _ = agent([LOOK_UP, calls(REFUND_80)], on_fail="raise", design=design, max_retries=0)
    with pytest.raises(caco.HallucinationError, match="refund was not called"):
        ask(made)
    assert ran == [("look_up", 17)]


# Which calls are checked


def test_without_a_policy_every_call_is_made(agent, ran):
    made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], policy=None)
    ask(made)
    assert ran == [("look_up", 17), ("refund", 80)]


def test_the_check_can_be_left_out(agent, ran):
    made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], check_tool_calls=False)
    ask(made)
    assert ran == [("look_up", 17), ("refund", 80)]


@pytest.mark.parametrize("by", ["name", "tool"])
def test_exempt_tools_are_called_whatever_they_are_called_with(agent, tools, ran, by):
    exempt = ["refund"] if by == "name" else [tools[1]]
    other = calls(("look_up", {"order": 18}))
    made, _ = agent([LOOK_UP, calls(REFUND_80), other, "total: 59"], exempt_tools=exempt)
    state = ask(made)
    assert ran == [("look_up", 17), ("refund", 80)]
    assert "retrieve more with refund, or" in results(state)[-1].text


def test_tau_star_counts_whatever_the_rules_for_answers_are(agent, ran):
    for rules in ((), ("no_context",), ("CTS > tau_star",)):
        policy = GatingPolicy(tau_star=0.2, abstain_if=rules)
        made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], policy=policy)
        ask(made)
    assert ran == [("look_up", 17)] * 3
    lax, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], policy=GatingPolicy(tau_star=0.99))
    ask(lax)
    assert ran[-1] == ("refund", 80)


def test_the_validators_policy_is_enough(agent, ran):
    own = caco.Validator(classifier=FakeClassifier(as_told), policy=STRICT)
    made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], validator=own, policy=None)
    ask(made)
    assert ran == [("look_up", 17)]


def test_a_whole_guard_can_be_given(tools, ran):
    guard = CacoGuard(
        validator=caco.Validator(classifier=FakeClassifier(as_told)),
        policy=STRICT,
        on_missing_context="abstain",
    )
    model = Scripted(responses=[LOOK_UP, calls(REFUND_80), AIMessage("total: 59")], seen=[])
    made = create_agent(model, tools, middleware=[CacoGuardMiddleware(guard)])
    ask(made)
    assert ran == [("look_up", 17)]


def test_a_tool_that_is_not_there_is_still_refused_by_langchain(agent, ran):
    made, _ = agent([LOOK_UP, calls(("unknown", {"total": 59})), "total: 59"])
    state = ask(made)
    assert "not a valid tool" in results(state)[1].text


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"exempt_tools": ["a"]}, ValueError, "give a policy"),
        ({"receipts": print}, ValueError, "give a policy"),
        ({"receipts": print, "policy": STRICT, "check_tool_calls": False}, ValueError, "leave"),
        ({"exempt_tools": "search", "policy": STRICT}, TypeError, "list of tools or names"),
        ({"exempt_tools": [3], "policy": STRICT}, TypeError, "tools or their names"),
        ({"receipts": 3, "policy": STRICT}, TypeError, "receipts must be callable, not int"),
        ({"policy": {"tau": 1}}, ValueError, "a policy has no"),
    ],
)
def test_arguments_that_cannot_hold_are_refused(options, error, said):
    with pytest.raises(error, match=said):
        CacoGuardMiddleware(**options)


# What is measured


class Broken(caco.ClassifierContract):
    """Cannot read a plan."""

    def classify(self, claim: str, context: str) -> caco.ClaimResult:
        raise RuntimeError("out of memory")


@MODES
def test_a_check_that_fails_lets_no_tool_run(agent, ran, mode):
    made, _ = agent([LOOK_UP, calls(REFUND_59), "x"], validator=caco.Validator(classifier=Broken()))
    with pytest.raises(RuntimeError, match="out of memory"):
        ask(made, mode)
    assert ran == [("look_up", 17)]


def test_the_tension_is_caco_cts_in_the_model_form(agent):
    log = []
    classifier = FakeClassifier(as_told)
    arguments = {"total": 80, "customer": "Ana"}
    made, _ = agent(
        [LOOK_UP, calls(("refund", arguments), text="A refund."), "total: 59"],
        validator=caco.Validator(classifier=classifier),
        receipts=log.append,
        exempt_tools=["look_up"],
    )
    ask(made)
    expected = caco.cts(
        "A refund.\ntotal: 80\ncustomer: Ana",
        caco.Document(FACTS, "look_up"),
        mode="model",
        classifier=classifier,
    )
    (site,) = log[0].sites
    assert (expected.S, expected.C, expected.value) == (site.S, site.C, site.CTS)
    assert site.CTS > 0.2


def test_a_limit_on_claims_leaves_nothing_of_the_plan_unread(agent, ran):
    @tool
    def look_up() -> str:
        """Look an order up."""
        return "Ana is the customer. The total is 59 euros."

    own = caco.Validator(classifier=FakeClassifier(as_told), max_claims=1)
    said = calls(REFUND_80, text="Ana is the customer. The total is 80 euros.")
    made, _ = agent(
        [calls(("look_up", {})), said, "Ana is the customer."],
        given=[look_up, agent_tools(ran)[1]],
        validator=own,
        policy=dataclasses.replace(STRICT, tau_star=0.1),
    )
    state = ask(made)
    assert ran == []
    assert "2 of 3 claims" in results(state)[1].text


def test_a_validator_that_is_not_cacos_gets_the_heuristic_form(agent, ran):
    inner = caco.Validator(classifier=FakeClassifier())

    class Other:
        language, on_missing_context, policy = "english", "abstain", None
        validate, validate_batch = inner.validate, inner.validate_batch
        avalidate, avalidate_batch = inner.avalidate, inner.avalidate_batch

    log = []
    made, _ = agent(
        [LOOK_UP, calls(REFUND_59), calls(("refund", {"total": 80}), first=1), "total: 59"],
        validator=Other(),
        policy=dataclasses.replace(STRICT, tau_star=0.0),
        receipts=log.append,
        exempt_tools=["look_up"],
    )
    state = ask(made)
    expected = caco.cts("total: 59", [caco.Document(FACTS, "look_up")], mode="heuristic")
    assert log[0].sites[0].CTS == expected.value > 0
    assert results(state)[1].status == "error"


def test_the_embedded_model_tells_contradiction_from_agreement(agent, ran):
    """With equal weights at 0.2, as the documentation says."""

    @tool
    def look_up(order: int) -> str:
        """Look an order up."""
        return f"{ORDER} It was delivered on 9 May 2024."

    @tool
    def write(to: str, body: str) -> str:
        """Write to a customer."""
        ran.append(body)
        return "Sent."

    false, true = "Your order cost 80 euros.", "Your order 17 was delivered on 9 May 2024."
    script = [LOOK_UP]
    script += [
        calls(("write", {"to": "Ana Souza", "body": body}), first=n)
        for n, body in enumerate((false, true))
    ]
    made, _ = agent(
        [*script, "Done!"], given=[look_up, write], validator=caco.Validator(), policy=STRICT
    )
    state = ask(made)
    assert ran == [true]
    assert "80 euros" in results(state)[1].text


@pytest.mark.parametrize("language", ["english", "portuguese"])
def test_the_agent_is_told_in_the_guards_language(agent, language):
    own = caco.Validator(classifier=FakeClassifier(as_told), language=language)
    made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], validator=own)
    text = results(ask(made))[1].text
    assert ("was not called" in text) == (language == "english")
    assert ("não foi chamada" in text) == (language == "portuguese")


# What a tool is called with


def test_what_is_injected_is_no_part_of_the_plan(agent, ran):
    """The state holds everything the agent knows; the plan would agree with all of it."""
    seen = []

    @tool
    def refund(
        total: int,
        state: Annotated[dict, InjectedState],
        secret: Annotated[str, InjectedToolArg] = "none",
    ) -> str:
        """Pay money back."""
        ran.append(("refund", total, len(state["messages"])))
        return "done: 1"

    made, _ = agent(
        [LOOK_UP, calls(REFUND_80), calls(REFUND_59, first=1), "total: 59"],
        given=[agent_tools(ran)[0], refund],
        receipts=lambda receipt: seen.append(receipt.to_dict()["redaction"]["token_count"]),
        exempt_tools=["look_up"],
    )
    ask(made)
    assert seen == [2, 2], "the words of 'total: 80' and 'total: 59'"
    assert ran == [("look_up", 17), ("refund", 59, 6)]


def test_arguments_by_another_name_are_read(agent, ran):
    class Arguments(BaseModel):
        amount: int = Field(alias="total")

    def pay(amount: int) -> str:
        ran.append(("pay", amount))
        return "done: 1"

    paying = StructuredTool.from_function(pay, description="Pay.", args_schema=Arguments)
    schema = {"type": "object", "properties": {"total": {"type": "integer"}}}
    plain = StructuredTool(
        name="plain", description="Pay.", args_schema=schema, func=lambda total: pay(total)
    )
    for name in ("pay", "plain"):
        script = [LOOK_UP, calls((name, {"total": 80})), "total: 59"]
        made, _ = agent(script, given=[agent_tools([])[0], paying, plain])
        assert results(ask(made))[1].status == "error"
    assert ran == []


def test_what_another_middleware_changed_is_what_is_checked(agent, ran):
    class Generous(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            call = request.tool_call
            if call["name"] != "refund":
                return handler(request)
            changed = {**call, "args": {"total": 80, "customer": "Ana"}}
            return handler(request.override(tool_call=changed))

    made, _ = agent([LOOK_UP, calls(REFUND_59), "total: 59"], others=[Generous()])
    state = ask(made)
    assert ran == [("look_up", 17)]
    assert results(state)[1].status == "error"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, ""),
        ({"unit_price": 30}, "unit price: 30"),
        ({"a": None, "b": "", "c": 0, "d": False}, "c: 0\nd: False"),
        ({"to": ["Ana", "Bia"]}, "to: Ana, Bia"),
        (
            {"customer": {"name": "Ana", "home": {"city": "Recife"}}},
            "customer name: Ana\ncustomer home city: Recife",
        ),
        ({"items": [{"id": 1, "n": 2}, {"id": 3}]}, "items id: 1\nitems n: 2\nitems id: 3"),
        ({"body": "Dear Ana,\nall is well. "}, "body: Dear Ana,\nall is well."),
        ({"rows": [[1, 2], [3]]}, "rows: 1, 2\nrows: 3"),
    ],
)
def test_arguments_as_text(arguments, text):
    assert rendered(arguments) == text


@given(
    st.recursive(
        st.text("abc ", min_size=1) | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("xyz", min_size=1), inner),
    )
)
def test_no_value_is_lost(value):
    def values(item):
        if isinstance(item, dict):
            return [v for inner in item.values() for v in values(inner)]
        if isinstance(item, list):
            return [v for inner in item for v in values(inner)]
        return [str(item).strip()]

    text = rendered({"argument": value})
    place = 0
    for wanted in values(value):
        place = text.index(wanted, place) + len(wanted)


# Receipts


@MODES
def test_each_checked_call_has_a_receipt_with_one_site(agent, ran, mode, tmp_path):
    log = ReceiptLog(tmp_path / "receipts.jsonl", hash_chain=True)
    both = calls(REFUND_80, REFUND_59)
    made, _ = agent([LOOK_UP, both, "total: 59"], receipts=log)
    state = ask(made, mode)
    assert log.verify().ok
    text = (tmp_path / "receipts.jsonl").read_text(encoding="utf-8")
    lines = [receipt_from_dict(json.loads(line)) for line in text.splitlines()]
    told = sorted(
        (line.sites[0].name, line.decision.abstained, line.sites[0].provenance) for line in lines
    )
    assert told == [
        ("tool:look_up", False, ()),
        ("tool:refund", False, ("look_up",)),
        ("tool:refund", True, ("look_up",)),
    ]
    refused = next(line for line in lines if line.decision.abstained)
    assert refused.decision.reason == "CTS > tau_star"
    assert refused.sites[0].CTS > refused.decision.tau_star == 0.2
    for secret in ("total", "59", "80", "Ana"):
        assert secret not in text.replace(refused.request_id, "").partition("nothing")[1]
    assert [m.artifact for m in results(state) if m.status == "error"] == [refused.to_dict()]


def test_the_receipt_comes_before_the_tool(agent, ran):
    def full(receipt):
        raise OSError("disk full")

    made, _ = agent([LOOK_UP, calls(REFUND_59), "x"], receipts=full, exempt_tools=["look_up"])
    with pytest.raises(OSError, match="disk full"):
        ask(made)
    assert ran == [("look_up", 17)]


def test_any_name_of_a_tool_makes_a_site(agent, ran):
    log = []
    long = StructuredTool.from_function(
        lambda total: ran.append(total) or "done: 1",
        name="pay money (fast) " + "x" * 80,
        description="Pay.",
    )
    made, _ = agent(
        [LOOK_UP, calls((long.name, {"total": 59})), "total: 59"],
        given=[agent_tools([])[0], long],
        receipts=log.append,
        exempt_tools=["look_up"],
    )
    ask(made)
    assert log[0].sites[0].name == ("tool:pay_money__fast__" + "x" * 80)[:64]


# Running


@MODES
def test_a_stream_shows_the_refusal_in_the_tools_place(agent, ran, mode):
    made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"])
    question = {"messages": [HumanMessage("q")]}
    modes = ["updates", "messages"]

    async def streamed():
        return [part async for part in made.astream(question, stream_mode=modes)]

    if mode == "async":
        parts = asyncio.run(streamed())
    else:
        parts = list(made.stream(question, stream_mode=modes))
    told = [part[0] for kind, part in parts if kind == "messages"]
    refusals = [m for m in told if isinstance(m, ToolMessage) and m.status == "error"]
    assert len(refusals) == 1
    assert "refund was not called" in refusals[0].text
    assert ran == [("look_up", 17)]


def test_the_event_loop_stays_free(agent):
    threads = []

    def noting(claim, context):
        threads.append(threading.current_thread())
        return as_told(claim, context)

    own = caco.Validator(classifier=FakeClassifier(noting))
    made, _ = agent([LOOK_UP, calls(REFUND_59), "Hello! How can I help?"], validator=own)
    ask(made, "async")
    assert threads
    assert threading.main_thread() not in threads


def test_a_refused_tool_that_would_have_ended_the_run(agent, ran):
    @tool(return_direct=True)
    def refund(total: int) -> str:
        """Pay money back."""
        ran.append(("refund", total))
        return "done: 1"

    made, _ = agent([LOOK_UP, calls(REFUND_80), "total: 59"], given=[agent_tools(ran)[0], refund])
    ask(made)
    assert ran == [("look_up", 17)]


def test_a_withheld_answer_gives_way_to_the_policys_message(agent):
    policy = GatingPolicy(tau_star=0.2, abstain_if=("contradiction",), message="Who says so?")
    for design in ("wrap", "jump"):
        made, _ = agent(
            [LOOK_UP, "The total was 80.", "The total was 80."],
            policy=policy,
            design=design,
            max_retries=1,
        )
        answer = ask(made)["messages"][-1]
        assert answer.text == "Who says so?"
        assert answer.response_metadata["caco"]["response"] == "The total was 80."
        assert answer.response_metadata["caco"]["gate"]["reason"] == "contradiction"
