"""Settings that are read from a file: frozen data classes out of plain data, JSON or YAML."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union

from caco.errors import MissingExtraError

__all__ = ["Settings", "number_in_unit_interval"]

_Source = Union[str, "os.PathLike[str]"]
_Read = TypeVar("_Read", bound="Settings")


class Settings:
    """The reading half of a frozen data class of settings; what is unknown is an error.

    Attributes:
        kind: What such settings are called in an error, after "a" or "the".
        section: The key of a file under which they may stand, beside the settings of others. None:
            they are the whole file.
    """

    kind: ClassVar[str]
    section: ClassVar[str | None] = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that `from_dict` reads."""
        plain = asdict(self)  # type: ignore[call-overload]  # every subclass is a data class
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}

    @classmethod
    def from_dict(cls: type[_Read], data: Mapping[str, Any]) -> _Read:
        """Read settings from plain data; what is left out has its default.

        Raises:
            ValueError: An unknown field, or a value out of its range.
            TypeError: A field is of a wrong type.
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"a {cls.kind} must be a mapping, not {type(data).__name__}")
        known = [item.name for item in fields(cls)]  # type: ignore[arg-type]  # see to_dict
        if cls.section is not None and cls.section in data:
            beside = [name for name in data if name in known]
            if beside:
                raise ValueError(f"{beside} must stand under {cls.section!r}, not beside it")
            data = data[cls.section]
            if not isinstance(data, Mapping):
                raise TypeError(f"{cls.section!r} must be a mapping, not {type(data).__name__}")
        unknown = [name for name in data if name not in known]
        if unknown:
            raise ValueError(f"a {cls.kind} has no {unknown}; it has {known}")
        return cls(**data)

    @classmethod
    def from_json(cls: type[_Read], source: _Source) -> _Read:
        """Read settings from JSON: a file's path, or the text itself if it starts with "{".

        Raises:
            OSError: The file cannot be read.
            ValueError: It is no JSON, or as in `from_dict`.
            TypeError: A field is of a wrong type.
        """
        return cls._parsed(source, json.loads, "JSON")

    @classmethod
    def from_yaml(cls: type[_Read], source: _Source) -> _Read:
        """Read settings from YAML: a file's path, or the text itself.

        A str is taken as text if it holds a line break, ": " or "{".

        Raises:
            MissingExtraError: PyYAML is not installed.
            OSError: The file cannot be read.
            ValueError: It is no YAML, or as in `from_dict`.
            TypeError: A field is of a wrong type.
        """
        try:
            import yaml
        except ImportError as error:
            raise MissingExtraError(f"A {cls.kind} in YAML", "yaml") from error

        def parse(text: str) -> Any:  # noqa: ANN401 (checked by from_dict)
            try:
                return yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(str(error)) from error

        return cls._parsed(source, parse, "YAML")

    @classmethod
    def _parsed(cls: type[_Read], source: _Source, parse: Callable[[str], Any], form: str) -> _Read:
        is_text = isinstance(source, str) and any(mark in source for mark in ("\n", ": ", "{"))
        name = f"the {cls.kind}" if is_text else os.fspath(source)
        try:
            # Some editors put a byte order mark before the text.
            text = str(source) if is_text else Path(source).read_text(encoding="utf-8-sig")
            data = parse(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} is not {form}: {error}") from error
        return cls.from_dict(data)


def number_in_unit_interval(name: str, value: object) -> float:
    """Return a setting as a float.

    Raises:
        TypeError: It is not a number.
        ValueError: It is not in [0, 1].
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number in [0, 1], not {value!r}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be in [0, 1], not {value!r}")
    return float(value)
