"""Claims by rule: the sentences, list items and table rows of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from caco.checkworthy import beyond_declining, names_source, repeats_question, states
from caco.extractor.base import ExtractorContract
from caco.extractor.question import is_bare_answer, statement
from caco.extractor.reference import resolve
from caco.models import Claim
from caco.phrases import AGREEMENT, ANY_VERB, OFFERS, SHORT_ANSWERS, SOURCE_LIST
from caco.text import Segment, declines, is_checkworthy, normalise, resolve_language, segments

__all__ = ["RuleExtractor"]

_MAX_SHORT_ANSWER_WORDS = 4
_MAX_QUESTION = 300
_MIN_STATING_WORDS = 4
_MIN_ASKING_WORDS = 3
_ASKING = re.compile(
    r"^(?:how|what|when|where|why|who|which|como|o que|quando|onde|por que|quem|qual|quais"
    r"|quanto)\b",
    re.IGNORECASE,
)
_IT_IS_FALSE = {"english": "It is not true that", "portuguese": "Não é verdade que"}
_FOOTNOTE = re.compile(r"\s*\[\^[^\]\s]+\]:\s*")
_TOLD_AS_QUESTION = re.compile(
    r"(?:\w+[,!]? )?(?:(?:did you know|(?:você )?sabia|vocês sabiam)(?:,?(?: that| que))?"
    r"|(?:do you know|are you aware|você sabe),? (?:that|que)) "
    r"(?!(?:who|what|when|where|which|why|how|if|whether|any|quem|qual|quando|onde|se|como)\b)"
    r"(?P<told>(?:\S+ ){2,}\S+?) ?\?+",
    re.IGNORECASE,
)
"""A statement dressed as a question: "Did you know that the bridge is 640 metres long?"."""
_TOLD_THEN_ASKED = re.compile(
    r"(?!(?:if|when|whenever|while|since|as|because|although|though|after|before|once|unless|given"
    r"|should|whether|se|quando|caso|como|já|embora|depois|antes|enquanto|assim|or|ou"
    r"|what|how|why|where|who|which|whose|o que|qual|quais|onde|quem|por que"
    r"|do|does|did|is|are|was|were|has|have|had|can|could|would|will|may|might|must|shall)(?:n't)?\b"
    r"|(?:i|we|eu|nós|isso)\b"
    r"|(?:that|this|those|these)(?:'s| (?:is|are|was|were|covers?|should|sums?))\b"
    r"|you(?:'re| are) (?:absolutely |quite )?(?:right|correct)\b)"
    r"(?P<told>[^?]{10,}?)(?:[,;]| -) (?:(?:and|so|but|e|então|mas) )?"
    r"(?:(?:do|does|did|would|will|can|could|shall|should|have|has|had|is|are|was|were|may)(?:n't)?"
    r" (?:you|i|we|they|he|she|it|there|that|this|these|those|the|any\w*)\b"
    r"|(?:what|how|why|when|where|who|which)\b|did you know|quer|gostaria|deseja|precisa|posso"
    r"|você (?:quer|gostaria|sabia|sabe|deseja|precisa|já)|o que|qual|quais|quando|onde|quem"
    r"|por que|que tal)(?: [^?]*)?\?+",
    re.IGNORECASE,
)
"""A statement with a question after it: "The bridge is 640 metres long, shall I go on?".

