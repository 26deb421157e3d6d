"""What LangChain passes around, read as an answer with documents, and put back in its own shape.

All knowledge of shapes is here. An answer may be a str, an ``AIMessage`` (whole or a chunk, its
content a str or a list of blocks), or a dict that holds one of them, or a list of messages, under
some key.
"""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
)
from langchain_core.prompt_values import ChatPromptValue, PromptValue
from langchain_core.runnables.utils import AddableDict

from caco.models import Document, ValidationResult
from langchain_caco.documents import artifact_documents, to_caco_documents, tool_documents

__all__ = [
    "ANSWER_KEYS",
    "CONTEXT_KEYS",
    "METADATA_KEY",
    "QUESTION_KEYS",
    "GuardedText",
    "Key",
    "answer_text",
    "artifact_documents",
    "context_of",
    "is_complete_message",
    "merged",
    "question_of",
    "to_caco_documents",
    "tool_documents",
    "trailing_chunk",
    "with_answer",
    "with_feedback",
    "with_result",
    "without_metadata",
]

ANSWER_KEYS = ("answer", "result", "output", "response", "generation")
"""Where a dict's answer is looked for, in this order; then in its ``messages``."""

CONTEXT_KEYS = ("context", "documents", "docs", "source_documents", "contexts")
"""Where a dict's documents are looked for, in this order; then in its tool messages."""

QUESTION_KEYS = ("question", "input", "query")
"""Where a dict's question is looked for, in this order; then in its ``messages``."""

METADATA_KEY = "caco"
"""The key of ``response_metadata`` that holds the verdict, as plain JSON."""

Key = str | Callable[[Any], Any] | None
"""A dict's key, a function of the whole value, or None to look in the usual places."""

_MESSAGES = "messages"
_TEXTUAL = "a str or an AIMessage"
# Content blocks that repeat, quote or led to the text: they go when the text is replaced.
_TEXTUAL_BLOCKS = frozenset({"text", "reasoning", "thinking", "redacted_thinking", "refusal"})
# The same among ``additional_kwargs``; "parsed" is the text as data, "audio" has a transcript.
_TEXTUAL_KWARGS = frozenset({"audio", "parsed", "reasoning", "reasoning_content", "refusal"})


class GuardedText(str):
    """A str that carries the verdict on it.

    It is equal to, and hashes like, the plain text. Pickling and copying keep the verdict; string
    operations give a plain str, as for any str subclass.

    Attributes:
        validation: The verdict. After ``on_fail="replace"`` or ``"redact"`` its ``response`` is
            the answer as the model gave it.
    """

    validation: ValidationResult

    def __new__(cls, text: str, validation: ValidationResult) -> GuardedText:
        """Make a str with ``text`` and attach ``validation``."""
        guarded = super().__new__(cls, text)
        guarded.validation = validation
        return guarded

    def __getnewargs__(self) -> tuple[str, ValidationResult]:  # type: ignore[override]
        return str(self), self.validation

    def __radd__(self, other: str) -> str:
        # Chunks of a stream are added up: the empty one that ends it hands on its verdict, but
        # only where the sum is the very text that was verified.
        if not isinstance(other, str):
            return NotImplemented
        text = str(other) + str(self)
        if not self and text == self.validation.response:
            return GuardedText(text, self.validation)
        return text


def answer_text(value: object, answer_key: Key = None) -> str | None:
    """Return the answer that ``value`` holds.

    Args:
        value: A str, an ``AIMessage``, or a dict.
        answer_key: The dict's key, or a function of ``value`` that returns a str or an
            ``AIMessage``. None: the first of `ANSWER_KEYS` that holds one, else the last
            ``AIMessage`` of ``messages``.

    Returns:
        The text, or None when there is nothing to check: the message calls tools and says nothing.

    Raises:
        ValueError: A dict without an answer, or an answer without text; the message names the keys
            that were seen and looked for.
        TypeError: A value, or an answer in it, of a kind that holds no text.
    """
    answer = _answer(value, answer_key)
    text = str(answer.text) if isinstance(answer, AIMessage) else str(answer)
    if text.strip():
        return text
    if isinstance(answer, AIMessage) and answer.tool_calls:
        return None
    raise ValueError(f"the answer is empty: there is nothing to check{_keys_seen(value)}")


