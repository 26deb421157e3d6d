"""Settings of the retrievers and models in a chain, changed in a copy of it for one run."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    ConfigurableField,
    Runnable,
    RunnableConfig,
    RunnableLambda,
    RunnableSerializable,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.configurable import DynamicRunnable, RunnableConfigurableFields
from pydantic import BaseModel

__all__ = ["Change", "MoreDocuments", "Temperature", "changed_chain"]

_SEARCH_KWARGS = "search_kwargs"
_COUNTS = ("k", "top_k")
"""What LangChain's retrievers call the number of documents that they return."""

_DEFAULT_COUNTS = {"k": 4, "fetch_k": 20}
"""What `VectorStore`'s searches take for what they are not given."""


class Change(ABC):
    """A change of one setting, wherever a chain has it.

    Attributes:
        kind: The class of Runnables that have the setting.
        names: What the fields, and the keyword arguments of a call, that hold it may be called.
    """

    kind: type[RunnableSerializable[Any, Any]]
    names: tuple[str, ...]

    @abstractmethod
    def new(self, owner: Any, name: str, value: Any) -> Any:
        """Return what the field or keyword argument ``name`` of ``owner`` is changed to."""

    def without_field(self, owner: Any) -> Any:
        """Return what takes the place of a Runnable that has no field for the setting."""
        return owner


@dataclass(frozen=True)
class MoreDocuments(Change):
    """Retrievers return ``factor`` times as many documents."""

    factor: int
    kind = BaseRetriever
    names = (*_COUNTS, _SEARCH_KWARGS)

    def new(self, owner: Any, name: str, value: Any) -> Any:
        """Multiply a count, or the counts in ``search_kwargs``."""
        if name in _COUNTS:
            return value * self.factor if type(value) is int else value
        if value is None:
            return self.new(owner, name, {}) or None  # None: there is no count to change
        if not isinstance(value, Mapping):
            return value
        counts = {"k": _count(owner, value, "k", "similarity_search")}
        if "fetch_k" in value or getattr(owner, "search_type", None) == "mmr":
            counts["fetch_k"] = _count(owner, value, "fetch_k", "max_marginal_relevance_search")
        return {**value, **{k: n * self.factor for k, n in counts.items() if n is not None}}


@dataclass(frozen=True)
class Temperature(Change):
    """Language models sample at ``value``; a model without such a field is called with it."""

    value: float
    kind = BaseLanguageModel
    names = ("temperature",)

    def new(self, owner: Any, name: str, value: Any) -> Any:
        """Return the temperature."""
        return self.value

    def without_field(self, owner: Any) -> Any:
        """Return the model bound to the temperature."""
        return owner.bind(temperature=self.value)


def changed_chain(
    chain: Runnable[Any, Any], config: RunnableConfig, change: Change
) -> tuple[Runnable[Any, Any], RunnableConfig] | None:
    """Return a chain and a configuration that run with a change; both given ones stay as they are.

    What the chain lets the configuration set is set there; that reaches inside functions too. Other
    settings are changed in a copy of the parts that hold them, which leaves out what only a
    function, a tool or a graph knows.

    Returns:
        None when there is nothing that the change could be made to.
    """
    visit = _Visit(change)
    configurable = config.get("configurable") or {}
    copied = visit.copied(chain, configurable)
    if copied is chain and not visit.configured:
        return None
    return copied, patch_config(config, configurable={**configurable, **visit.configured})


