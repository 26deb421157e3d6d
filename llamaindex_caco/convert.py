"""LlamaIndex's objects in the engine's terms: nodes as documents, response objects as text."""

from __future__ import annotations

import asyncio
import contextvars
import re
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, TypeVar

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, QueryType

from caco.models import Document

__all__ = [
    "AnyResponse",
    "Readable",
    "RetriedQuery",
    "aanswer_text",
    "answer_text",
    "documents_from",
    "named_documents",
    "query_text",
    "said",
    "source_nodes",
    "wait_for",
]

Readable = str | Document | BaseNode | NodeWithScore
"""What `documents_from` takes as a source."""

AnyResponse = (
    str
    | Response
    | StreamingResponse
    | AsyncStreamingResponse
    | PydanticResponse
    | AgentChatResponse
    | StreamingAgentChatResponse
)
"""What query engines, synthesizers and chat engines answer with."""

_Result = TypeVar("_Result")


@dataclass
class RetriedQuery(QueryBundle):
    """A query that also holds an earlier answer and what was wrong with it.

    Attributes:
        question: What was asked, without those.
    """

    question: str | None = None


_EMPTY_RESPONSE = "Empty Response"
"""What LlamaIndex's synthesizers say when there were no nodes or the model said nothing."""

_MODEL_WRITTEN = re.compile(r"(?:Sub question: .*\nResponse: |\nQuestion: .*\nAnswer: )", re.DOTALL)
"""Nodes that SubQuestionQueryEngine and MultiStepQueryEngine make of a model's own answers."""

_RETRIED = "Here is a previous bad answer.\n"
_QUESTION_FOLLOWS = "\nNow answer the question.\n"
"""How FeedbackQueryTransformation rewrites a question."""

_SENTENCE_WORDS = 4
"""A field's value with at least so many words says something without the field's name."""


def documents_from(
    sources: Readable | Iterable[Readable] | None, metadata_mode: MetadataMode = MetadataMode.LLM
) -> tuple[Document, ...]:
    """Turn nodes, or plain texts, into the engine's documents.

    Args:
        sources: Nodes (with or without a score), strings or `caco.Document`; one or many.
        metadata_mode: Which metadata belong to a node's text. ``MetadataMode.LLM`` is what a
            synthesizer shows the model, so that an answer may quote it.

    Returns:
        One document for each source, named by its node id (a string by its position). A source
        given twice is read once; different texts under one id are told apart by a suffix ("id#2").
        Nodes that a query engine made of a model's own sub-answers are left out: a model's words
        are no source.

    Raises:
        TypeError: A source is something else.
    """
    if sources is None:
        return ()
    if isinstance(sources, (str, Document, BaseNode, NodeWithScore)):
        sources = [sources]
    kept = [source for source in sources if not _is_model_written(source)]
    return named_documents(kept, metadata_mode)[0]


def named_documents(
    sources: Sequence[Readable], metadata_mode: MetadataMode
) -> tuple[tuple[Document, ...], tuple[str, ...]]:
    """Return the distinct documents, and for each source the id of its document."""
    texts: dict[str, str] = {}
    names = []
    for position, source in enumerate(sources):
        wanted, text = _read(source, position, metadata_mode)
        name = next(
            candidate
            for candidate in chain([wanted], (f"{wanted}#{number}" for number in count(2)))
            if texts.get(candidate, text) == text
        )
        texts[name] = text
        names.append(name)
    return tuple(Document(text, name) for name, text in texts.items()), tuple(names)


def _read(source: object, position: int, metadata_mode: MetadataMode) -> tuple[str, str]:
    if isinstance(source, str):
        return str(position), source
    if isinstance(source, Document):
        return source.id if source.id is not None else str(position), source.text
    if isinstance(source, (NodeWithScore, BaseNode)):
        return source.node_id, source.get_content(metadata_mode=metadata_mode)
    raise TypeError(
        f"source {position} must be a node, a str or a caco.Document, not {type(source).__name__}"
    )


