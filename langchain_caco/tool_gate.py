"""The check before an agent calls a tool: its plan against what it knows by then."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.pydantic import get_fields

from caco.extractor.rule import RuleExtractor
from caco.gate import TENSION_RULE, GatingPolicy
from caco.models import Decision, Document, Status, ValidationResult
from caco.receipts import Receipt, Sink, Site, make_receipt
from caco.tension import CTS, cts
from caco.validator import Validator
from langchain_caco.agents import FEEDBACK_NAME, since_question, sources_of
from langchain_caco.checking import AnswerChecker

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["ToolGate", "rendered"]

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.:/-]")
_NAME_LENGTH = 64

_REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "english": "{tool} was not called: what it was to be called with does not fit what is "
        "known (tension {tension:.2f}, at most {limit:.2f} is allowed).{why} Do not repeat this "
        "call as it is: correct it, retrieve more{tools}, or ask the user for a source.",
        "portuguese": "{tool} não foi chamada: o que seria passado a ela não condiz com o que se "
        "sabe (tensão {tension:.2f}, o máximo permitido é {limit:.2f}).{why} Não repita esta "
        "chamada assim: corrija-a, busque mais{tools}, ou peça uma fonte ao usuário.",
    }
)
_TOOLS: Mapping[str, str] = MappingProxyType(
    {"english": " with {names}", "portuguese": " com {names}"}
)


@dataclass(frozen=True)
class _Plan:
    """What an agent is about to do.

    Attributes:
        call: The tool call.
        text: What the agent said about it, and what it passes to the tool.
        known: What tools have returned so far.
    """

    call: Mapping[str, Any]
    text: str
    known: tuple[Document, ...]


@dataclass(frozen=True)
class _Measure:
    """The tension of a plan.

    Attributes:
        tension: How hard it presses against what is known.
        is_refused: Whether that is too much.
        why: What is at odds, as a sentence after a blank; "" where that is not known.
    """

    tension: CTS
    is_refused: bool
    why: str = ""


@dataclass(frozen=True)
class ToolGate:
    """Keeps tools from being called when the plan is in tension with what is known.

    Attributes:
        guard: Its policy says how much tension passes, its validator reads the plan.
        exempt: The tools that are always called.
        receipts: What is told of each check.
        is_open: Whether nothing is checked.
    """

    guard: AnswerChecker
    exempt: frozenset[str]
    receipts: Sink | None
    is_open: bool

    @classmethod
    def build(
        cls,
        guard: AnswerChecker,
        exempt: Iterable[str | BaseTool],
        receipts: Sink | None,
        *,
        is_open: bool,
    ) -> ToolGate:
        """Return a gate; without a policy it is open.

        Raises:
            ValueError: Exempt tools or receipts for an open gate.
            TypeError: An argument of a wrong type.
        """
        if isinstance(exempt, str) or not isinstance(exempt, Iterable):
            raise TypeError(f"exempt_tools must be a list of tools or names, not {exempt!r}")
        names = [tool.name if isinstance(tool, BaseTool) else tool for tool in exempt]
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"exempt_tools must hold tools or their names, not {names!r}")
        if receipts is not None and not callable(receipts):
            raise TypeError(f"receipts must be callable, not {type(receipts).__name__}")
        is_open = is_open or guard.policy is None
        if is_open and (names or receipts is not None):
            raise ValueError(
                "exempt_tools and receipts are of use only where tool calls are checked: give a "
                "policy, and leave check_tool_calls True"
            )
        return cls(guard, frozenset(names), receipts, is_open)

    def refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """Return what the agent is told in place of the tool's result; None: call the tool."""
        plan = self._plan(request)
        return None if plan is None else self._decided(plan, self._measure(plan))

    async def arefusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """`refusal`, with the event loop kept free."""
        plan = self._plan(request)
        if plan is None:
            return None
        return self._decided(plan, await asyncio.to_thread(self._measure, plan))

    def last_word(self, messages: Sequence[BaseMessage], limit: int) -> AIMessage | None:
        """Return the policy's message, for an agent that goes on with calls that are refused.

        Args:
            messages: The history.
            limit: How many steps with refused calls it may have since the user's last message.

        Returns:
            None for an agent within the limit. The message's verdict has a gate and no claims.

        Raises:
            HallucinationError: It is over the limit, and the guard's ``on_fail`` is "raise".
        """
        refusals = _refusals(since_question(messages))
        if self.is_open or len(refusals) <= limit:
            return None
        refusal = refusals[-1]
        policy: GatingPolicy = self.guard.policy
        result = ValidationResult(
            score=0.0,
            is_hallucination=False,
            claims=(),
            summary=str(refusal.text),
            status=Status.ABSTAINED,
            gate=Decision(True, TENSION_RULE, policy.tau_star, policy.on_abstain),
            language=self.guard.language,
        )
        message = self.guard.outcome_of(AIMessage("", name=FEEDBACK_NAME), result)
        assert isinstance(message, AIMessage)
        return message

    def _plan(self, request: ToolCallRequest) -> _Plan | None:
        """Read a request; None when there is nothing to check or to tell."""
        call = request.tool_call
        if self.is_open or call["name"] in self.exempt:
            return None
        messages = request.state["messages"]
        known = sources_of(messages)
        if not known and self.receipts is None:
            return None
        message = _origin(messages, call["id"])
        said = str(message.text).strip() if message is not None else ""
        text = "\n".join(filter(None, (said, rendered(_arguments(request, message)))))
        return _Plan(call, text, known)

    def _measure(self, plan: _Plan) -> _Measure:
        validator = self.guard.engine()
        if not isinstance(validator, Validator):
            return self._refused(plan, cts(plan.text, plan.known, mode="heuristic"))
        tension = cts(
            plan.text,
            plan.known,
            mode="model",
            classifier=validator.classifier,
            language=validator.language,
        )
        measure = self._refused(plan, tension)
        if not measure.is_refused:
            return measure
        reader = Validator(
            RuleExtractor(validator.language), validator.classifier, language=validator.language
        )
        return replace(measure, why=f" {reader.validate(plan.text, plan.known).summary}")

    def _refused(self, plan: _Plan, tension: CTS) -> _Measure:
        return _Measure(tension, bool(plan.known) and tension.value > self.guard.policy.tau_star)

    def _decided(self, plan: _Plan, measure: _Measure) -> ToolMessage | None:
        policy: GatingPolicy = self.guard.policy
        decision = Decision(False, None, policy.tau_star)
        if measure.is_refused:
            decision = Decision(True, TENSION_RULE, policy.tau_star, policy.on_abstain)
        site = Site.of(_site_name(plan.call["name"]), measure.tension, plan.known)
        receipt = make_receipt(plan.text, [site], decision)
        if self.receipts is not None:
            self.receipts(receipt)
        return self._message(plan, measure, receipt) if measure.is_refused else None

    def _message(self, plan: _Plan, measure: _Measure, receipt: Receipt) -> ToolMessage:
        language = self.guard.language
        names = ", ".join(sorted(self.exempt))
        text = _REFUSALS[language].format(
            tool=plan.call["name"],
            tension=measure.tension.value,
            limit=receipt.decision.tau_star,
            why=measure.why,
            tools=_TOOLS[language].format(names=names) if names else "",
        )
        return ToolMessage(
            text,
            name=plan.call["name"],
            tool_call_id=plan.call["id"],
            status="error",
            artifact=receipt.to_dict(),
        )


