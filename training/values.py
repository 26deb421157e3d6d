"""Values of facts in both languages: equal forms, coarser forms, and near but wrong values.

A value knows several ways to write the same thing (``3.4 million``, ``3,400,000``; ``5 mg``,
``5 milligrams``; ``3 March 2021``, ``2021-03-03``), so that a claim can be right although no digit
matches, and wrong although nearly all do.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import names
from wording import listed

Forms = dict[str, list[str]]


@dataclass(frozen=True)
class Value:
    """One value.

    Attributes:
        forms: Equal ways to write it, per language.
        coarse: Less exact ways that the exact one implies (a year for a date).
        bare: Forms for a table cell, when the forms carry a preposition.
    """

    forms: Forms
    coarse: Forms = field(default_factory=dict)
    bare: Forms = field(default_factory=dict)

    def clashes(self, other: Value) -> bool:
        """Whether two values share a form (ignoring case)."""
        mine = {f.lower() for forms in self.forms.values() for f in forms}
        return any(f.lower() in mine for forms in other.forms.values() for f in forms)


Draw = tuple[Value, list[Value]]
Maker = Callable[[random.Random], Draw]

_EN_ONES = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_EN_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_PT_ONES = listed(
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze "
    "quinze dezesseis dezessete dezoito dezenove"
)
_PT_TENS = listed("- - vinte trinta quarenta cinquenta sessenta setenta oitenta noventa")
_PT_HUNDREDS = listed(
    "- cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos"
)
MONTHS = {
    "en": listed(
        "January February March April May June July August September October November December"
    ),
    "pt": listed(
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
    ),
}
WEEKDAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "pt": [
        "segunda-feira",
        "terça-feira",
        "quarta-feira",
        "quinta-feira",
        "sexta-feira",
        "sábado",
        "domingo",
    ],
}


def english_words(n: int) -> str:
    """Spell a number below 10,000 in English."""
    if n < 20:
        return _EN_ONES[n]
    if n < 100:
        return _EN_TENS[n // 10] + (f"-{_EN_ONES[n % 10]}" if n % 10 else "")
    if n < 1000:
        rest = f" and {english_words(n % 100)}" if n % 100 else ""
        return f"{_EN_ONES[n // 100]} hundred{rest}"
    rest = n % 1000
    joint = " and " if 0 < rest < 100 else " "
    return f"{english_words(n // 1000)} thousand" + (joint + english_words(rest) if rest else "")


def portuguese_words(n: int, feminine: bool = False) -> str:
    """Spell a number below 10,000 in Portuguese."""
    if n < 20:
        word = _PT_ONES[n]
    elif n < 100:
        word = _PT_TENS[n // 10] + (f" e {portuguese_words(n % 10, feminine)}" if n % 10 else "")
    elif n == 100:
        word = "cem"
    elif n < 1000:
        rest = f" e {portuguese_words(n % 100, feminine)}" if n % 100 else ""
        hundred = _PT_HUNDREDS[n // 100]
        word = (hundred.replace("entos", "entas") if feminine and n >= 200 else hundred) + rest
    else:
        start = "mil" if n < 2000 else f"{portuguese_words(n // 1000, feminine)} mil"
        rest = n % 1000
        joint = " e " if rest < 100 or rest % 100 == 0 else " "
        word = start + (joint + portuguese_words(rest, feminine) if rest else "")
    if feminine:
        word = {"um": "uma", "dois": "duas"}.get(word, word)
    return word


def grouped(n: int, language: str) -> str:
    """A whole number with the language's thousands mark."""
    text = f"{n:,}"
    return text if language == "en" else text.replace(",", ".")


def decimal(x: float, language: str) -> str:
    """A number with at most two decimals in the language's way."""
    text = f"{x:,.2f}".rstrip("0").rstrip(".") if x != int(x) else f"{int(x):,}"
    return text if language == "en" else text.translate(str.maketrans(",.", ".,"))


def unlike(right: Value, wrong: list[Value]) -> list[Value]:
    """Only the wrong values that share no form with the right one."""
    return [value for value in wrong if not right.clashes(value)]


def changed_digit(rng: random.Random, n: int) -> int:
    """The same number with one digit changed, never a leading zero."""
    text = str(n)
    i = rng.randrange(len(text))
    digit = rng.choice([d for d in "123456789" if d != text[i]])
    return int(text[:i] + digit + text[i + 1 :])


