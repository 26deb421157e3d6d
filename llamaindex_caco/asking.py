"""Asking an engine: its retrieval and its synthesis apart, where it can do the two apart."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.schema import NodeWithScore, QueryBundle

__all__ = ["aanswered", "answered", "aretrieved", "retrieved"]

_logger = logging.getLogger(__name__)


def retrieved(engine: BaseQueryEngine, query: QueryBundle) -> list[NodeWithScore] | None:
    """Return the engine's nodes; None when it does not retrieve apart from answering."""
    try:
        return engine.retrieve(query)
    except NotImplementedError:
        return None


async def aretrieved(engine: BaseQueryEngine, query: QueryBundle) -> list[NodeWithScore] | None:
    """`retrieved`, asynchronous where the engine is."""
    try:
        if hasattr(engine, "aretrieve"):
            return cast("list[NodeWithScore]", await engine.aretrieve(query))
        return await asyncio.to_thread(engine.retrieve, query)
    except NotImplementedError:
        return None


def answered(
    engine: BaseQueryEngine, query: QueryBundle, nodes: list[NodeWithScore] | None
) -> RESPONSE_TYPE:
    """Return the engine's answer from the nodes; without nodes, or a synthesis, from its own."""
    if nodes is not None:
        try:
            return engine.synthesize(query, nodes)
        except NotImplementedError:
            _logger.debug("%s retrieves but does not synthesize", type(engine).__name__)
    return engine.query(query)


async def aanswered(
    engine: BaseQueryEngine, query: QueryBundle, nodes: list[NodeWithScore] | None
) -> RESPONSE_TYPE:
    """`answered`, asynchronously."""
    if nodes is not None:
        try:
            return await engine.asynthesize(query, nodes)
        except NotImplementedError:
            _logger.debug("%s retrieves but does not synthesize", type(engine).__name__)
    return await engine.aquery(query)
