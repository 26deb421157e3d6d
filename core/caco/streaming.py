"""Validation of an answer while it is still being written, sentence by sentence."""

from __future__ import annotations

import re

from caco.evidence import Context, as_documents, joined_text
from caco.models import ClaimResult, Document, ValidationResult
from caco.text import segments
from caco.validator import Validator

__all__ = ["StreamingValidator"]

_READABLE = re.compile(r"\w|[^\x00-\x7f]")
"""A claim is complete when something readable follows it."""
_ENDS = re.compile(r"[.!?:;…\n]|[^\x00-\x7f]")
"""Nothing can have ended where none of these stands."""


class StreamingValidator:
    """Checks a growing answer: each claim as soon as it is complete, the whole at the end.

    A claim is complete once text follows it that begins another segment, so nothing is judged that
    the next token could still change; `finish` judges the rest. Not thread-safe: one instance reads
    one answer.

    Args:
        validator: The engine. It must remember pair scores (the default one does) for `finish` to
            cost no more than what is new.
        context: The documents, as in `Validator.validate`.
        prompt: The question that was asked.
    """

    def __init__(self, validator: Validator, context: Context, prompt: str | None = None) -> None:
        self.validator = validator
        self.prompt = prompt
        self._documents: tuple[Document, ...] = as_documents(context)
        self._text = ""
        self._judged = 0

    @property
    def text(self) -> str:
        """The answer so far."""
        return self._text

    def feed(self, piece: str) -> tuple[ClaimResult, ...]:
        """Add a piece of the answer.

        Returns:
            The verdicts on the check-worthy claims that became complete, in order; offsets point
            into the answer so far. Claims that an LLM rewrote have none, and wait for `finish`.
        """
        self._text += piece
        if not _READABLE.search(piece) or not _ENDS.search(self._text, self._judged):
            return ()
        found = segments(self._text, self.validator.language)
        if len(found) < 2 or found[-2].end <= self._judged:
            return ()
        start, self._judged = self._judged, found[-2].end
        claims = self.validator.extractor.claims(
            self._text[: self._judged], joined_text(self._documents), self.prompt
        )
        fresh = [c for c in claims if c.checkworthy and c.start is not None and c.start >= start]
        return self.validator.verify([(fresh, self._documents)])[0] if fresh else ()

    def finish(self) -> ValidationResult:
        """Return the verdict on the whole answer: what `Validator.validate` says of it.

        Raises:
            ValueError: Nothing but white space was fed.
        """
        return self.validator.validate(self._text, self._documents, self.prompt)
