"""Which sentences claim something, and which say that the answer is not known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from caco.phrases import (
    ANY_VERB,
    DECLINING,
    DECLINING_PREFIX,
    EFFECTS,
    FILLER,
    FINITE_FORM,
    NEXT_STEPS,
    OFFERS,
    OPEN_LEAD,
    SOURCE_LIST,
    TAG_QUESTION,
    resolve_language,
)
from caco.typography import normalise

__all__ = [
    "beyond_declining",
    "declines",
    "is_checkworthy",
    "names_source",
    "repeats_question",
    "states",
]

_MAX_CHARACTERS = 400
"""Longer sentences always claim something; it also bounds the time the patterns take."""

_MIN_CLAIM_WORDS = 3
_CLAUSE_BREAK = re.compile(r"(?:[,;:]\s+|\s-\s)(?:(?:and|so|but|e|mas|então)\s+)?", re.IGNORECASE)
_CONDITION = re.compile(
    r"^(?:if|should|in case|whenever|for|se|caso|quando|para|qualquer|em caso)\b", re.IGNORECASE
)
_FIGURE = re.compile(r"\d|[€$£%@]|https?:")
_QUOTED_QUESTION = re.compile(r"^[\"'].*\?[\"']$|\?[)*]?$")
_LINK_ONLY = re.compile(r"^(?:[\[(]?\d{0,3}[\])]?\s*https?://\S+\s*)+$")
_CLAUSE_AFTER = re.compile(
    r"[,;:.–-]?\s(?:but|however|though|although|while|mas|porém|entretanto|contudo|embora"
    r"|no entanto|yet)\b,?\s+(?P<clause>.+)$"
    r"|[;:]\s+(?P<other>.+)$",
    re.IGNORECASE,
)

_JOINT = re.compile(
    r"(?P<mark>[,;:](?:\s+|$)|\.\s+|\s-\s)(?P<after>(?:and|or|e|ou)\s)?"
    r"|\s(?P<word>and|but|yet|so|however|although|though|while|whereas|because|since|e|mas|porém"
    r"|entretanto|contudo|embora|enquanto|porque|pois|portanto)(?=\s|$)",
    re.IGNORECASE,
)
_JOINING = re.compile(
    r"^(?:(?:and|or|but|yet|so|however|although|even|though|while|whereas|because|since|as|e|ou|mas"
    r"|porém|entretanto|contudo|embora|enquanto|porque|pois|portanto|já que|uma vez que)\b,?\s*)+",
    re.IGNORECASE,
)
_QUESTION_WORDS = (
    "what|when|where|how|who|whose|which|qual|quais|quando|onde|como|quem|quanto|o que"
)
_ASKED = re.compile(rf"\b(?:{_QUESTION_WORDS})\b", re.IGNORECASE)
_INDIRECT = re.compile(
    rf"^(?:whether|if|unless|once|why|se|caso|por que|{_QUESTION_WORDS})\b", re.IGNORECASE
)
_EMBEDDED = re.compile(r"^\s*(?:\S+\s){0,2}?(?:whether|if|that|se|que)\b", re.IGNORECASE)
_RELATIVE = re.compile(
    r"^(?:which|who|whose|where|que|[oa] qual)\s(?:(?:it|they|he|she|el[ea]s?)\s)?(?P<verb>\S+)",
    re.IGNORECASE,
)
_RELATIVES = frozenset("that which who whose where when how why que quem onde quando como".split())
_NOUNS_TOO = frozenset("costs needs offers uses calls returns".split())
_AFTER_NOUN = frozenset("of to for and or in on from de do da para e".split())
_POSSIBLE = frozenset("may might can could would should pode podem poderia".split())
_FACT = re.compile(
    r"\b(?:why|the fact that|por que|por quê|o fato de(?: que)?)\s+(?P<clause>.+)$", re.IGNORECASE
)
_STEMS = re.compile(r"\b\w{3,5}")
_LEANING = re.compile(
    r"^(?:it|its|he|his|she|her|they|their|this|that|these|those|which|who|whose|where|such|there"
    r"|both|el[ea]s?|seus?|suas?|est[ea]s?|ess[ea]s?|isso|isto|que|[oa] qual|ambos|ambas)\b",
    re.IGNORECASE,
)
_CONTAINS = re.compile(
    r"(?:contain|include|have|impose|contém|contêm|incluem?|possuem?|t[eê]m)$", re.I
)

_ADDRESS = re.compile(
    r"<?(?:https?://|www\.)\S+|\b[\w-]+\.(?:com|org|net|gov|edu|io|br|pt|html?|pdf|docx?|txt|md|csv"
    r"|xlsx?|pptx?|json)\b\S*|\bdoi:\s?\S+|\bisbn\b.*",
    re.IGNORECASE,
)
_AUTHORS = re.compile(r"^[^\W\d_][\w'-]+,\s+(?:[^\W\d_]\.[\s,&-]*)+|\bet al\b|\(n\.d\.\)")
_TITLE_START = re.compile(
    rf"(?:^|[:-]\s)(?:{_QUESTION_WORDS}|why|about|sobre|guia|guide)\b", re.IGNORECASE
)
_MIN_STATEMENT_WORDS = 3
_VAGUE_LEAD = re.compile(
    r"\b(?:following|these|below|as follows|several|some|many|various|few|certain|key|main|here"
    r"|such|seguintes?|abaixo|vári[oa]s|algu(?:ns|mas)|divers[oa]s|principais|est[ea]s|ess[ea]s)\b"
    r"|^(?:i|we|you|let|based|according|to|for|if|when|in|eu|nós|você|com base|segundo|conforme"
    r"|para|se|quando|em)\b",
    re.IGNORECASE,
)


def is_checkworthy(sentence: str, language: str) -> bool:
    """Whether a sentence claims something that documents could bear out or refute.

    Not check-worthy are greetings, thanks, questions, offers of help, announcements ("Here is what
    I found:"), bare hedges and "Yes.", source lists, citation markers alone, and sentences that
    decline (see `declines`).

    Args:
        sentence: One sentence, as it stands in the answer.
        language: "english" or "portuguese", or an alias; phrases of both are known either way.

    Raises:
        ValueError: The language is not supported.
    """
    resolve_language(language)
    sentence = _bounded(sentence)
    if len(sentence) > 4 * _MAX_CHARACTERS:
        return True
    reading = normalise(sentence).text
    if not any(character.isalnum() for character in reading):
        return False
    if len(reading) > _MAX_CHARACTERS:
        return True
    if _QUOTED_QUESTION.search(reading):
        return bool(TAG_QUESTION.search(reading))
    if reading.endswith(":"):
        return _lead_states(reading)
    label = SOURCE_LIST.match(reading)
    if _LINK_ONLY.match(reading) or (label and names_source(reading[label.end() :])):
        return False
    if _declines(reading):
        return False
    if _FIGURE.search(reading):
        return True
    return not _says_nothing(reading)


def declines(sentence: str, language: str) -> bool:
    """Whether a sentence says that the answer is not known, or not in the documents at hand.

    "The provided documents do not mention the price" declines; "The contract does not mention a
    penalty" is a claim about a named thing. A sentence that declines one thing and claims another
    ("I could not find the price, but the motor has 800 W") does not decline.

    Args:
        sentence: One sentence.
        language: "english" or "portuguese", or an alias; phrases of both are known either way.

    Raises:
        ValueError: The language is not supported.
    """
    resolve_language(language)
    sentence = _bounded(sentence)
    if len(sentence) > 4 * _MAX_CHARACTERS:
        return False
    reading = normalise(sentence).text
    return len(reading) <= _MAX_CHARACTERS and _declines(reading)


def beyond_declining(reading: str) -> str:
    """Return what a sentence claims besides that something is not known.

    Args:
        reading: A sentence, in plain typography.

    Returns:
        "the warranty covers theft" for "I could not find the price and the warranty covers theft";
        "" when nothing is declined, when nothing is claimed besides, and when what is claimed
        cannot be understood without the rest of the sentence.
    """
    plain = reading.rstrip(" .!")
    match = DECLINING.search(plain) if len(reading) <= _MAX_CHARACTERS else None
    if match is None or reading.endswith("?"):
        return ""
    spans = _asserted(plain, match)
    if not spans or spans[0][0] <= match.start() < spans[-1][1]:
        return ""
    # To the end, or to where it declines: what follows may have no subject of its own.
    first, last = spans[0][0], len(plain)
    if first <= match.start():
        last = _declining_clause(plain, match)
        first = first if DECLINING_PREFIX.match(plain[:first]) else 0
    claim = _JOINING.sub("", plain[first:last].strip(" ,;:-"))
    if _LEANING.match(claim) or DECLINING.search(claim):
        return ""
    return f"{claim[0].upper()}{claim[1:]}."


def repeats_question(reading: str, question: str) -> bool:
    """Whether a sentence declines a question, and what it takes for granted is the question's.

    "I don't know why the bridge was closed" claims that it was closed, unless "Why was the bridge
    closed?" was asked.

    Args:
        reading: A sentence, in plain typography.
        question: What was asked, likewise.
    """
    plain = reading.rstrip(" .!")
    match = DECLINING.search(plain) if len(reading) <= _MAX_CHARACTERS else None
    if match is None or _denies_effect(plain, match) or _clauses_beside(plain, match):
        return False
    fact = _FACT.search(plain, match.start())
    words = _STEMS.findall(fact["clause"].lower()) if fact else []
    return set(words) <= set(_STEMS.findall(question.lower()))


def names_source(text: str) -> bool:
    """Whether an entry of a list of sources names one: an address, a file, a title, a citation.

    An entry that is a sentence ("The warranty covers theft.") does not.

    Args:
        text: The entry, as it stands in the answer or in plain typography.
    """
    reading = normalise(_bounded(text)).text
    if _AUTHORS.search(reading) or _TITLE_START.search(reading):
        return True
    title = _ADDRESS.sub("", reading).strip()
    addressed = bool(_ADDRESS.search(text))
    words = title.split()
    if len(words) < _MIN_STATEMENT_WORDS or (addressed and not title.endswith(".")):
        return True
    long = [word for word in words[1:] if len(word) > 3 and word[0].isalpha()]
    if len(long) > 1 and all(word[0].isupper() for word in long):
        return True
    return not states(title)


def states(clause: str) -> bool:
    """Whether a clause has a subject and a finite verb, as far as can be told by rule."""
    words = [word.strip(".,;:!?\"'()").lower() for word in clause.split()]
    relative = next((i for i in range(1, len(words)) if words[i] in _RELATIVES), len(words))
    if any(_is_verb(words, place) for place in range(1, relative)):
        return True
    if sum(word in ANY_VERB for word in words[relative:]) > 1:
        return True
    return bool(FINITE_FORM.search(" ".join(words[:relative])))


def _says_nothing(reading: str) -> bool:
    """Whether a sentence is a greeting, an offer and the like, and nothing besides."""
    clauses = _CLAUSE_BREAK.split(reading)
    offers = any(OFFERS.search(clause) for clause in clauses)
    if all(_is_phrase(clause) or (offers and _CONDITION.match(clause)) for clause in clauses):
        return True
    if not FILLER.match(reading) and not offers:
        return False
    first, *others = clauses
    return (_is_phrase(first) or len(first.split()) < _MIN_CLAIM_WORDS) and not any(
        _has_verb(clause) and not _is_phrase(clause) for clause in others
    )


def _is_phrase(clause: str) -> bool:
    return bool(FILLER.match(clause) or OFFERS.search(clause))


def _has_verb(clause: str) -> bool:
    return any(word.strip(".!").lower() in ANY_VERB for word in clause.split()[1:])


def _is_verb(words: Sequence[str], place: int) -> bool:
    if words[place] in _NOUNS_TOO:
        return place + 1 < len(words) and words[place + 1] not in _AFTER_NOUN
    return words[place] in ANY_VERB


def _bounded(sentence: str) -> str:
    """Return a sentence without runs of blanks, if they make it long."""
    return sentence if len(sentence) <= _MAX_CHARACTERS else " ".join(sentence.split())


def _lead_states(reading: str) -> bool:
    """Whether a line that ends with a colon is a statement, and not just a lead-in."""
    lead = reading.rstrip(" :")
    if _VAGUE_LEAD.search(lead) or FILLER.match(lead) or SOURCE_LIST.match(lead):
        return False
    if DECLINING.search(lead) or OPEN_LEAD.search(lead):
        return False
    *words, last = lead.split() or [""]
    return len(words) >= _MIN_STATEMENT_WORDS and last.lower() not in ANY_VERB and states(lead)


def _declines(reading: str) -> bool:
    if reading.endswith("?"):
        return False
    plain = reading.rstrip(" .!")
    match = DECLINING.search(plain)
    if match is None or _denies_effect(plain, match):
        return False
    return not _asserted(plain, match)


def _denies_effect(plain: str, match: re.Match[str]) -> bool:
    """Whether it is a rule that the documents lack ("contain no exclusion of theft")."""
    return bool(_CONTAINS.search(match[0]) and EFFECTS.match(plain, match.end()))


def _asserted(plain: str, match: re.Match[str]) -> list[tuple[int, int]]:
    """Return where a declining sentence claims something, or else what it presupposes.

    Args:
        plain: The sentence, without its final mark.
        match: Where it declines.
    """
    found = _clauses_beside(plain, match)
    fact = _FACT.search(plain, match.start())
    if not found and fact and states(fact["clause"]) and not _LEANING.match(fact["clause"]):
        return [fact.span("clause")]
    return found


def _declining_clause(plain: str, match: re.Match[str]) -> int:
    """Return where the clause that declines starts."""
    return max(start for start, _, _ in _clauses(plain) if start <= match.start())


def _clauses_beside(plain: str, match: re.Match[str]) -> list[tuple[int, int]]:
    found = []
    object_start = match.end()
    asks = False
    embeds = False
    for start, end, joint in _clauses(plain):
        clause = plain[start:end].strip()
        if start <= match.start() < end:
            asks = bool(_ASKED.search(plain, object_start, max(end, object_start)))
            embeds = bool(_EMBEDDED.match(plain[object_start:end]))
        elif not (embeds and joint in ("and", "e")) and _claims(clause, joint, asks):
            found.append((start, end))
    strong = _CLAUSE_AFTER.search(plain, match.end())
    rest = (strong["clause"] or strong["other"]) if strong else ""
    if strong and not found and not (DECLINING.search(rest) or _says_nothing(rest)):
        found.append(strong.span("clause" if strong["clause"] else "other"))
    return found


def _clauses(plain: str) -> list[tuple[int, int, str]]:
    """Return the clauses' spans, each with what joins it to the one before."""
    clauses = []
    start, joint = 0, ""
    for match in _JOINT.finditer(plain):
        clauses.append((start, match.start(), joint))
        start = match.start("word") if match["word"] else match.end()
        joint = (match["word"] or match["mark"].strip()).lower()
    return [*clauses, (start, len(plain), joint)]


def _claims(clause: str, joint: str, asks: bool) -> bool:  # noqa: FBT001 (private)
    """Whether a clause beside a declining one claims something.

    Args:
        clause: The clause.
        joint: What joins it to the one before.
        asks: Whether the declining clause holds an indirect question, which others may go on with.
    """
    said = _JOINING.sub("", clause)
    relative = _RELATIVE.match(said)
    if relative and joint == "," and not asks:
        verb = relative["verb"].lower()
        return verb in ANY_VERB and verb not in _POSSIBLE and not NEXT_STEPS.search(said)
    if DECLINING.search(clause) or DECLINING_PREFIX.match(clause) or _INDIRECT.match(said):
        return False
    if NEXT_STEPS.search(said) or _says_nothing(said):
        return False
    return states(said)