def context_of(value: object, context_key: Key = None) -> tuple[Document, ...] | None:
    """Return the documents that ``value`` itself holds.

    Args:
        value: What came from upstream.
        context_key: The dict's key, or a function of ``value`` that returns documents. None: the
            first of `CONTEXT_KEYS` that holds any, else the artifacts of tool messages.

    Returns:
        The documents; empty when a key is there but holds none; None when ``value`` names no
        source at all.

    Raises:
        ValueError: ``context_key`` is not a key of ``value``.
        TypeError: A context of a kind that holds no documents.
    """
    if callable(context_key):
        found = context_key(value)
        return None if found is None else to_caco_documents(found)
    if not isinstance(value, Mapping):
        return None
    if context_key is not None:
        if context_key not in value:
            raise ValueError(f"no context: looked for {context_key!r}{_keys_seen(value)}")
        return _documents_under(value, context_key)
    present = [key for key in CONTEXT_KEYS if value.get(key) is not None]
    for key in present:
        documents = _documents_under(value, key)
        if any(document.text.strip() for document in documents):
            return documents
    if present:
        return ()
    messages = value.get(_MESSAGES)
    return tool_documents(messages) if isinstance(messages, Sequence) else None


def question_of(value: object) -> str | None:
    """Return the question that ``value`` holds: a str, a dict's, or the last human message."""
    if isinstance(value, Mapping):
        found = [value[key] for key in QUESTION_KEYS if isinstance(value.get(key), str)]
        value = found[0] if found else value.get(_MESSAGES)
    if isinstance(value, (list, tuple)):
        asked = [str(message.text) for message in value if isinstance(message, HumanMessage)]
        value = asked[-1] if asked else None
    return str(value) if isinstance(value, str) else None


def with_answer(value: Any, answer_key: Key, text: str) -> Any:
    """Return a copy of ``value`` with ``text`` for its answer, in the same shape.

    Of a message, everything but its words is kept: id, metadata, usage, tool calls.

    Raises:
        ValueError: ``answer_key`` is a function and ``value`` a dict: where the answer stands is
            not known.
    """
    if isinstance(value, AIMessage):
        return _with_text(value, text)
    if not isinstance(value, Mapping):
        return text
    if callable(answer_key):
        raise ValueError("an answer found by a function cannot be replaced: give its key")
    key = _key_of(value, answer_key)
    answer = value[key]
    if not isinstance(answer, (list, tuple)):
        return {**value, key: with_answer(answer, None, text)}
    position = _last_answer(answer)
    changed = _with_text(answer[position], text)
    return {**value, key: [*answer[:position], changed, *answer[position + 1 :]]}


def with_result(value: Any, result: ValidationResult, result_key: str) -> Any:
    """Return a copy of ``value`` with the verdict attached.

    A dict gets it under ``result_key``, a message in its ``response_metadata`` as plain JSON, and a
    str becomes a `GuardedText`.
    """
    if isinstance(value, Mapping):
        return {**value, result_key: result}
    if isinstance(value, BaseMessage):
        metadata = {**value.response_metadata, METADATA_KEY: result.to_dict()}
        return value.model_copy(update={"response_metadata": metadata})
    return GuardedText(str(value), result)


def with_feedback(value: Any, key: str | None, feedback: str = "", draft: str = "") -> Any:
    """Return a chain's input with what was wrong with its last answer.

    Args:
        value: A dict, messages (a list or a prompt value), or a str.
        key: Where a dict gets the feedback; None: nowhere.
        feedback: "" on the first attempt.
        draft: The answer that the feedback is on.

    Returns:
        A copy. A dict has the feedback under ``key``; it is also appended, after the draft, to a
        dict's ``messages``, and to messages. A str gets it after a blank line.

    Raises:
        TypeError: An input of another kind: feedback could not reach the chain.
    """
    if isinstance(value, Mapping):
        changed = dict(value) if key is None else {**value, key: feedback}
        if feedback and _MESSAGES in value:
            changed[_MESSAGES] = _continued(value[_MESSAGES], draft, feedback)
        return changed
    if isinstance(value, PromptValue):
        messages = _continued(value.to_messages(), draft, feedback)
        return ChatPromptValue(messages=messages) if feedback else value
    if isinstance(value, (list, tuple)):
        return _continued(value, draft, feedback) if feedback else value
    if isinstance(value, str):
        return f"{value}\n\n{feedback}" if feedback else value
    raise TypeError(
        "to be run again with feedback, a chain must take a dict, messages or a str, "
        f"not {type(value).__name__}"
    )