Not one about the answer itself: "Those are the main points, shall I go on?".
"""


class RuleExtractor(ExtractorContract):
    """Takes each sentence, list item and table row of an answer as a claim.

    Args:
        language: "english" or "portuguese", or an alias.

    Raises:
        ValueError: The language is not supported.
    """

    def __init__(self, language: str = "english") -> None:
        self.language = resolve_language(language)

    def extract(self, response: str, context: str = "", prompt: str | None = None) -> list[str]:
        """Return the check-worthy claims as they stand in the answer."""
        return [claim.text for claim in self.claims(response, context, prompt) if claim.checkworthy]

    def claims(self, response: str, context: str = "", prompt: str | None = None) -> list[Claim]:
        """Return every piece of the answer, those that are not check-worthy too.

        A claim's hypothesis stands by itself: a list item has its lead-in, a table cell its header,
        a sentence that starts with a pronoun its noun, a short answer its question.

        Args:
            response: The answer.
            context: Not used.
            prompt: The question; only used to complete an answer of a few words.

        Returns:
            Claims with offsets, in order: ``response[claim.start:claim.end] == claim.text``.
        """
        pieces = segments(response, self.language)
        question = normalise(prompt).text[:_MAX_QUESTION] if prompt else ""
        if question and len(pieces) == 1 and _is_short_answer(pieces[0]):
            return [self._short_answer(pieces[0], response, question)]
        sources = _sources(pieces, response)
        result: list[Claim] = []
        before = ""
        answered = False
        for number, (piece, following) in enumerate(zip_longest(pieces, pieces[1:])):
            text = response[piece.start : piece.end]
            told = self._told(piece, following)
            worthy = number not in sources and not answered
            repeats = bool(question) and repeats_question(piece.reading, question)
            worthy = worthy and not repeats and (bool(told) or self._worthy(piece, text))
            answered = worthy and bool(told) and _answers(following)
            hypothesis = told or _said(piece.reading)
            if piece.kind in ("sentence", "list_item") and worthy:
                hypothesis = resolve(hypothesis, before, self.language)
            if worthy and not _agrees(hypothesis):
                before = hypothesis
            declining = repeats or (not worthy and declines(text, self.language))
            result.append(Claim(text, piece.start, piece.end, hypothesis, worthy, declining))
        return _without_agreement(result)

    def _told(self, piece: Segment, following: Segment | None) -> str:
        """Return what a question states: of itself, or with the "yes" or "no" after it; else ""."""
        told = _TOLD_AS_QUESTION.fullmatch(piece.reading)
        if told:
            return f"{told['told']}."
        question = piece.reading.strip("\"' ")
        if not question.endswith("?"):
            return ""
        if stated := self._stated_before_asking(question):
            return stated
        asks = len(question.split()) >= _MIN_ASKING_WORDS
        if not asks or not _answers(following) or _ASKING.match(question):
            return ""
        if following is None or OFFERS.search(question):
            return ""
        answer = _first_word(following.reading)
        asserts = SHORT_ANSWERS[answer]
        made = statement(question, answer, self.language)
        if made != f"{question} {answer}":
            return made
        plain = question.rstrip("? ")
        if asserts:
            return f"{plain}."
        return f"{_IT_IS_FALSE[self.language]} {plain[0].lower()}{plain[1:]}."

    def _stated_before_asking(self, question: str) -> str:
        told = _TOLD_THEN_ASKED.fullmatch(question) if len(question) <= _MAX_QUESTION else None
        if told and states(told["told"]) and is_checkworthy(told["told"], self.language):
            return f"{told['told']}."
        return ""

    def _worthy(self, piece: Segment, text: str) -> bool:
        footnote = _FOOTNOTE.match(text)
        if piece.kind == "table_header" or (footnote and names_source(text[footnote.end() :])):
            return False
        if piece.kind == "heading":
            return _states(piece.reading) and is_checkworthy(text, self.language)
        return piece.kind == "code" or is_checkworthy(text, self.language)

    def _short_answer(self, piece: Segment, response: str, question: str) -> Claim:
        text = response[piece.start : piece.end]
        worthy = is_bare_answer(piece.reading) or is_checkworthy(text, self.language)
        hypothesis = statement(question, piece.reading, self.language) if worthy else piece.reading
        declining = not worthy and declines(text, self.language)
        return Claim(text, piece.start, piece.end, hypothesis, worthy, declining)


def _agrees(reading: str) -> bool:
    return AGREEMENT.fullmatch(reading) is not None


def _without_agreement(claims: list[Claim]) -> list[Claim]:
    """Let "That's true." claim nothing beside a sentence that does."""
    if not any(claim.checkworthy and not _agrees(claim.hypothesis) for claim in claims):
        return claims
    return [
        replace(claim, checkworthy=claim.checkworthy and not _agrees(claim.hypothesis))
        for claim in claims
    ]


def _is_short_answer(piece: Segment) -> bool:
    words = piece.reading.split()
    return len(words) <= _MAX_SHORT_ANSWER_WORDS and not any(
        word.strip(".,").lower() in ANY_VERB for word in words[1:]
    )


def _said(reading: str) -> str:
    """Return what a sentence claims, as a statement."""
    if reading.endswith(":"):
        return f"{reading.rstrip(' :')}."
    return beyond_declining(reading) or reading


def _first_word(reading: str) -> str:
    return re.split(r"[\s,.!;:]", reading.strip("\"'*_ ").lower(), maxsplit=1)[0]


def _answers(piece: Segment | None) -> bool:
    """Whether a piece answers the question before it, and says little more: "Yes, it does."."""
    if piece is None or piece.kind != "sentence":
        return False
    few = len(piece.reading.split()) <= _MAX_SHORT_ANSWER_WORDS
    return few and _first_word(piece.reading) in SHORT_ANSWERS


def _sources(pieces: Sequence[Segment], response: str) -> set[int]:
    """Return the numbers of the pieces that name sources, in lists headed "Sources" or the like.

    A list goes to the next paragraph. An item that is a statement and names no source is left out.
    """
    found: set[int] = set()
    listed = named = False
    end = 0
    for number, piece in enumerate(pieces):
        listed = bool(SOURCE_LIST.match(piece.reading)) or (listed and piece.kind == "list_item")
        same_item = number - 1 in found and "\n" not in response[end : piece.start]
        end = piece.end
        if not listed or piece.kind != "list_item":
            continue
        # A citation goes on after a full stop: "Smith, J. (2018). The law. Example Press."
        named = (named and same_item) or names_source(response[piece.start : piece.end])
        if named:
            found.add(number)
    return found


def _states(heading: str) -> bool:
    """Whether a heading is a statement ("The Pro plan costs $35") and not a title."""
    words = heading.split()
    if len(words) < _MIN_STATING_WORDS or _ASKING.match(heading):
        return False
    return any(word.strip(".,;").lower() in ANY_VERB for word in words[1:])
