"""What a gating policy has done about a withheld answer before the chain is run again."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from caco.gate import (
    INCREASE_RETRIEVAL_WEIGHT,
    LOWER_TEMPERATURE,
    GatingPolicy,
    actions_wanted,
    check_handlers,
)
from caco.models import ValidationResult
from langchain_caco.chain_settings import Change, MoreDocuments, Temperature, changed_chain

__all__ = ["ActionHandler", "Actions", "Adjustment", "NextAttempt", "Plan"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class NextAttempt:
    """An attempt that is about to be made: what a handler of an action may change.

    Attributes:
        input: What the chain is to be given, the feedback in it.
        config: What it is to be run with; its callbacks are not used.
        result: The verdict that asked for the action.
    """

    input: Any
    config: RunnableConfig
    result: ValidationResult


ActionHandler = Callable[[NextAttempt], NextAttempt | None]
"""Carries out an action: returns the attempt as it is to be made; None: unchanged."""


@dataclass(frozen=True)
class Adjustment:
    """How the attempts at one input differ from the first by now.

    Attributes:
        doublings: How often the number of documents to retrieve was doubled.
        is_cold: Whether the temperature is 0.
    """

    doublings: int = 0
    is_cold: bool = False

    @property
    def changes(self) -> list[tuple[str, Change]]:
        """What is to be changed in the chain, by the action that asks for it."""
        more: list[tuple[str, Change]] = [
            (INCREASE_RETRIEVAL_WEIGHT, MoreDocuments(int(2**self.doublings)))
        ]
        colder: list[tuple[str, Change]] = [(LOWER_TEMPERATURE, Temperature(0.0))]
        return (more if self.doublings else []) + (colder if self.is_cold else [])


@dataclass(frozen=True)
class Plan:
    """How an attempt is to be made.

    Attributes:
        chain: The chain, or a copy with other settings.
        input: What it is given.
        config: What it is run with.
        adjustment: In what it differs from the first attempt.
        taken: The actions that were carried out for it.
    """

    chain: Runnable[Any, Any]
    input: Any
    config: RunnableConfig
    adjustment: Adjustment = Adjustment()
    taken: tuple[str, ...] = ()

    def runs_like(self, other: Plan) -> bool:
        """Whether both can be run in one batch, on either one's chain.

        Copies of a chain with the same adjustment are alike: what depends on the configuration is
        set in there.
        """
        return self.chain is other.chain or self.adjustment == other.adjustment


@dataclass(frozen=True)
class Actions:
    """How the actions of a policy are carried out.

    Attributes:
        k_key: The key of a dict input that says how many documents to retrieve; None: the chain's
            retrievers know.
        handlers: What carries out an action, by its name.
    """

    k_key: str | None = None
    handlers: Mapping[str, ActionHandler] | None = None

    def check(self, policy: GatingPolicy | None) -> None:
        """Raise unless the policy may ask for the actions that there are handlers for.

        Raises:
            ValueError: It never does, or the action is not a handler's to carry out.
            TypeError: A handler is not callable.
        """
        check_handlers(self.handlers or {}, policy, "the guard's policy")

    def count(self, value: Any) -> int:
        """Return how many documents an input says to retrieve.

        Raises:
            TypeError: It does not say it under ``k_key``.
        """
        count = value.get(self.k_key) if isinstance(value, Mapping) else None
        if type(count) is not int:
            raise TypeError(
                f"k_key is {self.k_key!r}: the chain's input must be a dict with an int there"
            )
        return count

    def plan(self, plain: Plan, before: Adjustment, result: ValidationResult) -> Plan:
        """Plan the attempt after one that was rejected.

        Args:
            plain: How it would be made with nothing done but the feedback in its input.
            before: In what the rejected attempt differed from the first one.
            result: The verdict on the rejected attempt.

        Raises:
            TypeError: A handler returned something else than a `NextAttempt` or None.
        """
        asked = actions_wanted(result)
        handlers = self.handlers or {}
        own = [name for name in asked if name not in handlers]
        adjustment = Adjustment(
            before.doublings + (INCREASE_RETRIEVAL_WEIGHT in own),
            before.is_cold or LOWER_TEMPERATURE in own,
        )
        plan = replace(plain, adjustment=adjustment)
        taken = set()
        for name, change in adjustment.changes:
            changed = self._changed(plan, change)
            if changed is not None:
                plan = changed
                taken.add(name)
        for name in asked:
            if name in handlers:
                plan = _handled(plan, name, handlers[name], result)
                taken.add(name)
            elif name not in taken:
                logger.warning("the policy asks for %r, which nothing here can carry out", name)
        return replace(plan, taken=tuple(name for name in asked if name in taken))

    def _changed(self, plan: Plan, change: Change) -> Plan | None:
        """Return the plan with a change of the chain's settings; None where it has none such."""
        if isinstance(change, MoreDocuments) and self.k_key is not None:
            count = self.count(plan.input)
            return replace(plan, input={**plan.input, self.k_key: count * change.factor})
        found = changed_chain(plan.chain, plan.config, change)
        return None if found is None else replace(plan, chain=found[0], config=found[1])


def _handled(plan: Plan, name: str, handler: ActionHandler, result: ValidationResult) -> Plan:
    changed = handler(NextAttempt(plan.input, plan.config, result))
    if changed is None:
        return plan
    if not isinstance(changed, NextAttempt):
        raise TypeError(
            f"on_action[{name!r}] must return a NextAttempt or None, not {type(changed).__name__}"
        )
    return replace(plan, input=changed.input, config=changed.config)
