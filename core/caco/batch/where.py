"""Conditions such as ``cts > 0.7 and verdict = "hallucination"``; nothing is ever executed."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["Condition", "parse_condition"]

FIELDS: Mapping[str, type] = MappingProxyType(
    {
        "score": float,
        "cts": float,
        "verdict": str,
        "risk_level": str,
        "status": str,
        "is_hallucination": bool,
        "repaired": bool,
        "score_before": float,
    }
)
"""What may be asked for, and of which kind it is."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)(?![\w.])
    |(?P<word>[A-Za-z_]\w*)|(?P<text>"[^"]*"|'[^']*')|(?P<sign><=|>=|==|!=|<>|=|<|>))""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "=": operator.eq,
        "==": operator.eq,
        "!=": operator.ne,
        "<>": operator.ne,
    }
)
_ORDER = ("<", "<=", ">", ">=")
_FORM = 'write it as: field < <= > >= = != value, joined by "and" and "or" ("and" binds closer)'


@dataclass(frozen=True)
class _Comparison:
    """One field against one value."""

    name: str
    sign: str
    value: Any

    def holds(self, results: Mapping[str, Any]) -> bool:
        cell = results.get(self.name)
        return cell is not None and _SIGNS[self.sign](cell, self.value)


@dataclass(frozen=True)
class Condition:
    """A condition on the columns that a check adds.

    Attributes:
        groups: It holds when all comparisons of any group do.
    """

    groups: tuple[tuple[_Comparison, ...], ...]

    def holds(self, results: Mapping[str, Any]) -> bool:
        """Tell whether it holds.

        Args:
            results: The added columns, names without a prefix; a missing value makes a comparison
                false.
        """
        return any(all(part.holds(results) for part in group) for group in self.groups)


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Args:
        text: Comparisons of a field (score, cts, verdict, risk_level, status, is_hallucination;
            after a repair also repaired, score_before) with a number, a quoted text, or true or
            false, joined by ``and`` and ``or``; ``and`` binds closer.

    Raises:
        ValueError: It is not of that form, or asks for an unknown field.
    """
    groups: list[tuple[_Comparison, ...]] = []
    group: list[_Comparison] = []
    tokens = _tokens(text)
    place = 0
    while True:
        group.append(_comparison(tokens[place : place + 3], text))
        place += 3
        if place == len(tokens):
            return Condition((*groups, tuple(group)))
        kind, word = tokens[place]
        if kind != "word" or word.lower() not in ("and", "or"):
            raise ValueError(f"{text!r} is no condition at {word!r}: {_FORM}")
        if word.lower() == "or":
            groups.append(tuple(group))
            group = []
        place += 1


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens = []
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(f"{text!r} is no condition at {text[place:].strip()!r}: {_FORM}")
        kind = found.lastgroup or ""
        tokens.append((kind, found[kind]))
        place = found.end()
    return tokens


def _comparison(tokens: Sequence[tuple[str, str]], text: str) -> _Comparison:
    if len(tokens) < 3 or tokens[0][0] != "word" or tokens[1][0] != "sign":
        raise ValueError(f"{text!r} is no condition: {_FORM}")
    name, sign = tokens[0][1], tokens[1][1]
    kind = FIELDS.get(name)
    if kind is None:
        raise ValueError(f"there is no field {name!r} to ask for; there are {sorted(FIELDS)}")
    if kind is not float and sign in _ORDER:
        raise ValueError(f"{name!r} has no order: compare it by = or !=")
    return _Comparison(name, sign, _value(name, kind, *tokens[2]))


def _value(name: str, kind: type, token: str, text: str) -> Any:  # noqa: ANN401 (of that kind)
    if kind is float and token == "number":
        return float(text)
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind is str and token == "text":
        return text[1:-1]
    wanted = {float: "a number", bool: "true or false", str: "a text in quotes"}[kind]
    raise ValueError(f"{name!r} is compared with {wanted}, not with {text}")
