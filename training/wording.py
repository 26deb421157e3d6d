"""Small text functions shared by the data mix and the evaluation."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-ZÀ-Ý0-9\"“'(])|\n+")


def listed(text: str) -> list[str]:
    """The words of a text, for tables that read better as one string."""
    return text.split()


def split_sentences(text: str) -> list[str]:
    """Split a text at sentence ends and line breaks, roughly."""
    return [part.strip() for part in _BOUNDARY.split(text) if part.strip()]
