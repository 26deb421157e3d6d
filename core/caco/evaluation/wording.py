"""Words for making claims wrong, or saying them in another form, in both languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["WORDING", "Wording"]


@dataclass(frozen=True)
class Wording:
    """The words of one language.

    Attributes:
        months: January to December.
        weekdays: Monday to Sunday.
        numbers: Words of the numbers from 3 on, none of which has a gender.
        units: Groups of units, each of which can stand where another of its group does.
        negation: The word that negates a verb.
        negated_after: True where that word follows the verb.
        verbs: Finite verbs that it negates.
        not_a_denial: What the word is part of without denying anything.
        percent: "%" in words.
        thousands: The mark between groups of three digits.
        date: A day, month and year in words, with the groups ``day``, ``month``, ``year``.
    """

    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    numbers: tuple[str, ...]
    units: tuple[tuple[str, ...], ...]
    negation: str
    negated_after: bool
    verbs: tuple[str, ...]
    not_a_denial: re.Pattern[str]
    percent: str
    thousands: str
    date: tuple[re.Pattern[str], ...]


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


_EN_MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
_PT_MONTHS = tuple(
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro".split()
)
_EN_MONTH = rf"(?P<month>{'|'.join(_EN_MONTHS)})"
_PT_MONTH = rf"(?P<month>{'|'.join(_PT_MONTHS)})"
_DAY, _YEAR = r"(?P<day>[1-9]|[12]\d|3[01])", r"(?P<year>1[5-9]\d\d|20\d\d)"

WORDING: Mapping[str, Wording] = MappingProxyType(
    {
        "english": Wording(
            months=_EN_MONTHS,
            weekdays=tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
            numbers=tuple(
                "three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
                "sixteen seventeen eighteen nineteen twenty".split()
            ),
            units=_groups(
                """
                thousand million billion trillion
                grams kilograms tonnes
                g kg mg
                metres kilometres miles
                meters kilometers miles
                m km cm
                feet inches yards
                litres millilitres
                liters milliliters gallons
                seconds minutes hours
                days weeks months years
                MB GB TB
                kW MW GW
                dollars euros pounds
                """
            ),
            negation="not",
            negated_after=True,
            verbs=tuple(
                "is are was were has have had can could will would should must does did do".split()
            ),
            not_a_denial=re.compile(r"\bnot (?:only|just|least|until)\b|\b(?:or|if|why) not\b"),
            percent="percent",
            thousands=",",
            date=(
                re.compile(rf"\b{_EN_MONTH} {_DAY}, {_YEAR}\b"),
                re.compile(rf"\b{_DAY} {_EN_MONTH} {_YEAR}\b"),
            ),
        ),
        "portuguese": Wording(
            months=_PT_MONTHS,
            weekdays=(
                *(f"{day}-feira" for day in "segunda terça quarta quinta sexta".split()),
                "sábado",
                "domingo",
            ),
            numbers=tuple(
                "três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze "
                "dezesseis dezessete dezoito dezenove vinte".split()
            ),
            units=_groups(
                """
                mil milhões bilhões
                gramas quilos toneladas
                g kg mg
                metros quilômetros milhas
                m km cm
                litros mililitros
                segundos minutos horas
                dias semanas meses anos
                MB GB TB
                kW MW GW
                reais dólares euros
                """
            ),
            negation="não",
            negated_after=False,
            verbs=tuple(
                "é são foi foram era eram está estão estava será serão tem têm tinha teve pode "
                "podem deve devem vai vão ficou fica há".split()
            ),
            not_a_denial=re.compile(r"\bnão (?:só|apenas|somente|obstante)\b|\b(?:ou|se) não\b"),
            percent="por cento",
            thousands=".",
            date=(re.compile(rf"\b{_DAY} de {_PT_MONTH} de {_YEAR}\b"),),
        ),
    }
)
