"""A gating policy in a guard: where it is read from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from caco.gate import GatingPolicy

__all__ = ["policy_of"]

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
