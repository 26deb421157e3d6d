"""Nodes for LangGraph: validate the answer in the state, then go on or go back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig, RunnableLambda
from pydantic import BaseModel

from caco.errors import HallucinationError
from caco.gate import attempt_of, rejected
from caco.models import Attempt, ValidationResult
from langchain_caco.agents import (
    averified,
    feedback_message,
    guard_for,
    is_feedback,
    removals,
    since_question,
    sources_of,
    verified,
    without_raise,
)
from langchain_caco.checking import AnswerChecker, Check
from langchain_caco.convert import ANSWER_KEYS, CONTEXT_KEYS

__all__ = ["make_validate_node", "route_on_validation"]

_MESSAGES = "messages"
_READ_STATE = "__pregel_read"  # where LangGraph puts the function that reads a key of the state


def make_validate_node(
    guard: AnswerChecker | None = None,
    *,
    max_retries: int = 2,
    feedback_key: str | None = "feedback",
    **settings: Any,  # noqa: ANN401 (AnswerChecker's fields, checked there)
) -> RunnableLambda[Any, dict[str, Any]]:
    """Make a node that verifies the answer in the graph's state.

    ```
    class State(TypedDict):
        question: str
        context: list[Document]
        answer: str
        validation: dict
        feedback: str

    builder.add_node("validate", make_validate_node(max_retries=2))
    builder.add_edge("generate", "validate")
    builder.add_conditional_edges(
        "validate", route_on_validation, {"end": END, "retry": "generate"}
    )
    ```

    The answer and the documents are found as `CacoGuard` finds them; in a state with just
    ``messages`` the answer is the last ``AIMessage``, and the documents are what tools returned
    since the user's last message. An answer that claims nothing, such as a greeting, needs none.
    The verdict is written as plain JSON, so that any checkpointer can store it:
    `ValidationResult.to_dict`, plus ``next`` ("end" or "retry"). Its ``attempts`` are the answers
    that failed since the last "end".

    For a retry the feedback is written under ``feedback_key`` and, when the answer came from
    ``messages``, appended to them; at the end that feedback and the drafts it was about are
    removed again.

    Args:
        guard: A `CacoGuard` whose settings to use. None: one made of ``settings``.
        max_retries: How often to go back.
        feedback_key: The state's key for the feedback ("" when there is none); None: do not write
            it.
        settings: `CacoGuard`'s fields: ``validator``, ``threshold``, ``answer_key``,
            ``result_key``, ``policy``, … ``on_fail`` is "raise" or "annotate": a node does not
            rewrite the answer, nor carry out a policy's actions; the verdict's ``gate`` has them.

    Returns:
        A Runnable from the state (a dict, a pydantic model or a dataclass) to its update, sync and
        async.

    Raises:
        ValueError: ``max_retries`` is negative, or an unknown setting or one out of its range. From
            the node: there is no answer in the state, or the key for the verdict is not declared.
        TypeError: Both a guard and settings are given, or ``guard`` is not a guard.
        HallucinationError: From the node, when no attempt passed and ``on_fail`` is "raise".
    """
    node = _ValidateNode(guard_for(guard, settings, max_retries), max_retries, feedback_key)
    if node.guard.on_fail not in ("annotate", "raise"):
        raise ValueError(f"on_fail must be 'annotate' or 'raise' here, not {node.guard.on_fail!r}")
    return RunnableLambda(node.run, afunc=node.arun, name="caco_validate")


def route_on_validation(
    state: Any,  # noqa: ANN401 (the graph's own type)
    result_key: str = "validation",
) -> Literal["end", "retry"]:
    """Say where to go after a validate node; for ``add_conditional_edges``.

    Args:
        state: The graph's state.
        result_key: Where the node wrote the verdict.

    Returns:
        "end" when the answer passed or the retries are used up, else "retry".

    Raises:
        ValueError: There is no verdict in the state.
    """
    values = _values(state)
    verdict = values.get(result_key)
    if not isinstance(verdict, Mapping) or verdict.get("next") not in ("end", "retry"):
        raise ValueError(
            f"no verdict under {result_key!r}: declare that key in the graph's state, and route "
            f"after a node of make_validate_node; the state has {sorted(values)}"
        )
    return "retry" if verdict["next"] == "retry" else "end"


class _ValidateNode:
    """The node's two functions."""

    def __init__(self, guard: AnswerChecker, max_retries: int, feedback_key: str | None) -> None:
        self.guard = guard
        self.max_retries = max_retries
        self.feedback_key = feedback_key

    def run(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401
        _require_declared(config, self.guard.result_key)
        values = _values(state)
        return self._update(values, verified(self.guard, self._check_of(values)))

    async def arun(self, state: Any, config: RunnableConfig) -> dict[str, Any]:  # noqa: ANN401
        _require_declared(config, self.guard.result_key)
        values = _values(state)
        return self._update(values, await averified(self.guard, self._check_of(values)))

    def _check_of(self, values: Mapping[str, Any]) -> Check:
        history = [m for m in values.get(_MESSAGES) or () if not is_feedback(m)]
        seen: dict[str, Any] = {**values, _MESSAGES: history} if history else {**values}
        if self.guard.context_key is None and all(seen.get(key) is None for key in CONTEXT_KEYS):
            seen[CONTEXT_KEYS[0]] = sources_of(since_question(history))
        check = without_raise(self.guard).check_of(seen)
        if check is None:
            raise ValueError("the last message only calls tools: there is no answer to validate")
        return check

    def _update(self, values: Mapping[str, Any], result: ValidationResult) -> dict[str, Any]:
        """Return the verdict and, for a retry, the feedback."""
        previous = values.get(self.guard.result_key) or {}
        failed = previous["attempts"] if previous.get("next") == "retry" else []
        again = rejected(result) and len(failed) < self.max_retries
        latest = attempt_of(result)
        result = replace(result, attempts=(*(Attempt(**item) for item in failed), latest))
        if rejected(result) and not again and self.guard.on_fail == "raise":
            raise HallucinationError(result)
        update: dict[str, Any] = {
            self.guard.result_key: {**result.to_dict(), "next": "retry" if again else "end"}
        }
        if self.feedback_key is not None:
            update[self.feedback_key] = latest.feedback if again else ""
        if self._answers_in_messages(values):
            update[_MESSAGES] = [feedback_message(result)] if again else removals(values[_MESSAGES])
        return update

    def _answers_in_messages(self, values: Mapping[str, Any]) -> bool:
        if self.guard.answer_key is not None:
            return self.guard.answer_key == _MESSAGES
        return all(values.get(key) is None for key in ANSWER_KEYS)


def _require_declared(config: RunnableConfig, key: str) -> None:
    """Raise unless the graph that the node runs in keeps ``key``.

    LangGraph drops undeclared keys silently. Without the verdict the retries would not be counted,
    and the graph would go round until its recursion limit.
    """
    read = config.get("configurable", {}).get(_READ_STATE)
    if read is None:
        return  # called on its own, outside of a graph
    try:
        read(key)
    except KeyError:
        raise ValueError(f"declare {key!r} in the graph's state: the verdict goes there") from None


def _values(state: object) -> Mapping[str, Any]:
    """Return a state of any of LangGraph's kinds as a mapping."""
    if isinstance(state, Mapping):
        return state
    if isinstance(state, BaseModel):
        return {name: getattr(state, name) for name in type(state).model_fields}
    if is_dataclass(state):
        return {item.name: getattr(state, item.name) for item in fields(state)}
    raise TypeError(
        f"the state must be a dict, a pydantic model or a dataclass, not {type(state).__name__}"
    )
