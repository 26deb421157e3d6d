"""Pairs about relations: who did what to whom, in which order, who is meant, and two-step claims.

Every generator takes the language of the document and that of the claim, and returns one
(document, claim, label).
"""

from __future__ import annotations

import random

import names
from facts import capital
from templates import CON, ENT, NOT, Made, both, fill, other, paired
from values import MONTHS

_FIRM_VERBS = [
    "acquired|adquir|iu|ida",
    "sued|process|ou|ada",
    "sponsored|patrocin|ou|ada",
    "financed|financi|ou|ada",
    "overtook|ultrapass|ou|ada",
    "accused|acus|ou|ada",
    "supplied|abastec|eu|ida",
    "hired|contrat|ou|ada",
    "audited|audit|ou|ada",
    "saved|salv|ou|a",
    "copied|copi|ou|ada",
    "fined|mult|ou|ada",
    "insured|assegur|ou|ada",
    "advised|aconselh|ou|ada",
    "warned|alert|ou|ada",
    "paid|pag|ou|a",
]

_PERSON_VERBS = [
    "hired|contrat|ou|ad@",
    "praised|elogi|ou|ad@",
    "criticised|critic|ou|ad@",
    "defeated|derrot|ou|ad@",
    "replaced|substitu|iu|íd@",
    "interviewed|entrevist|ou|ad@",
    "rescued|resgat|ou|ad@",
    "invited|convid|ou|ad@",
    "sued|process|ou|ad@",
    "followed|segu|iu|id@",
    "blamed|culp|ou|ad@",
    "thanked|agradec|eu|id@",
    "recommended|recomend|ou|ad@",
    "betrayed|tra|iu|íd@",
    "nominated|indic|ou|ad@",
    "treated|trat|ou|ad@",
    "examined|examin|ou|ad@",
    "trained|trein|ou|ad@",
    "photographed|fotograf|ou|ad@",
]

_IRREGULAR_PASSIVE = {"overtook": "overtaken", "paid": "paid"}

_TIMES = [
    ("in {y}", "em {y}"),
    ("last year", "no ano passado"),
    ("in {m}", "em {m}"),
    ("", ""),
    ("", ""),
]


def _time(rng: random.Random) -> dict[str, str]:
    en, pt = rng.choice(_TIMES)
    y, m = rng.randint(1950, 2025), rng.randrange(12)
    return {"en": en.format(y=y, m=MONTHS["en"][m]), "pt": pt.format(y=y, m=MONTHS["pt"][m])}


def roles(rng: random.Random, lp: str, lh: str) -> Made:
    """Active and passive voice, with the two parties kept or exchanged."""
    if rng.random() < 0.5:
        en, stem, past, part = rng.choice(_FIRM_VERBS).split("|")
        a, b = names.firm(rng), names.firm(rng)
        part_b = part_a = part
        by = "pela"
        the = "a "
    else:
        en, stem, past, part = rng.choice(_PERSON_VERBS).split("|")
        first, second = names.people(rng, 2)
        a, b = first.name, second.name
        part_a = part.replace("@", "a" if first.female else "o")
        part_b = part.replace("@", "a" if second.female else "o")
        by, the = "por", ""
    passive = _IRREGULAR_PASSIVE.get(en, en)
    time = _time(rng)

    def active(lang: str, x: str, y: str, when: str) -> str:
        if lang == "en":
            return f"{x} {en} {y} {when}".strip() + "."
        return capital(f"{the}{x} {stem}{past} {the}{y} {when}".strip() + ".")

    def passive_of(lang: str, x: str, y: str, ending: str, when: str) -> str:
        if lang == "en":
            return f"{y} was {passive} by {x} {when}".strip() + "."
        return capital(f"{the}{y} foi {stem}{ending} {by} {x} {when}".strip() + ".")

    when_h = time[lh] if rng.random() < 0.6 else ""
    told = (
        active(lp, a, b, time[lp]) if rng.random() < 0.6 else passive_of(lp, a, b, part_b, time[lp])
    )
    if rng.random() < 0.5:
        claim = (
            active(lh, a, b, when_h)
            if rng.random() < 0.35
            else passive_of(lh, a, b, part_b, when_h)
        )
        return told, claim, ENT
    claim = active(lh, b, a, when_h) if rng.random() < 0.5 else passive_of(lh, b, a, part_a, when_h)
    return told, claim, NOT if en in _MUTUAL else CON


