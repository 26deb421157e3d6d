"""A check at the end of a chain: ``chain | CacoGuard()``."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MethodType
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from typing_extensions import override

from langchain_caco.actions import ActionHandler
from langchain_caco.attempts import OnExhausted
from langchain_caco.capture import documents_seen
from langchain_caco.checking import AnswerChecker
from langchain_caco.fused import FusedRunnable
from langchain_caco.retry import HallucinationRetry, with_hallucination_retry
from langchain_caco.rows import (
    Row,
    RunManager,
    Verdict,
    ajudge,
    apass_through,
    attempt,
    judge,
    outcomes,
    pass_through,
)

__all__ = ["CacoGuard"]


def _around(
    guard: CacoGuard | type[CacoGuard],
    chain: Any,
    max_retries: int = 0,
    *,
    feedback_key: str | None = None,
    on_exhausted: OnExhausted = "best",
    k_key: str | None = None,
    on_action: Mapping[str, ActionHandler] | None = None,
    **settings: Any,
) -> HallucinationRetry:
    """Wrap a chain: see what its retrievers return, and check its answer against that.

    On the class, ``settings`` are the guard's; on a guard, they replace its own. The documents
    are, in this order, those in the chain's output, those that its retrievers and tools returned,
    those in its input, and those that an outer handler saw. (Before Python 3.11, a retriever that
    an async function calls is seen only if the function passes its ``config`` on.)

    Args:
        guard: The guard, or its class.
        chain: A Runnable, or what can be made one.
        max_retries: How often to run the chain again with feedback on a rejected answer.
        feedback_key: The key for the feedback in a dict input. None: "feedback" with retries;
            without, the input is left as it is.
        on_exhausted: See `with_hallucination_retry`, also for what the policy's actions do.
        k_key: See there.
        on_action: See there.
        settings: Fields of `CacoGuard`.

    Returns:
        A Runnable with the chain's input, and its output with the verdict.
    """
    if isinstance(guard, type):
        guard = guard(**settings)
    elif settings:
        given = {name: getattr(guard, name) for name in guard.model_fields_set}
        guard = type(guard)(**{**given, **settings})
    if feedback_key is None and max_retries:
        feedback_key = "feedback"
    return with_hallucination_retry(
        chain,
        guard,
        max_retries,
        feedback_key,
        on_exhausted,
        k_key=k_key,
        on_action=on_action,
    )


class _ClassOrInstanceMethod:
    """Binds `_around` to the guard it is called on, or to the class."""

    __doc__ = _around.__doc__

    def __get__(
        self, guard: CacoGuard | None, owner: type[CacoGuard]
    ) -> Callable[..., HallucinationRetry]:
        return MethodType(_around, owner if guard is None else guard)


def _refuse(kwargs: dict[str, Any]) -> None:
    """Raise ``TypeError`` for arguments that a guard has no use for."""
    if kwargs:
        raise TypeError(f"CacoGuard got unexpected keyword arguments: {sorted(kwargs)}")


# AnswerChecker comes last: pydantic takes its settings from the last base.
class CacoGuard(FusedRunnable, AnswerChecker):
    """Checks the answer of a chain against its documents, claim by claim.

    ```
    chain = RunnablePassthrough.assign(answer=prompt | llm | StrOutputParser()) | CacoGuard()
    chain.invoke({"question": "…", "context": documents})["validation"].is_hallucination
    ```

    A dict comes out as a copy with the `caco.ValidationResult` under ``result_key``, an
    ``AIMessage`` as a copy with ``response_metadata["caco"]`` (plain JSON), a str as a
    `GuardedText`. A message that calls tools and says nothing comes out untouched.

    The documents are looked for under ``context``, ``documents``, ``docs``, ``source_documents``
    and ``contexts``, then among the artifacts of tool messages, then in what the run's retrievers
    returned, where a caco callback handler or `around` saw them. All answers of a batch are
    verified together. Each verdict is also told as the custom event ``caco_validation``.

    Args:
        threshold: Risk in [0, 1] above which an answer is rejected. None: the validator's.
        language: "english" or "portuguese", or an alias. Not given: the validator's.
        on_fail: What to do with a rejected answer: "annotate" it, "raise" `HallucinationError`,
            "replace" it by ``fallback_message``, or "redact" its failing claims (and replace it
            where that leaves nothing).
        answer_key: Where a dict's answer stands, or a function of the whole input that returns it.
            None: ``answer``, ``result``, ``output``, ``response``, ``generation``, or the last
            ``AIMessage`` of ``messages``.
        context_key: Where a dict's documents stand, or a function of the whole input.
        result_key: Where a dict gets the verdict.
        fallback_message: A text, or a function of the result; it is called where the chain runs,
            on the event loop too. None: a sentence in ``language``.
        on_missing_context: What an answer without documents gets: "flag" (rejected), "abstain"
            (not judged) or "raise" (`MissingContextError`). Not given: the validator's.
        streaming: "buffer" lets nothing out before it is verified. "passthrough" lets chunks out
            as they come and ends with one that carries the verdict; under ``on_fail="raise"`` the
            exception comes last. The trailing chunk of a str is an empty `GuardedText`.
        policy: When an answer is withheld: a `caco.GatingPolicy`, its fields as a mapping, or the
            path of its JSON or YAML file. Not given: the validator's. A withheld answer is replaced
            by the policy's message, whatever ``on_fail`` is, unless that is "raise"; ``redact`` and
            ``fallback_message`` are for answers that only failed their check. The answer as the
            model gave it stays in the verdict's ``response``. Under ``streaming="passthrough"``
            it has been let out; the verdict's ``gate`` says that it should not have been.
        extractor_llm: A chat model that splits answers into claims; None: by rule.
        validator: A `caco.Validator` of your own. It is not serialised: `dumps` writes the other
            fields, and the loaded guard builds its own validator.

    Raises:
        ValueError: A setting outside its range, or two that contradict each other.
    """

    around: ClassVar[_ClassOrInstanceMethod] = _ClassOrInstanceMethod()

    @property
    @override
    def InputType(self) -> Any:
        """What the guard takes."""
        return str | AIMessage | dict[str, Any]

    @property
    @override
    def OutputType(self) -> Any:
        """What the guard returns: its input with the verdict."""
        return str | AIMessage | dict[str, Any]

    @override
    def transform(
        self, input: Iterator[Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> Iterator[Any]:
        """Check an answer that comes in chunks; see ``streaming``."""
        if self.streaming == "buffer":
            yield from super().transform(input, config, **kwargs)
        else:
            yield from self._transform_stream_with_config(input, self._passed, config, **kwargs)

    @override
    async def atransform(
        self, input: AsyncIterator[Any], config: RunnableConfig | None = None, **kwargs: Any | None
    ) -> AsyncIterator[Any]:
        """Check an answer that comes in chunks; see ``streaming``."""
        stream = (
            super().atransform(input, config, **kwargs)
            if self.streaming == "buffer"
            else self._atransform_stream_with_config(input, self._apassed, config, **kwargs)
        )
        async for chunk in stream:
            yield chunk

    @override
    def _many(
        self,
        values: list[Any],
        run_manager: list[CallbackManagerForChainRun],
        config: list[RunnableConfig],
        **kwargs: Any,
    ) -> list[Any]:
        _refuse(kwargs)
        verdicts = judge(self, self._rows(values, run_manager), config)
        return outcomes(self, values, verdicts)

    @override
    async def _amany(
        self,
        values: list[Any],
        run_manager: list[AsyncCallbackManagerForChainRun],
        config: list[RunnableConfig],
        **kwargs: Any,
    ) -> list[Any]:
        _refuse(kwargs)
        verdicts = await ajudge(self, self._rows(values, run_manager), config)
        return outcomes(self, values, verdicts)

    def _passed(
        self,
        chunks: Iterator[Any],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> Iterator[Any]:
        def judged(value: Any) -> Verdict:
            return judge(self, self._rows([value], [run_manager]), [config])[0]

        return pass_through(self, chunks, judged)

    def _apassed(
        self,
        chunks: AsyncIterator[Any],
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> AsyncIterator[Any]:
        async def judged(value: Any) -> Verdict:
            return (await ajudge(self, self._rows([value], [run_manager]), [config]))[0]

        return apass_through(self, chunks, judged)

    def _rows(self, values: Sequence[Any], managers: Sequence[RunManager]) -> list[Row]:
        return [
            attempt(
                self.check_of,
                value,
                partial(documents_seen, run.handlers, run.run_id, run.parent_run_id),
            )
            for value, run in zip(values, managers, strict=True)
        ]
