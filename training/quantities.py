"""Pairs about quantities: all and some, comparison, sums, change, fractions, bounds and spans.

Every generator takes the language of the document and that of the claim, and returns one
(document, claim, label).
"""

from __future__ import annotations

import random
from collections.abc import Callable

import names
from facts import capital
from templates import CON, ENT, NEU, NOT, Both, Made, both, other, paired
from values import MONTHS, english_words, portuguese_words

_GROUPS = [
    ("samples", "amostras", "as"),
    ("students", "alunas", "as"),
    ("workers", "operários", "os"),
    ("houses", "casas", "as"),
    ("tickets", "ingressos", "os"),
    ("trucks", "caminhões", "os"),
    ("patients", "pacientes do grupo", "os"),
    ("members", "sócios", "os"),
    ("rooms", "salas", "as"),
    ("files", "arquivos", "os"),
    ("invoices", "faturas", "as"),
    ("trees", "árvores", "as"),
    ("boxes", "caixas", "as"),
    ("flights", "voos", "os"),
    ("applicants", "candidatos", "os"),
    ("letters", "cartas", "as"),
    ("dogs", "cachorros", "os"),
    ("schools", "escolas", "as"),
]

_PREDICATES = [
    ("were checked", "foram verificad@s"),
    ("were damaged", "foram danificad@s"),
    ("were moved", "foram transferid@s"),
    ("passed the test", "passaram no teste"),
    ("were late", "se atrasaram"),
    ("came from abroad", "vieram do exterior"),
    ("were paid for", "foram pag@s"),
    ("were photographed", "foram fotografad@s"),
    ("were replaced", "foram trocad@s"),
    ("needed repair", "precisaram de reparo"),
    ("received a number", "receberam um número"),
    ("were counted", "foram contad@s"),
]

_QUANTITY: dict[str, Both] = {
    "all": both(
        "All the {g} {p}.|Every one of the {g} {q}.|Each of the {g} {q}.|"
        "The {g} {p}, without exception.",
        "Tod@s {o} {g} {p}.|{O} {g} {p}, sem exceção.|A totalidade d{o} {g}: tod@s {p}.",
    ),
    "none": both(
        "None of the {g} {p}.|Not a single one of the {g} {q}.|No {g} {p}.",
        "Nenhum@ d{o} {g}: tod@s não {p}.|{O} {g} não {p}, nem mesmo um@.|"
        "Tod@s {o} {g}, sem exceção, não {p}.",
    ),
    "some": both(
        "Some of the {g} {p}.|A number of the {g} {p}.|There were {g} that {p}.",
        "Algun$ d{o} {g} {p}.|Parte d{o} {g}: algun$ {p}.|Houve {g} que {p}.",
    ),
    "part": both(
        "Some of the {g} {p}, but not all of them.|Only some of the {g} {p}.|"
        "Some, though not all, of the {g} {p}.",
        "Algun$ d{o} {g} {p}, mas não tod@s.|Só algun$ d{o} {g} {p}.|"
        "Apenas uma parte d{o} {g}, e não tod@s, {p}.",
    ),
    "most": both(
        "Most of the {g} {p}.|More than half of the {g} {p}.|The majority of the {g} {p}.",
        "A maioria d{o} {g}: mais da metade {p}.|Mais da metade d{o} {g} {p}.",
    ),
    "notall": both(
        "Not all the {g} {p}.|Not every one of the {g} {q}.",
        "Nem tod@s {o} {g} {p}.|Não é verdade que tod@s {o} {g} {p}.",
    ),
}

_QUANTITY_LABELS = {
    "all": {"all": ENT, "some": ENT, "most": ENT, "none": CON, "notall": CON, "part": CON},
    "none": {"none": ENT, "all": CON, "some": CON, "most": CON, "notall": ENT, "part": CON},
    "some": {"some": ENT, "all": NEU, "most": NEU, "none": CON},
    "part": {"part": ENT, "some": ENT, "notall": ENT, "all": CON, "none": CON},
    "most": {"most": ENT, "some": ENT, "all": NEU, "none": CON},
}


