"""A question and its short answer, put together into one statement."""

from __future__ import annotations

import re
from collections.abc import Callable

from caco.extractor.reference import subject_of
from caco.phrases import SHORT_ANSWERS, VERBS

__all__ = ["is_bare_answer", "statement"]

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], str]]

_PREPOSITION = re.compile(
    r"(?:in|on|at|by|from|since|until|during|before|after|around|about|em|no|na|nos|nas|desde|até"
    r"|durante|antes|depois|após|por volta)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d$")
_BE = r"(?P<be>is|are|was|were)"


def is_bare_answer(text: str) -> bool:
    """Whether a text is just "yes" or "no", in English or Portuguese."""
    return text.strip(" .!,\"'*_").lower() in SHORT_ANSWERS


def statement(question: str, answer: str, language: str) -> str:
    """Return what a short answer states, given its question.

    Args:
        question: The question, in plain typography.
        answer: The answer, likewise; a few words.
        language: "english" or "portuguese".

    Returns:
        "The capital of India is Delhi." where a rule applies, else the question and the answer one
        after the other.
    """
    question = " ".join(question.split())
    short = answer.strip().rstrip(".!").strip()
    asked = re.split(r"(?<=[.!:])\s+", question.rstrip("? ").strip())[-1]
    if is_bare_answer(answer):
        made = _yes_or_no(asked, SHORT_ANSWERS[short.strip("\"'*_").lower()], language)
    else:
        made = _filled(asked, short, language)
    return f"{made[0].upper()}{made[1:]}." if made else f"{question} {answer}".strip()


def _filled(asked: str, answer: str, language: str) -> str:
    for pattern, build in _RULES[language]:
        match = pattern.fullmatch(asked)
        if match:
            return build(match, answer)
    return ""


def _timed(answer: str) -> str:
    return answer if _PREPOSITION.match(answer) or not _YEAR.match(answer) else f"in {answer}"


def _third_person(verb: str) -> str:
    """Return the third person singular of a regular English verb."""
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _does(match: re.Match[str], answer: str) -> str:
    """Build "X costs A" from "How much does X cost"."""
    verb = match["verb"].lower()
    if match["aux"].lower() == "does":
        verb = {"have": "has"}.get(verb) or _third_person(verb)
    elif match["aux"].lower() == "did":
        return f"{match['x']} did {verb} {answer}"
    return f"{match['x']} {verb} {answer}"


def _em_place(answer: str) -> str:
    return answer if _PREPOSITION.match(answer) else f"em {answer}"


_I = re.IGNORECASE


def _rule(pattern: str, template: str) -> _Rule:
    """Return a rule whose template holds the pattern's groups and ``{a}``, the answer."""
    return re.compile(pattern, _I), lambda match, answer: template.format(
        a=answer, at=_timed(answer), em=_em_place(answer), **match.groupdict("is")
    )


