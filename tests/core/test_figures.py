"""Figures: finding them, equal values in other notation, differences, derived values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from caco.figures import (
    Comparison,
    Figure,
    Mismatch,
    compare,
    describe,
    equal,
    find_figures,
    is_total,
    misattributed,
)
from caco.figures.figure import Day

LANGUAGES = {"en": "english", "pt": "portuguese"}


def figures(text: str, language: str = "en") -> list[tuple[str, str]]:
    return [(figure.kind, figure.text) for figure in find_figures(text, LANGUAGES[language])]


def only(text: str, language: str = "en") -> Figure:
    (figure,) = find_figures(text, LANGUAGES[language])
    return figure


def differences(claim: str, evidence: str, language: str) -> list[tuple[str, str]]:
    found = compare(claim, evidence, LANGUAGES[language]).mismatches
    return [(item.claim.text, item.evidence.text) for item in found]


# --- what is found -------------------------------------------------------------------------------

FOUND = [
    ("en", "It has 17 members.", [("number", "17")]),
    ("en", "It has seventeen members.", [("number", "seventeen")]),
    ("en", "It seats 48,500 people.", [("number", "48,500")]),
    ("pt", "Comporta 48.500 pessoas.", [("number", "48.500")]),
    ("en", "A 12-megapixel sensor", [("quantity", "12-megapixel")]),
    ("en", "It weighs 1.8 kg and is 30 cm tall.", [("quantity", "1.8 kg"), ("quantity", "30 cm")]),
    ("en", "It costs $4.2 million.", [("money", "$4.2 million")]),
    ("en", "It costs £28million or US$5bn.", [("money", "£28million"), ("money", "US$5bn")]),
    ("pt", "Custa R$ 1.250,00.", [("money", "R$ 1.250,00")]),
    ("pt", "São 4 milhões de reais.", [("money", "4 milhões de reais")]),
    ("pt", "Custou R$ 50 mil.", [("money", "R$ 50 mil")]),
    ("pt", "Perdeu 11 mil milhões de euros.", [("money", "11 mil milhões de euros")]),
    ("en", "Up 3 percentage points, or 25%.", [("percentage_point", "3 percentage points"),
                                              ("percent", "25%")]),
    ("pt", "Caiu 1,5 ponto percentual.", [("percentage_point", "1,5 ponto percentual")]),
    ("en", "Rates rose 25 basis points.", [("percentage_point", "25 basis points")]),
    ("en", "Half of them left.", [("percent", "Half")]),
    ("pt", "A metade dos alunos saiu.", [("percent", "metade")]),
    ("en", "Two thirds of them left.", [("percent", "Two thirds")]),
    ("en", "On 17 March 2025 at 18:00", [("date", "17 March 2025"), ("time", "18:00")]),
    ("en", "On March 17, 2025", [("date", "March 17, 2025")]),
    ("pt", "Em 17/03/2025", [("date", "17/03/2025")]),
    ("en", "On 2025-03-17", [("date", "2025-03-17")]),
    ("pt", "Em 3 de novembro de 2023", [("date", "3 de novembro de 2023")]),
    ("en", "In Jan. 2020", [("date", "Jan. 2020")]),
    ("en", "It may rise in May.", [("date", "May")]),
    ("en", "They march in step.", []),
    ("en", "Open on Fridays.", [("date", "Fridays")]),
    ("pt", "Fecha às terças-feiras.", [("date", "terças-feiras")]),
    ("en", "Founded in 1987.", [("year", "1987")]),
    ("en", "Music of the 1990s", [("year", "1990s")]),
    ("pt", "Nos anos 90", [("year", "anos 90")]),
    ("en", "They sold 1987 tickets.", [("number", "1987")]),
    ("en", "It opens at 6 p.m. daily.", [("time", "6 p.m.")]),
    ("pt", "Abre às 14h30 e fecha às 18h.", [("time", "14h30"), ("time", "18h")]),
    ("pt", "Das 9h às 17h", [("time", "9h"), ("time", "17h")]),
    ("pt", "A bateria dura 14h em uso.", [("quantity", "14h")]),
    ("pt", "Ao meio-dia", [("time", "meio-dia")]),
    ("en", "the 2nd and the third", [("ordinal", "2nd"), ("ordinal", "third")]),
    ("en", "the thirty-seventh president", [("ordinal", "thirty-seventh")]),
    ("pt", "no século XIX", [("ordinal", "XIX")]),
    ("en", "Fixed in v2.3.1.", [("version", "v2.3.1")]),
    ("en", "Needs Python 3.11 now.", [("version", "3.11")]),
    ("en", "Write to tech@a.example.", [("identifier", "tech@a.example")]),
    ("en", "See https://a.example/v3/api.", [("identifier", "https://a.example/v3/api")]),
    ("pt", "Ligue 0800 555 0124.", [("identifier", "0800 555 0124")]),
    ("en", "The `--timeout` flag", [("identifier", "--timeout")]),
    ("en", "Edit config.yaml first", [("identifier", "config.yaml"), ("ordinal", "first")]),
    ("en", "Part AB-1234 of the X200", [("identifier", "AB-1234"), ("identifier", "X200")]),
    ("en", "The Trailway 40 backpack", [("identifier", "Trailway 40")]),
    ("en", "It is in Room 204.", [("identifier", "Room 204")]),
    ("en", "It is in Room 2010.", [("identifier", "Room 2010")]),
    ("en", "The Tokyo 2020 final", [("year", "2020")]),
    ("pt", "A Lei nº 13.709 e o art. 5.º", [("identifier", "nº 13.709"),
                                            ("identifier", "art. 5.º")]),
    ("pt", "CPF 123.456.789-09", [("identifier", "123.456.789-09")]),
    ("en", "an hour and a half", [("quantity", "an hour and a half")]),
    ("en", "2 hours and 30 minutes", [("quantity", "2 hours and 30 minutes")]),
    ("en", "2 hours and 0.5 hours", [("quantity", "2 hours"), ("quantity", "0.5 hours")]),
    ("en", "half an hour, a dozen eggs", [("quantity", "half an hour"), ("number", "a dozen")]),
    ("pt", "meia dúzia de ovos, meia hora", [("number", "meia dúzia"), ("quantity", "meia hora")]),
    ("pt", "em até 10 dias úteis", [("quantity", "10 dias úteis")]),
    ("en", "minus -5 °C outside", [("quantity", "-5 °C")]),
    ("en", "between 15 and 30 °C", [("quantity", "15"), ("quantity", "30 °C")]),
    ("en", "$4 to 5 million", [("money", "$4"), ("money", "5 million")]),
    # Articles, pronouns, idioms, markers.
    ("en", "One of them said no one knew.", []),
    ("pt", "Um deles viu uma casa.", []),
    ("pt", "Segundo o relatório, um dia ele volta.", []),
    ("en", "One day a year passes.", []),
    ("en", "one hour, one million", [("quantity", "one hour"), ("number", "one million")]),
    ("en", "1. Switch it off.\n2) Wait.", []),
    ("en", "It works [1], they say [2, 3].", []),
    ("pt", "O parque abre (Fonte: d1).", []),
    ("en", "mid-2015", [("year", "2015")]),
    ("pt", "um quarto da casa", []),
    ("en", "", []),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), FOUND)
def test_finds_figures(language: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert figures(text, language) == expected


VALUES = [
    ("en", "two hundred and five", Fraction(205), None),
    ("en", "one thousand two hundred", Fraction(1200), None),
    ("en", "three million", Fraction(3_000_000), None),
    ("en", "two and a half million", Fraction(2_500_000), None),
    ("en", "two million and a half", Fraction(2_500_000), None),
    ("pt", "mil e duzentos", Fraction(1200), None),
    ("pt", "vinte e um", Fraction(21), None),
    ("pt", "dois mil e vinte e quatro", Fraction(2024), None),
    ("pt", "cento e vinte mil", Fraction(120_000), None),
    ("en", "nineteen ninety-eight", 1998, None),
    ("en", "4.2 billion", Fraction(4_200_000_000), None),
    ("pt", "3,5 bi", Fraction(3_500_000_000), None),
    ("en", "250 µg", Fraction(25, 100_000), "g"),
    ("en", "18 miles", Fraction(18 * 1609344, 1000), "m"),
    ("en", "2 weeks", Fraction(14 * 86400), "s"),
    ("en", "2 years", Fraction(24), "month"),
    ("en", "212 °F", Fraction(100), "°C"),
    ("en", "60 km/h", Fraction(50, 3), "m/s"),
    ("en", "€1,450", Fraction(1450), "EUR"),
    ("en", "50 cents", Fraction(50), "cent"),
    ("en", "½ kg", Fraction(500), "g"),
    ("en", "1½ kg", Fraction(1500), "g"),
    ("pt", "agosto de 2018", Day(2018, 8), None),
    ("en", "5 May", Day(None, 5, 5), None),
    ("en", "12 a.m.", 0, None),
    ("en", "12:30 pm", 750, None),
    ("pt", "7 da noite", 19 * 60, None),
]


@pytest.mark.parametrize(("language", "text", "value", "unit"), VALUES)
def test_normalises(language: str, text: str, value: object, unit: str | None) -> None:
    figure = only(text, language)
    assert (figure.value, figure.unit) == (value, unit)


# --- equality ------------------------------------------------------------------------------------

EQUAL = [
    ("48,500", "48500"), ("48,500", "48.500"), ("12,500 euros", "12.500 euros"),
    ("R$ 1.250,00", "R$ 1250"), ("17", "seventeen"), ("17", "dezessete"), ("24", "vinte e quatro"),
    ("2 weeks", "14 days"), ("90 minutes", "an hour and a half"), ("1.4 kW", "1,400 W"),
    ("1 year", "12 months"), ("dois anos", "24 months"), ("2,5 mg", "2.5 milligrams"),
    ("250 µg", "250 micrograms"), ("0.25 mg", "250 mcg"), ("1.5 litres", "1500 ml"),
    ("10 pés", "10 feet"), ("0.5", "50%"), ("half", "50%"), ("metade", "50%"),
    ("25 basis points", "0.25 percentage points"), ("5 million dollars", "$5m"),
    ("R$ 2 milhões", "R$ 2.000.000"), ("£5k", "5,000 pounds sterling"), ("a dozen", "12"),
    ("meia dúzia", "six"), ("2018", "14 August 2018"), ("August 2018", "14 August 2018"),
    ("17 March 2025", "March 17, 2025"), ("17 March 2025", "2025-03-17"),
    ("3 de novembro de 2023", "November 3, 2023"), ("03/04/2025", "3 April 2025"),
    ("03/04/2025", "4 March 2025"), ("Friday", "14 March 2025"), ("1990s", "1994"),
    ("1990s", "14 March 1994"),
    ("18:00", "6 p.m."), ("14h", "14:00"), ("14h30", "2:30 pm"), ("6:00", "18:00"),
    ("noon", "12:00"), ("meia-noite", "0:00"), ("3rd", "third"), ("2º", "second"),
    ("19th", "século XIX"), ("v2.3.1", "2.3.1"), ("0800 555 0124", "0800-555-0124"),
    ("https://a.example/", "http://www.a.example"), ("AB-1234", "AB1234"),
    ("TECH@a.example", "tech@a.example"), ("1 ton", "1 tons"), ("6 feet 2 inches", "74 inches"),
    ("1 kWh", "1000 Wh"), ("4 GB", "4000 MB"), ("two thirds of", "2/3"),
]  # fmt: skip
UNEQUAL = [
    ("1,200", "12,000"), ("34", "43"), ("$4.2 million", "$4.2 billion"), ("£1,450", "€1,450"),
    ("250 mg", "250 µg"), ("18 miles", "18 km"), ("2.5 mg", "25 mg"), ("1.5", "15"),
    ("3 percentage points", "3%"), ("10 dias úteis", "10 dias"), ("30 days", "1 month"),
    ("17 March 2025", "17 May 2025"), ("2018", "14 August 2016"), ("Friday", "15 March 2025"),
    ("January", "2025"), ("18:00", "19:00"), ("6 a.m.", "6 p.m."), ("v2.3.1", "v2.3.0"),
    ("3rd", "3"), ("0800 555 0124", "0800 555 0142"), ("AB-1234", "AB-1243"), ("50 kg", "50 lb"),
    ("30 °C", "30 °F"), ("1990s", "2001"), ("2 thousand", "2 million"), ("4 GB", "4 GiB"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_in_other_notation(one: str, other: str) -> None:
    first, second = only(f"({one})"), only(f"({other})")
    assert equal(first, second)
    assert equal(second, first)


@pytest.mark.parametrize(("one", "other"), UNEQUAL)
def test_unequal(one: str, other: str) -> None:
    first, second = only(f"({one})"), only(f"({other})")
    assert not equal(first, second)
    assert not equal(second, first)


def test_language_decides_an_ambiguous_notation_first() -> None:
    assert only("1.200", "en").value == Fraction(12, 10)
    assert only("1.200", "pt").value == 1200
    assert only("03/04/2025", "en").value == Day(2025, 3, 4)
    assert only("03/04/2025", "pt").value == Day(2025, 4, 3)


# --- differences ---------------------------------------------------------------------------------

DIFFERENT = [
    ("en", "The tank holds 45 litres.", "The tank holds 30 litres.", "45 litres", "30 litres"),
    ("en", "The sensor has 12 megapixels.", "It has a 24-megapixel sensor.", "12 megapixels",
     "24-megapixel"),
    ("en", "The board has 17 members.", "The board has twelve members.", "17", "twelve"),
    ("en", "The law was created in 2015 in Recife.", "The law was enacted on August 14, 2018.",
     "2015", "August 14, 2018"),
    ("en", "Revenue was $4.2 million.", "Revenue was $4.2 billion; costs were $3.1 billion.",
     "$4.2 million", "$4.2 billion"),
    ("en", "Take one 250 milligram tablet.", "Take one 250 microgram tablet.", "250 milligram",
     "250 microgram"),
    ("en", "The licence costs €1,450.", "The licence costs £1,450.", "€1,450", "£1,450"),
    ("en", "Margins rose by 25 percentage points.",
     "Margins rose by 3 percentage points, a relative increase of 25%.", "25 percentage points",
     "3 percentage points"),
    ("en", "Unemployment fell by 3%.", "Unemployment fell by 3 percentage points.", "3%",
     "3 percentage points"),
    ("en", "The call is open until 17 May 2025.", "The call is open until 17 March 2025.",
     "17 May 2025", "17 March 2025"),
    ("en", "Doors open at 7 p.m.", "Doors open at 18:00.", "7 p.m.", "18:00"),
    ("en", "Claims are due within 30 days of return.", "Submit the claim within 14 days of return.",
     "30 days", "14 days"),
    ("en", "The plan costs 999 credits.", "The plan costs 899 credits.", "999", "899"),
    ("en", "It ships with v3.2 firmware.", "It ships with v3.1 firmware.", "v3.2", "v3.1"),
    ("en", "Write to help@a.example for refunds.", "For refunds write to desk@a.example.",
     "help@a.example", "desk@a.example"),
    ("en", "The pool opens on Monday.", "The pool opens on Tuesday.", "Monday", "Tuesday"),
    ("en", "The museum closes in October.", "The museum closes in November.", "October",
     "November"),
    ("en", "The shed is 40 feet long.", "The shed is 40 metres long.", "40 feet", "40 metres"),
    ("en", "More than 500 people work there.", "Exactly 480 people work there.", "500", "480"),
    ("en", "The trial lasts up to 60 days.", "The trial lasts up to 30 days.", "60 days",
     "30 days"),
    ("en", "The price fell by 40%.", "The price fell by 15%.", "40%", "15%"),
    ("en", "The kit includes 12 bolts in total.",
     "The kit includes 4 short bolts. The kit also includes 6 long bolts.", "12",
     "4 short bolts. The kit also includes 6"),
    ("en", "The Orion 5 drone flies for 43 minutes.", "The Orion 5 drone flies for 34 minutes.",
     "43 minutes", "34 minutes"),
    ("en", "The Pro plan costs $35.", "The Basic plan costs $10. The Pro plan costs $25.", "$35",
     "$25"),
    ("en", "It was released after 2010.", "It was released in 2008.", "2010", "2008"),
    ("pt", "A garantia é de 24 meses.", "A garantia é de 12 meses.", "24 meses", "12 meses"),
    ("pt", "A dose inicial é de 25 mg.", "A dose inicial é de 2,5 mg.", "25 mg", "2,5 mg"),
    ("pt", "A trilha tem 18 milhas.", "A trilha tem 18 quilômetros.", "18 milhas",
     "18 quilômetros"),
    ("pt", "A lei foi sancionada em agosto de 2016.", "A lei foi sancionada em agosto de 2018.",
     "agosto de 2016", "agosto de 2018"),
    ("pt", "A reunião será no dia 15 de setembro.", "A reunião será no dia 5 de setembro.",
     "15 de setembro", "5 de setembro"),
    ("pt", "O check-in começa às 16h.", "O check-in começa às 14h e o check-out vai até as 11h.",
     "16h", "14h"),
    ("pt", "A taxa custa R$ 80.", "A taxa custa R$ 120,00.", "R$ 80", "R$ 120,00"),
    ("pt", "O comitê tem sete membros.", "O comitê tem nove membros.", "sete", "nove"),
    ("pt", "O desemprego caiu 2%.", "O desemprego caiu 3%.", "2%", "3%"),
    ("pt", "O telefone da central é 0800 555 0124.", "O telefone da central é 0800 555 0142.",
     "0800 555 0124", "0800 555 0142"),
    ("pt", "O museu fecha às terças-feiras.", "The museum is closed on Mondays.", "terças-feiras",
     "Mondays"),
    ("en", "The Pro plan costs $15.", "The Basic plan costs $10. The Pro plan costs $25.", "$15",
     "$25"),
    ("en", "It runs until 17 May 2025.", "It runs until 17 June 2025.", "17 May 2025",
     "17 June 2025"),
    ("pt", "O orçamento é de R$ 90 mil.", "O orçamento é de R$ 90 milhões.", "R$ 90 mil",
     "R$ 90 milhões"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "claim", "evidence", "mine", "theirs"), DIFFERENT)
def test_reports_a_difference(
    language: str, claim: str, evidence: str, mine: str, theirs: str
) -> None:
    assert differences(claim, evidence, language) == [(mine, theirs)]


MATCHED = [
    ("en", "It has 17 members.", "It has seventeen members."),
    ("en", "It opened in 2018.", "It opened on 14 August 2018."),
    ("en", "It takes two weeks.", "It takes 14 days."),
    ("en", "The tour lasts an hour and a half.", "The tour lasts 90 minutes."),
    ("en", "It was fixed in v2.3.0.", "v2.3.0 fixes it."),
    ("en", "The population is 81,400.", "City: Arden; Population: 81400"),
    ("en", "The tank holds 30 litres.", "Tank (litres): 30"),
    ("en", "The Trailway 40 backpack is grey.", "The Trailway 40 is a grey backpack."),
    ("pt", "Pague em 24 parcelas.", "Pague em vinte e quatro parcelas."),
    ("pt", "A taxa é de 12.500 euros.", "The fee is 12,500 euros."),
    ("pt", "Fica na sala 204.", "It is in Room 204."),
    # Announced rounding and bounds.
    ("en", "About 500 people work there.", "The site employs 487 people."),
    ("en", "Nearly 70% of costs are routine.", "Routine work takes 69 percent of costs."),
    ("en", "It seats over 48,000 spectators.", "It seats 48,500 spectators."),
    ("en", "He arrested over a thousand suspects.", "He arrested more than 1,200 suspects."),
    ("en", "Fewer than 100 staff were hired.", "It hired 88 staff."),
    ("en", "The town has 4.2 million people.", "The town has 4,213,567 people."),
    ("en", "It rose 5%.", "It rose 4.8%."),
    ("en", "At least 20 people came.", "It drew 31 people."),
    ("en", "It was released after 2010.", "It was released on March 20, 2015."),
    ("en", "He worked there in 2004.", "He worked there from 1997 to 2008."),
    ("pt", "Cerca de 500 pessoas trabalham lá.", "Lá trabalham 512 pessoas."),
    ("pt", "Mais de 48 mil pessoas foram.", "Foram 48.500 pessoas."),
    ("pt", "Há ventos superiores a 300 km/h.", "Há ventos na ordem dos 325 km/h."),
    # Ranges.
    ("en", "Store it at 20 °C.", "Store it at 15 to 30 °C."),
    ("pt", "Guarde a 20 °C.", "Guarde entre 15 °C e 30 °C."),
    # Arithmetic.
    ("en", "The offices employ 23 engineers.",
     "Lisbon employs 14 engineers. Porto employs 9 engineers."),
    ("en", "There are four boats on the lake.", "A large boat is surrounded by three small boats."),
    ("en", "They score 6 points on average.", "Ann: 4 points. Bob: 5 points. Cy: 9 points."),
    ("en", "It was founded in 2012.", "It was founded after 2010."),
    ("en", "It lost 5 members.", "It had 17 members, then 12 members."),
    ("en", "Sales rose by 25%.", "Sales rose from $12m to $15m."),
    ("en", "A third of the pupils left.", "33.33% of the pupils left."),
    ("en", "33% of the pupils left.", "A third of the pupils left."),
    ("en", "The war lasted 6 years.", "The war began in 1939 and ended in 1945."),
    ("en", "The shop is open for 9 hours.", "The shop is open from 8:00 to 17:00."),
    ("en", "The annual fee is $120.", "The fee is $10 for each of the 12 months."),
    ("en", "It won the title in 2000.", "It started in 1999 and won the title the following year."),
    ("en", "It has three floors.", "Its floors are the ground, the first and the second."),
    ("en", "The list has 4 steps.", "- mix\n- knead\n- rest\n- bake"),
    ("pt", "São 23 engenheiros ao todo.", "Lisboa tem 14 engenheiros e o Porto, 9 engenheiros."),
    ("pt", "A receita cresceu 25%.", "A receita passou de R$ 12 milhões para R$ 15 milhões."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "claim", "evidence"), MATCHED)
def test_equal_or_derived_is_matched(language: str, claim: str, evidence: str) -> None:
    found = compare(claim, evidence, LANGUAGES[language])
    assert found.mismatches == ()
    assert found.matched
    assert found.unmatched == ()


SILENT = [
    # Something else is measured.
    ("en", "The museum has 12 employees.", "The museum has 30 rooms."),
    ("en", "The battery lasts 10 hours.", "The case weighs 2 kg."),
    ("en", "It was founded in 1998.", "It moved to Leeds in 2003."),
    ("en", "The CEO was born in 1970.", "The CEO joined in 2005."),
    ("en", "The Lagos office moved in 2021.", "Bake for 35 minutes at 180 °C."),
    ("en", "The box is 5 kg.", "The box is 3 m."),
    ("en", "The level of noise is 60.", "The level of light is 80."),
    # Someone else is spoken of.
    ("en", "The Porto office employs 11 engineers.", "The Lisbon office employs 14 engineers."),
    ("en", "The enterprise plan costs $100.", "The basic plan costs $10."),
    ("en", "The new filter lasts 5 months.", "The old filter lasts 3 months."),
    ("en", "Second-quarter sales were $5m.", "Sales in the first quarter were $7m."),
    ("en", "The rent in Porto is $900.", "The rent is $700 downtown."),
    ("en", "In 2020 the fee was $10 and in 2021 the fee was $15.", "In 2020 the fee was $10."),
    # More than one candidate.
    ("en", "The lunch plan costs $40.", "The plan costs $10 a day or $25 a week."),
    # Other figures than amounts.
    ("en", "The Mira 3 is a projector.", "The Mira 2 is a projector."),
    ("en", "Use the --force flag.", "Use the --quiet flag."),
    ("en", "She was the first woman to win.", "She was the 37th woman to win."),
    # Parts of a whole, comparisons, cut numbers.
    ("en", "One of the 3 pumps failed.", "The pumps failed 5 times."),
    ("en", "The Vento has 5 more buttons.", "The Vento has 12 buttons."),
    ("en", "It was right in 98.7% of cases.", "It was right in 98. 7% of cases."),
    # Months and days that come to the same.
    ("en", "The notice period is 30 days.", "The notice period is one month."),
    ("pt", "A filial tem 95 funcionários.", "A matriz ocupa 320 metros quadrados."),
    ("pt", "O prazo é de 10 dias.", "A multa é de R$ 30."),
    ("pt", "O plano anual custa R$ 90.", "O plano mensal custa R$ 10."),
    # List numbers and citation markers are not figures.
    ("en", "3. Hold the button [1].", "Hold the button [2]."),
]


@pytest.mark.parametrize(("language", "claim", "evidence"), SILENT)
def test_no_difference_in_doubt(language: str, claim: str, evidence: str) -> None:
    assert differences(claim, evidence, language) == []
    assert misattributed(claim, evidence, LANGUAGES[language]) is None


def test_each_figure_has_one_outcome_in_order() -> None:
    found = compare(
        "Room 204 has 30 seats, costs $40 and was built in 1990.",
        "Room 204 has 45 seats and costs $40.",
        "english",
    )
    assert [item.claim.text for item in found.mismatches] == ["30"]
    assert [figure.text for figure in found.matched] == ["Room 204", "$40"]
    assert [figure.text for figure in found.unmatched] == ["1990"]


def test_no_figures_nothing_to_compare() -> None:
    assert compare("It is red.", "It has 3 doors.", "english") == Comparison((), (), ())


# --- attribution ---------------------------------------------------------------------------------

BRIDGE = "The Halden bridge opened to traffic in 1987 and was widened in 2009."
ROWS = """City: Arden; Population: 81,400
City: Brask; Population: 120,300
City: Colby; Population: 45,900"""
TABLE = """| City | Population | Area |
|---|---|---|
| Arden | 81,400 | 300 |
| Colby | 45,900 | 700 |"""
DESKS = (
    "For billing questions write to billing@a.example; "
    "for technical questions write to tech@a.example."
)
PLANS = "The Basic plan costs $10. The Pro plan costs $25."
MISATTRIBUTED = [
    ("en", "The Halden bridge opened to traffic in 2009.", BRIDGE, "2009", "1987"),
    ("en", "The population of Colby is 81,400.", ROWS, "81,400", "45,900"),
    ("en", "The population of Colby is 81,400.", TABLE, "81,400", "45,900"),
    ("en", "For billing questions, write to tech@a.example.", DESKS, "tech@a.example",
     "billing@a.example"),
    ("en", "Pro costs $10.", PLANS, "$10", "$25"),
    ("en", "The leak was fixed in v2.3.0.",
     "The leak was fixed in v2.3.1. Version v2.3.0 is affected.", "v2.3.0", "v2.3.1"),
    ("en", "Ostrava shipped 310 tonnes in the second quarter.",
     "In the first quarter, Ostrava shipped 310 tonnes.\n"
     "In the second quarter, Ostrava shipped 275 tonnes.", "310 tonnes", "275 tonnes"),
    ("pt", "A ponte foi aberta em 2009.", "A ponte foi aberta em 1987 e foi ampliada em 2009.",
     "2009", "1987"),
    ("pt", "O plano Pro custa R$ 10.", "O plano Básico custa R$ 10. O plano Pro custa R$ 25.",
     "R$ 10", "R$ 25"),
]  # fmt: skip
WELL_ATTRIBUTED = [
    ("en", "The Halden bridge opened to traffic in 1987.", BRIDGE),
    ("en", "The Halden bridge was widened in 2009.", BRIDGE),
    ("en", "The bridge was enlarged in 2009.", BRIDGE),
    ("en", "The population of Colby is 45,900.", TABLE),
    ("en", "Arden has a population of 81,400.", ROWS),
    ("en", "For technical questions, write to tech@a.example.", DESKS),
    ("en", "Pro costs $25.", PLANS),
    ("en", "Pro costs $10.", "Basic and Pro cost $10 and $25 respectively."),
    ("en", "By Friday the backlog was down to 388.",
     "The backlog fell from 412 on Monday to 388 on Friday."),
    ("en", "Lena Fischer left in 2017.",
     "Lena Fischer founded the institute in 2003. She stepped down in 2017."),
    ("en", "The brooch fetched $120,000.",
     "The brooch had been estimated to fetch $20,000, but sold for $120,000."),
    ("en", "The Basic plan costs $10.",
     "The Basic plan is for one person. It costs $10. The Pro plan costs $25."),
    ("en", "The troops rose to 547,000 soldiers.",
     "The troops should rise by 65,000 soldiers, to a total of 547,000."),
    ("en", "The fee of the plan is $25.", "The fee of the plan is $10. Plan: $25."),
    ("en", "The Basic plan costs $25.", "The Basic plan costs $10 online, $25 in shops."),
    ("en", "The Basic plan costs $10.",
     "The Basic plan is small. Its price in euros is $10. The Basic plan costs $25 with tax."),
    ("pt", "A ponte foi ampliada em 2009.", "A ponte foi aberta em 1987 e foi ampliada em 2009."),
    ("en", "The Vento costs $50.", "The Vento costs $50."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "claim", "evidence", "mine", "theirs"), MISATTRIBUTED)
def test_finds_a_figure_given_to_the_wrong_thing(
    language: str, claim: str, evidence: str, mine: str, theirs: str
) -> None:
    found = misattributed(claim, evidence, LANGUAGES[language])
    assert found is not None
    assert (found.claim.text, found.evidence.text) == (mine, theirs)


@pytest.mark.parametrize(("language", "claim", "evidence"), WELL_ATTRIBUTED)
def test_leaves_attribution_alone_in_doubt(language: str, claim: str, evidence: str) -> None:
    assert misattributed(claim, evidence, LANGUAGES[language]) is None
    assert differences(claim, evidence, language) == []


# --- told apart: rows, lists, counts, pairs, prices of nothing, days, defaults ------------------

TOLD_APART = [
    ("en", "The Pro plan costs $9.", "Plan: Basic; Price: $9. Plan: Pro; Price: $29"),
    ("en", "The Pro plan costs $9.", "Plan: Basic; Price: $9\nPlan: Pro; Price: $29"),
    ("en", "The Pro plan costs $9.",
     "Plan: Basic; Price: $9; Users: 1. Plan: Pro; Price: $29; Users: 5."),
    ("en", "The Pro plan costs $9 per month.",
     "Plan: Basic; Price per month: $9; Users: 1. Plan: Pro; Price per month: $29; Users: 5. "
     "Plan: Team; Price per month: $79; Users: 20"),
    ("en", "The Pro plan has 1 user.",
     "Plan: Basic; Price: $9; Users: 1. Plan: Pro; Price: $29; Users: 5."),
    ("en", "The Pro plan allows 20 users.",
     "Plan: Basic; Price: $9; Users: 1. Plan: Pro; Price: $29; Users: 5. "
     "Plan: Team; Price: $79; Users: 20"),
    ("pt", "O plano Pro custa R$ 9.", "Plano: Básico; Preço: R$ 9. Plano: Pro; Preço: R$ 29"),
    ("en", "The Pro plan costs $9.", "Plans: Basic $9, Pro $29."),
    ("en", "Pro costs $9.", "Basic $9, Pro $29"),
    ("en", "Basic costs $29.", "Basic $9, Pro $29"),
    ("en", "The Basic plan costs $29.",
     "We offer three plans: Basic ($9), Pro ($29) and Team ($79)."),
    ("pt", "O plano Pro custa R$ 9.", "Planos: Básico R$ 9, Pro R$ 29."),
    ("en", "A kilogram of the organic blend costs 18 euros.",
     "A kilogram of the house blend costs 18 euros; the organic blend costs 24 euros."),
    ("en", "A kilogram of the house blend costs 24 euros.",
     "A kilogram of the house blend costs 18 euros; the organic blend costs 24 euros."),
    ("pt", "Um quilo do café orgânico custa 18 euros.",
     "Um quilo do café da casa custa 18 euros; o café orgânico custa 24 euros."),
    ("en", "Installation costs 80 euros.",
     "Installation is free of charge. A second visit costs 80 euros."),
    ("pt", "A instalação custa 80 euros.",
     "A instalação é gratuita; uma segunda visita custa 80 euros."),
    ("en", "Customers may cancel with 24 months' notice.",
     "Customers may cancel with 60 days' notice at any time after the first 24 months."),
    ("en", "Customers may cancel after the first 60 days.",
     "Customers may cancel with 60 days' notice at any time after the first 24 months."),
    ("pt", "O cliente pode cancelar com aviso de 24 meses.",
     "O cliente pode cancelar com aviso prévio de 60 dias, após os primeiros 24 meses."),
    ("en", "The company has 14 employees in 1,250 countries.",
     "The company has 1,250 employees in 14 countries."),
    ("en", "The company has 14 employees.", "The company has 1,250 employees in 14 countries."),
    ("pt", "A empresa tem 14 funcionários em 1.250 países.",
     "A empresa tem 1.250 funcionários em 14 países."),
    ("en", "The company operates in 1,250 countries.",
     "The company has 1,250 employees and operates in 14 countries."),
    ("pt", "A empresa tem 14 funcionários.", "A empresa tem 1.250 funcionários em 14 países."),
    ("en", "Rovers won 1-3.", "Rovers won 3-1."),
    ("en", "Rovers beat United 2-1.", "Rovers beat United 3-1."),
    ("pt", "O Santos venceu por 1 a 3.", "O Santos venceu por 3 a 1."),
    ("en", "Membership rose from 5 to 3 million.", "Membership rose from 3 to 5 million."),
    ("en", "The number of branches rose from 5 to 3.", "The number of branches rose from 3 to 5."),
    ("en", "Revenue rose from $15 million to $12 million.",
     "Revenue rose from $12 million to $15 million."),
    ("pt", "A receita subiu de R$ 15 milhões para R$ 12 milhões.",
     "A receita subiu de R$ 12 milhões para R$ 15 milhões."),
    ("pt", "O número de lojas passou de 5 para 3.", "O número de lojas passou de 3 para 5."),
    ("pt", "A empresa tem mais de dois mil funcionários.", "A empresa tem 1.250 funcionários."),
    ("en", "Two thirds of customers renewed.", "47% of customers renewed."),
    ("en", "Chapter 5 covers safety rules in ports.", "Chapter IV covers safety rules in ports."),
    ("en", "It was added in version 3.1.", "It was added in version 3.0."),
    ("en", "It was added in version 4.", "It was added in version 3.0."),
    ("en", "Return shipping costs $5.", "Return shipping is free."),
    ("en", "Return shipping is free.", "Return shipping costs $5."),
    ("pt", "A devolução é gratuita.", "A devolução custa R$ 20."),
    ("pt", "A devolução custa R$ 20.", "A devolução é de graça."),
    ("pt", "O frete é grátis.", "O frete custa R$ 20."),
    ("en", "The app is free to download.", "The app costs $5 to download."),
    ("en", "There is no charge for parking.", "Parking costs $5."),
    ("pt", "Não há cobrança pelo estacionamento.", "O estacionamento custa R$ 5."),
    ("en", "Refunds take 5 days.", "Refunds take 5 business days."),
    ("en", "Refunds take 5 business days.", "Refunds take 5 days."),
    ("pt", "O reembolso leva 5 dias.", "O reembolso leva 5 dias úteis."),
    ("pt", "O reembolso leva 5 dias úteis.", "O reembolso leva 5 dias."),
    ("pt", "O reembolso leva 10 dias úteis.", "O reembolso leva 5 dias úteis."),
    ("pt", "O reembolso leva 5 dias.", "O reembolso leva 7 dias úteis."),
    ("en", "The --timeout option defaults to 60 seconds.",
     "--timeout SECONDS: how long to wait for an answer. Default: 30."),
    ("en", "--timeout defaults to 60 seconds.",
     "--timeout SECONDS  how long to wait for an answer (default: 30)"),
    ("pt", "--timeout tem padrão de 60 segundos.",
     "--timeout SEGUNDOS: quanto esperar. Padrão: 30."),
    ("en", "The default timeout is 60 seconds.", "Default timeout (seconds): 30"),
    ("en", "Students pay $5.", "Adults $9, children $5, students $7."),
    ("en", "Entry costs $9 for children.", "Entry: adults $9, children $5."),
    ("pt", "Crianças pagam R$ 9.", "Adultos R$ 9, crianças R$ 5."),
    ("en", "Storage is 50 GB on the Basic plan.", "Basic: 5 GB, Pro: 50 GB."),
    ("en", "Express shipping costs $5.", "Express shipping costs $15; standard shipping costs $5."),
    ("en", "Refunds are made within 30 days.",
     "Returns are accepted within 30 days. Refunds are made within 14 days."),
    ("en", "The crash killed 20 people.", "The crash killed 12 people and injured 20 people."),
]  # fmt: skip
SUPPORTED = [
    ("en", "Express delivery costs $5.", "Delivery is free."),
    ("en", "Delivery is free.", "Express delivery costs $5."),
    ("pt", "O estacionamento do aeroporto custa R$ 5.", "O estacionamento é gratuito."),
    ("en", "The Pro plan costs $29.", "Plan: Basic; Price: $9. Plan: Pro; Price: $29"),
    ("en", "The Basic plan costs $9.", "Plan: Basic; Price: $9. Plan: Pro; Price: $29"),
    ("pt", "O plano Pro custa R$ 29.", "Plano: Básico; Preço: R$ 9. Plano: Pro; Preço: R$ 29"),
    ("en", "The Pro plan costs $29.", "Plans: Basic $9, Pro $29."),
    ("en", "Basic costs $9.", "Basic $9, Pro $29"),
    ("en", "The Pro plan costs $29.",
     "We offer three plans: Basic ($9), Pro ($29) and Team ($79)."),
    ("pt", "O plano Básico custa R$ 9.", "Planos: Básico R$ 9, Pro R$ 29."),
    ("en", "A kilogram of the organic blend costs 24 euros.",
     "A kilogram of the house blend costs 18 euros; the organic blend costs 24 euros."),
    ("en", "A kilogram of the house blend costs 18 euros.",
     "A kilogram of the house blend costs 18 euros; the organic blend costs 24 euros."),
    ("pt", "Um quilo do café orgânico custa 24 euros.",
     "Um quilo do café da casa custa 18 euros; o café orgânico custa 24 euros."),
    ("en", "A second visit costs 80 euros.",
     "Installation is free for new customers; a second visit costs 80 euros."),
    ("pt", "Uma segunda visita custa 80 euros.",
     "A instalação é gratuita; uma segunda visita custa 80 euros."),
    ("en", "Customers may cancel with 60 days' notice.",
     "Customers may cancel with 60 days' notice at any time after the first 24 months."),
    ("en", "Customers may cancel after the first 24 months.",
     "Customers may cancel with 60 days' notice at any time after the first 24 months."),
    ("pt", "O cliente pode cancelar com aviso de 60 dias.",
     "O cliente pode cancelar com aviso prévio de 60 dias, após os primeiros 24 meses."),
    ("en", "The company has 1,250 employees.", "The company has 1,250 employees in 14 countries."),
    ("en", "Rovers beat United 3-1.", "Rovers beat United 3-1."),
    ("en", "Rovers beat United 3–1.", "Rovers beat United 3-1 at home."),
    ("en", "United lost 1-3 to Rovers.", "Rovers beat United 3-1."),
    ("en", "The number of branches rose from 3 to 5.", "The number of branches rose from 3 to 5."),
    ("en", "Revenue was up to $15 million from $12 million.",
     "Revenue rose from $12 million to $15 million."),
    ("pt", "A empresa tem mais de mil funcionários.", "A empresa tem 1.250 funcionários."),
    ("pt", "A empresa tem menos de dois mil funcionários.", "A empresa tem 1.250 funcionários."),
    ("pt", "Mais de mil pessoas trabalham na empresa.", "A empresa tem 1.250 funcionários."),
    ("en", "At least 18 people attended.", "20 people attended."),
    ("en", "At least 18 staff work there.", "The site employs 20 people."),
    ("en", "Two thirds of customers renewed.", "67 % of customers renewed."),
    ("en", "Two-thirds of customers renewed.", "67% of customers renewed."),
    ("pt", "Dois terços dos clientes renovaram.", "67 % dos clientes renovaram."),
    ("en", "67% of customers renewed.", "Two thirds of customers renewed."),
    ("en", "About 1,000 people attended.", "993 people attended."),
    ("pt", "Cerca de mil pessoas foram.", "993 pessoas foram."),
    ("en", "Chapter 4 covers safety.", "Chapter IV covers safety."),
    ("pt", "O capítulo 4 trata de segurança.", "O Capítulo IV trata de segurança."),
    ("en", "Chapter IV covers safety.", "Chapter 4 covers safety."),
    ("en", "It was added in version 3.", "It was added in version 3.0."),
    ("en", "It was added in version 3.0.", "It was added in version 3."),
    ("en", "The current version is 3.0.0.", "The current version is 3.0."),
    ("pt", "Foi adicionado na versão 3.", "Foi adicionado na versão 3.0."),
    ("pt", "Cerca de dois terços dos clientes renovaram.", "66% dos clientes renovaram."),
    ("en", "Three quarters of customers renewed.", "75% of customers renewed."),
    ("en", "Return shipping is free.", "Return shipping is free of charge."),
    ("en", "Return shipping is free.", "There is no charge for return shipping."),
    ("en", "Return shipping costs nothing.", "Return shipping is free."),
    ("en", "Return shipping costs $0.", "Return shipping is free."),
    ("pt", "A devolução é grátis.", "A devolução é gratuita."),
    ("en", "Admission is free for children.", "Admission costs €12; children enter free."),
    ("en", "Delivery is free for orders over $50.",
     "Delivery costs $5; it is free for orders over $50."),
    ("en", "The salt-free snack costs $5.", "The gluten-free snack costs $5."),
    ("en", "You are free to leave.", "The tour costs $5 and you leave at noon."),
    ("en", "Feel free to call us.", "Each call to us costs $5."),
    ("en", "Parking is not free.", "Parking costs $5."),
    ("en", "The free trial lasts 14 days.", "The trial costs $0 and lasts 14 days."),
    ("en", "Refunds take 5 business days.", "Refunds take 5 working days."),
    ("pt", "O reembolso leva cinco dias úteis.", "O reembolso leva 5 dias úteis."),
    ("en", "The shop is open on weekdays.", "The shop is open on business days."),
    ("en", "Refunds take one week.", "Refunds take 5 business days."),
    ("en", "The --timeout option defaults to 30 seconds.",
     "--timeout SECONDS: how long to wait for an answer. Default: 30."),
    ("en", "The default timeout is 30 seconds.", "Default timeout (seconds): 30"),
    ("en", "Mira scored 30 points.", "Mira scored 20 points in 2010 and 30 in 2011."),
    ("en", "Tension lasted for 2 years.", "The war lasted for 6 years after 2 years of tension."),
    ("en", "The town has 12 schools.", "The town has 30 shops and 12 schools."),
    ("en", "12 students passed.", "Of 30 students, 12 girls passed."),
    ("en", "12 students were girls.", "There were 30 students, 12 of them girls."),
    ("en", "The notice period is 90 days after the first year.",
     "Give 60 days' notice in the first year and 90 days afterwards."),
    ("en", "The company has 14 offices.",
     "The company has 1,250 employees in 14 offices in Europe."),
    ("en", "It operates in 14 countries.",
     "The company has 1,250 employees and operates in 14 countries."),
    ("en", "Children pay $5.", "Adults $9, children $5, students $7."),
    ("en", "Entry costs $5 for children.", "Entry: adults $9, children $5."),
    ("en", "Admission for adults costs $9.", "Entry: adults $9, children $5."),
    ("pt", "Crianças pagam R$ 5.", "Adultos R$ 9, crianças R$ 5."),
    ("en", "Storage is 5 GB on the Basic plan.", "Basic: 5 GB, Pro: 50 GB."),
    ("en", "Shares fell 3 to 5 percent.", "Shares fell 3 to 5 percent."),
    ("en", "The score was 3-1 to Rovers.", "Rovers won 3-1; the first leg ended 1-3."),
    ("en", "Open from 9 to 5.", "Open from 9 to 5."),
    ("en", "The ratio fell from 5 to 3.", "The ratio rose from 3 to 5, then fell from 5 to 3."),
    ("en", "The fee is free for students.", "The fee is free for students and $5 for others."),
    ("en", "Parking costs $5.", "Parking is free on Sundays; otherwise it costs $5."),
    ("en", "Non-members pay $5 for parking.",
     "Parking is free for members; everyone else pays $5."),
    ("en", "Standard shipping costs $5.",
     "Express shipping costs $15; standard shipping costs $5."),
    ("en", "Refunds are made within 14 days of the return.",
     "Returns within 30 days. Refunds are made within 14 days."),
    ("en", "Delivery takes less than two weeks.", "Delivery takes 5 business days."),
    ("en", "Delivery takes up to a week.", "Delivery takes up to 5 business days."),
    ("en", "Both offices together employ 23 engineers.", "The Lisbon office employs 14 engineers."),
    ("en", "Python 3 is required.", "Python 3.11 is required."),
    ("en", "Version 3 is required.", "Version 3.2 is required."),
    ("en", "World War II ended in 1945.", "World War II ended in 1945."),
    ("en", "In section I describe the 3 tests.", "In section 2 there are 3 tests."),
    ("en", "Vitamin D deficiency of type II is rare.", "Deficiency of type 2 is rare."),
    ("en", "The Basic plan has 5 GB and the Pro plan has 50 GB.",
     "Plan: Basic; Storage: 5 GB. Plan: Pro; Storage: 50 GB"),
    ("en", "Acme hired 20 people in Leeds.",
     "Acme hired 20 people in Leeds and 30 people in York."),
    ("en", "There were 20 survivors in the crash.",
     "The crash killed 12 people and left 20 survivors."),
    ("en", "The plant employs 3 shifts of workers.", "The plant employs 120 workers in 3 shifts."),
    ("en", "A 5% surcharge applies.", "A 10% discount and a 5% surcharge apply."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "claim", "evidence"), TOLD_APART)
def test_contradicted_by_figures(language: str, claim: str, evidence: str) -> None:
    read = LANGUAGES[language]
    assert compare(claim, evidence, read).mismatches or misattributed(claim, evidence, read)


@pytest.mark.parametrize(("language", "claim", "evidence"), SUPPORTED)
def test_not_contradicted_by_figures(language: str, claim: str, evidence: str) -> None:
    assert differences(claim, evidence, language) == []
    assert misattributed(claim, evidence, LANGUAGES[language]) is None


ROMAN_AND_VERSIONS = [
    ("en", "Chapter 4 covers safety.", "Chapter IV covers safety."),
    ("pt", "O capítulo 9 trata de segurança.", "O Capítulo IX trata de segurança."),
    ("en", "It was added in version 3.", "It was added in version 3.0."),
    ("en", "It was added in v3.0.0.", "It was added in version 3.0."),
    ("en", "Two thirds of customers renewed.", "67 % of customers renewed."),
    ("pt", "Mais de mil pessoas foram.", "1.250 pessoas foram."),
    ("pt", "Menos de dois mil alunos passaram.", "1.250 alunos passaram."),
    ("en", "At least 18 people attended.", "20 people attended."),
    ("en", "Return shipping costs $0.", "Return shipping is free."),
    ("pt", "A devolução é grátis.", "A devolução é gratuita."),
    ("en", "The default timeout is 30 seconds.", "Default timeout (seconds): 30"),
]


@pytest.mark.parametrize(("language", "claim", "evidence"), ROMAN_AND_VERSIONS)
def test_other_ways_to_say_it_are_matched(language: str, claim: str, evidence: str) -> None:
    found = compare(claim, evidence, LANGUAGES[language])
    assert found.matched
    assert not found.mismatches
    assert not found.unmatched


def test_trailing_zeros_matter_where_no_version_is_meant() -> None:
    assert not equal(only("(version 3.0)"), only("(3 files)"))
    assert not equal(only("(v3.0)"), only("(v3.0.1)"))


@pytest.mark.parametrize(
    "text", ["You are free to go.", "It is sugar-free.", "Feel free to call.", "It is not free."]
)
def test_free_in_other_senses_is_no_price(text: str) -> None:
    assert compare(text, "It costs $5.", "english").matched == ()
    assert compare(text, "It costs $5.", "english").unmatched == ()


# --- describing ----------------------------------------------------------------------------------


def test_describes_both_values() -> None:
    (item,) = compare("It opened in 2015.", "It opened in 2018.", "english").mismatches
    assert isinstance(item, Mismatch)
    assert describe(item, "english") == "response 2015, source 2018"
    assert describe(item, "portuguese") == "resposta 2015, fonte 2018"


def test_describes_a_sum_by_its_parts() -> None:
    (item,) = compare(
        "It has 12 bolts in total.", "It has 4 short bolts. It has 6 long bolts.", "english"
    ).mismatches
    assert describe(item, "english") == "response 12, source 4 + 6"
    assert item.evidence.value == 10


def test_describes_line_breaks_as_blanks() -> None:
    (item,) = compare("It lasts 5\nhours.", "It lasts 7 hours.", "english").mismatches
    assert describe(item, "english") == "response 5 hours, source 7 hours"


# --- properties ----------------------------------------------------------------------------------

ENGLISH_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
PORTUGUESE_ONES = (
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze "
    "dezesseis dezessete dezoito dezenove"
).split()
PORTUGUESE_TENS = "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa".split()
PORTUGUESE_HUNDREDS = (
    "cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos"
).split()


def english(number: int) -> str:
    if number < 20:
        return ENGLISH_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return ENGLISH_TENS[tens - 2] + (f"-{ENGLISH_ONES[ones]}" if ones else "")
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if number >= size:
            many, rest = divmod(number, size)
            link = " and " if rest and rest < 100 else " "
            return f"{english(many)} {name}" + (link + english(rest) if rest else "")
    raise AssertionError(number)


def portuguese(number: int) -> str:
    if number < 20:
        return PORTUGUESE_ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return PORTUGUESE_TENS[tens - 2] + (f" e {PORTUGUESE_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        name = "cem" if number == 100 else PORTUGUESE_HUNDREDS[hundreds - 1]
        return name + (f" e {portuguese(rest)}" if rest else "")
    if number < 10**6:
        thousands, rest = divmod(number, 1000)
        name = "mil" if thousands == 1 else f"{portuguese(thousands)} mil"
        link = " e " if rest < 100 or rest % 100 == 0 else " "
        return name + (link + portuguese(rest) if rest else "")
    millions, rest = divmod(number, 10**6)
    name = "um milhão" if millions == 1 else f"{portuguese(millions)} milhões"
    return name + (f" {portuguese(rest)}" if rest else "")


def notations(number: int) -> list[tuple[str, str]]:
    return [
        ("english", str(number)),
        ("english", f"{number:,}"),
        ("english", english(number)),
        ("portuguese", str(number)),
        ("portuguese", f"{number:,}".replace(",", ".")),
        ("portuguese", portuguese(number)),
    ]


NUMBERS = st.one_of(st.integers(2, 2000), st.integers(2, 10**6), st.integers(2, 99 * 10**7))


@given(NUMBERS)
def test_every_notation_of_a_number_is_equal(number: int) -> None:
    read = [find_figures(f"({text} kg)", language) for language, text in notations(number)]
    for found, (_, text) in zip(read, notations(number), strict=True):
        assert len(found) == 1, text
        assert found[0].value == number * 1000, text
        assert equal(found[0], read[0][0])


@given(NUMBERS, NUMBERS, st.integers(0, 5), st.integers(0, 2))
@settings(max_examples=150)
def test_another_number_is_a_mismatch_in_every_notation(
    number: int, other: int, mine: int, theirs: int
) -> None:
    assume(number != other)
    language, written = notations(number)[mine]
    _, given_ = notations(other)[theirs if language == "english" else theirs + 3]
    words = {"english": "The crate holds {} screws.", "portuguese": "A caixa contém {} parafusos."}
    claim, evidence = (words[language].format(text) for text in (written, given_))
    found = compare(claim, evidence, language)
    # Fewer digits of the same number are a rounding.
    rounded = any(
        number % 10**place == 0 and abs(other - number) * 2 <= 10**place for place in range(1, 9)
    )
    if rounded:
        assert not found.mismatches or found.mismatches[0].claim.value == number
    else:
        assert [item.claim.value for item in found.mismatches] == [number]
        assert [item.evidence.value for item in found.mismatches] == [other]
    assert compare(claim, claim, language).matched


@given(st.dates(), st.dates())
def test_dates_are_equal_across_notations_only_if_they_are_the_same(one: date, other: date) -> None:
    assume(one.year >= 1000 and other.year >= 1000)
    months = (
        "January February March April May June July August September October November December"
    ).split()
    meses = (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
    ).split()
    notation = [
        only(f"on {one.day} {months[one.month - 1]} {one.year}"),
        only(f"on {months[one.month - 1]} {one.day}, {one.year}"),
        only(f"on {one.isoformat()}"),
        only(f"em {one.day} de {meses[one.month - 1]} de {one.year}", "pt"),
        only(f"em {one.day:02}/{one.month:02}/{one.year}", "pt"),
    ]
    assert all(equal(notation[0], written) for written in notation)
    assert equal(notation[2], only(f"on {other.isoformat()}")) == (one == other)


PIECES = st.sampled_from(
    [
        "12", "1,200.50", "1.200,50", "%", " kg", "R$ ", "$", " million", "one", " and a half",
        "vinte e um", " mil", "17 March 2025", "14h30", " p.m.", "v2.3.1", "a@b.example", "AB-12",
        "Room ", "º", "½", "-", "–", " to ", ", ", ". ", "\n", "| ", "[1]", "1) ", "--x", "half ",
        "Jan. ", "/", ":", "\u00a0", "\ud800", "\x00", "٣", "²", "anos 90", "século XX", "(Fonte: ",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=4)), max_size=14).map("".join)


@given(TEXTS, st.sampled_from(["english", "portuguese"]))
@settings(max_examples=300)
def test_offsets_cut_the_text_and_do_not_overlap(text: str, language: str) -> None:
    end = 0
    for figure in find_figures(text, language):
        assert figure.start >= end
        assert figure.end > figure.start
        assert text[figure.start : figure.end] == figure.text
        assert equal(figure, figure)
        hash(figure)
        end = figure.end


@given(TEXTS, TEXTS, st.sampled_from(["english", "portuguese"]))
@settings(max_examples=150)
def test_any_two_texts_can_be_compared(claim: str, evidence: str, language: str) -> None:
    found = compare(claim, evidence, language)
    outcomes = [item.claim for item in found.mismatches] + [*found.matched, *found.unmatched]
    assert sorted(outcomes, key=lambda figure: figure.start) == list(find_figures(claim, language))
    for item in found.mismatches:
        assert evidence[item.evidence.start : item.evidence.end] == item.evidence.text
        assert not equal(item.claim, item.evidence)
        assert describe(item, language)
    misattributed(claim, evidence, language)
    assert compare(claim, claim, language).mismatches == ()


# --- cost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "piece",
    ["The plan costs $10 for 3 users. ", "7", "a", "a-", "1,111", "| 1 ", "(fonte: ", "\n", "a@"],
)
def test_the_work_grows_linearly_with_the_text(piece: str, count_calls: Callable[..., int]) -> None:
    def work(size: int) -> int:
        text = (piece * (size // len(piece) + 1))[:size]
        return count_calls(lambda: find_figures(text, "english"))

    work(1000)
    # A quadratic step inside a regular expression would take minutes.
    assert work(100_000) < 12 * work(10_000) + 100


def test_the_work_of_comparing_grows_linearly_with_the_text(
    count_calls: Callable[..., int],
) -> None:
    def work(sentences: int) -> int:
        evidence = "The Basic plan costs $10 and weighs 3 kg. " * sentences

        def both() -> None:
            compare("The Pro plan costs $25 and weighs 4 kg.", evidence, "english")
            misattributed("The Pro plan costs $10 and weighs 3 kg.", evidence, "english")

        return count_calls(both)

    work(10)
    assert work(2500) < 12 * work(250) + 100


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        (
            "Together they employ 23 engineers.",
            "Leeds has 14 engineers. York has 9 engineers.",
            True,
        ),
        ("Ao todo são 23 salas.", "O bloco A tem 14 salas. O bloco B tem 9 salas.", True),
        (
            "Together they employ 25 engineers.",
            "Leeds has 14 engineers. York has 9 engineers.",
            False,
        ),
        ("They employ 23 engineers.", "Leeds has 14 engineers. York has 9 engineers.", False),
        ("In total there are 14 engineers.", "In total there are 14 engineers.", False),
        ("Together they cost 23 euros in 2020.", "One cost 14 euros, one cost 9 euros.", False),
    ],
)
def test_announced_totals_that_add_up(claim: str, evidence: str, expected: bool) -> None:
    assert is_total(claim, evidence, "english") is expected


@pytest.mark.parametrize("language", ["english", "portuguese"])
def test_a_nearby_round_price_is_another_price(language: str) -> None:
    claims = {"english": "The rent is 180 euros.", "portuguese": "O aluguel é de 180 euros."}
    sources = {"english": "The rent is 179 euros.", "portuguese": "O aluguel é de 179 euros."}
    assert compare(claims[language], sources[language], language).mismatches
    hedged = claims[language].replace(
        "180", {"english": "about 180", "portuguese": "cerca de 180"}[language]
    )
    assert not compare(hedged, sources[language], language).mismatches


FLAGS = (
    "Use `deploy --dry-run` to preview the changes without applying them. "
    "Use `deploy --force` to apply the changes without asking for confirmation."
)


@pytest.mark.parametrize(
    ("claim", "evidence", "rival"),
    [
        ("To preview the changes without applying them, run `deploy --force`.", FLAGS, "--dry-run"),
        (
            "Execute `deploy --force` to preview the changes without applying them.",
            FLAGS,
            "--dry-run",
        ),
        ("To preview the changes without applying them, run `deploy --dry-run`.", FLAGS, None),
        ("Use `deploy --force` to apply changes.", FLAGS, None),
        (
            "Pass --verbose to hide the progress bar.",
            "--verbose prints every request. --quiet hides the progress bar.",
            "--quiet",
        ),
        (
            "Pass --quiet to hide the progress bar.",
            "--verbose prints every request. --quiet hides the progress bar.",
            None,
        ),
    ],
)
def test_a_flag_is_for_what_the_words_beside_it_say(claim, evidence, rival):
    found = misattributed(claim, evidence, "english")
    assert (found.evidence.text if found else None) == rival
