"""What a gating policy has done about a withheld answer before the engine is asked again."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MethodType
from typing import TypeVar, cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.bridge.pydantic import BaseModel

from caco.gate import (
    INCREASE_RETRIEVAL_WEIGHT,
    LOWER_TEMPERATURE,
    GatingPolicy,
    actions_wanted,
    check_handlers,
)
from caco.models import ValidationResult

__all__ = ["ActionHandler", "Actions", "NextAttempt"]

_logger = logging.getLogger(__name__)

_Copied = TypeVar("_Copied")


@dataclass(frozen=True)
class NextAttempt:
    """An attempt that is about to be made: what a handler of an action may change.

    Attributes:
        engine: The engine that will be asked; shared, so to be copied rather than changed.
        result: The verdict that asked for the action.
        retrieves: Whether documents are retrieved again.
        taken: The actions that were carried out for it.
    """

    engine: BaseQueryEngine
    result: ValidationResult
    retrieves: bool = False
    taken: tuple[str, ...] = ()


ActionHandler = Callable[[NextAttempt], NextAttempt | None]
"""Carries out an action: returns the attempt as it is to be made; None: unchanged."""


class Actions:
    """Carries out the actions of a policy.

    Args:
        policy: The policy in force.
        handlers: What carries out an action, by its name; caco's own actions may be among them.

    Raises:
        ValueError: The policy never asks for an action that there is a handler for, or the action
            is "ask_for_source": that is the message in place of the last answer.
        TypeError: A handler is not callable.
    """

    def __init__(
        self, policy: GatingPolicy | None, handlers: Mapping[str, ActionHandler] | None
    ) -> None:
        self._handlers = dict(handlers or {})
        check_handlers(self._handlers, policy)

    def can_find_sources(self, result: ValidationResult) -> bool:
        """Whether an action that was asked for may bring documents where there were none."""
        return any(
            name == INCREASE_RETRIEVAL_WEIGHT or name in self._handlers
            for name in actions_wanted(result)
        )

    def next_attempt(self, engine: BaseQueryEngine, result: ValidationResult) -> NextAttempt:
        """Carry out what the policy asks for after an answer was withheld.

        Args:
            engine: The engine that gave it; it is left as it is.
            result: The verdict.

        Raises:
            TypeError: A handler returned something else than a `NextAttempt` or None.
        """
        attempt = NextAttempt(engine, result)
        for name in actions_wanted(result):
            changed = self._carried_out(name, attempt)
            if changed is None:
                _logger.warning(
                    "the policy asks for %r, which %s cannot carry out", name, type(engine).__name__
                )
                continue
            attempt = replace(changed, taken=(*attempt.taken, name))
        return attempt

    def _carried_out(self, name: str, attempt: NextAttempt) -> NextAttempt | None:
        if name in self._handlers:
            return _handled(name, self._handlers[name], attempt)
        engine: BaseQueryEngine | None = None
        if name == INCREASE_RETRIEVAL_WEIGHT:
            engine = _widened(attempt.engine)
        elif name == LOWER_TEMPERATURE:
            engine = _cooled(attempt.engine)
        if engine is None:
            return None
        return replace(
            attempt, engine=engine, retrieves=attempt.retrieves or name == INCREASE_RETRIEVAL_WEIGHT
        )


def _handled(name: str, handler: ActionHandler, attempt: NextAttempt) -> NextAttempt:
    changed = handler(attempt)
    if changed is None:
        return attempt
    if not isinstance(changed, NextAttempt):
        kind = type(changed).__name__
        raise TypeError(f"on_action[{name!r}] must return a NextAttempt or None, not {kind}")
    # Another engine may have other documents.
    return replace(changed, retrieves=changed.retrieves or changed.engine is not attempt.engine)


def _widened(engine: BaseQueryEngine) -> BaseQueryEngine | None:
    """A copy of the engine that retrieves twice as many nodes; None when it has no such setting."""
    retriever = getattr(engine, "retriever", None)
    top_k = getattr(retriever, "similarity_top_k", None)
    if retriever is None or not isinstance(top_k, int) or not hasattr(engine, "with_retriever"):
        return None
    wider = copy.copy(retriever)
    wider.similarity_top_k = 2 * top_k
    return cast("BaseQueryEngine", engine.with_retriever(wider))


def _cooled(engine: BaseQueryEngine) -> BaseQueryEngine | None:
    """A copy of the engine whose model answers at temperature 0; None when it has no such model."""
    synthesizer = getattr(engine, "_response_synthesizer", None)
    model = getattr(synthesizer, "_llm", None)
    cold = _at_zero(model) if isinstance(model, BaseModel) else None
    if synthesizer is None or cold is None:
        return None
    cooler = _copied(engine)
    calm = _copied(synthesizer)
    calm._llm = cold
    cooler._response_synthesizer = calm  # type: ignore[attr-defined]
    return cooler


def _at_zero(model: BaseModel) -> BaseModel | None:
    """A copy of a language model at temperature 0; None when it has no temperature."""
    if "temperature" in type(model).model_fields:
        return model.model_copy(update={"temperature": 0.0})
    inner = getattr(model, "llm", None)  # a model that answers in the form of a class
    colder = _at_zero(inner) if isinstance(inner, BaseModel) else None
    return None if colder is None else model.model_copy(update={"llm": colder})


def _copied(given: _Copied) -> _Copied:
    """A shallow copy whose methods, where it keeps them as attributes, are its own."""
    copied = copy.copy(given)
    for name, value in vars(given).items():
        if isinstance(value, MethodType) and value.__self__ is given:
            setattr(copied, name, MethodType(value.__func__, copied))
    return copied