_RULES: dict[str, list[_Rule]] = {
    "english": [
        _rule(rf"(?:what|who|which)(?:'s|\s{_BE})\s(?P<x>.+)", "{x} {be} {a}"),
        _rule(
            rf"(?:when|where)\s{_BE}\s(?P<x>.+?)\s(?P<verb>\w+(?:ed|wn|lt|de|nd|ld|ht))",
            "{x} {be} {verb} {at}",
        ),
        _rule(rf"(?:when|where)\s{_BE}\s(?P<x>.+)", "{x} {be} {at}"),
        (
            re.compile(
                r"(?:how (?:much|many|long)|what)\s(?P<aux>does|do|did)\s(?P<x>.+?)\s(?P<verb>\w+)",
                _I,
            ),
            _does,
        ),
        _rule(
            rf"how (?:much|long|tall|old|big|far|high|deep|wide|heavy)\s{_BE}\s(?P<x>.+)",
            "{x} {be} {a}",
        ),
        _rule(r"who\s(?P<x>(?!is\b|are\b|was\b|were\b|do|did\b|will\b|can\b)\w+\s.+)", "{a} {x}"),
    ],
    "portuguese": [
        _rule(
            r"(?:qual|quais|quem|o que|quanto)\s(?P<be>é|são|foi|foram|era|eram)\s(?P<x>.+)",
            "{x} {be} {a}",
        ),
        _rule(r"quanto\s(?P<verb>custam?|pesam?|medem?|duram?|vale)\s(?P<x>.+)", "{x} {verb} {a}"),
        _rule(
            r"(?:onde|em que \w+)\s(?P<verb>ficam?|está|estão|nasceu|mora)\s(?P<x>.+)",
            "{x} {verb} {em}",
        ),
        _rule(
            r"(?:quando|onde|em que \w+)\s(?P<x>.+?)\s(?P<verb>(?:foi|foram|será|serão)\s\w+)",
            "{x} {verb} {em}",
        ),
        _rule(r"quem\s(?P<x>(?!é\b|são\b|foi\b|foram\b|era\b)\w+\s.+)", "{a} {x}"),
    ],
}

_DO = re.compile(r"(?P<aux>do|does|did)\s(?P<rest>.+)", _I)
_BE_OR_MODAL = re.compile(
    r"(?P<aux>is|are|was|were|can|could|will|would|should|must|may|has|have)\s(?P<rest>.+)", _I
)
_BASE_VERBS = frozenset(
    """
    include cover cost have need require support allow offer ship accept contain provide apply
    work open close use run sell make come take pay receive expire last start end live own belong
    exist help cause change charge deliver
    """.split()
)
_PREDICATE = re.compile(
    r"(?:\w+(?:ed|able|ible|ing)|be|been|a|an|in|on|at|from|by|for|made|free|open|closed|available"
    r"|valid|legal|safe|mandatory|optional|compatible|waterproof|located|part|given|sold|not"
    r"|possible|required|necessary)"
)


def _yes_or_no(asked: str, yes: bool, language: str) -> str:  # noqa: FBT001 (private)
    if language == "portuguese":
        return asked if yes else _negated_portuguese(asked)
    match = _DO.fullmatch(asked)
    if match:
        return _english(match, yes, _BASE_VERBS.__contains__)
    match = _BE_OR_MODAL.fullmatch(asked)
    if match:
        return _english(match, yes, _starts_predicate)
    return ""


def _starts_predicate(word: str) -> bool:
    return word in _BASE_VERBS or bool(_PREDICATE.fullmatch(word))


def _english(
    match: re.Match[str],
    yes: bool,  # noqa: FBT001 (private)
    starts_predicate: Callable[[str], bool],
) -> str:
    """Put an auxiliary back between subject and predicate; "" if they cannot be told apart."""
    words = match["rest"].split()
    aux = match["aux"].lower()
    first = 2 if words[0].lower() in ("the", "a", "an", "my", "your", "this") else 1
    cut = next((i for i in range(first, len(words)) if starts_predicate(words[i].lower())), None)
    if cut is None:
        return ""
    subject, predicate = " ".join(words[:cut]), " ".join(words[cut:])
    if not yes:
        return f"{subject} {aux} not {predicate}"
    if aux == "does":
        verb, _, rest = predicate.partition(" ")
        return f"{subject} {'has' if verb == 'have' else _third_person(verb)} {rest}".strip()
    return f"{subject} {predicate}" if aux == "do" else f"{subject} {aux} {predicate}"


def _negated_portuguese(asked: str) -> str:
    words = asked.split()
    if words and words[0].lower() in VERBS["portuguese"]:
        return f"não {asked[0].lower()}{asked[1:]}"
    subject = subject_of(asked, "portuguese")
    if subject is None:
        return f"não é verdade que {asked[:1].lower()}{asked[1:]}"
    return re.sub(rf"\b{re.escape(subject.verb)}\b", f"não {subject.verb}", asked, count=1)
