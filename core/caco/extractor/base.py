"""The contract that every claim extractor fulfils."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from caco.models import Claim

__all__ = ["ExtractorContract", "locate"]


class ExtractorContract(ABC):
    """Takes an answer apart into claims. A subclass needs `extract` only.

    Attributes:
        max_claims: The most claims to verify of an answer; one that has more is not read to its
            end, and never passes. None: all.
    """

    max_claims: int | None = None

    @abstractmethod
    def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
        """Return the claims of an answer that are worth checking.

        Args:
            response: The answer.
            context: The documents, joined by blank lines.
            prompt: The question that was asked, if known.

        Returns:
            The claims, as texts; [] when nothing check-worthy was said.
        """

    def claims(self, response: str, context: str, prompt: str | None = None) -> list[Claim]:
        """Return the claims with their place in the answer.

        Args:
            response: The answer.
            context: The documents, joined by blank lines.
            prompt: The question that was asked, if known.

        Returns:
            What `extract` returned, blank strings left out. A claim that occurs in the answer,
            blanks aside, has offsets (each occurrence is used once); else its offsets are None.

        Raises:
            TypeError: `extract` returned something that is not a sequence of str. What it raises
                surfaces as it is.
        """
        name = type(self).__name__
        texts = self.extract(response, context, prompt)
        if isinstance(texts, (str, bytes)) or not isinstance(texts, Sequence):
            raise TypeError(f"{name}.extract must return a list of str, not {type(texts).__name__}")
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(
                    f"{name}.extract must return a list of str; it holds {type(text).__name__}"
                )
        return locate([text for text in texts if text.strip()], response)


def locate(texts: Sequence[str], response: str) -> list[Claim]:
    """Give each text its place in the answer.

    Args:
        texts: Claims, in order.
        response: The answer.

    Returns:
        One claim per text. Where a text occurs, blanks aside, the claim is that passage of the
        answer: the first one after the claim before it, else the first one not taken yet.
    """
    taken: list[tuple[int, int]] = []
    position = 0
    claims = []
    for text in texts:
        span = _find(text, response, position, taken) or _find(text, response, 0, taken)
        if span is None:
            claims.append(Claim(text.strip()))
            continue
        taken.append(span)
        position = span[1]
        claims.append(Claim(response[span[0] : span[1]], *span))
    return claims


def _find(
    text: str, response: str, position: int, taken: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    pattern = re.compile(r"\s+".join(re.escape(word) for word in text.split()))
    for match in pattern.finditer(response, position):
        start, end = match.span()
        if not any(start < last and first < end for first, last in taken):
            return start, end
    return None
