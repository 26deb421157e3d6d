"""Rule-made edits of real sentences: claims that keep, change or add something.

``edit_pairs`` takes real documents as lists of sentences. A claim is a sentence of the document,
shortened, retold with the same numbers in another form, or made wrong in one place (a number, a
unit, a name, a month, a negation, an opposite), or it is a sentence from elsewhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from values import MONTHS, WEEKDAYS, english_words, portuguese_words

Pair = dict[str, str]
Edit = Callable[[str, random.Random, str], str | None]

_OPPOSITES = {
    "en": "increase/decrease increased/decreased increases/decreases rose/fell rising/falling "
    "before/after more/less "
    "higher/lower first/last won/lost largest/smallest biggest/smallest north/south "
    "northern/southern east/west "
    "eastern/western always/never minimum/maximum allowed/banned free/paid older/younger "
    "mother/father "
    "brother/sister early/late earlier/later best/worst success/failure bought/sold open/closed "
    "positive/negative husband/wife son/daughter accepted/rejected strong/weak rich/poor old/new "
    "public/private inside/outside above/below arrived/left started/ended male/female most/fewest "
    "support/oppose supported/opposed agreed/refused passed/failed longer/shorter win/lose",
    "pt": "aumentou/diminuiu maior/menor antes/depois primeiro/último primeira/última "
    "mais/menos venceu/perdeu "
    "sempre/nunca subiu/caiu melhor/pior norte/sul abriu/fechou comprou/vendeu alta/baixa "
    "alto/baixo "
    "público/privado homem/mulher homens/mulheres menino/menina dentro/fora grande/pequeno "
    "grande/pequena "
    "novo/velho nova/velha aberta/fechada aberto/fechado positivo/negativo pai/mãe irmão/irmã "
    "ganhou/perdeu "
    "cedo/tarde início/fim chegou/saiu aprovou/rejeitou forte/fraco rico/pobre",
}
_OPPOSITE: dict[str, dict[str, str]] = {}
for _language, _text in _OPPOSITES.items():
    _OPPOSITE[_language] = {}
    for _item in _text.split():
        _one, _two = _item.split("/")
        _OPPOSITE[_language].setdefault(_one, _two)
        _OPPOSITE[_language].setdefault(_two, _one)

_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])")
_NAME = re.compile(
    r"(?<=[a-zà-ÿ,;] )((?:[A-ZÀ-Ý][\wÀ-ÿ’'-]+)"
    r"(?: (?:of|the|de|da|do|dos|das|and|e)? ?[A-ZÀ-Ý][\wÀ-ÿ’'-]+)*)"
)
_VERB = {
    "en": re.compile(
        r"\b(is|was|are|were|has|have|had|can|could|will|would|should|does|did)\b(?! not\b)"
    ),
    "pt": re.compile(r"(?<!não )\b(é|foi|são|eram|era|pode|será|está|estão|tem|têm|foram|vai)\b"),
}
_SCALE = {
    "en": [
        ["thousand", "million", "billion", "trillion"],
        ["grams", "kilograms", "tonnes"],
        ["metres", "kilometres", "miles"],
        ["meters", "kilometers", "miles"],
        ["km", "m", "cm"],
        ["seconds", "minutes", "hours"],
        ["days", "weeks", "months", "years"],
        ["kg", "g", "mg"],
        ["feet", "inches", "yards"],
        ["percent", "percentage points"],
        ["dollars", "euros", "pounds"],
    ],
    "pt": [
        ["mil", "milhões", "bilhões"],
        ["gramas", "quilos", "toneladas"],
        ["metros", "quilômetros"],
        ["segundos", "minutos", "horas"],
        ["dias", "semanas", "meses", "anos"],
        ["km", "m"],
        ["reais", "dólares", "euros"],
    ],
}
_CALENDAR = {name for names in (*MONTHS.values(), *WEEKDAYS.values()) for name in names}
_INTRO = re.compile(
    r"(In|On|At|After|Before|During|Since|For|With|By|As|Worldwide|"
    r"Em|No|Na|Nos|Nas|Após|Desde|Durante|Segundo|Com|Para)\b"
)
_WORD_NUMBERS = {
    "en": {english_words(n): n for n in range(2, 21)},
    "pt": {portuguese_words(n): n for n in range(2, 21)} | {"duas": 2},
}


def proper_names(sentences: list[str]) -> list[str]:
    """Names inside sentences, without months and weekdays."""
    found = [m.group() for s in sentences for m in _NAME.finditer(s)]
    return [name for name in found if name.split()[0] not in _CALENDAR]


def swap_number(text: str, rng: random.Random, language: str) -> str | None:
    """Change one number: a digit, or a year by some years."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    old = match.group()
    if re.fullmatch(r"(1[5-9]|20)\d\d", old):
        new = str(int(old) + rng.choice([-1, 1]) * rng.choice([1, 1, 2, 3, 5, 10, 20]))
    else:
        places = [i for i, c in enumerate(old) if c.isdigit()]
        i = rng.choice(places)
        new = old[:i] + rng.choice([c for c in "123456789" if c != old[i]]) + old[i + 1 :]
        if rng.random() < 0.2 and len(places) <= 3 and old.isdigit():
            new = old + "0"
    return text[: match.start()] + new + text[match.end() :]