_MUTUAL = {
    "praised",
    "criticised",
    "sued",
    "accused",
    "invited",
    "thanked",
    "blamed",
    "interviewed",
    "betrayed",
    "copied",
    "warned",
    "paid",
    "supplied",
    "recommended",
    "photographed",
    "advised",
}
"""Verbs where the reverse could also be true: the exchanged claim is unsupported, not refuted."""

_OBJECTS = [
    ("the mill", "o moinho"),
    ("a farm", "uma fazenda"),
    ("the boat", "o barco"),
    ("a painting", "um quadro"),
    ("the old car", "o carro antigo"),
    ("a violin", "um violino"),
    ("the warehouse", "o armazém"),
    ("two horses", "dois cavalos"),
    ("the patent", "a patente"),
    ("a plot of land", "um terreno"),
    ("the camera", "a câmera"),
    ("the archive", "o arquivo"),
    ("a printing press", "uma gráfica"),
]

_CONVERSES: list[tuple[str, str, str, str]] = [
    (
        "{A} sold {o} to {B}.",
        "{B} bought {o} from {A}.",
        "{A} vendeu {o} a {B}.",
        "{B} comprou {o} de {A}.",
    ),
    (
        "{A} lent {o} to {B}.",
        "{B} borrowed {o} from {A}.",
        "{A} emprestou {o} a {B}.",
        "{B} pegou {o} emprestado de {A}.",
    ),
    (
        "{A} gave {o} to {B}.",
        "{B} received {o} from {A}.",
        "{A} deu {o} a {B}.",
        "{B} recebeu {o} de {A}.",
    ),
    (
        "{A} left {o} to {B} in a will.",
        "{B} inherited {o} from {A}.",
        "{A} deixou {o} em testamento para {B}.",
        "{B} herdou {o} de {A}.",
    ),
    (
        "{A} beat {B} in the final.",
        "{B} lost the final to {A}.",
        "{A} venceu {B} na final.",
        "{B} perdeu a final para {A}.",
    ),
    (
        "{A} works for {B}.",
        "{B} is the employer of {A}.",
        "{A} trabalha para {B}.",
        "{B} emprega {A}.",
    ),
    (
        "{A} is the teacher of {B}.",
        "{B} is a pupil of {A}.",
        "{A} dá aulas a {B}.",
        "{B} tem aulas com {A}.",
    ),
    ("{A} reports to {B}.", "{B} is the boss of {A}.", "{A} responde a {B}.", "{B} chefia {A}."),
    (
        "{A} owes money to {B}.",
        "{B} is owed money by {A}.",
        "{A} deve dinheiro a {B}.",
        "{B} tem dinheiro a receber de {A}.",
    ),
    (
        "{A} is older than {B}.",
        "{B} is younger than {A}.",
        "{A} tem mais idade que {B}.",
        "{B} tem menos idade que {A}.",
    ),
    (
        "{A} lives north of {B}.",
        "{B} lives south of {A}.",
        "{A} mora ao norte de {B}.",
        "{B} mora ao sul de {A}.",
    ),
    (
        "{A} arrived before {B}.",
        "{B} arrived after {A}.",
        "{A} chegou antes de {B}.",
        "{B} chegou depois de {A}.",
    ),
    (
        "{A} is a parent of {B}.",
        "{B} is a child of {A}.",
        "{B} tem {A} entre os pais.",
        "{B} descende diretamente de {A}.",
    ),
    (
        "{A} rents {o} out to {B}.",
        "{B} rents {o} from {A}.",
        "{A} aluga {o} para {B}.",
        "{B} é inquilino de {A} e usa {o}.",
    ),
    (
        "{A} succeeded {B} as chair.",
        "{B} was chair before {A}.",
        "{A} sucedeu a {B} no comando.",
        "{B} esteve no comando antes de {A}.",
    ),
]

_SYMMETRIC = [
    ("{A} married {B}.", "{A} se casou com {B}."),
    ("{A} met {B}.", "{A} se encontrou com {B}."),
    ("{A} is a cousin of {B}.", "{A} tem parentesco de primeiro grau com {B}."),
    ("{A} shares an office with {B}.", "{A} divide o escritório com {B}."),
    ("{A} played chess with {B}.", "{A} jogou xadrez com {B}."),
    ("{A} spoke with {B}.", "{A} conversou com {B}."),
    ("{A} wrote the report together with {B}.", "{A} escreveu o relatório junto com {B}."),
]