def rendered(value: object) -> str:
    """Return a tool call's arguments as plain text, a line for each: "unit price: 30".

    Nested mappings have the names on the way to a value before it.
    """
    return "\n".join(_lines(value, ""))


def _lines(value: object, name: str) -> list[str]:
    if isinstance(value, Mapping):
        return [
            line
            for key, item in value.items()
            for line in _lines(item, f"{name} {str(key).replace('_', ' ')}".strip())
        ]
    if isinstance(value, (list, tuple)):
        if not any(isinstance(item, (Mapping, list, tuple)) for item in value):
            value = ", ".join(map(str, value))
        else:
            return [line for item in value for line in _lines(item, name)]
    text = "" if value is None else str(value).strip()
    return [f"{name}: {text}" if name else text] if text else []


def _origin(messages: Sequence[BaseMessage], call_id: str | None) -> AIMessage | None:
    """Return the message that a tool call is from."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(c["id"] == call_id for c in message.tool_calls):
            return message
    return None


def _refusals(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """Return the first refusal after each message of the agent that led to one."""
    found: list[ToolMessage] = []
    is_first = True
    for message in messages:
        if isinstance(message, AIMessage):
            is_first = True
        elif is_first and isinstance(message, ToolMessage) and _is_receipt(message.artifact):
            found.append(message)
            is_first = False
    return found


def _is_receipt(artifact: object) -> bool:
    return isinstance(artifact, Mapping) and {"sites", "decision", "redaction"} <= set(artifact)


def _arguments(request: ToolCallRequest, message: AIMessage | None) -> dict[str, Any]:
    """Return the arguments that the model gave, or another middleware in its place.

    The first versions of LangChain's agents put injected ones among them: the whole state, say.
    """
    call = request.tool_call
    if request.tool is None:
        return call["args"]
    schema = request.tool.tool_call_schema
    visible = schema.get("properties", {}) if isinstance(schema, dict) else get_fields(schema)
    given: list[dict[str, Any]] = (
        []
        if message is None
        else [one["args"] for one in message.tool_calls if one["id"] == call["id"]]
    )
    return {
        name: value
        for name, value in call["args"].items()
        if name in visible or any(name in args and args[name] == value for args in given)
    }


def _site_name(tool: str) -> str:
    return f"tool:{_NOT_IN_A_NAME.sub('_', tool)}"[:_NAME_LENGTH]