class _Visit:
    """One walk through a chain.

    Attributes:
        configured: What is to be set through the configuration, by its id.
    """

    def __init__(self, change: Change) -> None:
        self.change = change
        self.configured: dict[str, Any] = {}
        # By identity, with the Runnable itself so that none is collected and its id used again.
        self._copies: dict[int, tuple[Any, Any]] = {}

    def copied(self, node: Any, configurable: Mapping[str, Any]) -> Any:
        """Return a Runnable with the change, or the same one if nothing in it changes.

        Args:
            node: The Runnable.
            configurable: What the configuration it is run with sets.
        """
        if id(node) not in self._copies:
            self._copies[id(node)] = (node, node)  # A function may call the chain that it is in.
            self._copies[id(node)] = (node, self._copied(node, configurable))
        return self._copies[id(node)][1]

    def _copied(self, node: Any, configurable: Mapping[str, Any]) -> Any:
        if isinstance(node, RunnableLambda):
            for inner in node.deps:
                self.copied(inner, configurable)  # For what the configuration can set in there.
            return node
        if not isinstance(node, BaseModel):
            return node
        if isinstance(node, (RunnableBindingBase, DynamicRunnable)):
            configurable = {**((node.config or {}).get("configurable") or {}), **configurable}
        if isinstance(node, RunnableConfigurableFields) and self._configure(node, configurable):
            return node
        if isinstance(node, self.change.kind):
            return self._changed(node, configurable)
        updates = self._fields(node, configurable)
        if isinstance(node, RunnableBindingBase):
            updates |= self._arguments(node)
        return node.model_copy(update=updates) if updates else node

    def _configure(
        self, node: RunnableConfigurableFields[Any, Any], configurable: Mapping[str, Any]
    ) -> bool:
        """Set what the configuration can set; whether it can set anything."""
        found = False
        for name in self._settings(node.default):
            field = node.fields.get(name)
            if isinstance(field, ConfigurableField):
                found = True
                value = configurable.get(field.id, getattr(node.default, name))
                new = self.change.new(node.default, name, value)
                if new != value:
                    self.configured[field.id] = new
        return found

    def _changed(self, node: Any, configurable: Mapping[str, Any]) -> Any:
        names = self._settings(node)
        if not names:
            inner = self._fields(node, configurable)
            return node.model_copy(update=inner) if inner else self.change.without_field(node)
        values = {name: getattr(node, name) for name in names}
        new = {name: self.change.new(node, name, value) for name, value in values.items()}
        return node if new == values else node.model_copy(update=new)

    def _settings(self, node: Any) -> list[str]:
        if not isinstance(node, self.change.kind):
            return []
        fields = type(node).model_fields
        return [name for name in self.change.names if name in fields]

    def _arguments(self, node: RunnableBindingBase[Any, Any]) -> dict[str, Any]:
        """Return the keyword arguments with which a Runnable is bound, if they hold the setting."""
        owner: Any = node
        while isinstance(owner, (RunnableBindingBase, DynamicRunnable)):
            owner = owner.bound if isinstance(owner, RunnableBindingBase) else owner.default
        if not isinstance(owner, self.change.kind):
            return {}
        new = {
            name: self.change.new(owner, name, node.kwargs[name])
            for name in self.change.names
            if name in node.kwargs
        }
        arguments = {**node.kwargs, **new}
        return {"kwargs": arguments} if arguments != node.kwargs else {}

    def _fields(self, node: BaseModel, configurable: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that hold Runnables which change."""
        updates = {}
        for name in type(node).model_fields:
            value = getattr(node, name, None)
            new = self._value(value, configurable)
            if new is not value:
                updates[name] = new
        return updates

    def _value(self, value: Any, configurable: Mapping[str, Any], depth: int = 2) -> Any:
        """Return a Runnable, or a dict or list of Runnables, with the change."""
        if isinstance(value, Runnable):
            return self.copied(value, configurable)
        if depth == 0 or type(value) not in (dict, list, tuple):
            return value
        items = value.items() if isinstance(value, dict) else enumerate(value)
        new = {key: self._value(item, configurable, depth - 1) for key, item in items}
        old = value.values() if isinstance(value, dict) else value
        if all(one is other for one, other in zip(new.values(), old, strict=True)):
            return value
        return new if isinstance(value, dict) else type(value)(new.values())


def _count(retriever: Any, given: Mapping[str, Any], name: str, method: str) -> int | None:
    """Return how many documents a retriever asks its vector store for; None: not known."""
    if name in given:
        return given[name] if type(given[name]) is int else None
    search = getattr(getattr(retriever, "vectorstore", None), method, None)
    if search is None:
        return None
    parameter = inspect.signature(search).parameters.get(name)
    default = parameter.default if parameter is not None else None
    return default if type(default) is int else _DEFAULT_COUNTS[name]
