"""Sentences that lean on the one before: what their pronoun stands for.

A pronoun is replaced only where the subject before can be cut out with some certainty; elsewhere
the sentence before is put in front, which is longer but never wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from caco.phrases import VERBS

__all__ = ["Subject", "resolve", "subject_of"]

_MAX_CONTEXT = 400
_MAX_SUBJECT_WORDS = 9

_DETERMINERS = {
    "english": frozenset(
        "the a an this that these those our your my its their his her each".split()
    ),
    "portuguese": frozenset("o a os as um uma este esta esse essa nosso nossa cada".split()),
}
_NO_SUBJECT = frozenset(
    """
    in on at by for with from to as if when while where after before since although though because
    however there here also then both not yes no under over during until once what which who how why
    i you we he she it they this these those that i'm it's he's she's they're
    em no na nos nas ao à com para por pelo pela quando se após antes desde embora segundo conforme
    porém não sim há também como onde enquanto eu você nós ele ela eles elas isso isto de do da dos
    das entre sobre sem até
    """.split()
)
_DEFINITE = {
    "english": {"a": "The", "an": "The"},
    "portuguese": {"um": "O", "uma": "A", "uns": "Os", "umas": "As"},
}
_RELATIVES = frozenset("that which who whom que quem cujo cuja".split())
_ENDINGS = {
    "english": re.compile(r"[a-z]{2,}[^e]ed"),
    "portuguese": re.compile(
        r"[a-zà-ÿ]{2,}(?:ou|eu|iu|aram|eram|iram|ava|avam|ará|erá|irá|arão|erão|irão)"
    ),
}
_NOT_VERBS = frozenset("museu europeu judeu liceu seu meu teu céu troféu réu chapéu ou eu".split())
_PLURAL_VERBS = frozenset("are were have do são foram estão têm eram".split())
_SINGULAR_VERBS = frozenset("is was has does é foi está tem era".split())
_COPULAS = frozenset("is was é foi era".split())

_EXPLETIVE = re.compile(
    r"^it(?:'s|\s(?:is|was|has been|would be|may be))\s(?:also\s|not\s|very\s)?(?:important"
    r"|possible|impossible|necessary|recommended|clear|unclear|worth|likely|unlikely|essential|best|better"
    r"|advisable|required|known|estimated|expected|believed|raining|true|easy|difficult)\b"
    r"|^it\s(?:seems|appears|turns out|takes|depends)\b",
    re.IGNORECASE,
)
_SUBJECT_PRONOUN = {
    "english": re.compile(r"^(?P<word>he|she|it|they)(?P<short>'s|'re|'ll|'ve|'d)?\s+", re.I),
    "portuguese": re.compile(r"^(?P<word>el[ea]s?)(?P<short>)\s+", re.I),
}
_POSSESSIVE = {
    "english": re.compile(r"^(?:his|her|its|their)\s+", re.I),
    "portuguese": re.compile(r"^(?P<word>seus?|suas?)\s+", re.I),
}
_SHORT_FORMS = {"'s": "is", "'re": "are", "'ll": "will", "'ve": "have", "'d": "had", "": ""}
_OF_PRONOUN = re.compile(r"\bd(?P<word>el[ea]s?)\b")
_LEANS = re.compile(
    r"^(?:he|she|it|they|his|her|hers|its|their|theirs|him|them|such|the (?:same|latter|former)"
    r"|(?:half|some|most|all|none|each|both|many|one|two|several|few) of (?:them|these|those)"
    r"|both|neither|el[ea]s?|seus?|suas?|isso|isto|aquilo|[oa]s? mesm[oa]s?|tal|tais"
    r"|(?:metade|alguns|algumas|todos|todas|nenhum|nenhuma|um|uma|dois|duas) del[ea]s"
    r"|ambos|ambas)(?:'\w+)?\b|^(?:this|that|these|those|est[ea]s?|ess[ea]s?|aquel[ea]s?)\b",
    re.IGNORECASE,
)
_DEMONSTRATIVE = re.compile(
    r"^(?:this|that|these|those|est[ea]s?|ess[ea]s?|aquel[ea]s?)\s+(?P<next>[\w'-]+)", re.IGNORECASE
)


@dataclass(frozen=True)
class Subject:
    """The subject of a sentence, as far as it can be told by rule.

    Attributes:
        text: The noun phrase.
        verb: The finite verb after it, in lower case.
        language: Its language.
    """

    text: str
    verb: str
    language: str

    @property
    def plural(self) -> bool:
        """Whether it names more than one, as far as can be seen."""
        words = self.text.lower().split()
        if words[0] in ("os", "as") or self.verb in _PLURAL_VERBS or {"and", "e"} & set(words):
            return True
        return words[0] in ("these", "those") or (
            words[0] == "the"
            and words[-1].endswith("s")
            and self.verb not in _SINGULAR_VERBS
            and not self.verb.endswith("s")
        )

    @property
    def again(self) -> str:
        """The noun phrase as it is said the second time: "a plan" is then "the plan"."""
        first, _, rest = self.text.partition(" ")
        article = _DEFINITE[self.language].get(first.lower())
        article = article or (first.capitalize() if self.determiner else "")
        return f"{article} {rest}" if article and rest else self.text

    @property
    def determiner(self) -> str:
        """Its article or the like, in lower case; "" for a name."""
        first = self.text.split()[0].lower()
        return first if any(first in words for words in _DETERMINERS.values()) else ""


def subject_of(sentence: str, language: str) -> Subject | None:
    """Return the subject of a sentence, or None when the rules cannot tell.

    Args:
        sentence: A plain reading.
        language: "english" or "portuguese".
    """
    words = sentence.split(maxsplit=24)[:24]
    if words and words[0].strip(",").lower() in _NO_SUBJECT:
        comma = next((i for i, word in enumerate(words[:10]) if word.endswith(",")), None)
        if comma is None:
            return None
        words = words[comma + 1 :]
    for index in range(1, min(len(words), _MAX_SUBJECT_WORDS + 1)):
        verb = words[index].strip(",;.!")
        if not _is_verb(verb, language):
            continue
        phrase = _noun_phrase(words[:index], language)
        if phrase:
            return Subject(phrase, verb, language)
    return None


def _is_verb(word: str, language: str) -> bool:
    if not word[:1].islower() or word in _NOT_VERBS:
        return False
    return word in VERBS[language] or bool(_ENDINGS[language].fullmatch(word))


def _noun_phrase(words: list[str], language: str) -> str:
    """Return the words as a noun phrase, or "" when they are none."""
    if words[-1].lower() in _RELATIVES:
        words = words[:-1]
    comma = next((i for i, word in enumerate(words) if word.endswith((",", ";", ":"))), None)
    if comma is not None:
        words = [*words[:comma], words[comma].rstrip(",;:")]
    if not words or words[0].lower() in _NO_SUBJECT:
        return ""
    if words[-1].lower() in _DETERMINERS[language] or words[-1].lower() in _NO_SUBJECT:
        return ""
    if len(words) == 1 and not words[0][:1].isupper():
        return ""
    return " ".join(words)


def resolve(sentence: str, before: str, language: str) -> str:
    """Return a sentence that can be understood without the one before it.

    Args:
        sentence: A plain reading.
        before: The sentence before, itself understandable alone; "" if there is none.
        language: "english" or "portuguese".

    Returns:
        ``sentence`` when it does not start with a pronoun; else with the pronoun's noun in its
        place, or with ``before`` in front.
    """
    if not before or _EXPLETIVE.match(sentence):
        return sentence
    subject = subject_of(before, language)
    replaced = _replaced(sentence, subject, language) if subject else None
    if replaced is not None:
        return replaced
    if not _LEANS.match(sentence) and not _of_pronoun_leads(sentence):
        return sentence
    demonstrative = _DEMONSTRATIVE.match(sentence)
    if demonstrative and not _is_verb(demonstrative["next"], language):
        return _with_noun(sentence, demonstrative, subject)
    return f"{before} {sentence}" if len(before) <= _MAX_CONTEXT else sentence


def _of_pronoun_leads(sentence: str) -> bool:
    match = _OF_PRONOUN.search(sentence)
    return match is not None and len(sentence[: match.start()].split()) <= 5


def _with_noun(sentence: str, match: re.Match[str], subject: Subject | None) -> str:
    """Replace "this plan" by "the Pro plan"; a noun that was not the subject stays."""
    if subject and match["next"].lower() in subject.text.lower().split()[1:]:
        return subject.again + sentence[match.end() :]
    return sentence


def _replaced(sentence: str, subject: Subject, language: str) -> str | None:
    match = _SUBJECT_PRONOUN[language].match(sentence)
    if match:
        rest = sentence[match.end() :]
        if not _agrees(match["word"].lower(), subject, rest):
            return None
        verb = _SHORT_FORMS[(match["short"] or "").lower()]
        return " ".join(part for part in (subject.again, verb, rest) if part)
    match = _POSSESSIVE[language].match(sentence)
    if match and language == "english":
        ending = "'" if subject.text.endswith("s") else "'s"
        return f"{subject.again}{ending} {sentence[match.end() :]}"
    if match:
        return _portuguese_possessive(sentence, match, subject)
    match = _OF_PRONOUN.search(sentence) if language == "portuguese" else None
    if match and _of_pronoun_leads(sentence) and _agrees(match["word"], subject, ""):
        return sentence[: match.start()] + _of(subject.again) + sentence[match.end() :]
    return None


def _agrees(pronoun: str, subject: Subject, rest: str) -> bool:
    """Whether a pronoun can stand for a subject."""
    if pronoun in ("they", "eles", "elas"):
        return subject.plural
    if subject.plural:
        return False
    if pronoun in ("he", "she"):
        return not subject.determiner and subject.text[:1].isupper()
    if pronoun == "it":
        verb = rest.split(maxsplit=1)[0].lower() if rest.split() else ""
        certain = bool(subject.determiner) or subject.verb in _COPULAS
        certain = certain or any(character.isdigit() for character in subject.text)
        return certain and verb not in ("are", "were", "have")
    wrong = {"ele": ("a", "uma", "esta", "essa"), "ela": ("o", "um", "este", "esse")}
    return subject.determiner not in wrong[pronoun]


def _of(noun_phrase: str) -> str:
    """Return "de" and a Portuguese noun phrase, contracted."""
    first, _, rest = noun_phrase.partition(" ")
    if first.lower() in ("o", "a", "os", "as") and rest:
        return f"d{first.lower()} {rest}"
    if first.lower() in ("um", "uma", "este", "esta", "esse", "essa") and rest:
        return f"de {first.lower()} {rest}"
    return f"de {noun_phrase}"


def _portuguese_possessive(sentence: str, match: re.Match[str], subject: Subject) -> str | None:
    """Turn "Sua torre tem 31 metros" into "A torre de X tem 31 metros"."""
    words = sentence[match.end() :].split(" ")
    verb = next((i for i in range(1, min(len(words), 8)) if _is_verb(words[i], "portuguese")), None)
    if verb is None:
        return None
    article = {"seu": "O", "sua": "A", "seus": "Os", "suas": "As"}[match["word"].lower()]
    return " ".join([article, *words[:verb], _of(subject.again), *words[verb:]])
