"""Figures in texts: numbers, dates, money, quantities, versions, identifiers.

What a claim's figures are, which of them the evidence repeats in another notation, and which it
contradicts.
"""

from __future__ import annotations

from caco.figures.attribution import misattributed
from caco.figures.comparison import Comparison, Mismatch, compare, describe, is_total
from caco.figures.figure import Figure, equal
from caco.figures.scan import find_figures

__all__ = [
    "Comparison",
    "Figure",
    "Mismatch",
    "compare",
    "describe",
    "equal",
    "find_figures",
    "is_total",
    "misattributed",
]