def _count_value(n: int, feminine: bool) -> Value:
    forms = {"en": [grouped(n, "en")], "pt": [grouped(n, "pt")]}
    if n >= 1000:
        forms["en"].append(str(n))
        forms["pt"].append(str(n))
    if n < 100 or (n < 10000 and n % 100 == 0):
        forms["en"] += [english_words(n)] * 2
        forms["pt"] += [portuguese_words(n, feminine)] * 2
    if n == 12:
        forms["en"].append("a dozen")
        forms["pt"].append("uma dúzia de")
    return Value(forms)


def count(low: int, high: int, feminine: bool = False) -> Maker:
    """A maker of whole numbers, often small."""

    def make(rng: random.Random) -> Draw:
        n = rng.randint(low, min(high, low + 25)) if rng.random() < 0.5 else rng.randint(low, high)
        if n > 100 and rng.random() < 0.5:
            n = round(n, -len(str(n)) + 2)
        near = [
            n + rng.choice([1, 2, 3]),
            max(2, n - rng.choice([1, 2])),
            n * 10,
            changed_digit(rng, n),
        ]
        if n >= 100 and n % 10 == 0:
            near.append(n // 10)
        if n < 10:
            near.append(n + 10)
        wrong = [_count_value(m, feminine) for m in near if m != n]
        right = _count_value(n, feminine)
        right.forms["en"] = [f for f in right.forms["en"] if f != "a dozen"]
        right.forms["pt"] = [f for f in right.forms["pt"] if "dúzia" not in f]
        return right, unlike(right, wrong)

    return make


_SCALES = [(10**3, "thousand", "mil"), (10**6, "million", "milhões"), (10**9, "billion", "bilhões")]


def _scaled(x: float, scale: int, before: str, after: tuple[str, str]) -> Value:
    unit, en, pt = _SCALES[scale]
    plain = round(x * unit)
    of = "de " if scale and after[1] else ""
    money = bool(before)
    tail_en, tail_pt = (f" {a}" if a else "" for a in after)
    en_forms = [f"{decimal(x, 'en')} {en}{tail_en}"]
    pt_forms = [f"{decimal(x, 'pt')} {pt} {of}{after[1]}".strip()]
    if money:
        en_forms += [f"{before}{decimal(x, 'en')} {en}"] * 2 + [f"{before}{grouped(plain, 'en')}"]
        space = " " if before.endswith("$") else ""
        pt_forms += [f"{before}{space}{decimal(x, 'pt')} {pt}"] * 2
        pt_forms += [f"{before}{space}{grouped(plain, 'pt')}"]
    else:
        en_forms.append(f"{grouped(plain, 'en')}{tail_en}")
        pt_forms.append(f"{grouped(plain, 'pt')}{tail_pt}")
    return Value({"en": en_forms, "pt": pt_forms})


_CURRENCIES = [
    ("$", ("dollars", "dólares")),
    ("€", ("euros", "euros")),
    ("R$", ("reais", "reais")),
    ("£", ("pounds", "libras")),
]


def big(money: bool) -> Maker:
    """A maker of large amounts, in millions and the like."""

    def make(rng: random.Random) -> Draw:
        x = rng.choice([rng.randint(2, 900), rng.randint(2, 99), rng.randint(21, 999) / 10])
        x = x + 1.3 if x < 2 else x
        scale = rng.choice([0, 1, 1, 1, 2])
        before, after = rng.choice(_CURRENCIES) if money else ("", ("", ""))
        right = _scaled(x, scale, before, after)
        wrong = [_scaled(x, s, before, after) for s in range(3) if s != scale] * 2
        wrong.append(_scaled(x * 10, scale, before, after))
        if x >= 20:
            wrong.append(_scaled(round(x / 10, 2), scale, before, after))
        wrong += [_scaled(x + rng.randint(1, 9), scale, before, after) for _ in range(2)]
        if money:
            other = rng.choice([c for c in _CURRENCIES if c[0] != before])
            wrong.append(_scaled(x, scale, *other))
        return right, unlike(right, wrong)

    return make


_UNITS: dict[str, list[tuple[float, str, str, str]]] = {
    "mass": [
        (1e-6, "µg", "micrograms", "microgramas"),
        (1e-3, "mg", "milligrams", "miligramas"),
        (1, "g", "grams", "gramas"),
        (1e3, "kg", "kilograms", "quilogramas"),
    ],
    "dose": [
        (1e-6, "µg", "micrograms", "microgramas"),
        (1e-3, "mg", "milligrams", "miligramas"),
        (1, "g", "grams", "gramas"),
    ],
    "weight": [
        (1, "g", "grams", "gramas"),
        (1e3, "kg", "kilograms", "quilos"),
        (1e6, "t", "tonnes", "toneladas"),
    ],
    "length": [
        (1e-3, "mm", "millimetres", "milímetros"),
        (1e-2, "cm", "centimetres", "centímetros"),
        (1, "m", "metres", "metros"),
        (1e3, "km", "kilometres", "quilômetros"),
    ],
    "distance": [(1, "m", "metres", "metros"), (1e3, "km", "kilometres", "quilômetros")],
    "time": [
        (1, "s", "seconds", "segundos"),
        (60, "min", "minutes", "minutos"),
        (3600, "h", "hours", "horas"),
    ],
    "span": [
        (1, "days", "days", "dias"),
        (7, "weeks", "weeks", "semanas"),
        (30.4, "months", "months", "meses"),
        (365.25, "years", "years", "anos"),
    ],
    "data": [
        (1, "MB", "megabytes", "megabytes"),
        (1e3, "GB", "gigabytes", "gigabytes"),
        (1e6, "TB", "terabytes", "terabytes"),
    ],
    "power": [
        (1, "W", "watts", "watts"),
        (1e3, "kW", "kilowatts", "quilowatts"),
        (1e6, "MW", "megawatts", "megawatts"),
    ],
    "volume": [(1e-3, "ml", "millilitres", "mililitros"), (1, "L", "litres", "litros")],
}


def _quantity(x: float, unit: tuple[float, str, str, str]) -> Value:
    _, sign, en, pt = unit
    if sign == en:
        forms = {"en": [f"{decimal(x, 'en')} {en}"], "pt": [f"{decimal(x, 'pt')} {pt}"]}
    else:
        forms = {
            "en": [f"{decimal(x, 'en')} {sign}", f"{decimal(x, 'en')} {en}"],
            "pt": [f"{decimal(x, 'pt')} {sign}", f"{decimal(x, 'pt')} {pt}"],
        }
    if x == int(x) and 2 <= x < 100:
        forms["en"].append(f"{english_words(int(x))} {en}")
        if sign not in ("t", "days", "weeks", "months", "years"):
            forms["pt"].append(f"{portuguese_words(int(x), sign == 'h')} {pt}")
    return Value(forms)


def measure(kind: str) -> Maker:
    """A maker of quantities with a unit; equal in another unit, wrong with the same number."""
    units = _UNITS[kind]

    def make(rng: random.Random) -> Draw:
        i = rng.randrange(len(units))
        x: float = rng.choice([rng.randint(2, 30), rng.randint(2, 950), rng.randint(11, 99) / 10])
        x = round(x) + 2 if x < 2 or kind == "span" else x
        right = _quantity(x, units[i])
        for j in (i - 1, i + 1):
            if 0 <= j < len(units):
                y = x * units[i][0] / units[j][0]
                if abs(y - round(y, 1)) < 1e-6 and 0.1 <= y < 1e6 and y > 1:
                    other = _quantity(round(y, 1), units[j])
                    for language in ("en", "pt"):
                        right.forms[language] += other.forms[language][:2]
        wrong = [_quantity(x, units[j]) for j in range(len(units)) if j != i] * 2
        wrong += [_quantity(x * 10, units[i]), _quantity(x + rng.randint(1, 9), units[i])]
        if x >= 20 and x % 10 == 0:
            wrong.append(_quantity(x / 10, units[i]))
        return right, unlike(right, wrong)

    return make


def percent(rng: random.Random) -> Draw:
    """A percentage."""

    def value(x: float) -> Value:
        en, pt = decimal(x, "en"), decimal(x, "pt")
        forms = {
            "en": [f"{en}%", f"{en}%", f"{en} percent"],
            "pt": [f"{pt}%", f"{pt}%", f"{pt} por cento"],
        }
        if x == int(x) and x < 100:
            forms["en"].append(f"{english_words(int(x))} percent")
            forms["pt"].append(f"{portuguese_words(int(x))} por cento")
        return Value(forms)

    x: float = rng.choice([rng.randint(2, 95), rng.randint(2, 95), rng.randint(11, 950) / 10])
    near = [x + rng.choice([1, 2, 5, 10]), x / 10 if x >= 20 else x + 30, 100 - x, x + 0.5]
    return value(x), unlike(value(x), [value(round(y, 1)) for y in near if y > 1])


def year(rng: random.Random) -> Draw:
    """A year."""
    y = rng.randint(1890, 2024)
    near = [y + rng.choice([-1, 1]), y + rng.choice([-10, 10]), y + rng.choice([-3, 2, 5, 7, -20])]
    values = [
        Value({"en": [f"in {n}"], "pt": [f"em {n}"]}, bare={"en": [str(n)], "pt": [str(n)]})
        for n in [y, *near]
    ]
    return values[0], values[1:]


def _date_value(y: int, m: int, d: int) -> Value:
    en, pt = MONTHS["en"][m - 1], MONTHS["pt"][m - 1]
    first = "1º" if d == 1 else str(d)
    bare = {
        "en": [f"{d} {en} {y}", f"{en} {d}, {y}", f"{y}-{m:02}-{d:02}", f"{en[:3]} {d}, {y}"],
        "pt": [f"{first} de {pt} de {y}", f"{d:02}/{m:02}/{y}", f"{y}-{m:02}-{d:02}"],
    }
    forms = {"en": [f"on {f}" for f in bare["en"]], "pt": [f"em {f}" for f in bare["pt"]]}
    forms["pt"].append(f"no dia {first} de {pt} de {y}")
    coarse = {
        "en": [f"in {en} {y}", f"in {y}", f"in {en} of {y}"],
        "pt": [f"em {pt} de {y}", f"em {y}"],
    }
    return Value(forms, coarse, bare)


def date(rng: random.Random) -> Draw:
    """A full date; month and year alone are coarser forms."""
    y, m, d = rng.randint(1950, 2025), rng.randint(1, 12), rng.randint(1, 28)
    other = rng.choice([n for n in range(1, 13) if n != m])
    shifted = rng.choice([n for n in range(1, 29) if n != d])
    wrong = [
        _date_value(y, other, d),
        _date_value(y, m, shifted),
        _date_value(y + rng.choice([-1, 1]), m, d),
    ]
    vague = Value(
        {
            "en": [f"in {MONTHS['en'][other - 1]} {y}", f"in {y + 1}"],
            "pt": [f"em {MONTHS['pt'][other - 1]} de {y}", f"em {y + 1}"],
        },
        bare=wrong[0].bare,
    )
    return _date_value(y, m, d), [*wrong, vague]


def clock(rng: random.Random) -> Draw:
    """A time of day."""

    def value(h: int, m: int) -> Value:
        half, twelve = ("a.m." if h < 12 else "p.m."), (h - 1) % 12 + 1
        minutes = f":{m:02}" if m else ""
        return Value(
            {
                "en": [
                    f"at {h:02}:{m:02}",
                    f"at {twelve}{minutes} {half}",
                    f"at {twelve}:{m:02} {half.replace('.', '')}",
                ],
                "pt": [f"às {h:02}:{m:02}", f"às {h}h{f'{m:02}' if m else ''}"],
            },
            bare={"en": [f"{h:02}:{m:02}"], "pt": [f"{h:02}:{m:02}"]},
        )

    h, m = rng.choice([n for n in range(7, 23) if n != 12]), rng.choice([0, 0, 15, 30, 45])
    other = (h + 12) % 24
    wrong = [value(h + rng.choice([1, 2]), m), value(h, (m + 30) % 60)]
    if other not in (0, 12):
        wrong.append(value(other, m))
    return value(h, m), wrong


def weekday(rng: random.Random) -> Draw:
    """A day of the week."""
    days = rng.sample(range(7), 3)
    values = [
        Value(
            {
                "en": [f"on {WEEKDAYS['en'][d]}"],
                "pt": [f"{'na' if d < 5 else 'no'} {WEEKDAYS['pt'][d]}"],
            },
            bare={"en": [WEEKDAYS["en"][d]], "pt": [WEEKDAYS["pt"][d]]},
        )
        for d in days
    ]
    return values[0], values[1:]


def _names(make: Callable[[random.Random], str]) -> Maker:
    def draw(rng: random.Random) -> Draw:
        found = [Value({"en": [n], "pt": [n]}) for n in dict.fromkeys(make(rng) for _ in range(4))]
        return found[0], found[1:]

    return draw


def who(rng: random.Random) -> Draw:
    """A person's name."""
    found = [Value({"en": [p.name], "pt": [p.name]}) for p in names.people(rng, 4)]
    return found[0], found[1:]


where = _names(names.place)
which_firm = _names(names.firm)


def words(*pairs: str) -> Maker:
    """A maker that draws from ``english=português`` pairs that exclude one another."""
    table = [tuple(p.split("=")) for p in pairs]

    def make(rng: random.Random) -> Draw:
        found = [
            Value({"en": [en], "pt": [pt]}) for en, pt in rng.sample(table, min(4, len(table)))
        ]
        return found[0], found[1:]

    return make


def email(rng: random.Random) -> Draw:
    """An e-mail address."""
    users = rng.sample(["help", "info", "sales", "press", "hr", "billing", "team", "support"], 2)
    host = names.syllables(rng, 2).lower()
    other = names.syllables(rng, 2).lower()
    ends = rng.sample(["example.com", "example.org", "example.net", "com.example"], 2)
    made = [
        f"{users[0]}@{host}.{ends[0]}",
        f"{users[1]}@{host}.{ends[0]}",
        f"{users[0]}@{host}.{ends[1]}",
        f"{users[0]}@{other}.{ends[0]}",
    ]
    values = [Value({"en": [m], "pt": [m]}) for m in made]
    return values[0], values[1:]


def phone(rng: random.Random) -> Draw:
    """A telephone number, written with other separators in equal forms."""

    def value(digits: str) -> Value:
        a, b, c = digits[:2], digits[2:6], digits[6:]
        forms = [f"({a}) {b}-{c}", f"{a} {b} {c}", f"{a}-{b}-{c}", f"{a} {b}-{c}"]
        return Value({"en": forms, "pt": forms})

    digits = str(rng.randint(1000000000, 9999999999))
    wrong = []
    for i in rng.sample(range(10), 3):
        digit = rng.choice([d for d in "123456789" if d != digits[i]])
        wrong.append(value(digits[:i] + digit + digits[i + 1 :]))
    return value(digits), wrong


def version(rng: random.Random) -> Draw:
    """A version number."""
    a, b, c = rng.randint(1, 9), rng.randint(0, 14), rng.randint(0, 9)

    def value(*parts: int) -> Value:
        text = ".".join(map(str, parts))
        forms = [text, text, f"v{text}"]
        return Value({"en": forms, "pt": forms})

    if rng.random() < 0.4:
        return value(a, b), [value(a, b + 1), value(a + 1, b), value(a, b + 10)]
    return value(a, b, c), [
        value(a, b, c + 1),
        value(a, b + 1, c),
        value(a + 1, b, c),
        value(a, c + 15, b),
    ]


def code(prefix: str = "") -> Maker:
    """A maker of reference codes such as ``KT-4821``."""

    def make(rng: random.Random) -> Draw:
        head = prefix or "".join(rng.choice("ABCDEFHKLMNPRSTVXZ") for _ in range(2)) + "-"
        n = rng.randint(100, 9999)
        near = [n + rng.choice([1, 9, 10, 90]), changed_digit(rng, n), int(str(n)[::-1])]
        right = Value({"en": [f"{head}{n}"], "pt": [f"{head}{n}"]})
        wrong = [Value({"en": [f"{head}{m}"], "pt": [f"{head}{m}"]}) for m in near]
        return right, unlike(right, wrong)

    return make


def flag(rng: random.Random) -> Draw:
    """A command-line option."""
    verbs = rng.sample(["max", "no", "with", "skip", "force", "dry", "keep", "min", "use"], 2)
    nouns = rng.sample(
        ["cache", "retries", "color", "tests", "depth", "run", "logs", "index", "lock"], 2
    )
    made = [
        f"--{verbs[0]}-{nouns[0]}",
        f"--{verbs[1]}-{nouns[0]}",
        f"--{verbs[0]}-{nouns[1]}",
        f"--{nouns[1]}",
    ]
    values = [Value({"en": [m, f"`{m}`"], "pt": [m, f"`{m}`"]}) for m in made]
    return values[0], values[1:]


def port(rng: random.Random) -> Draw:
    """A port number."""
    n = rng.choice([rng.randint(1024, 9999), rng.randint(30, 999) * 10])
    near = dict.fromkeys([n + 1, n + 10, changed_digit(rng, n), n + 1000])
    right = Value({"en": [str(n)], "pt": [str(n)]})
    return right, [Value({"en": [str(m)], "pt": [str(m)]}) for m in near if m != n]