def swap_from(text: str, rng: random.Random, sets: list[list[str]]) -> str | None:
    """Exchange one word for another of the same closed set."""
    options = [
        (w, s) for s in sets for w in s if re.search(rf"(?<![\w-]){re.escape(w)}(?![\w-])", text)
    ]
    if not options:
        return None
    word, members = rng.choice(options)
    new = rng.choice([m for m in members if m != word])
    return re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", new, text, count=1)


def swap_closed(text: str, rng: random.Random, language: str) -> str | None:
    """Change a month, a weekday or a number word."""
    words = list(_WORD_NUMBERS[language])[:12]
    return swap_from(text, rng, [MONTHS[language], WEEKDAYS[language], words])


def swap_unit(text: str, rng: random.Random, language: str) -> str | None:
    """Change the unit or the magnitude that follows a number."""
    units = {unit: group for group in _SCALE[language] for unit in group}
    found = [m for m in re.finditer(r"(?<=\d )[A-Za-zÀ-ÿ]+", text) if m.group() in units]
    if not found:
        return None
    match = rng.choice(found)
    new = rng.choice([u for u in units[match.group()] if u != match.group()])
    return text[: match.start()] + new + text[match.end() :]


def reword_number(text: str, rng: random.Random, language: str) -> str | None:
    """Same number in another form: digits as words, words as digits, with or without marks."""
    found = list(_NUMBER.finditer(text))
    rng.shuffle(found)
    for match in found:
        old = match.group()
        beside = text[: match.start()].split()[-1:] + text[match.end() :].split()[:2]
        dated = any(word.strip(",.") in _CALENDAR for word in beside)
        if dated or re.match(r"\s*[%°:/]", text[match.end() :]):
            continue
        if old.isdigit() and 2 <= int(old) <= 99:
            spell = english_words if language == "en" else portuguese_words
            return text[: match.start()] + spell(int(old)) + text[match.end() :]
        if re.fullmatch(r"\d{1,3}(,\d{3})+", old) and language == "en":
            return text[: match.start()] + old.replace(",", "") + text[match.end() :]
    for word, number in _WORD_NUMBERS[language].items():
        if re.search(rf"\b{word}\b", text):
            return re.sub(rf"\b{word}\b", str(number), text, count=1)
    if "%" in text:
        return re.sub(
            r"(?<=\d)\s*%", " percent" if language == "en" else " por cento", text, count=1
        )
    return reword_date(text, rng, language)


