"""Faithfulness as an evaluator for LangSmith and openevals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from caco.models import Status, ValidationResult
from caco.validator import Validator
from langchain_caco.convert import Key, answer_text, context_of, question_of, to_caco_documents

__all__ = ["FEEDBACK_KEY", "caco_evaluator", "faithfulness"]

FEEDBACK_KEY = "faithfulness"
"""The name of the metric."""


def faithfulness(result: ValidationResult) -> float | None:
    """Return a verdict as evaluation tools count: 1 is faithful, 0 is not.

    Returns:
        1 - risk, in [0, 1]; 0 where the check could not be made, or not in full; None where the
        answer was not judged: it declines, or has no documents and those are not required.
    """
    if result.status is Status.ABSTAINED:
        return None
    if result.is_hallucination and result.score <= result.threshold:
        return 0.0
    return 1.0 - result.score


def caco_evaluator(
    validator: Validator | None = None,
    *,
    key: str = FEEDBACK_KEY,
    answer_key: Key = None,
    context_key: Key = None,
    language: str = "english",
) -> Callable[..., dict[str, Any]]:
    """Make an evaluator for ``langsmith.evaluate`` and for tests that use openevals' signature.

    ```
    langsmith.evaluate(chain.invoke, data="my-dataset", evaluators=[caco_evaluator()])
    ```

    The evaluator takes ``inputs``, ``outputs``, ``reference_outputs`` and, by keyword, ``context``.
    The answer is in ``outputs``, which must be given; the documents are ``context``, else those in
    ``outputs``, in ``inputs``, or in ``reference_outputs``.

    Args:
        validator: Does the checking. None: the default one.
        key: The name of the metric.
        answer_key: The key of ``outputs`` that holds the answer, or a function of ``outputs``.
            None: the usual ones.
        context_key: The key that holds the documents, or a function of the dict. None: the usual
            ones.
        language: "english" or "portuguese", for the default validator.

    Returns:
        A function that returns ``{"key", "score", "comment"}``; ``score`` as `faithfulness` says.
        Without documents the score is 0: what could not be checked does not pass.

    Raises:
        ValueError: The language is not supported. From the evaluator: there is no answer; the
            message names the keys that were seen.
        TypeError: From the evaluator: the answer or the documents are of a wrong type.
    """
    checker = validator if validator is not None else Validator(language=language)

    def evaluate(
        inputs: Any = None,  # noqa: ANN401 (whatever the target takes)
        outputs: Any = None,  # noqa: ANN401
        reference_outputs: Any = None,  # noqa: ANN401
        *,
        context: Any = None,  # noqa: ANN401
    ) -> dict[str, Any]:
        if outputs is None:
            raise ValueError("outputs is missing: there is no answer to evaluate")
        answer = answer_text(outputs, answer_key)
        if answer is None:
            raise ValueError("the last message only calls tools: there is no answer to evaluate")
        documents = (
            to_caco_documents(context)
            if context is not None
            else _documents((outputs, inputs, reference_outputs), context_key)
        )
        result = checker.validate(answer, documents, prompt=question_of(inputs))
        return {"key": key, "score": faithfulness(result), "comment": result.summary}

    evaluate.__name__ = key
    return evaluate


def _documents(places: tuple[object, ...], context_key: Key) -> tuple[object, ...]:
    """Return the documents of the first place that has any."""
    for place in places:
        if isinstance(context_key, str) and not (
            isinstance(place, Mapping) and context_key in place
        ):
            continue
        found = context_of(place, context_key)
        if found:
            return found
    return ()
