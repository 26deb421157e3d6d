"""What the template generators share: labels, bilingual templates, Portuguese contractions."""

from __future__ import annotations

import random
from collections.abc import Callable

from facts import capital

Made = tuple[str, str, str]

Generator = Callable[[random.Random, str, str], Made]

ENT, CON, NEU, NOT = "entailment", "contradiction", "neutral", "not_entailment"

Both = dict[str, list[str]]


def both(en: str, pt: str) -> Both:
    """Templates of both languages, given with bars between them."""
    return {"en": en.split("|"), "pt": pt.split("|")}


def of_article(phrase: str) -> str:
    """Portuguese ``de`` before a phrase with an article: de + a = da."""
    for article, joined in (("a ", "da "), ("o ", "do "), ("as ", "das "), ("os ", "dos ")):
        if phrase.startswith(article):
            return joined + phrase[len(article) :]
    return "de " + phrase


def to_article(phrase: str) -> str:
    """Portuguese ``a`` before a phrase with an article: a + a = à."""
    if phrase.startswith("a "):
        return "à " + phrase[2:]
    return "ao " + phrase[2:] if phrase.startswith("o ") else "a " + phrase


def fill(template: str, **slots: str) -> str:
    """Fill a template; ``{X_de}`` and ``{X_a}`` contract with a Portuguese article."""
    full = dict(slots)
    for key, text in slots.items():
        full[f"{key}_de"] = of_article(text)
        full[f"{key}_a"] = to_article(text)
    text = template.format(**full).replace("..", ".")
    return ". ".join(capital(sentence) for sentence in text.split(". "))


def other(rng: random.Random, options: list[str], used: str) -> str:
    """Another option than the one used, if there is one."""
    rest = [o for o in options if o != used]
    return rng.choice(rest or options)


def paired(rng: random.Random, table: list[tuple[str, str]]) -> dict[str, str]:
    """One row of a table of (English, Portuguese) pairs, by language."""
    return dict(zip(("en", "pt"), rng.choice(table), strict=True))
