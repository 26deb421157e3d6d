"""A gating policy in a guard: where it is read from, and what its decision means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from caco.gate import ACTIONS, GatingPolicy
from caco.models import Attempt, ValidationResult

__all__ = ["ASK_FOR_SOURCE", "attempt_of", "policy_of", "rejected", "withheld"]

ASK_FOR_SOURCE = ACTIONS[0]
"""The action that is carried out by the policy's message."""

_YAML = (".yaml", ".yml")


def policy_of(source: object) -> GatingPolicy | None:
    """Return a policy, read where it is not yet one.

    Args:
        source: A policy, its fields as a mapping, or the path of a JSON or YAML file.

    Raises:
        ValueError: The policy is not valid, or its file cannot be read (pydantic takes no other
            exception for a setting that does not hold).
        MissingExtraError: The file is YAML, and PyYAML is not installed.
    """
    if source is None or isinstance(source, GatingPolicy):
        return source
    try:
        if isinstance(source, Mapping):
            return GatingPolicy.from_dict(source)
        if isinstance(source, (str, os.PathLike)):
            is_yaml = Path(source).suffix.lower() in _YAML
            return GatingPolicy.from_yaml(source) if is_yaml else GatingPolicy.from_json(source)
    except (OSError, TypeError) as error:
        raise ValueError(f"policy: {error}") from error
    raise ValueError(
        "policy must be a GatingPolicy, a mapping or the path of a JSON or YAML file, "
        f"not {type(source).__name__}"
    )


def withheld(result: ValidationResult, action: str | None = None) -> bool:
    """Whether the gating policy withholds an answer, and asks for an action if one is named."""
    gate = result.gate
    return gate is not None and gate.abstained and (action is None or action in gate.actions)


def rejected(result: ValidationResult) -> bool:
    """Whether an answer must not pass: it failed its check, or the gating policy withholds it."""
    return result.is_hallucination or withheld(result)


def attempt_of(result: ValidationResult) -> Attempt:
    """Return a verdict as an entry of a history; its feedback is "" when the answer passed."""
    feedback = ""
    if rejected(result):
        feedback = result.feedback()
        if not feedback:  # No claim is to blame: the answer is rejected as a whole.
            reason = result.gate.reason if result.gate is not None else None
            feedback = f"{result.summary} ({reason})" if reason else result.summary
    return Attempt(result.response, result.score, feedback)
