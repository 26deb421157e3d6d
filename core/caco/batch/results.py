"""The columns that a check, and a repair, adds to a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from caco.batch.columns import as_plain

__all__ = ["REPAIR_TYPES", "RESULT_TYPES", "read_results"]

RESULT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "verdict": "string",
        "is_hallucination": "boolean",
        "score": "double",
        "cts": "double",
        "risk_level": "string",
        "status": "string",
        "claims": "string",
    }
)
"""The columns that a check adds, with their types in SQL's words; ``claims`` is JSON text."""

REPAIR_TYPES: Mapping[str, str] = MappingProxyType(
    {"repaired": "boolean", "score_before": "double", "new_sources": "string"}
)
"""The columns that a repair adds to those; ``new_sources`` is JSON text."""


def read_results(
    data: Mapping[str, Any], prefix: str, types: Mapping[str, str] = RESULT_TYPES
) -> dict[str, Any]:
    """Read added columns back from a row of any format.

    Args:
        data: Cells by column.
        prefix: What stands before the names of the added columns.
        types: The columns to read: name to type.

    Returns:
        float, bool or str by name, or as a column of texts has it; None where the row has nothing.

    Raises:
        ValueError: A cell is not of its column's type.
    """
    found = {}
    for name, kind in types.items():
        cell = as_plain(data.get(prefix + name))
        try:
            found[name] = None if cell in (None, "") else _READERS[kind](cell)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{prefix + name!r} must be a {kind}, not {cell!r}") from None
    return found


def _truth(cell: object) -> bool:
    return {"true": True, "false": False}[str(cell).lower()]


def _same(cell: Any) -> Any:  # noqa: ANN401 (a text, or what stands in JSON for one)
    return cell


_READERS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"double": float, "boolean": _truth, "string": _same}
)
