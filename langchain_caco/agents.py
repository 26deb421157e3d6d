"""What the history of an agent says about its last answer, and the verdict on that answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.modifier import RemoveMessage

from caco.errors import MissingContextError
from caco.gate import attempt_of
from caco.models import Document, Status, ValidationResult
from caco.summary import summarise
from langchain_caco.checking import AnswerChecker, Check
from langchain_caco.documents import artifact_documents, to_caco_documents
from langchain_caco.guard import CacoGuard

__all__ = [
    "FEEDBACK_NAME",
    "averified",
    "feedback_message",
    "guard_for",
    "is_feedback",
    "is_verdict",
    "removals",
    "since_question",
    "sources_of",
    "verified",
    "without_raise",
]

FEEDBACK_NAME = "caco_guard"
"""The ``name`` of the messages that carry feedback: they are not the user's."""


def guard_for(
    guard: AnswerChecker | None,
    settings: dict[str, Any],
    max_retries: int,
) -> AnswerChecker:
    """Return the guard that was given, or one with the settings that were.

    Raises:
        ValueError: ``max_retries`` is negative, or a setting is unknown or out of its range.
        TypeError: Both a guard and settings are given, or ``guard`` is not a guard.
    """
    if guard is not None and settings:
        raise TypeError(f"give a guard or settings for one, not both: {sorted(settings)}")
    if guard is not None and not isinstance(guard, AnswerChecker):
        raise TypeError(f"guard must be a CacoGuard, not {type(guard).__name__}")
    if max_retries < 0:
        raise ValueError(f"max_retries must be at least 0, not {max_retries}")
    return guard if guard is not None else CacoGuard(**settings)


def verified(guard: AnswerChecker, check: Check) -> ValidationResult:
    """Return the verdict on an agent's answer.

    An agent that greets has called no tool and has no documents. An answer with no check-worthy
    claim needs none: it passes with the status ``NO_CLAIMS``.

    Raises:
        MissingContextError: There are claims but no document, and ``on_missing_context`` is
            "raise".

    What the check itself raises surfaces as it is.
    """
    return _settled(guard, without_raise(guard).verify([check])[0])


async def averified(guard: AnswerChecker, check: Check) -> ValidationResult:
    """`verified`, with the check in the engine's threads."""
    return _settled(guard, (await without_raise(guard).averify([check]))[0])


def without_raise(guard: AnswerChecker) -> AnswerChecker:
    """Return a guard that reads the claims first, even where a missing document is an error."""
    if guard.on_missing_context != "raise":
        return guard
    return guard.model_copy(update={"on_missing_context": "flag"})


def feedback_message(result: ValidationResult) -> HumanMessage:
    """Return what is wrong with an answer as a message to the model that wrote it."""
    return HumanMessage(attempt_of(result).feedback, name=FEEDBACK_NAME)


def is_feedback(message: object) -> bool:
    """Whether a message was made by `feedback_message`."""
    return isinstance(message, HumanMessage) and message.name == FEEDBACK_NAME


def since_question(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the user's last message and everything after it; all messages if there is none."""
    start = 0
    for position, message in enumerate(messages):
        if isinstance(message, HumanMessage) and not is_feedback(message):
            start = position
    return list(messages[start:])


def sources_of(messages: Sequence[BaseMessage]) -> tuple[Document, ...]:
    """Return what tools returned: the documents of their artifacts, else their text.

    Failed calls and verdicts of `CacoVerifyTool` are left out.
    """
    found: list[object] = []
    for message in messages:
        if not isinstance(message, ToolMessage) or message.status == "error":
            continue
        documents = artifact_documents(message)
        if documents:
            found.extend(documents)
        elif message.text.strip() and not is_verdict(message.artifact):
            found.append(Document(str(message.text), message.name or "tool"))
    return to_caco_documents(found)


def is_verdict(artifact: object) -> bool:
    """Whether a tool's artifact is a `ValidationResult` as plain JSON."""
    return isinstance(artifact, Mapping) and {"schema_version", "is_hallucination"} <= set(artifact)


def removals(messages: Sequence[BaseMessage]) -> list[RemoveMessage]:
    """Return what takes feedback, and the drafts it answered, out of a history."""
    unwanted: list[RemoveMessage] = []
    for before, message in zip([None, *messages], messages, strict=False):
        if not is_feedback(message):
            continue
        if isinstance(before, AIMessage) and before.id is not None:
            unwanted.append(RemoveMessage(id=before.id))
        if message.id is not None:
            unwanted.append(RemoveMessage(id=message.id))
    return unwanted


def _settled(guard: AnswerChecker, result: ValidationResult | Exception) -> ValidationResult:
    """Decide what missing documents mean, now that it is known whether anything is claimed."""
    if isinstance(result, Exception):
        raise result
    if result.status is not Status.NO_CONTEXT:
        return result
    if result.coverage.claims_total > 0 or any(claim.checkworthy for claim in result.claims):
        if guard.on_missing_context == "raise":
            raise MissingContextError("there is no document to check the answer against")
        return result
    status, gate = Status.NO_CLAIMS, result.gate
    return replace(
        result,
        status=status,
        score=0.0,
        is_hallucination=False,
        summary=summarise(status, result.claims, 0.0, result.language),
        gate=None if gate is None else replace(gate, abstained=False, reason=None, actions=()),
    )
