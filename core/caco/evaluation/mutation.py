"""Claims made from a user's own documents: some that the documents support, some made wrong.

A claim is one sentence of a document: as it stands or with a number or date in another form
(supported), or with one thing changed, a negation, number, date, name or unit (not supported).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from caco.evaluation.wording import WORDING, Wording
from caco.figures import equal, find_figures
from caco.models import Document
from caco.text import resolve_language, segments

__all__ = ["KINDS", "SUPPORTED_KINDS", "Mutant", "mutants"]

SUPPORTED_KINDS = ("verbatim", "number_form", "date_form")
WRONG_KINDS = ("negation", "number", "date", "entity", "unit")
KINDS = (*SUPPORTED_KINDS, *WRONG_KINDS)
"""What is done to a sentence, supported claims first."""

_LEAST_WORDS, _MOST_WORDS = 5, 45
_NUMBER = re.compile(r"(?<![\w.,/:$€£+-])\d+(?:[.,]\d+)*(?![\w/:-]|[.,]\d|\s?[º°ª])")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_NAME = re.compile(
    r"(?<=[a-zà-ÿ,;] )[A-ZÀ-Ý][\wÀ-ÿ’'-]+(?: (?:(?:of|the|de|da|do|dos|das) )?[A-ZÀ-Ý][\wÀ-ÿ’'-]+)*"
)
_UNIT = re.compile(r"(?<=\d )[A-Za-zÀ-ÿ]+(?![\w²³/])")
_DENIED = re.compile(r"\b(?:never|no|nor|nunca|nem|jamais)\b|n['’]t\b", re.IGNORECASE)
_YEAR_SHIFTS = (-20, -10, -3, -2, -1, 1, 2, 3, 10, 20)
_LATEST_YEAR = 2099


@dataclass(frozen=True)
class Mutant:
    """A claim made from a sentence.

    Attributes:
        kind: What was done: one of `KINDS`.
        claim: The claim.
        sentence: The sentence it was made from.
        document: The document of that sentence.
    """

    kind: str
    claim: str
    sentence: str
    document: Document

    @property
    def supported(self) -> bool:
        """Whether the document supports the claim."""
        return self.kind in SUPPORTED_KINDS


@dataclass(frozen=True)
class _Sentence:
    """A sentence, what it stands in, and what it may be changed with."""

    text: str
    document: Document
    language: str
    names: tuple[str, ...]

    @property
    def words(self) -> Wording:
        return WORDING[self.language]


_Change = Callable[[_Sentence, random.Random], "str | None"]


def mutants(
    documents: Sequence[Document],
    language: str = "english",
    *,
    limit: int | None = None,
    seed: int = 0,
) -> list[Mutant]:
    """Make claims from documents.

    Args:
        documents: The documents.
        language: Their language: "english" or "portuguese", or an alias.
        limit: The most claims of a kind; drawn from all documents. None: every one there is, at
            most one of a kind from a sentence.
        seed: The same seed and documents give the same claims.

    Returns:
        The claims, by kind in the order of `KINDS`, then in the order of the documents. A kind
        that no sentence allows is not there.

    Raises:
        ValueError: An unsupported language, or a limit below 1.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1 or None, not {limit!r}")
    sentences = list(_sentences(documents, resolve_language(language)))
    figures = _Figures(language)
    made: list[Mutant] = []
    for kind in KINDS:
        order = list(range(len(sentences)))
        random.Random(f"{seed} {kind}").shuffle(order)
        found: dict[int, Mutant] = {}
        for index in order:
            if limit is not None and len(found) == limit:
                break
            sentence = sentences[index]
            claim = _CHANGES[kind](sentence, random.Random(f"{seed} {kind} {index}"))
            if claim is not None and figures.allow(kind, claim, sentence):
                found[index] = Mutant(kind, claim, sentence.text, sentence.document)
        made += [found[index] for index in sorted(found)]
    return made