def converses(rng: random.Random, lp: str, lh: str) -> Made:
    """Sold to and bought from, older and younger: converse wording, right or exchanged."""
    first, second = names.people(rng, 2)
    a, b = first.name, second.name
    if rng.random() < 0.2:
        pair = paired(rng, _SYMMETRIC)
        return fill(pair[lp], A=a, B=b), fill(pair[lh], A=b, B=a), ENT
    row = rng.choice(_CONVERSES)
    ways = {"en": row[:2], "pt": row[2:]}
    o = paired(rng, _OBJECTS)
    i = rng.randrange(2)
    told = fill(ways[lp][i], A=a, B=b, o=o[lp])
    j = 1 - i if rng.random() < 0.75 else i
    if rng.random() < 0.5:
        return told, fill(ways[lh][j], A=a, B=b, o=o[lh]), ENT
    return told, fill(ways[lh][j], A=b, B=a, o=o[lh]), CON


_EVENTS = [
    ("the audit", "a auditoria"),
    ("the merger", "a fusão"),
    ("the strike", "a greve"),
    ("the election", "a eleição"),
    ("the flood", "a enchente"),
    ("the concert", "o concerto"),
    ("the inspection", "a vistoria"),
    ("the move to the new office", "a mudança para o novo escritório"),
    ("the fire", "o incêndio"),
    ("the price rise", "o aumento de preços"),
    ("the product launch", "o lançamento do produto"),
    ("the trial", "o julgamento"),
    ("the training course", "o curso de treinamento"),
    ("the vote", "a votação"),
    ("the renovation", "a reforma"),
    ("the wedding", "o casamento"),
    ("the expedition", "a expedição"),
    ("the software update", "a atualização do sistema"),
    ("the board meeting", "a reunião do conselho"),
    ("the recall", "o recall"),
    ("the opening of the bridge", "a abertura da ponte"),
    ("the drought", "a seca"),
    ("the harvest", "a colheita"),
    ("the exam", "a prova"),
    ("the surgery", "a cirurgia"),
    ("the war", "a guerra"),
]

_ORDER = both(
    "{A} took place before {B}.|{B} took place after {A}.|{A} preceded {B}.|{B} followed {A}.|"
    "{A} came first and {B} came later.|{B} happened only after {A}.|{A} was earlier than {B}.|"
    "Before {B} there was {A}.|After {A} came {B}.",
    "{A} aconteceu antes {B_de}.|{B} aconteceu depois {A_de}.|{A} precedeu {B}.|"
    "Primeiro veio {A} e mais tarde veio {B}.|{B} só ocorreu depois {A_de}.|"
    "{A} foi anterior {B_a}.|"
    "Antes {B_de} houve {A}.|Depois {A_de} veio {B}.|{B} foi posterior {A_a}.",
)

_DATED = both(
    "{A} took place in {x}, {B} in {y}.|{B} was in {y}. {A} was in {x}.|"
    "{A} happened in {x}. {B} happened in {y}.",
    "{A} aconteceu em {x}, e {B}, em {y}.|{B} foi em {y}. {A} foi em {x}.|"
    "{A} ocorreu em {x}. {B} ocorreu em {y}.",
)


def order(rng: random.Random, lp: str, lh: str) -> Made:
    """Which of two events came first, told by words or by years."""
    first, second = (dict(zip(("en", "pt"), e, strict=True)) for e in rng.sample(_EVENTS, 2))
    x = rng.randint(1950, 2020)
    y = str(x + rng.choice([1, 2, 3, 7, 12]))
    source = _ORDER if rng.random() < 0.6 else _DATED
    template = rng.choice(source[lp])
    told = fill(template, A=first[lp], B=second[lp], x=str(x), y=y)
    way = other(rng, _ORDER[lh], template)
    if rng.random() < 0.5:
        return told, fill(way, A=first[lh], B=second[lh]), ENT
    return told, fill(way, A=second[lh], B=first[lh]), CON


_CAREER = [
    ("led the legal team", "liderou a equipe jurídica"),
    ("won a prize for the design", "ganhou um prêmio pelo projeto"),
    ("moved to {p}", "se mudou para {p}"),
    ("wrote the annual report", "escreveu o relatório anual"),
    ("resigned in {y}", "pediu demissão em {y}"),
    ("founded a school in {p}", "fundou uma escola em {p}"),
    ("retired in {y}", "se aposentou em {y}"),
    ("discovered a new beetle", "descobriu um novo besouro"),
    ("opened a bakery", "abriu uma padaria"),
    ("ran the office in {p}", "dirigiu o escritório em {p}"),
    ("sailed to {p}", "navegou até {p}"),
    ("lost the election of {y}", "perdeu a eleição de {y}"),
]