def quantity_words(rng: random.Random, lp: str, lh: str) -> Made:
    """All, most, some, none and not all, among themselves and against counts."""
    group_en, group_pt, article = rng.choice(_GROUPS)
    pred_en, pred_pt = rng.choice(_PREDICATES)

    def tell(kind: str, lang: str, avoid: str = "") -> tuple[str, str]:
        template = other(rng, _QUANTITY[kind][lang], avoid)
        vowel = article[0]
        several = "s" if vowel == "o" else "as"
        text = template.replace("Tod@s", f"Tod{vowel}s").replace("tod@s", f"tod{vowel}s")
        text = text.replace("Algun$", f"Algun{several}").replace("algun$", f"algun{several}")
        text = text.replace("Nenhum@", "Nenhum" + ("a" if vowel == "a" else "")).replace(
            "um@", "uma" if vowel == "a" else "um"
        )
        slots = {
            "en": (group_en, pred_en, pred_en.replace("were ", "was ")),
            "pt": (group_pt, pred_pt.replace("@", vowel), ""),
        }[lang]
        return text.format(
            g=slots[0], p=slots[1], q=slots[2], o=article, O=article.capitalize()
        ), template

    if rng.random() < 0.3:
        total = rng.randint(12, 400)
        part = rng.randint(2, total - 2)
        if 0.42 < part / total < 0.58:
            part = max(2, total // 5)
        told = {
            "en": rng.choice(
                [
                    f"{part} of the {total} {group_en} {pred_en}.",
                    f"Of {total} {group_en}, {part} {pred_en}.",
                ]
            ),
            "pt": f"D{article} {total} {group_pt}, {part} {pred_pt.replace('@', article[0])}.",
        }[lp]
        kind = rng.choice(["all", "none", "some", "part", "notall", "most"])
        label = {"all": CON, "none": CON, "most": ENT if part > total / 2 else CON}.get(kind, ENT)
        return told, tell(kind, lh)[0], label
    kind = rng.choice(list(_QUANTITY_LABELS))
    options = _QUANTITY_LABELS[kind]
    label = rng.choice(sorted(set(options.values())))
    claim = rng.choice([k for k, value in options.items() if value == label])
    told, template = tell(kind, lp)
    return told, tell(claim, lh, template if kind == claim else "")[0], label


_DEPARTMENTS = [
    ("Legal", "Jurídico"),
    ("Finance", "Financeiro"),
    ("Sales", "Comercial"),
    ("Marketing", "Marketing"),
    ("Support", "Suporte"),
    ("Research", "Pesquisa"),
    ("Logistics", "Logística"),
    ("Design", "Design"),
]

_ACTS = [
    (
        "moved to the new building",
        "foi para o prédio novo",
        "stayed out of the new building",
        "não foi para o prédio novo",
    ),
    ("met its target", "bateu a meta", "missed its target", "não bateu a meta"),
    (
        "adopted the new system",
        "adotou o novo sistema",
        "did not adopt the new system",
        "não adotou o novo sistema",
    ),
    (
        "works on Fridays",
        "trabalha às sextas",
        "does not work on Fridays",
        "não trabalha às sextas",
    ),
    (
        "got a bigger budget",
        "ganhou um orçamento maior",
        "did not get a bigger budget",
        "não ganhou um orçamento maior",
    ),
    ("sent a representative", "enviou um representante", "sent nobody", "não enviou ninguém"),
]


def exceptions(rng: random.Random, lp: str, lh: str) -> Made:
    """Every department but one; only one department."""
    x, y = (dict(zip(("en", "pt"), d, strict=True)) for d in rng.sample(_DEPARTMENTS, 2))
    en, pt, no_en, no_pt = rng.choice(_ACTS)
    yes, no = {"en": en, "pt": pt}, {"en": no_en, "pt": no_pt}
    say = {
        "en": "{d} {p}.|The {d} department {p}.",
        "pt": "O setor {d} {p}.|O departamento {d} {p}.",
    }
    claim = rng.choice(say[lh].split("|"))
    if rng.random() < 0.5:
        told = {
            "en": f"Every department except {x['en']} {yes['en']}. "
            f"{y['en']} is one of the departments.",
            "pt": f"Todo departamento, exceto o {x['pt']}, {yes['pt']}. "
            f"{y['pt']} é um dos departamentos.",
        }[lp]
        good, bad = [(x, no), (y, yes)], [(x, yes), (y, no)]
    else:
        told = {
            "en": f"Only the {x['en']} department {yes['en']}. {y['en']} is another department.",
            "pt": f"Apenas o departamento {x['pt']} {yes['pt']}. {y['pt']} é outro departamento.",
        }[lp]
        good, bad = [(x, yes), (y, no)], [(x, no), (y, yes)]
    right = rng.random() < 0.5
    d, p = rng.choice(good if right else bad)
    return told, claim.format(d=d[lh], p=p[lh]), ENT if right else CON


_SCALES = [
    # more, less, as..as (en); more, less, base (pt); measure
    (
        "heavier",
        "lighter",
        "heavy",
        "mais pesado",
        "mais leve",
        "pesado",
        "weighs {n} kg",
        "pesa {n} kg",
    ),
    (
        "faster",
        "slower",
        "fast",
        "mais rápido",
        "mais lento",
        "rápido",
        "reaches {n} km/h",
        "chega a {n} km/h",
    ),
    (
        "more expensive",
        "cheaper",
        "expensive",
        "mais caro",
        "mais barato",
        "caro",
        "costs ${n}",
        "custa R$ {n}",
    ),
    (
        "longer",
        "shorter",
        "long",
        "mais comprido",
        "mais curto",
        "comprido",
        "measures {n} cm",
        "mede {n} cm",
    ),
    (
        "louder",
        "quieter",
        "loud",
        "mais barulhento",
        "mais silencioso",
        "barulhento",
        "produces {n} dB of noise",
        "produz {n} dB de ruído",
    ),
    (
        "taller",
        "lower",
        "tall",
        "mais alto",
        "mais baixo",
        "alto",
        "stands {n} cm tall",
        "tem {n} cm de altura",
    ),
]

_COMPARE = both(
    "The {A} is {more} than the {B}.|The {B} is {less} than the {A}.|"
    "Compared with the {B}, the {A} is {more}.|"
    "The {B} is not as {base} as the {A}.|Of the two, the {A} is {more} than the {B}.",
    "O {A} é {more} que o {B}.|O {B} é {less} que o {A}.|Comparado ao {B}, o {A} é {more}.|"
    "O {B} não é tão {base} quanto o {A}.|Entre os dois, o {A} é {more} do que o {B}.",
)


def comparison(rng: random.Random, lp: str, lh: str) -> Made:
    """Comparatives: converse wording, figures, and chains of three."""
    row = rng.choice(_SCALES)
    words = {
        "en": {"more": row[0], "less": row[1], "base": row[2]},
        "pt": {"more": row[3], "less": row[4], "base": row[5]},
    }
    figure = {"en": row[6], "pt": row[7]}
    a = names.product(rng)
    b, c = (
        names.family(rng, a, 2) if rng.random() < 0.5 else (names.product(rng), names.product(rng))
    )
    low = rng.randint(3, 300)
    high = low + rng.choice([1, 2, 5, 17, 40, 120])
    kind = rng.random()
    template = ""
    if kind < 0.4:
        template = rng.choice(_COMPARE[lp])
        told = template.format(A=a, B=b, **words[lp])
    elif kind < 0.8:
        parts = [(a, high), (b, low)]
        rng.shuffle(parts)
        the = "The" if lp == "en" else "O"
        told = " ".join(f"{the} {e} {figure[lp].format(n=n)}." for e, n in parts)
    else:
        told = (
            rng.choice(_COMPARE[lp]).format(A=a, B=c, **words[lp])
            + " "
            + rng.choice(_COMPARE[lp]).format(A=c, B=b, **words[lp])
        )
    way = other(rng, _COMPARE[lh], template)
    if rng.random() < 0.5:
        return told, way.format(A=a, B=b, **words[lh]), ENT
    return told, way.format(A=b, B=a, **words[lh]), CON


_BEST = {
    "en": "The {X} is the {most} of them all.|The {most} of the group is the {X}.|"
    "None of the others is {more} than the {X}.",
    "pt": "O {X} é o {more} de todos.|O {more} do grupo é o {X}.|"
    "Nenhum dos outros é {more} que o {X}.",
}

_MOST = {
    "heavier": "heaviest",
    "faster": "fastest",
    "more expensive": "most expensive",
    "longer": "longest",
    "louder": "loudest",
    "taller": "tallest",
    "lighter": "lightest",
    "slower": "slowest",
    "cheaper": "cheapest",
    "shorter": "shortest",
    "quieter": "quietest",
    "lower": "lowest",
}


def superlative(rng: random.Random, lp: str, lh: str) -> Made:
    """The most of a group, from figures; unsupported when only two were compared."""
    row = rng.choice(_SCALES)
    figure = {"en": row[6], "pt": row[7]}[lp]
    first = names.product(rng)
    group = (
        [first, *names.family(rng, first, 3)]
        if rng.random() < 0.5
        else [names.product(rng) for _ in range(4)]
    )
    top = rng.random() < 0.6
    more = {"en": row[0] if top else row[1], "pt": row[3] if top else row[4]}
    template = rng.choice(_BEST[lh].split("|"))

    def claim(name: str) -> str:
        return template.format(X=name, more=more[lh], most=_MOST.get(more["en"], ""))

    if rng.random() < 0.15:
        told = (
            rng.choice(_COMPARE[lp]).format(
                A=group[0],
                B=group[1],
                more=more[lp],
                less={"en": row[1] if top else row[0], "pt": row[4] if top else row[3]}[lp],
                base=(
                    {"en": row[2], "pt": row[5]}[lp] if top else {"en": row[1], "pt": row[4]}[lp]
                ),
            )
            if top
            else ""
        )
        if told:
            return told, claim(group[0]), NEU
    numbers = rng.sample(range(5, 400), len(group))
    the = "The" if lp == "en" else "O"
    told = " ".join(f"{the} {e} {figure.format(n=n)}." for e, n in zip(group, numbers, strict=True))
    best = group[numbers.index(max(numbers) if top else min(numbers))]
    if rng.random() < 0.5:
        return told, claim(best), ENT
    return told, claim(other(rng, group, best)), CON


_THINGS = [
    ("books", "livros"),
    ("bicycles", "patinetes"),
    ("chairs", "bancos"),
    ("computers", "computadores"),
    ("trees", "pinheiros"),
    ("meals", "almoços"),
    ("tickets", "ingressos"),
    ("lamps", "abajures"),
]

_GOT = [
    ("bought", "comprou"),
    ("sold", "vendeu"),
    ("donated", "doou"),
    ("repaired", "consertou"),
    ("ordered", "encomendou"),
    ("delivered", "entregou"),
]

_TOGETHER = both(
    "In the two months together|Over the two months|In total",
    "Nos dois meses somados|Ao todo|No total dos dois meses",
)


def sums(rng: random.Random, lp: str, lh: str) -> Made:
    """Totals and differences that need two numbers."""
    thing = paired(rng, _THINGS)
    verb = paired(rng, _GOT)
    who = rng.choice([names.firm(rng), names.person(rng).name])
    m, n = sorted(rng.sample(range(12), 2))
    scale = rng.choice([1, 1, 10, 100])
    x, y = rng.randint(2, 60) * scale, rng.randint(2, 60) * scale
    first = {"en": MONTHS["en"][m], "pt": MONTHS["pt"][m]}
    second = {"en": MONTHS["en"][n], "pt": MONTHS["pt"][n]}
    told = {
        "en": rng.choice(
            [
                f"{who} {verb['en']} {x} {thing['en']} in {first['en']}. In {second['en']}, "
                f"another {y} {thing['en']} followed.",
                f"In {first['en']}, {who} {verb['en']} {x} {thing['en']}. The figure for "
                f"{second['en']} was {y}.",
                f"{first['en']}: {x} {thing['en']} {verb['en']} by {who}. {second['en']}: {y}.",
            ]
        ),
        "pt": rng.choice(
            [
                f"{who} {verb['pt']} {x} {thing['pt']} em {first['pt']}. Em {second['pt']}, "
                f"{verb['pt']} mais {y} {thing['pt']}.",
                f"Em {first['pt']}, {who} {verb['pt']} {x} {thing['pt']}. Em {second['pt']}, o "
                f"número foi de {y}.",
            ]
        ),
    }[lp]
    total = x + y
    shown = total
    right = rng.random() < 0.5
    if not right:
        shown = rng.choice(
            [n for n in (x, y, total + scale, total - scale, total + 10 * scale) if n != total]
        )
    claim = {
        lang: f"{rng.choice(ways)}, {who} {verb[lang]} {shown} {thing[lang]}"
        for lang, ways in _TOGETHER.items()
    }[lh]
    return told, claim + ".", ENT if right else CON


_SUBJECTS = [
    ("the price", "o preço"),
    ("the number of members", "o número de sócios"),
    ("output", "a produção"),
    ("the temperature", "a temperatura"),
    ("the rent", "o aluguel"),
    ("traffic", "o tráfego"),
    ("attendance", "o público"),
    ("the water level", "o nível da água"),
    ("the debt", "a dívida"),
]

_RATES = [("the share", "a parcela"), ("the rate", "a taxa"), ("turnout", "a participação")]
_RISE = both("rose|increased|went up", "subiu|aumentou|cresceu")
_FALL = both("fell|dropped|went down", "caiu|diminuiu|baixou")
_SAME_RISE = both("rose|increased", "subiu|aumentou")
_SAME_FALL = both("fell|decreased", "caiu|diminuiu")


def change(rng: random.Random, lp: str, lh: str) -> Made:
    """Rises and falls: direction, amount, and percentage points against percent."""
    s = paired(rng, _SUBJECTS)
    points = rng.random() < 0.35
    if points:
        s = paired(rng, _RATES)
    x = rng.randint(4, 60)
    d = rng.choice([n for n in (2, 3, 5, 8, 10, 15) if n != x])
    up = rng.random() < 0.5
    a, b = (x, x + d) if up else (x + d, x)
    unit = "%" if points else ""
    verb = {lang: rng.choice(ways) for lang, ways in (_RISE if up else _FALL).items()}
    back = {"en": "fell" if up else "rose", "pt": "caiu" if up else "subiu"}
    told = {
        "en": f"{capital(s['en'])} {verb['en']} from {a}{unit} to {b}{unit}.",
        "pt": f"{capital(s['pt'])} {verb['pt']} de {a}{unit} para {b}{unit}.",
    }[lp]
    if rng.random() < 0.3:
        told = {
            "en": f"{capital(s['en'])} was {a}{unit} at first. Later it was {b}{unit}.",
            "pt": f"{capital(s['pt'])} era de {a}{unit} no início. Depois, passou a {b}{unit}.",
        }[lp]
    by = {
        "en": " percentage points" if points else "",
        "pt": " pontos percentuais" if points else "",
    }[lh]
    joint = {"en": " by ", "pt": " em "}[lh]
    same = {lang: rng.choice(w) for lang, w in (_SAME_RISE if up else _SAME_FALL).items()}
    kind = rng.randrange(6 if points else 5)
    start = capital(s[lh])
    if kind == 0:
        return told, f"{start} {same[lh]}.", ENT
    if kind == 1:
        return told, f"{start} {same[lh]}{joint}{d}{by}.", ENT
    if kind == 2:
        return told, f"{start} {back[lh]}.", CON
    if kind == 3:
        return told, f"{start} {same[lh]}{joint}{d + rng.choice([1, 4, 10])}{by}.", CON
    if kind == 4:
        return told, f"{start} {back[lh]}{joint}{d}{by}.", CON
    return told, f"{start} {same[lh]}{joint}{d}%.", NOT


_PARTS = [
    (50, "half", "metade"),
    (25, "a quarter", "um quarto"),
    (75, "three quarters", "três quartos"),
    (20, "one in five", "um em cada cinco"),
    (10, "one in ten", "um em cada dez"),
    (20, "a fifth", "um quinto"),
    (40, "two fifths", "dois quintos"),
]

_POLLED = [
    ("of the voters", "dos eleitores"),
    ("of the patients", "dos pacientes"),
    ("of the budget", "do orçamento"),
    ("of the staff", "do pessoal"),
    ("of the readers", "dos leitores"),
    ("of the land", "das terras"),
]

_FAVOUR = [
    ("went to the north", "foi para o norte"),
    ("was lost", "se perdeu"),
    ("stayed the same", "ficou igual"),
    ("came from the city", "veio da cidade"),
]


def fractions(rng: random.Random, lp: str, lh: str) -> Made:
    """Percentages told as fractions."""
    p, en, pt = rng.choice(_PARTS)
    word = {"en": en, "pt": pt}
    group = paired(rng, _POLLED)
    act = paired(rng, _FAVOUR)
    q = rng.choice([n for n in (10, 20, 25, 40, 50, 75, 90) if n != p])
    wrong = rng.choice([row for row in _PARTS if row[0] != p])
    right = rng.random() < 0.5
    if rng.random() < 0.5:
        told = f"{p}% {group[lp]} {act[lp]}."
        shown = word[lh] if right else {"en": wrong[1], "pt": wrong[2]}[lh]
        claim = f"{capital(shown)} {group[lh]} {act[lh]}."
    else:
        told = f"{capital(word[lp])} {group[lp]} {act[lp]}."
        claim = f"{p if right else q}% {group[lh]} {act[lh]}."
    return told, claim, ENT if right else CON


_ROUGH = [
    ("visitors came", "visitantes vieram"),
    ("people live there", "pessoas moram lá"),
    ("letters arrived", "cartas chegaram"),
    ("votes were counted", "votos foram contados"),
    ("trees were planted", "árvores foram plantadas"),
]


def roughly(rng: random.Random, lp: str, lh: str) -> Made:
    """Exact numbers told as bounds, ranges and round numbers."""
    what = paired(rng, _ROUGH)
    n = rng.choice([rng.randint(120, 990), rng.randint(1200, 9900)])
    step = 100 if n < 1000 else 1000
    below, above = n // step * step, (n // step + 1) * step
    told = {"en": f"{n} {what['en']}.", "pt": f"{n} {what['pt']}."}[lp]
    ways = {
        "en": [
            ("More than {} ", below, above),
            ("At least {} ", below, above),
            ("Fewer than {} ", above, below),
            ("At most {} ", above, below),
        ],
        "pt": [
            ("Mais de {} ", below, above),
            ("Pelo menos {} ", below, above),
            ("Menos de {} ", above, below),
            ("No máximo {} ", above, below),
        ],
    }[lh]
    if n == below:
        ways = ways[1:2]
    form, good, bad = rng.choice(ways)
    right = rng.random() < 0.5
    if rng.random() < 0.25:
        near = round(n, -1) if n < 1000 else round(n, -2)
        far = near * 2 if rng.random() < 0.5 else near * 10
        about = rng.choice(
            {
                "en": ["About {} ", "Around {} ", "Roughly {} "],
                "pt": ["Cerca de {} ", "Aproximadamente {} "],
            }[lh]
        )
        return told, about.format(near if right else far) + what[lh] + ".", ENT if right else CON
    return told, form.format(good if right else bad) + what[lh] + ".", ENT if right else CON


def digits_or(rng: random.Random, spell: Callable[[int], str], n: int) -> str:
    """A number as digits or in words."""
    return rng.choice([str(n), spell(n)])


def spelled(rng: random.Random, lp: str, lh: str) -> Made:
    """Ordinals, durations and ages in words against digits."""
    n = rng.randint(2, 29)
    person = names.person(rng)
    start = rng.randint(1930, 2000)
    firm = names.firm(rng)
    kind = rng.randrange(2)
    right = rng.random() < 0.5
    m = n if right else n + rng.choice([1, 2, 5, 10])
    if kind == 0:
        told = {
            "en": f"{person.name} worked at {firm} from {start} to {start + n}.",
            "pt": f"{person.name} trabalhou na {firm} de {start} a {start + n}.",
        }[lp]
        claim = {
            "en": f"{person.name} spent {digits_or(rng, english_words, m)} years at {firm}.",
            "pt": f"{person.name} passou {digits_or(rng, portuguese_words, m)} anos na {firm}.",
        }[lh]
    else:
        told = {
            "en": f"{person.name}, aged {n + 18}, joined {firm} as a driver.",
            "pt": f"{person.name}, de {n + 18} anos, entrou na {firm} como motorista.",
        }[lp]
        claim = {
            "en": f"{person.name} was {digits_or(rng, english_words, m + 18)} years old.",
            "pt": f"{person.name} tinha {digits_or(rng, portuguese_words, m + 18)} anos.",
        }[lh]
    return told, claim, ENT if right else CON