def _sentences(documents: Iterable[Document], language: str) -> Iterator[_Sentence]:
    texts = []
    for document in documents:
        pieces = segments(document.text, language)
        sentences = [
            " ".join(document.text[piece.start : piece.end].split())
            for piece in pieces
            if piece.kind in ("sentence", "list_item")
        ]
        texts.append((document, sentences))
    own = [_names(sentences, WORDING[language]) for _, sentences in texts]
    everywhere = tuple(dict.fromkeys(name for names in own for name in names))
    seen: set[str] = set()
    for document, sentences in texts:
        # A name from elsewhere cannot be true by accident; one corpus may be a single document.
        absent = tuple(name for name in everywhere if name not in document.text)
        for text in sentences:
            letters = "".join(filter(str.isalnum, text.casefold()))
            whole = _LEAST_WORDS <= len(text.split()) <= _MOST_WORDS and text[-1:] in ".!"
            if whole and letters not in seen:
                seen.add(letters)
                yield _Sentence(text, document, language, absent or everywhere)


def _names(sentences: Iterable[str], words: Wording) -> list[str]:
    calendar = {name.lower() for name in (*words.months, *words.weekdays)}
    found = (match.group() for text in sentences for match in _NAME.finditer(text))
    return [name for name in found if calendar.isdisjoint(name.lower().split())]


class _Figures:
    """Whether a claim's figures are what its kind says, by what its document holds."""

    def __init__(self, language: str) -> None:
        self._language = resolve_language(language)

    def allow(self, kind: str, claim: str, sentence: _Sentence) -> bool:
        """Whether a changed figure is nowhere in the document, and a reworded one is."""
        if kind not in ("number_form", "date_form", "number", "date", "unit"):
            return True
        known = find_figures(sentence.document.text, self._language)
        found = find_figures(claim, self._language)
        strange = [one for one in found if not any(equal(one, other) for other in known)]
        return bool(strange) != (kind in SUPPORTED_KINDS)


def _verbatim(sentence: _Sentence, rng: random.Random) -> str | None:
    return sentence.text


def _replaced(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _negation(sentence: _Sentence, rng: random.Random) -> str | None:
    """Put a negation in, or take the only one out."""
    text, words = sentence.text, sentence.words
    denials = list(re.finditer(rf"\s{words.negation}\b", text))
    if words.not_a_denial.search(text) or len(denials) > 1:
        return None
    if denials:
        return _replaced(text, denials[0], "")
    verb = re.search(rf"(?<![\w-])({'|'.join(words.verbs)})(?![\w'-])", text)
    if verb is None or _DENIED.search(text):
        return None
    pair = (verb.group(), words.negation)
    return _replaced(text, verb, " ".join(pair if words.negated_after else reversed(pair)))


def _plain_numbers(sentence: _Sentence) -> list[re.Match[str]]:
    """Return the numbers of a sentence that are no year and no part of a date."""
    months = {month.lower() for month in sentence.words.months}
    found = []
    for match in _NUMBER.finditer(sentence.text):
        beside = sentence.text[: match.start()].split()[-2:]
        beside += sentence.text[match.end() :].split()[:2]
        dated = any(word.strip(",.").lower() in months for word in beside)
        if not dated and not _YEAR.fullmatch(match.group()):
            found.append(match)
    return found


def _number(sentence: _Sentence, rng: random.Random) -> str | None:
    """Change one digit of a number, or a number word."""
    text = sentence.text
    found = _plain_numbers(sentence)
    if not found:
        return _swapped(text, [sentence.words.numbers], rng)
    match = rng.choice(found)
    old = match.group()
    place = rng.choice([index for index, digit in enumerate(old) if digit.isdigit()])
    digit = rng.choice([digit for digit in "123456789" if digit != old[place]])
    return _replaced(text, match, old[:place] + digit + old[place + 1 :])


def _date(sentence: _Sentence, rng: random.Random) -> str | None:
    """Change a year, a month or a weekday."""
    text, words = sentence.text, sentence.words
    years = [match for match in _NUMBER.finditer(text) if _YEAR.fullmatch(match.group())]
    if years and rng.random() < 0.5:
        match = rng.choice(years)
        year = int(match.group()) + rng.choice(_YEAR_SHIFTS)
        return _replaced(text, match, str(min(year, _LATEST_YEAR)))
    groups = [words.months, words.weekdays]
    if any(match.group("month") for date in words.date for match in date.finditer(text)):
        groups = [words.months]
    return _swapped(text, groups, rng)


def _unit(sentence: _Sentence, rng: random.Random) -> str | None:
    """Change the unit, or the scale, that follows a number."""
    groups = {unit: group for group in sentence.words.units for unit in group}
    found = [match for match in _UNIT.finditer(sentence.text) if match.group() in groups]
    if not found:
        return None
    match = rng.choice(found)
    others = [unit for unit in groups[match.group()] if unit != match.group()]
    return _replaced(sentence.text, match, rng.choice(others))


def _entity(sentence: _Sentence, rng: random.Random) -> str | None:
    """Put another name in a name's place."""
    text = sentence.text
    own = set(_names([text], sentence.words))
    found = [match for match in _NAME.finditer(text) if match.group() in own]
    if not found:
        return None
    match = rng.choice(found)
    size = len(match.group().split())
    others = [name for name in sentence.names if not _share_a_word(name, text)]
    alike = [name for name in others if len(name.split()) == size] or others
    return _replaced(text, match, rng.choice(alike)) if alike else None


def _share_a_word(name: str, text: str) -> bool:
    words = set(text.lower().split())
    return any(len(word) > 3 and word in words for word in name.lower().split()) or name in text


def _swapped(text: str, groups: Iterable[Sequence[str]], rng: random.Random) -> str | None:
    """Put another word of its group in a word's place."""
    options = [
        (match, group)
        for group in groups
        for word in group
        for match in re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)
    ]
    if not options:
        return None
    match, group = rng.choice(options)
    return _replaced(text, match, rng.choice([word for word in group if word != match.group()]))