def pronouns(rng: random.Random, lp: str, lh: str) -> Made:
    """A pronoun in one sentence, its person in another."""
    women = [p for p in names.people(rng, 8) if p.female]
    men = [p for p in names.people(rng, 8) if not p.female]
    if not women or not men or set(women[0].name.split()) & set(men[0].name.split()):
        return pronouns(rng, lp, lh)
    one, two = rng.sample([women[0], men[0]], 2)
    acts = rng.sample(_CAREER, 2)
    slots = {"p": names.place(rng), "y": str(rng.randint(1960, 2020))}
    more = {"p": names.place(rng), "y": str(rng.randint(1960, 2020))}

    def act(i: int, lang: str) -> str:
        return acts[i][0 if lang == "en" else 1].format(**(slots if i == 0 else more))

    def pronoun(person: names.Person, lang: str) -> str:
        if lang == "en":
            return "She" if person.female else "He"
        return "Ela" if person.female else "Ele"

    joined = rng.randint(1980, 2015)
    firm = names.firm(rng)
    start = {
        "en": rng.choice(
            [
                f"{one.name} and {two.name} joined {firm} in {joined}.",
                f"In {joined}, {firm} took on {one.name} and {two.name}.",
            ]
        ),
        "pt": rng.choice(
            [
                f"{one.name} e {two.name} entraram na {firm} em {joined}.",
                f"Em {joined}, a {firm} contratou {one.name} e {two.name}.",
            ]
        ),
    }[lp]
    told = f"{start} {pronoun(one, lp)} {act(0, lp)}. {pronoun(two, lp)} {act(1, lp)}."
    i = rng.randrange(2)
    owner, rival = (one, two) if i == 0 else (two, one)
    if rng.random() < 0.25:
        told = {
            "en": f"{owner.name} joined {firm} in {joined}. {pronoun(owner, lp)} {act(i, lp)}.",
            "pt": f"{owner.name} entrou na {firm} em {joined}. {pronoun(owner, lp)} {act(i, lp)}.",
        }[lp]
    if rng.random() < 0.5:
        return told, f"{owner.name} {act(i, lh)}.", ENT
    return told, f"{rival.name} {act(i, lh)}.", NOT


_HOPS = [
    (
        "{a} is based in {p}.",
        "A {a} tem sede em {p}.",
        "{p} is the capital of {q}.",
        "{p} é a capital de {q}.",
        "{a} is based in the capital of {q}.",
        "A {a} tem sede na capital de {q}.",
    ),
    (
        "The author of {t} is {n}.",
        "O livro {t} foi escrito por {n}.",
        "{n} was born in {p}.",
        "{n} nasceu em {p}.",
        "The author of {t} was born in {p}.",
        "Quem escreveu {t} nasceu em {p}.",
    ),
    (
        "{n} runs {a}.",
        "{n} dirige a {a}.",
        "{a} makes {m}.",
        "A {a} fabrica {m}.",
        "{n} runs a company that makes {m}.",
        "{n} dirige uma empresa que fabrica {m}.",
    ),
    (
        "{n} lives in {p}.",
        "{n} mora em {p}.",
        "{p} is in the province of {q}.",
        "{p} fica na província de {q}.",
        "{n} lives in the province of {q}.",
        "{n} mora na província de {q}.",
    ),
    (
        "{t} was published by {a}.",
        "{t} foi publicado pela {a}.",
        "{a} was founded in {y}.",
        "A {a} foi fundada em {y}.",
        "The publisher of {t} was founded in {y}.",
        "A editora de {t} foi fundada em {y}.",
    ),
    (
        "{n} teaches at the university of {p}.",
        "{n} leciona na universidade de {p}.",
        "The university of {p} opened in {y}.",
        "A universidade de {p} abriu em {y}.",
        "{n} teaches at a university that opened in {y}.",
        "{n} leciona em uma universidade que abriu em {y}.",
    ),
    (
        "The {d} is made by {a}.",
        "O {d} é produzido pela {a}.",
        "{a} belongs to {n}.",
        "A {a} pertence a {n}.",
        "The {d} is made by a company that belongs to {n}.",
        "O {d} é produzido por uma empresa que pertence a {n}.",
    ),
    (
        "{n} is married to {k}.",
        "{n} tem {k} como cônjuge.",
        "{k} plays for {a}.",
        "{k} joga pela {a}.",
        "The spouse of {n} plays for {a}.",
        "O cônjuge de {n} joga pela {a}.",
    ),
]

