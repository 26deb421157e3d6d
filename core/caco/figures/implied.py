"""Units that stand apart from their number ("--timeout SECONDS: … Default: 30")."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import replace

from caco.figures.figure import Figure
from caco.figures.units import Unit, find_unit

__all__ = ["with_implied_units"]

_DEFAULT = re.compile(
    r"(?:\b(?:defaults?(?:\svalue)?(?:\sis|\sto)?|(?:valor\s)?padrão(?:\sé)?)[:=]?\s?)$",
    re.IGNORECASE,
)
_KEY = re.compile(r"[(\[](?:in\s|em\s)?([^\W\d_]{1,14})[)\]]\s?[:=]\s?$", re.IGNORECASE)
_ALONE_AFTER = re.compile(r"\s*(?:$|[.,;:)\]|\n])")
_ENTRY_END = re.compile(r"\n|(?<=[.;!?])\s+(?=-{1,2}[A-Za-z])|;\s")
_WORD = re.compile(r"[^\W\d_]+")
_REACH = 240
_LEAST_LETTERS = 4
"""Shorter words ("min", "in") are units only next to their number."""


def with_implied_units(
    text: str, figures: tuple[Figure, ...], units: Set[str | None]
) -> tuple[Figure, ...]:
    """Return the figures, plain numbers given the unit that their entry names before them.

    Args:
        text: The text of ``figures``.
        figures: Its figures, in order.
        units: The units of the quantities to compare them with.
    """
    if not units:
        return figures
    return tuple(_with_unit(text, figure, units) for figure in figures)


def _with_unit(text: str, figure: Figure, units: Set[str | None]) -> Figure:
    if figure.kind != "number" or figure.amount is None or figure.bare is None:
        return figure
    if not _ALONE_AFTER.match(text, figure.end):
        return figure
    before = text[max(0, figure.start - _REACH) : figure.start]
    unit = _unit_of(before)
    if unit is None or unit.base not in units:
        return figure
    value = unit.convert(figure.amount)
    return replace(figure, kind="quantity", value=value, unit=unit.base, alternative=None)


def _unit_of(before: str) -> Unit | None:
    """Return the only unit that the entry names before its number."""
    key = _KEY.search(before)
    if key:
        return find_unit(key[1].lower())
    if not _DEFAULT.search(before):
        return None
    entry = before
    for found in _ENTRY_END.finditer(before):
        if found[0] != "; ":
            entry = before[found.end() :]
    words = (word.lower() for word in _WORD.findall(entry) if len(word) >= _LEAST_LETTERS)
    named = {unit for unit in map(find_unit, words) if unit is not None}
    return named.pop() if len(named) == 1 else None