def _is_model_written(source: object) -> bool:
    if not isinstance(source, NodeWithScore) or source.score is not None:
        return False
    node = source.node
    if node.metadata or node.ref_doc_id is not None:
        return False
    return _MODEL_WRITTEN.match(node.get_content(metadata_mode=MetadataMode.NONE)) is not None


def query_text(query: QueryType | None) -> str | None:
    """Return the question as the engine takes it; None when there is none.

    Retry engines, LlamaIndex's and ours, ask with the earlier bad answer and its feedback; a short
    answer must not be read with those.
    """
    if isinstance(query, RetriedQuery):
        return query.question
    text = query.query_str if isinstance(query, QueryBundle) else query
    if text and text.startswith(_RETRIED):
        text = text.rpartition(_QUESTION_FOLLOWS)[2]
    return text if text and text.strip() else None


def source_nodes(response: AnyResponse) -> list[NodeWithScore]:
    """Return the nodes that a response was made from; for chat responses also its tools'."""
    nodes = getattr(response, "source_nodes", None) or []
    if nodes or not isinstance(response, (AgentChatResponse, StreamingAgentChatResponse)):
        return list(nodes)
    found: list[NodeWithScore] = []
    for tool_output in response.sources:
        found.extend(getattr(tool_output.raw_output, "source_nodes", None) or [])
    return found


def answer_text(response: AnyResponse) -> str:
    """Return what a response says; a stream is read to its end.

    A pydantic object is put into words, one line for each value. "" when there is no answer.

    Raises:
        TypeError: Not a response object.
    """
    if isinstance(response, AsyncStreamingResponse) or _is_async_chat(response):
        return wait_for(aanswer_text(response))
    if isinstance(response, StreamingResponse):
        return said(response.get_response().response)
    if isinstance(response, StreamingAgentChatResponse):
        return said(response.response or "".join(response.response_gen))
    return _static_text(response)


async def aanswer_text(response: AnyResponse) -> str:
    """`answer_text` for use in an event loop, which stays free while a stream is read."""
    if isinstance(response, AsyncStreamingResponse):
        return said((await response.get_response()).response)
    if isinstance(response, StreamingAgentChatResponse) and _is_async_chat(response):
        if response.response:
            return said(response.response)
        return said("".join([token async for token in response.async_response_gen()]))
    if isinstance(response, (StreamingResponse, StreamingAgentChatResponse)):
        return await asyncio.to_thread(answer_text, response)
    return _static_text(response)


def _is_async_chat(response: object) -> bool:
    return isinstance(response, StreamingAgentChatResponse) and response.achat_stream is not None


def _static_text(response: object) -> str:
    if isinstance(response, str):
        return said(response)
    if isinstance(response, PydanticResponse):
        return "" if response.response is None else "\n\n".join(_in_words(response.response))
    if isinstance(response, (Response, AgentChatResponse)):
        return said(response.response)
    raise TypeError(f"response must be a response object or a str, not {type(response).__name__}")


def said(text: object) -> str:
    """Return an answer's text; "" for None and for LlamaIndex's stand-in for no answer.

    Raises:
        TypeError: Neither a str nor None.
    """
    if text is None:
        return ""
    if not isinstance(text, str):
        raise TypeError(f"the response's text must be a str or None, not {type(text).__name__}")
    return "" if text.strip() == _EMPTY_RESPONSE else text


def _in_words(value: object, name: str = "") -> Iterator[str]:
    """One line for each value of a pydantic object, with its field's name where it needs one."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _in_words(item, str(key).replace("_", " "))
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _in_words(item, name)
    elif value is not None:
        text = str(value)
        alone = not name or len(text.split()) >= _SENTENCE_WORDS
        yield text if alone else f"{name}: {text}"


def wait_for(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine from synchronous code, inside a running event loop too.

    Inside a running loop it runs on a loop of its own in another thread, as LlamaIndex does.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    context = contextvars.copy_context()
    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(context.run, asyncio.run, coroutine).result()
