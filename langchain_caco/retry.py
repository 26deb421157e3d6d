"""A chain that is run again, with feedback, until its answer passes."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import Self, override

from langchain_caco.actions import ActionHandler, Actions
from langchain_caco.attempts import Call, Loop, OnExhausted, grouped
from langchain_caco.checking import AnswerChecker
from langchain_caco.fused import FusedRunnable
from langchain_caco.rows import (
    Row,
    RunManager,
    Verdict,
    ajudge,
    apass_through,
    attempt,
    judge,
    pass_through,
    unwrapped,
)

__all__ = ["HallucinationRetry", "with_hallucination_retry"]


def with_hallucination_retry(
    chain: Any,
    guard: AnswerChecker,
    max_retries: int = 2,
    feedback_key: str | None = "feedback",
    on_exhausted: OnExhausted = "best",
    *,
    k_key: str | None = None,
    on_action: Mapping[str, ActionHandler] | None = None,
) -> HallucinationRetry:
    """Run a chain again, with feedback, until its answer passes the guard.

    The feedback names the failing claims and the evidence against them. In a dict it stands under
    ``feedback_key`` ("" on the first attempt); messages (a list, a prompt value, or a dict's
    ``messages``) get the rejected draft and the feedback appended; a str gets it after a blank
    line, which a retriever sees too: give a dict to keep the two apart.

    Every attempt is verified against its own documents or, where it asked no retriever, those that
    an earlier one got. What is returned is a verified answer, with the attempts so far in its
    result's ``attempts``. If none passes, ``on_exhausted`` picks one and the guard's ``on_fail``
    says what is done with it.

    Where the guard's policy withholds an answer, its actions shape the next attempt, and those that
    were carried out are told in ``attempts``:

    - ``increase_retrieval_weight``: the retrievers return twice as many documents each time (``k``
      in their ``search_kwargs``, or a field ``k`` or ``top_k``).
    - ``lower_temperature``: the models sample at temperature 0: in their field, or, where they have
      none, as an argument of the call. A policy for a model that takes no temperature leaves this
      action out.
    - ``ask_for_source``: the policy's message is the answer once the retries are used up.
    - Any other name is for ``on_action``.

    Where these settings are configurable fields of the chain they are set through the
    configuration, which reaches what is called within a function too; else in a copy of the chain.
    What is hidden in a function, a tool or a graph is left as it is, with a warning; ``k_key`` and
    ``on_action`` reach it.

    Args:
        chain: The chain, without a guard of its own.
        guard: The `CacoGuard` that verifies.
        max_retries: How often to run the chain again, 0 or more.
        feedback_key: Where a dict input gets the feedback; None: nowhere.
        on_exhausted: The attempt with the lowest risk ("best"), the "last" one, or "raise"
            `HallucinationError` with the best one's result, whatever ``on_fail`` is.
        k_key: Where a dict input says how many documents to retrieve, an int: it is doubled there
            and not in the chain. None: no such key.
        on_action: By the name of an action, what carries it out: a function of the `NextAttempt`
            that returns it changed, or None. It is called before each retry that its action is
            asked for, where the chain runs, on the event loop too. It is not serialised.

    Returns:
        A Runnable with the chain's input, and its output with the verdict. It gives its answer
        whole: chunks pass through only with no retries and the guard's ``streaming="passthrough"``.

    Raises:
        TypeError: ``guard`` is not a `CacoGuard`, or ``chain`` cannot be made a Runnable.
        ValueError: ``max_retries`` is negative, ``on_exhausted`` unknown, or ``on_action`` has an
            action that the guard's policy never asks a handler for.
    """
    if not isinstance(guard, AnswerChecker):
        raise TypeError(f"guard must be a CacoGuard, not {type(guard).__name__}")
    return HallucinationRetry(
        bound=coerce_to_runnable(chain),
        guard=guard,
        max_retries=max_retries,
        feedback_key=feedback_key,
        on_exhausted=on_exhausted,
        k_key=k_key,
        on_action=None if on_action is None else dict(on_action),
    )


class HallucinationRetry(FusedRunnable):
    """What `with_hallucination_retry` and `CacoGuard.around` return; see there.

    Attributes:
        bound: The chain.
        guard: What verifies its answers.
        max_retries: How often the chain is run again, 0 or more.
        feedback_key: Where a dict input gets the feedback, or None.
        on_exhausted: Which attempt to hand to the guard's ``on_fail`` when none passed.
        k_key: Where a dict input says how many documents to retrieve, or None.
        on_action: What carries out an action of the guard's policy, by its name.
    """

    bound: Runnable[Any, Any]
    guard: AnswerChecker
    max_retries: int = Field(default=2, ge=0)
    feedback_key: str | None = "feedback"
    on_exhausted: OnExhausted = "best"
    k_key: str | None = None
    on_action: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="after")
    def _agrees_with_the_guard(self) -> Self:
        self._actions.check(self.guard.policy)
        return self

    @property
    def _actions(self) -> Actions:
        return Actions(self.k_key, self.on_action)

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        """Whether ``dumps`` can write it: yes, if it can write the chain."""
        return True

    @property
    @override
    def InputType(self) -> Any:
        """The chain's."""
        return self.bound.InputType

    @property
    @override
    def OutputType(self) -> Any:
        """The guard's."""
        return self.guard.OutputType

    @property
    @override
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The chain's."""
        return self.bound.config_specs

    @override
    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """Return the chain's."""
        return self.bound.get_input_schema(config)

    @override
    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> Iterator[Any]:
        """Yield the answer whole; in chunks only where none can be taken back."""
        if self._passes_through:
            yield from self._transform_stream_with_config(
                iter([input]), self._passed, config, **kwargs
            )
        else:
            yield self.invoke(input, config, **kwargs)

    @override
    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[Any]:
        """`stream`, asynchronously."""
        if not self._passes_through:
            yield await self.ainvoke(input, config, **kwargs)
            return

        async def inputs() -> AsyncIterator[Any]:
            yield input

        async for chunk in self._atransform_stream_with_config(
            inputs(), self._apassed, config, **kwargs
        ):
            yield chunk

    @property
    def _passes_through(self) -> bool:
        return self.max_retries == 0 and self.guard.streaming == "passthrough"

    @override
    def _many(
        self,
        values: list[Any],
        run_manager: list[CallbackManagerForChainRun],
        config: list[RunnableConfig],
        **kwargs: Any,
    ) -> list[Any]:
        loops = self._loops(values, run_manager, config)
        for calls in self._rounds(loops):
            for batch in grouped(calls):
                batch.take(batch.run(**kwargs))
            self._note(calls, judge(self.guard, self._rows(calls), _configs(calls)))
        return self._outcomes(loops)

    @override
    async def _amany(
        self,
        values: list[Any],
        run_manager: list[AsyncCallbackManagerForChainRun],
        config: list[RunnableConfig],
        **kwargs: Any,
    ) -> list[Any]:
        loops = self._loops(values, run_manager, config)
        for calls in self._rounds(loops):
            for batch in grouped(calls):
                batch.take(await batch.arun(**kwargs))
            self._note(calls, await ajudge(self.guard, self._rows(calls), _configs(calls)))
        return self._outcomes(loops)

    def _passed(
        self,
        inputs: Iterator[Any],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[Any]:
        (loop,) = self._loops([next(inputs)], [run_manager], [config])
        call = Call(loop, 1, self.bound)

        def judged(value: Any) -> Verdict:
            call.output = value
            return judge(self.guard, self._rows([call]), [config])[0]

        chunks = self.bound.stream(unwrapped(call.plan).input, call.config, **kwargs)
        return pass_through(self.guard, chunks, judged)

    async def _apassed(
        self,
        inputs: AsyncIterator[Any],
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        (loop,) = self._loops([await anext(inputs)], [run_manager], [config])
        call = Call(loop, 1, self.bound)

        async def judged(value: Any) -> Verdict:
            call.output = value
            return (await ajudge(self.guard, self._rows([call]), [config]))[0]

        chunks = self.bound.astream(unwrapped(call.plan).input, call.config, **kwargs)
        async with aclosing(apass_through(self.guard, chunks, judged)) as passed:
            async for chunk in passed:
                yield chunk

    def _loops(
        self, values: list[Any], runs: Sequence[RunManager], configs: list[RunnableConfig]
    ) -> list[Loop]:
        loops = []
        for value, run, config in zip(values, runs, configs, strict=True):
            retried = self.max_retries > 0
            loop = Loop(value, run, config, self.feedback_key, retried, self._actions)
            loops.append(loop)
            # An input that feedback could not reach is an error now, not when it is needed.
            first = attempt(loop.next_input)
            if isinstance(first, Exception):
                loop.note(None, first)
        return loops

    def _rounds(self, loops: list[Loop]) -> Iterator[list[Call]]:
        """Yield the attempts to make next, until all loops have ended or may not go on."""
        for number in range(1, self.max_retries + 2):
            calls = [Call(loop, number, self.bound) for loop in loops if not loop.ended]
            if not calls:
                return
            yield calls

    def _rows(self, calls: list[Call]) -> list[Row]:
        return [call.row(self.guard) for call in calls]

    def _note(self, calls: list[Call], verdicts: list[Verdict]) -> None:
        for call, verdict in zip(calls, verdicts, strict=True):
            call.loop.note(call.output, verdict)

    def _outcomes(self, loops: list[Loop]) -> list[Any]:
        return [attempt(loop.outcome, self.guard, self.on_exhausted) for loop in loops]


def _configs(calls: list[Call]) -> list[RunnableConfig]:
    return [call.loop.config for call in calls]
