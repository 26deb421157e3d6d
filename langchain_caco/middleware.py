"""A guard for agents that are made with ``langchain.agents.create_agent``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from typing_extensions import NotRequired

from caco.errors import MissingExtraError
from caco.gate import attempt_of, rejected
from caco.models import ValidationResult
from caco.receipts import Sink
from langchain_caco.agents import (
    FEEDBACK_NAME,
    averified,
    feedback_message,
    guard_for,
    removals,
    since_question,
    sources_of,
    verified,
)
from langchain_caco.checking import AnswerChecker, Check
from langchain_caco.convert import question_of
from langchain_caco.tool_gate import ToolGate

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ModelRequest,
        ModelResponse,
        hook_config,
    )
    from langchain.agents.middleware.types import PrivateStateAttr

    from langchain_caco.quiet import aquietly, quietly
except ImportError as error:
    raise MissingExtraError("langchain_caco.middleware", "agents") from error

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command

__all__ = ["CacoGuardMiddleware"]

_RETRIES_KEY = "caco_retries"

Design = Literal["wrap", "jump"]


class _GuardState(AgentState[Any]):
    """The state of the ``"jump"`` design: the drafts that were rejected in this run."""

    caco_drafts: NotRequired[Annotated[list[dict[str, Any]], PrivateStateAttr]]


@dataclass(frozen=True)
class _Draft:
    """An answer of the model and the verdict on it."""

    message: AIMessage
    result: ValidationResult


class CacoGuardMiddleware(AgentMiddleware[Any, Any]):
    """Checks an agent's answers against what its tools returned, and has failing ones rewritten.

    ```
    create_agent(model, tools, middleware=[CacoGuardMiddleware(on_fail="replace")])
    ```

    The documents are those that tools returned since the user's last message: the artifacts of
    their messages, else their text. A message that only calls tools is left alone. The verdict is
    in the answer's ``response_metadata["caco"]``, as plain JSON; its ``attempts`` hold the
    rejected drafts. If no attempt passes, the best one is handled as ``on_fail`` says.

    In the ``"wrap"`` design the drafts and the feedback never leave the model's node: they are
    neither in the history nor in what the graph streams. The answer is streamed as one message,
    since no token can be shown before all is verified. ``astream_events`` shows each call of a
    model; the calls made here have the tag "nostream". In the ``"jump"`` design each draft is a
    step of the graph, which shows in ``stream_mode="updates"`` and, once whole, in ``"messages"``;
    drafts and feedback are removed from the history when the run ends, unless it ends with an
    exception.

    An answer that no tool was called for has no documents: ``on_missing_context`` says what that
    means, "flag" (it fails, and is retried with the feedback that there are no documents),
    "abstain" (it passes, marked as not judged) or "raise". A greeting, or anything else that claims
    nothing, needs no documents: it passes, with the status ``NO_CLAIMS``.

    With a ``policy``, an answer that it withholds and that no retry mends gives way to its message
    (its other actions are the agent's to take: it decides itself what to retrieve). And each call
    of a tool is checked before it is made: what the agent says with it and the arguments it passes,
    against all that tools have returned in the conversation so far. Over the policy's ``tau_star``
    the tool is not called. The agent gets a ``ToolMessage`` of status "error" instead that says
    what is at odds and asks it to correct the call, to retrieve more or to ask the user; its
    artifact is the receipt, without text. An agent that has had calls refused in more than
    ``max_retries`` steps since the user's last message is not asked again: the policy's message is
    the answer.

    The tension is `caco.cts` in the model form, with the validator's classifier; with a validator
    that is none of caco's, in the heuristic form. Where no tool has returned anything yet there is
    nothing to contradict, and the tool is called.

    A call about something new is in tension with what is known too, so exempt the tools that find
    things out. A ``tau_star`` of 0.7 refuses next to nothing: with the embedded model and the
    default weights, arguments that agree with what is known come to less than about 0.15, ones that
    contradict it mostly to between 0.2 and 0.4, and a single wrong figure among right ones may stay
    below that.

    Args:
        guard: A `CacoGuard` whose settings to use. None: one made of ``settings``.
        max_retries: How often the model may be asked again between two messages of the user.
        design: "wrap" or "jump".
        check_tool_calls: False: a policy is for answers only.
        exempt_tools: Tools, or names of tools, that are called without a check: those that
            retrieve.
        receipts: Called with a receipt for each tool call that is checked, before the tool runs:
            a `caco.ReceiptLog`, or any function. The receipt has one site, "tool:" and the tool's
            name; what tools had returned is its provenance, empty where nothing was known. What it
            raises surfaces, and the tool does not run.
        settings: `CacoGuard`'s fields: ``validator``, ``threshold``, ``language``, ``on_fail``,
            ``policy``, …

    Raises:
        ValueError: ``max_retries`` is negative, an unknown design or setting, a setting out of its
            range, or ``exempt_tools`` or ``receipts`` where no tool call is checked.
        TypeError: Both a guard and settings are given, or an argument is of a wrong type.
        HallucinationError: From the agent, with ``on_fail="raise"``.
        MissingContextError: From the agent, with ``on_missing_context="raise"``.
    """

    def __new__(cls, *_: Any, design: Design = "wrap", **__: Any) -> CacoGuardMiddleware:  # noqa: ANN401
        """Pick the class: hooks that a class has become nodes of the graph, used or not."""
        if design not in get_args(Design):
            raise ValueError(f"design must be one of {get_args(Design)}, not {design!r}")
        if design == "jump" and cls is CacoGuardMiddleware:
            cls = _JumpingGuardMiddleware
        return super().__new__(cls)

    def __init__(
        self,
        guard: AnswerChecker | None = None,
        *,
        max_retries: int = 2,
        design: Design = "wrap",
        check_tool_calls: bool = True,
        exempt_tools: Iterable[str | BaseTool] = (),
        receipts: Sink | None = None,
        **settings: Any,  # noqa: ANN401 (AnswerChecker's fields, checked there)
    ) -> None:
        super().__init__()
        self.guard = guard_for(guard, settings, max_retries)
        self.tool_gate = ToolGate.build(
            self.guard, exempt_tools, receipts, is_open=not check_tool_calls
        )
        self.max_retries = max_retries
        self.design = design

    @property
    def name(self) -> str:
        """The same for both designs."""
        return "CacoGuardMiddleware"

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model until its answer passes or the retries are used up."""
        if (last_word := self.last_word(request)) is not None:
            return last_word
        loop = _Loop(self, request)
        response = quietly(handler, loop.request)
        while (check := loop.check(response)) is not None:
            if not loop.goes_on(response, verified(self.guard, check)):
                break
            response = quietly(handler, loop.request)
        return loop.outcome(response)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, with the check in the engine's threads."""
        if (last_word := self.last_word(request)) is not None:
            return last_word
        loop = _Loop(self, request)
        response = await aquietly(handler, loop.request)
        while (check := loop.check(response)) is not None:
            if not loop.goes_on(response, await averified(self.guard, check)):
                break
            response = await aquietly(handler, loop.request)
        return loop.outcome(response)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Call a tool, unless the policy keeps it from being called."""
        refusal = self.tool_gate.refusal(request)
        return handler(request) if refusal is None else refusal

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """`wrap_tool_call`, with the check in a thread."""
        refusal = await self.tool_gate.arefusal(request)
        return await handler(request) if refusal is None else refusal

    def last_word(self, request: ModelRequest[Any]) -> ModelResponse[Any] | None:
        """Return what ends the run of an agent that goes on with calls that are refused."""
        message = self.tool_gate.last_word(request.messages, self.max_retries)
        return None if message is None else ModelResponse(result=[message])

    def check_of(self, draft: AIMessage, history: Sequence[BaseMessage]) -> Check | None:
        """Return what is to be verified; None for a message that says nothing to the user."""
        if draft.tool_calls or draft.name == FEEDBACK_NAME or not draft.text.strip():
            return None
        recent = since_question(history)
        question = question_of({"messages": recent[:1]})
        return Check(str(draft.text), sources_of(recent), question)

    def finished(self, drafts: Sequence[_Draft]) -> tuple[int, AIMessage]:
        """Pick the draft to give, and handle it as ``on_fail`` says.

        Returns:
            The draft's position, and its message with the verdict.

        Raises:
            HallucinationError: It failed, and ``on_fail`` is "raise".
        """
        best = min(range(len(drafts)), key=lambda position: _order(drafts[position].result))
        attempts = tuple(attempt_of(draft.result) for draft in drafts)
        message = self.guard.outcome_of(
            drafts[best].message, replace(drafts[best].result, attempts=attempts)
        )
        assert isinstance(message, AIMessage)
        return best, message


class _Loop:
    """One run of the ``"wrap"`` design: the drafts so far and what the model is asked next."""

    def __init__(self, middleware: CacoGuardMiddleware, request: ModelRequest[Any]) -> None:
        self.middleware = middleware
        self.history = list(request.messages)
        self.request = request
        self.drafts: list[_Draft] = []
        self.responses: list[ModelResponse[Any]] = []
        self.retries = sum(
            message.response_metadata.get(_RETRIES_KEY, 0)
            for message in since_question(self.history)
            if isinstance(message, AIMessage)
        )
        self.retries_before = self.retries

    def check(self, response: ModelResponse[Any]) -> Check | None:
        """Return what is to be verified of a response."""
        return self.middleware.check_of(_answer(response), self.history)

    def goes_on(self, response: ModelResponse[Any], result: ValidationResult) -> bool:
        """Note a verdict; whether the model is to be asked again."""
        self.drafts.append(_Draft(_answer(response), result))
        self.responses.append(response)
        if not rejected(result) or self.retries >= self.middleware.max_retries:
            return False
        self.retries += 1
        feedback = feedback_message(result)
        self.request = self.request.override(
            messages=[*self.request.messages, _answer(response), feedback]
        )
        return True

    def outcome(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Return what leaves the node: the best draft, or the tool calls that ended the loop."""
        answer = changed = _answer(response)
        if self.middleware.check_of(answer, self.history) is not None:
            best, changed = self.middleware.finished(self.drafts)
            response, answer = self.responses[best], self.drafts[best].message
            if changed.text != answer.text:
                response = replace(response, structured_response=None)
        if self.retries > self.retries_before:
            # In the message and not in the state: it counts until the user speaks again.
            spent = {**changed.response_metadata, _RETRIES_KEY: self.retries - self.retries_before}
            changed = changed.model_copy(update={"response_metadata": spent})
        result = [changed if message is answer else message for message in response.result]
        return replace(response, result=result)


class _JumpingGuardMiddleware(CacoGuardMiddleware):
    """The ``"jump"`` design: a failing draft sends the graph back to the model's node."""

    state_schema = _GuardState

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Keep the tokens of what may be rejected out of the stream."""
        return self.last_word(request) or quietly(handler, request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Keep the tokens of what may be rejected out of the stream."""
        return self.last_word(request) or await aquietly(handler, request)

    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ANN401
        """Forget the drafts of an earlier run."""
        return {"caco_drafts": []}

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """Verify the draft; send the graph back to the model if it fails."""
        check = self._check_of_last(state)
        if check is None:
            return self._unjudged(state)
        return self._judged(state, verified(self.guard, check))

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """`after_model`, with the check in the engine's threads."""
        check = self._check_of_last(state)
        if check is None:
            return self._unjudged(state)
        return self._judged(state, await averified(self.guard, check))

    def _check_of_last(self, state: Any) -> Check | None:  # noqa: ANN401
        *history, last = state["messages"]
        return self.check_of(last, history) if isinstance(last, AIMessage) else None

    def _unjudged(self, state: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """Tidy up where the run ends with `last_word`; else it goes on."""
        *history, last = state["messages"]
        if last.name != FEEDBACK_NAME:
            return None
        return {"messages": removals(history), "caco_drafts": []}

    def _judged(self, state: Any, result: ValidationResult) -> dict[str, Any]:  # noqa: ANN401
        *history, last = state["messages"]
        earlier = state.get("caco_drafts") or []
        if rejected(result) and len(earlier) < self.max_retries:
            return {
                "messages": [feedback_message(result)],
                "caco_drafts": [*earlier, result.to_dict()],
                "jump_to": "model",
            }
        drafts = [_redrafted(last, ValidationResult.from_dict(draft)) for draft in earlier]
        _, answer = self.finished([*drafts, _Draft(last, result)])
        return {"messages": [*removals(history), answer], "caco_drafts": []}


def _order(result: ValidationResult) -> tuple[bool, bool, float]:
    """Order drafts: what passed, what was at least read to its end, the lower risk."""
    return rejected(result), result.coverage.truncated, result.score


def _redrafted(message: AIMessage, result: ValidationResult) -> _Draft:
    """Return an earlier draft in the place, and under the id, of the last one."""
    return _Draft(message.model_copy(update={"content": result.response}), result)


def _answer(response: ModelResponse[Any]) -> AIMessage:
    """Return the model's message; what a tool for structured output adds comes after it."""
    return next(message for message in reversed(response.result) if isinstance(message, AIMessage))
