"""The attempts of a retry at one input, each with its own eyes on the retrievers."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import patch_config

from caco.errors import HallucinationError
from caco.models import Attempt, ValidationResult
from langchain_caco.capture import DocumentCapture, documents_seen
from langchain_caco.checking import AnswerChecker, rejected
from langchain_caco.convert import context_of, with_feedback
from langchain_caco.rows import Row, RunManager, Verdict, attempt

__all__ = ["Call", "Loop", "OnExhausted"]

OnExhausted = Literal["best", "raise", "last"]


@dataclass
class Loop:
    """The attempts at one input.

    Attributes:
        given: The input.
        run: The run that the attempts are children of.
        config: The configuration of its children.
        feedback_key: Where a dict input gets the feedback; None: nowhere.
        retried: Whether there may be more than one attempt.
        verified: Outputs with their verdicts, oldest first.
        history: The same, as it is told.
        ended: Whether no further attempt is to be made.
        unverified: An exception, or an output in which there is nothing to check.
        documents: What the retrievers of the latest attempt that used any returned.
    """

    given: Any
    run: RunManager
    config: RunnableConfig
    feedback_key: str | None
    retried: bool
    verified: list[tuple[Any, ValidationResult]] = field(default_factory=list)
    history: list[Attempt] = field(default_factory=list)
    ended: bool = False
    unverified: Any = None
    documents: Sequence[Document] | None = None

    def next_input(self) -> Any:
        """Return what the next attempt is given.

        Raises:
            TypeError: An input that feedback could not reach, though it is to be retried.
        """
        if not self.retried and self.feedback_key is None:
            return self.given
        if not self.history:
            return with_feedback(self.given, self.feedback_key)
        last = self.history[-1]
        return with_feedback(self.given, self.feedback_key, last.feedback, last.answer)

    def note(self, output: Any, verdict: Verdict) -> None:
        """Take in what an attempt gave; unless it was rejected, this is the end."""
        if not isinstance(verdict, ValidationResult):
            # An exception, or a message that only calls tools: nothing that feedback could mend.
            self.unverified, self.ended = output if verdict is None else verdict, True
            return
        feedback = (verdict.feedback() or verdict.summary) if rejected(verdict) else ""
        self.verified.append((output, verdict))
        self.history.append(Attempt(verdict.response, verdict.score, feedback))
        self.ended = not rejected(verdict)

    def outcome(self, guard: AnswerChecker, on_exhausted: OnExhausted) -> Any:
        """Return what leaves the retry.

        Raises:
            HallucinationError: No attempt passed, and ``on_exhausted`` or the guard says so.
        """
        if self.unverified is not None:
            return self.unverified
        value, result = self.verified[-1]
        if rejected(result) and on_exhausted != "last":
            value, result = min(self.verified, key=_risk)
        result = replace(result, attempts=tuple(self.history))
        if rejected(result) and on_exhausted == "raise":
            raise HallucinationError(result)
        return guard.outcome_of(value, result)


class Call:
    """One attempt, about to be made.

    Attributes:
        loop: What it belongs to.
        input: What the chain is given.
        config: What the chain is run with.
    """

    def __init__(self, loop: Loop, number: int) -> None:
        self.loop = loop
        self.input = loop.next_input()
        self._capture = DocumentCapture()
        callbacks = loop.run.get_child(f"caco:attempt:{number}")
        callbacks.add_handler(self._capture, inherit=True)
        self.config = patch_config(loop.config, callbacks=callbacks)

    def row(self, guard: AnswerChecker, output: Any) -> Row:
        """Return what is to be checked of the chain's output."""
        if isinstance(output, Exception):
            return output
        given, run = self.loop.given, self.loop.run
        row: Row = attempt(
            guard.check_of,
            output,
            self._documents,
            partial(context_of, given, guard.context_key),
            partial(documents_seen, run.handlers, run.run_id, run.parent_run_id),
            given=given,
        )
        return row

    def _documents(self) -> Sequence[Document] | None:
        """Return what the retrievers found; where none was asked, what they last found.

        An agent that is told what is wrong often answers from what it has already read.
        """
        if self._capture.documents_for_run(self.loop.run.run_id) is not None:
            self.loop.documents = self._capture.documents
        return self.loop.documents or None


def _risk(verified: tuple[Any, ValidationResult]) -> tuple[bool, float]:
    """Order attempts by risk; one that was not read to the end comes after all others."""
    result = verified[1]
    return result.coverage.truncated, result.score
