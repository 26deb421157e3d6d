"""The answers of one batch, judged together; each has its own outcome, be it an exception."""

# ruff: noqa: ANN401 (what flows through a chain is of any type)

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.callbacks.manager import adispatch_custom_event, dispatch_custom_event
from langchain_core.runnables import RunnableConfig

from caco.errors import HallucinationError
from caco.gate import rejected
from caco.models import ValidationResult
from langchain_caco.checking import AnswerChecker, Check
from langchain_caco.convert import is_complete_message, merged, trailing_chunk, without_metadata

__all__ = [
    "EVENT",
    "Row",
    "RunManager",
    "Verdict",
    "aattempt",
    "ajudge",
    "apass_through",
    "attempt",
    "judge",
    "outcome",
    "outcomes",
    "pass_through",
    "unwrapped",
]

EVENT = "caco_validation"
"""The custom event that tells callbacks a verdict; its data is the result as plain JSON."""

Row = Check | Exception | None
"""What is to be checked, why that could not be told, or None: there is nothing to check."""

RunManager = CallbackManagerForChainRun | AsyncCallbackManagerForChainRun
"""LangChain's handle on a run."""

Verdict = ValidationResult | Exception | None
"""What came of a row."""


def attempt(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function; return what it returns, or the exception that it raises."""
    try:
        return function(*arguments, **options)
    except Exception as error:  # noqa: BLE001 (returned: it is this row's outcome)
        return error


async def aattempt(answer: Awaitable[Any]) -> Any:
    """Wait for an answer; return it, or the exception that came instead."""
    try:
        return await answer
    except Exception as error:  # noqa: BLE001 (returned: it is this row's outcome)
        return error


def unwrapped(value: Any) -> Any:
    """Return a row's outcome, or raise it if it is an exception."""
    if isinstance(value, Exception):
        raise value
    return value


def judge(
    checker: AnswerChecker, rows: Sequence[Row], configs: Sequence[RunnableConfig]
) -> list[Verdict]:
    """Verify the rows together and tell the callbacks of each row's run."""
    verdicts = _aligned(rows, checker.verify([row for row in rows if isinstance(row, Check)]))
    for verdict, config in zip(verdicts, configs, strict=True):
        if isinstance(verdict, ValidationResult):
            dispatch_custom_event(EVENT, verdict.to_dict(), config=config)
    return verdicts


async def ajudge(
    checker: AnswerChecker, rows: Sequence[Row], configs: Sequence[RunnableConfig]
) -> list[Verdict]:
    """`judge` without keeping the event loop busy."""
    checks = [row for row in rows if isinstance(row, Check)]
    verdicts = _aligned(rows, await checker.averify(checks))
    for verdict, config in zip(verdicts, configs, strict=True):
        if isinstance(verdict, ValidationResult):
            await adispatch_custom_event(EVENT, verdict.to_dict(), config=config)
    return verdicts


def outcome(checker: AnswerChecker, value: Any, verdict: Verdict) -> Any:
    """Return what leaves the guard for ``value``, or the exception that stands for it."""
    if isinstance(verdict, ValidationResult):
        return attempt(checker.outcome_of, value, verdict)
    return value if verdict is None else verdict


def outcomes(
    checker: AnswerChecker, values: Sequence[Any], verdicts: Sequence[Verdict]
) -> list[Any]:
    """Return `outcome` for each value of a batch."""
    pairs = zip(values, verdicts, strict=True)
    return [outcome(checker, value, verdict) for value, verdict in pairs]


def pass_through(
    checker: AnswerChecker, chunks: Iterator[Any], judged: Callable[[Any], Verdict]
) -> Iterator[Any]:
    """Hand on the chunks of a stream, then one that carries the verdict on their sum."""
    total = None
    for chunk in chunks:
        if is_complete_message(chunk):
            yield unwrapped(outcome(checker, chunk, judged(chunk)))
            continue
        total = _added(total, chunk)
        yield without_metadata(chunk)
    if total is not None:
        yield from _endings(checker, total, judged(total))


async def apass_through(
    checker: AnswerChecker, chunks: AsyncIterator[Any], judged: Callable[[Any], Awaitable[Verdict]]
) -> AsyncGenerator[Any, None]:
    """`pass_through` for an asynchronous stream, which it closes."""
    total = None
    try:
        async for chunk in chunks:
            if is_complete_message(chunk):
                yield unwrapped(outcome(checker, chunk, await judged(chunk)))
                continue
            total = _added(total, chunk)
            yield without_metadata(chunk)
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
    if total is not None:
        for ending in _endings(checker, total, await judged(total)):
            yield ending


def _added(total: Any, chunk: Any) -> Any:
    chunk = without_metadata(chunk)
    if total is None:
        return chunk
    try:
        return merged(total, chunk)
    except TypeError as error:
        # A graph's updates, for one: each is of another node.
        raise TypeError(
            f"the chunks of the stream do not add up to an answer; use streaming='buffer' ({error})"
        ) from error


def _endings(checker: AnswerChecker, total: Any, verdict: Verdict) -> list[Any]:
    """Return the chunk that ends a stream, if there is a verdict to tell."""
    result = unwrapped(verdict)
    if result is None:
        return []
    if rejected(result) and checker.on_fail == "raise":
        raise HallucinationError(result)
    return [trailing_chunk(total, result, checker.result_key)]


def _aligned(rows: Sequence[Row], results: Sequence[ValidationResult | Exception]) -> list[Verdict]:
    """Put each result where its check stands among the rows."""
    following = iter(results)
    return [next(following) if isinstance(row, Check) else row for row in rows]
