"""Template pairs: facts in prose, tables and key-value text, as statements and as answers.

``template_pairs`` draws from the fact bank and from the relation generators, in English, in
Portuguese and across the two, adds sentences about other things to the document, and dresses some
claims the way answers come (citation marks, bullets, bold type, chat).
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import facts
from facts import KINDS, Fact, Kind, capital, cell, say
from modality import hedges, instructions, opposites
from quantities import (
    change,
    comparison,
    exceptions,
    fractions,
    quantity_words,
    roughly,
    spelled,
    sums,
    superlative,
)
from relations import attribution, converses, order, pronouns, roles, two_hops
from templates import CON, ENT, NEU, Generator, Made
from values import Value
from wording import listed

Pair = dict[str, str]
LANGUAGES = [("en", "en", 45), ("pt", "pt", 33), ("en", "pt", 14), ("pt", "en", 8)]
"""Document language, claim language, weight."""

_CHAT = {
    "en": [
        "Sure! {}",
        "Good question. {}",
        "Yes, {}",
        "As far as I can see, {}",
        "According to the document, {}",
        "Well, {}",
        "Based on the text, {}",
        "Oh, I know this one: {}",
        "From what I read, {}",
    ],
    "pt": [
        "Claro! {}",
        "Boa pergunta. {}",
        "Sim, {}",
        "Pelo que vejo, {}",
        "Segundo o documento, {}",
        "Bem, {}",
        "De acordo com o texto, {}",
        "Ah, essa eu sei: {}",
        "Pelo que li, {}",
    ],
}
_MARKS = [
    "{} [1]",
    "{} [2]",
    "{} [1][3]",
    "{} (source 2)",
    "{}¹",
    "- {}",
    "* {}",
    "1. {}",
    "{} ✅",
    "• {}",
    "**{}**",
    "{} [doc 4]",
]
_QUESTION = {
    "en": [
        "Question: {q} Answer: {a}",
        "Question: {q}\nAnswer: {a}",
        "Q: {q} A: {a}",
        "{q} {a}",
        "{q} {a}",
        "{q}\n{a}",
    ],
    "pt": [
        "Pergunta: {q} Resposta: {a}",
        "Pergunta: {q}\nResposta: {a}",
        "P: {q} R: {a}",
        "{q} {a}",
        "{q} {a}",
        "{q}\n{a}",
    ],
}


_STARTERS = set(
    listed(
        "The O A In Em At As On Of By It There You Use Order Call Contact Sales Attendance "
        "Revenue Doors Customers Staff Each Developing Founded Adults Leave Opening Requests "
        "Entre Com Por Há Foram Funcionam Trabalham Compareceram Iluminam Adultos Peça Ligue "
        "Escreva Criada Quem Clientes Pagar Espere No Um São Entry"
    )
)
"""First words of statements that are no names."""


def lowered(text: str) -> str:
    """Lower the first letter when the sentence does not start with a name."""
    return text[0].lower() + text[1:] if text.split()[0] in _STARTERS else text


def prose(rng: random.Random, told: list[Fact], language: str) -> tuple[str, dict[int, str]]:
    """The facts as sentences; also the template used for each."""
    parts, used = [], {}
    for i, one in enumerate(told):
        sentence, used[i], _ = say(rng, one, language)
        parts.append(sentence)
    return " ".join(parts), used


def key_values(rng: random.Random, told: list[Fact], kind: Kind, language: str) -> str:
    """The facts as ``Key: value`` lines, one block per thing."""
    blocks: dict[str, list[str]] = {}
    style = rng.choice(["{}: {}", "{}: {}", "**{}:** {}", "- {}: {}", "{} = {}", "{} – {}"])
    for one in told:
        blocks.setdefault(one.thing, []).append(
            style.format(one.attribute.key[language], cell(rng, one.value, language))
        )
    joint = rng.choice(["\n", "\n", ". ", "; ", " | "])
    name = {"en": "Name", "pt": "Nome"}[language]
    head = rng.choice(["{}", "# {}", name + ": {}", capital(kind.noun[language]) + ": {}"])
    return "\n".join(
        head.format(thing) + joint + joint.join(lines) for thing, lines in blocks.items()
    )


def table(rng: random.Random, told: list[Fact], kind: Kind, language: str) -> str:
    """The facts as a table: Markdown, comma-separated, or one line per row."""
    columns = list(dict.fromkeys(one.attribute.key[language] for one in told))
    rows: dict[str, dict[str, str]] = {}
    for one in told:
        rows.setdefault(one.thing, {})[one.attribute.key[language]] = cell(rng, one.value, language)
    first = capital(kind.noun[language])
    lines = [[thing, *(row.get(c, "-") for c in columns)] for thing, row in rows.items()]
    style = rng.random()
    if style < 0.55:
        head = ["| " + " | ".join([first, *columns]) + " |", "|" + "---|" * (len(columns) + 1)]
        return "\n".join(head + ["| " + " | ".join(line) + " |" for line in lines])
    if style < 0.75:
        mark = rng.choice([";", "\t", " | "])
        return "\n".join(mark.join(line) for line in [[first, *columns], *lines])
    return "\n".join(
        "; ".join(f"{c}: {x}" for c, x in zip([first, *columns], line, strict=True)) + "."
        for line in lines
    )


def wrong_value(rng: random.Random, one: Fact, told: list[Fact]) -> Value:
    """A wrong value: that of a similar thing in the document, or one near the right one."""
    rivals = [
        other.value
        for other in told
        if other.thing != one.thing
        and other.attribute is one.attribute
        and not one.value.clashes(other.value)
    ]
    if rivals and rng.random() < 0.6:
        return rng.choice(rivals)
    return rng.choice(one.wrong)


def phrase(
    rng: random.Random, one: Fact, language: str, value: Value, template: str, right: bool
) -> str:
    """A claim about a fact: a sentence, a chat answer, or a question with its answer."""
    kind = rng.random()
    sentence = say(rng, one, language, value, avoid=template, coarse=right)[0]
    if kind < 0.62:
        return sentence
    if kind < 0.74:
        shown = rng.choice(_CHAT[language])
        return shown.format(
            lowered(sentence)
            if not shown.startswith(("Sure", "Good", "Claro", "Boa"))
            else sentence
        )
    question = rng.choice(one.attribute.asks[language]).format(e=one.thing)
    short = rng.choice((value.bare or value.forms)[language] + value.forms[language])
    answer = rng.choice([capital(short), capital(short) + ".", short, sentence])
    return rng.choice(_QUESTION[language]).format(q=question, a=answer)


def _document(
    rng: random.Random, told: list[Fact], kind: Kind, lp: str
) -> tuple[str, dict[int, str]]:
    """Lay the facts out as prose, key-value text or a table."""
    layout = rng.random()
    if layout < 0.56:
        return prose(rng, told, lp)
    if layout < 0.76:
        return key_values(rng, told, kind, lp), {}
    return table(rng, told, kind, lp), {}


def fact_pair(rng: random.Random, lp: str, lh: str) -> Made:
    """A document with facts about one to four things, and a claim about one of them."""
    kind = rng.choice(KINDS)
    count = rng.choice([1, 1, 2, 2, 3, 4])
    named = facts.things(rng, kind, count + 1)
    spare = named.pop()
    attributes = rng.sample(kind.attributes, rng.randint(1, 4 if count < 3 else 2))
    told = [facts.fact(rng, thing, a) for thing in named for a in attributes]
    rng.shuffle(told)
    if count > 1 and rng.random() < 0.3 and len(told) > 2:
        told = told[: max(2, len(told) * 2 // 3)]
    document, used = _document(rng, told, kind, lp)
    i = rng.randrange(len(told))
    one, template = told[i], used.get(i, "") if lp == lh else ""
    label = rng.choices([ENT, CON, NEU], [46, 36, 18])[0]
    if label == ENT:
        return document, phrase(rng, one, lh, one.value, template, True), ENT
    if label == CON:
        return document, phrase(rng, one, lh, wrong_value(rng, one, told), template, False), CON
    known = {(f.thing, f.attribute.key["en"]) for f in told}
    unknown = [(t, a) for t in named for a in kind.attributes if (t, a.key["en"]) not in known]
    thing, attribute = (
        rng.choice(unknown) if unknown and rng.random() < 0.7 else (spare, one.attribute)
    )
    value = one.value if thing == spare and rng.random() < 0.5 else attribute.make(rng)[0]
    claim = facts.Fact(thing, attribute, value, [])
    return document, phrase(rng, claim, lh, value, "", False), NEU


def compound_pair(rng: random.Random, lp: str, lh: str) -> Made:
    """A claim of two parts: both right, or one right and one wrong or not told."""
    kind = rng.choice(KINDS)
    named = facts.things(rng, kind, rng.choice([1, 2, 2]))
    attributes = rng.sample(kind.attributes, min(len(kind.attributes), rng.randint(3, 4)))
    hidden = attributes.pop()
    told = [facts.fact(rng, thing, a) for thing in named for a in attributes]
    rng.shuffle(told)
    document, _ = _document(rng, told, kind, lp)
    subject = rng.choice(named)
    one, two = rng.sample([f for f in told if f.thing == subject], 2)
    label = rng.choices([ENT, CON, NEU], [45, 30, 25])[0]
    parts = [say(rng, one, lh, coarse=True)[0]]
    if label == ENT:
        parts.append(say(rng, two, lh, coarse=True)[0])
    elif label == CON:
        parts.append(say(rng, two, lh, wrong_value(rng, two, told))[0])
    else:
        parts.append(say(rng, facts.fact(rng, subject, hidden), lh)[0])
    rng.shuffle(parts)
    joint = {
        "en": [", and ", "; ", ", while ", " and "],
        "pt": [", e ", "; ", ", enquanto ", " e "],
    }[lh]
    if rng.random() < 0.35:
        return document, " ".join(parts), label
    return document, parts[0].rstrip(".") + rng.choice(joint) + lowered(parts[1]), label


GENERATORS: list[tuple[Generator, float]] = [
    (roles, 3),
    (converses, 3),
    (order, 2.5),
    (quantity_words, 3),
    (exceptions, 1),
    (comparison, 3),
    (superlative, 2),
    (sums, 2.5),
    (change, 2),
    (fractions, 1),
    (roughly, 1.5),
    (hedges, 2),
    (instructions, 2),
    (pronouns, 2.5),
    (two_hops, 2.5),
    (opposites, 2),
    (attribution, 1.5),
    (spelled, 1.5),
]
"""Every relation generator with its weight."""


def filler(rng: random.Random, language: str) -> str:
    """A sentence about something else."""
    kind = rng.choice(KINDS)
    return say(rng, facts.fact(rng, kind.name(rng), rng.choice(kind.attributes)), language)[0]


def surrounded(rng: random.Random, document: str, language: str) -> str:
    """The document with sentences about other things around it."""
    joint = "\n" if "\n" in document else " "
    parts = [document]
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3, 5])):
        parts.insert(rng.choice([0, len(parts)]), filler(rng, language))
    return joint.join(parts)


def dressed(rng: random.Random, claim: str) -> str:
    """Sometimes add a citation mark, a bullet or bold type, or drop the full stop."""
    kind = rng.random()
    if kind < 0.08:
        return rng.choice(_MARKS).format(claim)
    if kind < 0.14:
        return claim.rstrip(".")
    if kind < 0.16:
        return claim.lower()
    return claim


def template_pairs(count: int, rng: random.Random) -> Iterator[Pair]:
    """Draw template pairs, no two alike.

    Args:
        count: How many.
        rng: Source of chance.

    Yields:
        Rows of the mix; the source names the generator.
    """
    makers = [(fact_pair, 26.0), (compound_pair, 7.0), *GENERATORS]
    seen: set[tuple[str, str]] = set()
    while len(seen) < count:
        lp, lh, _ = rng.choices(LANGUAGES, [row[2] for row in LANGUAGES])[0]
        maker = rng.choices([m for m, _ in makers], [w for _, w in makers])[0]
        document, claim, label = maker(rng, lp, lh)
        key = (document, claim)
        if key in seen:
            continue
        seen.add(key)
        yield {
            "premise": surrounded(rng, document, lp),
            "hypothesis": dressed(rng, claim),
            "label": label,
            "source": f"template_{maker.__name__}_{lp}_{lh}",
        }
