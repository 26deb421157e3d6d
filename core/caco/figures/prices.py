"""Prices of nothing ("free", "no charge", "gratuito"), and whether two prices are of one thing."""

from __future__ import annotations

import re
from bisect import bisect_left
from fractions import Fraction

from caco.figures.figure import Figure
from caco.figures.wording import Passage, stem

__all__ = ["PRICE_STEMS", "is_free", "same_offer", "with_free"]

_AFTER = r"(?=\s*$|\s*[.,;:!?)\]|\n]|\s(?:for|on|during|until|with|in|at|within|and|but|to)\s)"
_DEPOIS = (
    r"(?=\s*$|\s*[.,;:!?)\]|\n]|\s(?:para|por|pel[oa]s?|d[eoa]s?|[nd][oa]s?|em|com|até|e|mas)\s)"
)
_FREE = re.compile(
    rf"""
    (?<![-\w])free\sof\s(?:any\s)?(?:charge|cost)\b
  | \b(?:(?:at|for)\s)?no\s(?:charge|cost|fee){_AFTER}
  | \bwithout\s(?:any\s)?(?:charge|cost|fee){_AFTER}
  | \bcosts?\snothing\b
  | \bfor\sfree{_AFTER}
  | (?:(?<=\bis\s)|(?<=\bare\s)|(?<=\bwas\s)|(?<=\bwere\s)|(?<=\bbe\s)|(?<=\bremains\s)
      |(?<=\bremain\s)|(?<=\bcomes\s)|(?<=\bships\s)|(?<=\benter\s)|(?<=\badmission\s)
      |(?<=\bentry\s))
    (?:(?:completely|entirely|always|totally|absolutely|also|still)\s)?free
    (?=\s*$|\s*[.,;:!?)\]|\n]|\s(?:for|on|during|until|with|in|at|within|and|but)\s
      |\sto\s(?:use|download|join|enter|visit|attend|install|access|play|read|watch)\b)
  | (?<![-\w])free(?=\s(?:shipping|delivery|returns?|admission|entry|entrance|parking
      |installation|breakfast)\b)
  | (?:(?<=\bé\s)|(?<=\bsão\s)|(?<=\bfoi\s)|(?<=\bera\s)|(?<=\beram\s)|(?<=\bserá\s)|(?<=\bserão\s)
      |(?<=\bfica\s)|(?<=\bcontinua\s)|(?<=\bfrete\s)|(?<=\bentrega\s)|(?<=\bentrada\s)
      |(?<=\bestacionamento\s)|(?<=\binstalação\s)|(?<=\bdevolução\s)|(?<=\benvio\s))
    (?:(?:totalmente|sempre|inteiramente|completamente|também)\s)?(?:gratuit[oa]s?|franca){_DEPOIS}
  | \bgrátis{_DEPOIS} | \bde\sgraça{_DEPOIS} | \bgratuitamente{_DEPOIS}
  | \bsem\s(?:nenhum\s|qualquer\s)?(?:custo|cobrança){_DEPOIS}
  | \bnão\s(?:há|tem)\s(?:cobrança|custo|taxa){_DEPOIS}
  | \bnão\scustam?\snada\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HINTS = (
    "free", "no charge", "no cost", "no fee", "nothing", "without charge", "without cost",
    "without fee", "without any", "gratuit", "grátis", "graça", "franca", "sem custo",
    "sem cobrança", "sem nenhum", "sem qualquer", "não há c", "não há t", "não tem c", "não tem t",
    "não custa",
)  # fmt: skip
"""One of them is in every match of the pattern; looking for them is quick."""
_NEGATED = re.compile(
    r"(?:\b(?:not|never|no\slonger|não|nunca)|n['’]t)\s(?:\w+\s)?$", re.IGNORECASE
)
PRICE_STEMS = frozenset(
    stem(word) for word in "cost charge price custa cobrado cobrada tarifa cobrança comes".split()
)
"""What a price is said with; it tells nothing about what is priced."""
_PER_ITEM = frozenset(
    stem(word)
    for word in "order person parcel item customer pedido pessoa item cliente there".split()
)


def with_free(text: str, figures: tuple[Figure, ...]) -> tuple[Figure, ...]:
    """Return the figures with those that say "free" among them, as money of no currency."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return figures
    starts = [figure.start for figure in figures]
    added = []
    for found in _FREE.finditer(text):
        start, end = found.span()
        before = bisect_left(starts, end) - 1
        overlaps = before >= 0 and figures[before].end > start
        if overlaps or _NEGATED.search(text[max(0, start - 24) : start]):
            continue
        added.append(Figure("money", Fraction(0), None, found[0], start, end, None, Fraction(0)))
    return tuple(sorted((*figures, *added), key=lambda figure: figure.start)) if added else figures


def is_free(figure: Figure) -> bool:
    """Whether a figure is a price of nothing."""
    return figure.kind == "money" and figure.value == 0


def same_offer(claim: Passage, figure: Figure, evidence: Passage, other: Figure) -> bool:
    """Whether two prices are of the same thing and under no condition that only one names."""
    spans = claim.clause(figure.start), evidence.clause(other.start)
    if _has_others(claim, spans[0], figure) or _has_others(evidence, spans[1], other):
        return False
    mine, theirs = (
        {word.stem for word in passage.words_in(span, item)} - PRICE_STEMS - _PER_ITEM
        for passage, span, item in ((claim, spans[0], figure), (evidence, spans[1], other))
    )
    return bool(mine) and mine == theirs


def _has_others(passage: Passage, span: tuple[int, int], figure: Figure) -> bool:
    return any(
        span[0] <= item.start < span[1] for item in passage.figures_near(figure) if item != figure
    )
