"""Calls of an agent's model that LangGraph does not stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM

__all__ = ["aquietly", "quietly"]


@contextmanager
def _unstreamed() -> Iterator[None]:
    """Keep the tokens of the models called within, whichever they are, out of LangGraph's stream.

    A tag in the context and not on the model: a middleware further in may pick another model, and a
    copy of a model does not share its state.
    """
    config = var_child_runnable_config.get() or RunnableConfig()
    tags = [*(config.get("tags") or []), TAG_NOSTREAM]
    token = var_child_runnable_config.set({**config, "tags": tags})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def quietly(
    handler: Callable[[ModelRequest[Any]], ModelResponse[Any]], request: ModelRequest[Any]
) -> ModelResponse[Any]:
    """Call the model; nothing of it is streamed."""
    with _unstreamed():
        return handler(request)


async def aquietly(
    handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    request: ModelRequest[Any],
) -> ModelResponse[Any]:
    """`quietly`, asynchronously."""
    with _unstreamed():
        return await handler(request)
