"""The attempts of a retry at one input, each with its own eyes on the retrievers."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config

from caco.errors import HallucinationError
from caco.gate import ASK_FOR_SOURCE, attempt_of, rejected, withheld
from caco.models import Attempt, ValidationResult
from langchain_caco.actions import Actions, Plan
from langchain_caco.capture import DocumentCapture, documents_seen
from langchain_caco.checking import AnswerChecker
from langchain_caco.convert import context_of, with_feedback
from langchain_caco.rows import Row, RunManager, Verdict, aattempt, attempt

__all__ = ["Batch", "Call", "Loop", "OnExhausted", "grouped"]

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
        actions: What a gating policy can have done between two attempts.
        verified: Outputs with their verdicts, oldest first.
        history: The same, as it is told.
        ended: Whether no further attempt is to be made.
        unverified: An exception, or an output in which there is nothing to check.
        documents: What the retrievers of the latest attempt that used any returned.
        plan: How the latest attempt was made.
    """

    given: Any
    run: RunManager
    config: RunnableConfig
    feedback_key: str | None
    retried: bool
    actions: Actions
    verified: list[tuple[Any, ValidationResult]] = field(default_factory=list)
    history: list[Attempt] = field(default_factory=list)
    ended: bool = False
    unverified: Any = None
    documents: Sequence[Document] | None = None
    plan: Plan | None = None

    def next_plan(self, chain: Runnable[Any, Any]) -> Plan:
        """Return how the next attempt is to be made; note what was done about the last one.

        Raises:
            TypeError: See `next_input` and `Actions.plan`.

        What a handler of an action raises surfaces as it is.
        """
        plan = Plan(chain, self.next_input(), self.config)
        if self.plan is not None:
            plan = self.actions.plan(plan, self.plan.adjustment, self.verified[-1][1])
            self._acted(len(self.history) - 1, *plan.taken)
        self.plan = plan
        return plan

    def next_input(self) -> Any:
        """Return what the next attempt is given.

        Raises:
            TypeError: An input that feedback could not reach, though it is to be retried, or one
                that does not say how many documents to retrieve, though it should.
        """
        if self.actions.k_key is not None:
            self.actions.count(self.given)
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
        self.verified.append((output, verdict))
        self.history.append(attempt_of(verdict))
        self.ended = not rejected(verdict)

    def outcome(self, guard: AnswerChecker, on_exhausted: OnExhausted) -> Any:
        """Return what leaves the retry.

        Raises:
            HallucinationError: No attempt passed, and ``on_exhausted`` or the guard says so.
        """
        if self.unverified is not None:
            return self.unverified
        chosen = len(self.verified) - 1
        if rejected(self.verified[chosen][1]) and on_exhausted != "last":
            chosen = min(range(len(self.verified)), key=self._risk)
        value, result = self.verified[chosen]
        raises = rejected(result) and "raise" in (on_exhausted, guard.on_fail)
        if withheld(result, ASK_FOR_SOURCE) and not raises:
            self._acted(chosen, ASK_FOR_SOURCE)
        result = replace(result, attempts=tuple(self.history))
        if raises:
            raise HallucinationError(result)
        return guard.outcome_of(value, result)

    def _acted(self, position: int, *actions: str) -> None:
        done = self.history[position]
        self.history[position] = replace(done, actions=(*done.actions, *actions))

    def _risk(self, position: int) -> tuple[bool, float]:
        """Order attempts by risk; one that was not read to the end comes after all others."""
        result = self.verified[position][1]
        return result.coverage.truncated, result.score


class Call:
    """One attempt, about to be made.

    Attributes:
        loop: What it belongs to.
        plan: How it is made, or the exception that came of asking.
        config: What the chain is run with.
        output: What the chain gave, or the exception that came instead.
    """

    def __init__(self, loop: Loop, number: int, chain: Runnable[Any, Any]) -> None:
        self.loop = loop
        self.plan: Plan | Exception = attempt(loop.next_plan, chain)
        self.output: Any = self.plan if isinstance(self.plan, Exception) else None
        self._capture = DocumentCapture()
        callbacks = loop.run.get_child(f"caco:attempt:{number}")
        callbacks.add_handler(self._capture, inherit=True)
        config = loop.config if isinstance(self.plan, Exception) else self.plan.config
        self.config = patch_config(config, callbacks=callbacks)

    def row(self, guard: AnswerChecker) -> Row:
        """Return what is to be checked of the chain's output."""
        if isinstance(self.output, Exception):
            return self.output
        given, run = self.loop.given, self.loop.run
        row: Row = attempt(
            guard.check_of,
            self.output,
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


@dataclass(frozen=True)
class Batch:
    """Calls that are run together.

    Attributes:
        chain: What they run.
        calls: At least one.
        inputs: What the chain is given for each.
    """

    chain: Runnable[Any, Any]
    calls: list[Call]
    inputs: list[Any]

    @property
    def configs(self) -> list[RunnableConfig]:
        """What the chain is run with for each."""
        return [call.config for call in self.calls]

    def run(self, **kwargs: Any) -> list[Any]:
        """Run the chain; return its output for each call, or the exception that came instead."""
        if len(self.calls) == 1:
            return [attempt(self.chain.invoke, self.inputs[0], self.configs[0], **kwargs)]
        return self.chain.batch(self.inputs, self.configs, return_exceptions=True, **kwargs)

    async def arun(self, **kwargs: Any) -> list[Any]:
        """`run`, asynchronously."""
        if len(self.calls) == 1:
            return [await aattempt(self.chain.ainvoke(self.inputs[0], self.configs[0], **kwargs))]
        return await self.chain.abatch(self.inputs, self.configs, return_exceptions=True, **kwargs)

    def take(self, outputs: list[Any]) -> None:
        """Give each call what came of it."""
        for call, output in zip(self.calls, outputs, strict=True):
            call.output = output


def grouped(calls: Sequence[Call]) -> list[Batch]:
    """Put together the calls that can be run as one batch; one that has no plan is in none."""
    groups: list[tuple[Plan, Batch]] = []
    for call in calls:
        if isinstance(call.plan, Exception):
            continue
        for plan, batch in groups:
            if call.plan.runs_like(plan):
                batch.calls.append(call)
                batch.inputs.append(call.plan.input)
                break
        else:
            groups.append((call.plan, Batch(call.plan.chain, [call], [call.plan.input])))
    return [batch for _, batch in groups]