def is_complete_message(value: object) -> bool:
    """Whether ``value`` is a message to which no chunk can be added."""
    return isinstance(value, BaseMessage) and not isinstance(value, BaseMessageChunk)


def merged(total: Any, chunk: Any) -> Any:
    """Return the sum of two chunks of a stream; plain dicts are added key by key."""
    if isinstance(total, Mapping):
        return AddableDict(total) + AddableDict(chunk)
    return total + chunk


def trailing_chunk(total: Any, result: ValidationResult, result_key: str) -> Any:
    """Return the one chunk that ends a stream and carries the verdict on its sum, ``total``."""
    if isinstance(total, Mapping):
        return AddableDict({result_key: result})
    if isinstance(total, AIMessageChunk):
        # Chunks add up by id, and only one of them may carry the metadata.
        return AIMessageChunk(
            content="", id=total.id, response_metadata={METADATA_KEY: result.to_dict()}
        )
    return GuardedText("", result)


def without_metadata(chunk: Any) -> Any:
    """Return ``chunk`` without the verdict that an earlier guard put in its metadata."""
    if isinstance(chunk, BaseMessage) and METADATA_KEY in chunk.response_metadata:
        metadata = {k: v for k, v in chunk.response_metadata.items() if k != METADATA_KEY}
        return chunk.model_copy(update={"response_metadata": metadata})
    return chunk


def _answer(value: object, answer_key: Key) -> str | AIMessage:
    """Find the answer in a value, or say why there is none."""
    name, wanted = "the input", "a str, an AIMessage or a dict that holds one"
    if callable(answer_key):
        value, name, wanted = answer_key(value), "the result of answer_key", _TEXTUAL
    elif isinstance(value, Mapping):
        key = _key_of(value, answer_key)
        value, name, wanted = value[key], f"the answer at {key!r}", _TEXTUAL
        if isinstance(value, (list, tuple)):
            value = value[_last_answer(value)]
    if isinstance(value, (str, AIMessage)):
        return value
    raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}")


def _key_of(value: Mapping[str, Any], answer_key: Key) -> str:
    """Return the key that holds a dict's answer."""
    if isinstance(answer_key, str):
        if answer_key in value:
            return answer_key
        raise ValueError(f"no answer: looked for {answer_key!r}{_keys_seen(value)}")
    present = [key for key in (*ANSWER_KEYS, _MESSAGES) if value.get(key) is not None]
    textual = [key for key in present if isinstance(value[key], (str, AIMessage))]
    if textual:
        return textual[0]
    if _MESSAGES in present:
        return _MESSAGES
    if present:
        return present[0]
    looked_for = ", ".join(map(repr, (*ANSWER_KEYS, _MESSAGES)))
    raise ValueError(f"no answer: looked for {looked_for}{_keys_seen(value)}")


def _last_answer(messages: Sequence[object]) -> int:
    """Return the position of the last ``AIMessage``."""
    for position in range(len(messages) - 1, -1, -1):
        if isinstance(messages[position], AIMessage):
            return position
    kinds = sorted({type(message).__name__ for message in messages})
    raise ValueError(f"no answer: there is no AIMessage among the messages, only {kinds}")


def _with_text(message: AIMessage, text: str) -> AIMessage:
    content: str | list[Any] = text
    if isinstance(message.content, list):
        others = [
            block
            for block in message.content
            if isinstance(block, dict) and block.get("type") not in _TEXTUAL_BLOCKS
        ]
        content = [{"type": "text", "text": text}, *others]
    extra = {k: v for k, v in message.additional_kwargs.items() if k not in _TEXTUAL_KWARGS}
    return message.model_copy(update={"content": content, "additional_kwargs": extra})


def _continued(messages: Any, draft: str, feedback: str) -> list[Any]:
    given = messages if isinstance(messages, (list, tuple)) else [messages]
    return [*given, AIMessage(draft), HumanMessage(feedback)]


def _documents_under(value: Mapping[str, Any], key: str) -> tuple[Document, ...]:
    found = value[key]
    try:
        return () if found is None else to_caco_documents(found)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{key!r}: {error}") from error


def _keys_seen(value: object) -> str:
    if not isinstance(value, Mapping):
        return ""
    return f"; the dict has the keys {sorted(map(str, value))}"
