"""Cells as text: JSON that every reader takes, and what CSV can hold."""

from __future__ import annotations

import base64
import json
from datetime import date, time
from typing import Any

__all__ = ["cell_text", "json_text", "without_surrogates"]


def json_text(value: object) -> str:
    """Return strict JSON in one line.

    What JSON has no form for becomes a text (dates in ISO 8601, bytes in base 64, numbers of a
    database in their own digits), what is not finite becomes null, and a lone surrogate is escaped.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        loose = json.dumps(value, default=_plain)
        value = json.loads(loose, parse_constant=lambda _: None)
        text = json.dumps(value, ensure_ascii=False)
    if text.isascii() or without_surrogates(text) == text:
        return text
    return json.dumps(value, default=_plain)


def cell_text(value: Any) -> str:  # noqa: ANN401 (whatever a row holds)
    """Return a cell as CSV has it; lists and objects are JSON, a missing value is empty."""
    if value is None:
        return ""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, (bool, dict, list, tuple)):
        return json_text(value)
    plain = repr(value) if isinstance(value, float) else _plain(value)
    return str(plain)


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which no encoding takes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain(value: object) -> str | int:
    if isinstance(value, int):
        return value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode("ascii")
    return str(value)