_MADE = [
    ("shoes", "sapatos"),
    ("glass", "vidro"),
    ("engines", "motores"),
    ("bread", "pão"),
    ("clocks", "relógios"),
]


def two_hops(rng: random.Random, lp: str, lh: str) -> Made:
    """Claims that need two sentences."""
    row = rng.choice(_HOPS)
    n, k = (p.name for p in names.people(rng, 2))
    goods = rng.sample(_MADE, 2)

    def slots(i: int, seed: random.Random) -> dict[str, dict[str, str]]:
        same = {
            "a": names.firm(seed),
            "p": names.place(seed),
            "q": names.place(seed),
            "t": names.title(seed),
            "n": n if i == 0 else names.person(seed).name,
            "k": k if i == 0 else names.person(seed).name,
            "y": str(seed.randint(1800, 2010)),
            "d": names.product(seed),
        }
        return {lang: {**same, "m": goods[i][j]} for j, lang in enumerate(("en", "pt"))}

    true, noise = slots(0, rng), slots(1, rng)
    ways = {"en": row[0::2], "pt": row[1::2]}
    parts = [ways[lp][0].format(**true[lp]), ways[lp][1].format(**true[lp])]
    with_noise = rng.random() < 0.7
    if with_noise:
        parts += [ways[lp][0].format(**noise[lp]), ways[lp][1].format(**noise[lp])]
    rng.shuffle(parts)
    told = capital(" ".join(parts))
    kind = rng.random()
    if kind < 0.5:
        return told, capital(ways[lh][2].format(**true[lh])), ENT
    last = {"A {a} tem": "q"}.get(row[1][:9], "")
    answer = [
        s
        for s in ("q", "m", "y", "p", "n", "a")
        if "{" + s + "}" in row[3] and "{" + s + "}" in row[5]
    ]
    asked = [s for s in answer if "{" + s + "}" not in row[1]] or answer
    slot = last or asked[0]
    mixed = {**true[lh], slot: noise[lh][slot]}
    if kind < 0.8 or not with_noise:
        return told, capital(ways[lh][2].format(**mixed)), NOT
    mixed = {**noise[lh], slot: true[lh][slot]}
    return told, capital(ways[lh][2].format(**mixed)), NOT


_SAID = [
    ("the bridge is unsafe", "a ponte não é segura"),
    ("the deal will fail", "o acordo vai fracassar"),
    ("sales are falling", "as vendas estão caindo"),
    ("the river is clean again", "o rio está limpo de novo"),
    ("the vaccine works", "a vacina funciona"),
    ("prices will rise", "os preços vão subir"),
    ("the team is tired", "a equipe está cansada"),
    ("the law needs a change", "a lei precisa mudar"),
]


def attribution(rng: random.Random, lp: str, lh: str) -> Made:
    """Who said what, with two speakers."""
    a, b = names.people(rng, 2)
    one, two = (dict(zip(("en", "pt"), s, strict=True)) for s in rng.sample(_SAID, 2))
    told = {
        "en": rng.choice(
            [
                f'"{capital(one["en"])}," said {a.name}. {b.name} replied that {two["en"]}.',
                f"According to {a.name}, {one['en']}. {b.name} said that {two['en']}.",
            ]
        ),
        "pt": rng.choice(
            [
                f'"{capital(one["pt"])}", disse {a.name}. {b.name} respondeu que {two["pt"]}.',
                f"Segundo {a.name}, {one['pt']}. Já {b.name} disse que {two['pt']}.",
            ]
        ),
    }[lp]
    say = rng.choice(
        {
            "en": ["{} said that {}.", "{} stated that {}.", "In the words of {}, {}."],
            "pt": ["{} disse que {}.", "{} afirmou que {}.", "Nas palavras de {}, {}."],
        }[lh]
    )
    right = rng.random() < 0.5
    who = (a if right else b) if (first := rng.random() < 0.5) else (b if right else a)
    return told, say.format(who.name, (one if first else two)[lh]), ENT if right else NOT