def _number_form(sentence: _Sentence, rng: random.Random) -> str | None:
    """Write the same number in another form."""
    text, words = sentence.text, sentence.words
    found = _plain_numbers(sentence)
    rng.shuffle(found)
    for match in found:
        old, after = match.group(), text[match.end() :]
        if after.lstrip().startswith("%"):
            rest = after.lstrip().removeprefix("%")
            return f"{text[: match.end()]} {words.percent}{rest}"
        if old.isdigit() and 3 <= int(old) < 3 + len(words.numbers) and after[:1] in " .,;":
            return _replaced(text, match, words.numbers[int(old) - 3])
        mark = re.escape(words.thousands)
        if re.fullmatch(rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+", old):
            return _replaced(text, match, old.replace(words.thousands, ""))
        if old.isdigit() and 5 <= len(old) <= 9 and old[0] != "0":
            return _replaced(text, match, f"{int(old):,}".replace(",", words.thousands))
    for position, word in enumerate(words.numbers):
        spelled = re.search(rf"(?<![\w-]){word}(?![\w-])", text)
        if spelled is not None and spelled.start() > 0:
            return _replaced(text, spelled, str(position + 3))
    return None


def _date_form(sentence: _Sentence, rng: random.Random) -> str | None:
    """Write the same date in another form."""
    for pattern in sentence.words.date:
        match = pattern.search(sentence.text)
        if match is None:
            continue
        day, month, year = match["day"], match["month"], match["year"]
        if sentence.language == "portuguese":
            number = sentence.words.months.index(month) + 1
            return _replaced(sentence.text, match, f"{int(day):02}/{number:02}/{year}")
        first = match.group().startswith(month)
        new = f"{day} {month} {year}" if first else f"{month} {day}, {year}"
        return _replaced(sentence.text, match, new)
    return None


_CHANGES: Mapping[str, _Change] = MappingProxyType(
    {
        "verbatim": _verbatim,
        "number_form": _number_form,
        "date_form": _date_form,
        "negation": _negation,
        "number": _number,
        "date": _date,
        "entity": _entity,
        "unit": _unit,
    }
)