def reword_date(text: str, rng: random.Random, language: str) -> str | None:
    """Same date in another order, or only its year."""
    months = "|".join(MONTHS["en"])
    match = re.search(rf"\b({months}) (\d{{1,2}}), (\d{{4}})\b", text)
    if match:
        return text.replace(match.group(), f"{match[2]} {match[1]} {match[3]}", 1)
    match = re.search(rf"\b(\d{{1,2}}) ({months}) (\d{{4}})\b", text)
    if match:
        return text.replace(match.group(), f"{match[2]} {match[1]}, {match[3]}", 1)
    return None


def negate(text: str, rng: random.Random, language: str) -> str | None:
    """Put a negation in, or take one out."""
    word = "not" if language == "en" else "não"
    if re.search(rf"\b{word}\b", text):
        return re.sub(rf"\s*\b{word}\b", "", text, count=1)
    match = _VERB[language].search(text)
    if not match:
        return None
    if language == "pt":
        return text[: match.start()] + "não " + text[match.start() :]
    return text[: match.end()] + " not" + text[match.end() :]


def oppose(text: str, rng: random.Random, language: str) -> str | None:
    """Exchange one word for its opposite."""
    table = _OPPOSITE[language]
    found = [m for m in re.finditer(r"\w+", text) if m.group().lower() in table]
    if not found:
        return None
    match = rng.choice(found)
    new = table[match.group().lower()]
    new = new.capitalize() if match.group()[0].isupper() else new
    return text[: match.start()] + new + text[match.end() :]


def swap_name(text: str, rng: random.Random, pool: list[str]) -> str | None:
    """Exchange a name for another."""
    found = list(_NAME.finditer(text))
    if not found:
        return None
    match = rng.choice(found)
    if match.group().split()[0] in _CALENDAR:
        return None
    options = [
        n for n in pool if n.lower() not in text.lower() and match.group().lower() not in n.lower()
    ]
    if not options:
        return None
    return text[: match.start()] + rng.choice(options) + text[match.end() :]


def swap_two_names(text: str, rng: random.Random) -> str | None:
    """Exchange two names of one sentence with one another."""
    found = list(_NAME.finditer(text))
    first = re.match(r"[A-ZÀ-Ý][\wÀ-ÿ’'-]+ [A-ZÀ-Ý][\wÀ-ÿ’'-]+", text)
    spans = ([first.span()] if first else []) + [m.span() for m in found]
    if len(spans) < 2:
        return None
    (a, b), (c, d) = sorted(rng.sample(spans, 2))
    between = text[b:c]
    if b > c or text[a:b] == text[c:d] or "," in between or not re.search(r"[a-zà-ÿ]{4,}", between):
        return None
    if any(word in _CALENDAR for word in (text[a:b] + " " + text[c:d]).split()):
        return None
    return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]


def shorten(text: str) -> str:
    """Drop brackets and, where it reads well, what follows the first comma."""
    plain = re.sub(r"\s*\([^)]*\)", "", text)
    parts = re.split(r",\s+", plain)
    if len(parts) >= 2 and len(parts[0].split()) >= 6:
        return parts[0].rstrip(".") + "."
    if len(parts) == 2 and len(parts[1].split()) >= 7 and _INTRO.match(parts[0]):
        return parts[1][0].upper() + parts[1][1:]
    return plain


def add_detail(text: str, rng: random.Random, language: str, pool: list[str]) -> str | None:
    """Add a detail the document does not give."""
    name = rng.choice(pool)
    if name in text:
        return None
    joints = {
        "en": [
            " in {}",
            " with {}",
            ", according to {}",
            " together with {}",
            " at {}",
            ", funded by {}",
        ],
        "pt": [" em {}", " com {}", ", segundo {}", " junto com {}", ", com apoio de {}"],
    }
    return shorten(text).rstrip(".") + rng.choice(joints[language]).format(name) + "."


_KINDS = [
    ("same", 16),
    ("two", 6),
    ("reword", 10),
    ("number", 14),
    ("closed", 6),
    ("unit", 5),
    ("name", 13),
    ("roles", 5),
    ("negate", 7),
    ("oppose", 6),
    ("elsewhere", 6),
    ("far", 3),
    ("add", 6),
]


def make_claim(
    kind: str,
    document: list[str],
    i: int,
    span: tuple[int, int],
    pool: list[str],
    far: str,
    rng: random.Random,
    language: str,
) -> tuple[str | None, str]:
    """A claim of one kind about sentence ``i``, with its label.

    Args:
        kind: One of ``_KINDS``.
        document: All sentences.
        i: The sentence the claim is about.
        span: First and last + 1 of the sentences in the premise.
        pool: Names to use in place of others.
        far: A sentence from another document.
        rng: Source of chance.
        language: Language of the document.

    Returns:
        The claim, or None if the kind does not apply, and the label.
    """
    sentence = document[i]
    base = sentence if rng.random() < 0.5 else shorten(sentence)
    if kind == "same":
        return (sentence if rng.random() < 0.3 else shorten(sentence)), "entailment"
    if kind == "two":
        if i + 1 >= span[1]:
            return None, ""
        return shorten(sentence).rstrip(".") + ". " + shorten(document[i + 1]), "entailment"
    if kind == "reword":
        return reword_number(base, rng, language), "entailment"
    edits: dict[str, Edit] = {
        "number": swap_number,
        "closed": swap_closed,
        "unit": swap_unit,
        "negate": negate,
        "oppose": oppose,
    }
    if kind in edits:
        label = "not_entailment" if kind == "oppose" else "contradiction"
        return edits[kind](base, rng, language), label
    if kind == "name":
        return swap_name(base, rng, pool), "not_entailment"
    if kind == "roles":
        return swap_two_names(base, rng), "not_entailment"
    if kind == "add":
        return add_detail(sentence, rng, language, pool), "not_entailment"
    if kind == "far":
        return far, "neutral"
    outside = [j for j in range(len(document)) if not span[0] <= j < span[1]]
    outside = [j for j in outside if 6 <= len(document[j].split()) <= 45]
    return (document[rng.choice(outside)] if outside else None), "neutral"


def edit_pairs(texts: dict[str, list[list[str]]], count: int, rng: random.Random) -> Iterator[Pair]:
    """Draw edited pairs, about a quarter of them Portuguese.

    Args:
        texts: Documents as lists of sentences, per language.
        count: How many pairs.
        rng: Source of chance.

    Yields:
        Rows of the mix; the source names the edit.
    """
    every = {lang: [n for d in docs for n in proper_names(d[:6])] for lang, docs in texts.items()}
    made = 0
    while made < count:
        language = "pt" if texts.get("pt") and rng.random() < 0.25 else "en"
        document = rng.choice(texts[language])
        usable = [i for i, s in enumerate(document) if 6 <= len(s.split()) <= 45]
        if not usable or not every[language]:
            continue
        i = rng.choice(usable)
        room = rng.choice([0, 1, 1, 2, 2, 3, 4])
        start = max(0, i - rng.randint(0, room))
        span = (start, max(i + 1, min(len(document), start + room + 1)))
        premise = " ".join(document[span[0] : span[1]])
        if len(premise.split()) > 170:
            continue
        near = proper_names(document)
        pool = (
            near
            if len(set(near)) > 2 and rng.random() < 0.6
            else rng.sample(every[language], min(8, len(every[language])))
        )
        kind = rng.choices([k for k, _ in _KINDS], [w for _, w in _KINDS])[0]
        away = rng.choice(texts[language])
        far = rng.choice(away) if away and away is not document else ""
        claim, label = make_claim(kind, document, i, span, pool, far, rng, language)
        if (
            not claim
            or not 3 <= len(claim.split()) <= 80
            or (claim == document[i] and label != "entailment")
        ):
            continue
        if label != "entailment" and claim.lower().rstrip(".") in premise.lower():
            continue
        made += 1
        yield {
            "premise": premise,
            "hypothesis": claim,
            "label": label,
            "source": f"edit_{kind}_{language}",
        }
