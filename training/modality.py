"""Pairs about hedges and plans, instructions, and opposite states.

Every generator takes the language of the document and that of the claim, and returns one
(document, claim, label).
"""

from __future__ import annotations

import random

import names
from facts import capital
from templates import CON, ENT, NEU, NOT, Both, Made, both, fill, other
from values import WEEKDAYS

_HEDGES: list[tuple[Both, Both, Both]] = [
    (
        both(
            "{x} may {v} {o}.|{x} might {v} {o}.|It is possible that {x} will {v} {o}.|"
            "{x} could {v} {o}.",
            "{x} pode {w} {o}.|Talvez {x} venha a {w} {o}.|É possível que {x} venha a {w} {o}.",
        ),
        both(
            "{x} will certainly {v} {o}.|It is certain that {x} will {v} {o}.|"
            "{x} always {s} {o}.|{x} has been proven to {v} {o}.",
            "{x} com certeza vai {w} {o}.|É certo que {x} vai {w} {o}.|{x} sempre {t} {o}.|"
            "Está provado que {x} {t} {o}.",
        ),
        both(
            "{x} will never {v} {o}.|It is impossible for {x} to {v} {o}.",
            "{x} nunca vai {w} {o}.|É impossível {x} {w} {o}.",
        ),
    ),
]

_HEDGED = [
    ("reduce", "reduces", "reduzir", "reduz", "pain", "a dor"),
    ("improve", "improves", "melhorar", "melhora", "sleep", "o sono"),
    ("raise", "raises", "elevar", "eleva", "prices", "os preços"),
    ("damage", "damages", "danificar", "danifica", "the engine", "o motor"),
    ("prevent", "prevents", "prevenir", "previne", "infection", "infecções"),
    ("slow", "slows", "atrasar", "atrasa", "the work", "a obra"),
    ("cause", "causes", "causar", "causa", "dizziness", "tontura"),
    ("attract", "attracts", "atrair", "atrai", "tourists", "turistas"),
]

_HEDGE_SUBJECTS = [
    ("the drug", "o remédio"),
    ("the new law", "a nova lei"),
    ("the diet", "a dieta"),
    ("the tax", "o imposto"),
    ("the method", "o método"),
    ("the device", "o aparelho"),
    ("the treatment", "o tratamento"),
]

_PLANS = [
    (
        "{a} plans to open a branch in {p}.",
        "{a} planeja abrir uma filial em {p}.",
        "{a} has opened a branch in {p}.",
        "{a} já abriu uma filial em {p}.",
        "{a} intends to open a branch in {p}.",
        "{a} pretende abrir uma filial em {p}.",
    ),
    (
        "{a} is considering a merger.",
        "{a} estuda uma fusão.",
        "{a} has merged.",
        "{a} concluiu uma fusão.",
        "A merger is being considered by {a}.",
        "Uma fusão está em estudo na {a}.",
    ),
    (
        "{a} was accused of fraud.",
        "{a} recebeu uma acusação de fraude.",
        "{a} was convicted of fraud.",
        "{a} recebeu uma condenação por fraude.",
        "There was an accusation of fraud against {a}.",
        "Houve uma acusação de fraude contra {a}.",
    ),
    (
        "{a} applied for a licence.",
        "{a} solicitou uma licença.",
        "{a} was granted a licence.",
        "{a} obteve uma licença.",
        "A licence was requested by {a}.",
        "Uma licença foi pedida por {a}.",
    ),
    (
        "{a} is expected to win the contract.",
        "Espera-se que {a} ganhe o contrato.",
        "{a} won the contract.",
        "{a} ganhou o contrato.",
        "It is thought that {a} will win the contract.",
        "Acredita-se que {a} vai ganhar o contrato.",
    ),
    (
        "{a} promised to repay the loan.",
        "{a} prometeu quitar o empréstimo.",
        "{a} repaid the loan.",
        "{a} quitou o empréstimo.",
        "{a} made a promise to repay the loan.",
        "{a} fez a promessa de quitar o empréstimo.",
    ),
]


def hedges(rng: random.Random, lp: str, lh: str) -> Made:
    """May against does, planned against done."""
    if rng.random() < 0.4:
        row = rng.choice(_PLANS)
        a, p = names.firm(rng), names.place(rng)
        way = {"en": row[0::2], "pt": row[1::2]}
        i, label = rng.choice([(1, NEU), (2, ENT)])
        return way[lp][0].format(a=a, p=p), way[lh][i].format(a=a, p=p), label
    soft, hard, never = _HEDGES[0]
    v, s, w, t, o_en, o_pt = rng.choice(_HEDGED)
    x = dict(zip(("en", "pt"), rng.choice(_HEDGE_SUBJECTS), strict=True))
    o = {"en": o_en, "pt": o_pt}

    def tell(ways: Both, lang: str, avoid: str = "") -> str:
        return fill(other(rng, ways[lang], avoid), x=x[lang], v=v, s=s, w=w, t=t, o=o[lang])

    template = rng.choice(soft[lp])
    told = fill(template, x=x[lp], v=v, s=s, w=w, t=t, o=o[lp])
    kind = rng.choice(["soft", "hard", "hard", "never"])
    if kind == "soft":
        return told, tell(soft, lh, template), ENT
    return (told, tell(hard, lh), NEU) if kind == "hard" else (told, tell(never, lh), CON)


_STEPS = [
    (
        "reset the {d}",
        "reiniciar o {d}",
        "hold the {b} button for {n} seconds",
        "segure o botão {b} por {n} segundos",
        "holding the {b} button for {n} seconds",
        "segurar o botão {b} por {n} segundos",
    ),
    (
        "pair the {d}",
        "parear o {d}",
        "press the {b} button {n} times",
        "aperte o botão {b} {n} vezes",
        "pressing the {b} button {n} times",
        "apertar o botão {b} {n} vezes",
    ),
    (
        "clean the {d}",
        "limpar o {d}",
        "wipe it with a cloth for {n} minutes",
        "passe um pano por {n} minutos",
        "wiping it with a cloth for {n} minutes",
        "passar um pano por {n} minutos",
    ),
    (
        "charge the {d}",
        "carregar o {d}",
        "leave it plugged in for {n} hours",
        "deixe-o na tomada por {n} horas",
        "leaving it plugged in for {n} hours",
        "deixá-lo na tomada por {n} horas",
    ),
    (
        "start the {d}",
        "ligar o {d}",
        "turn the {b} key {n} times",
        "gire a chave {b} {n} vezes",
        "turning the {b} key {n} times",
        "girar a chave {b} {n} vezes",
    ),
    (
        "update the {d}",
        "atualizar o {d}",
        "keep it online for {n} minutes",
        "mantenha-o conectado por {n} minutos",
        "keeping it online for {n} minutes",
        "mantê-lo conectado por {n} minutos",
    ),
]


def instructions(rng: random.Random, lp: str, lh: str) -> Made:
    """Imperatives and their paraphrases, with a step, a number or a button changed."""
    goal_en, goal_pt, do_en, do_pt, by_en, by_pt = rng.choice(_STEPS)
    d = names.product(rng)
    buttons = rng.sample(
        [
            ("red", "vermelho"),
            ("left", "esquerdo"),
            ("green", "verde"),
            ("black", "preto"),
            ("rear", "traseiro"),
        ],
        2,
    )
    n = rng.randint(2, 40)

    def tell(lang: str, style: int, button: tuple[str, str], number: int) -> str:
        b = button[0] if lang == "en" else button[1]
        if lang == "pt" and "chave" in do_pt:
            b = b[:-1] + "a" if b.endswith("o") else b
        slots = {"d": d, "b": b, "n": str(number)}
        if lang == "en":
            ways = [
                f"To {goal_en}, {do_en}.",
                f"{capital(do_en)} to {goal_en}.",
                f"You {goal_en} by {by_en}.",
                f"If you want to {goal_en}, {do_en}.",
            ]
        else:
            ways = [
                f"Para {goal_pt}, {do_pt}.",
                f"{capital(do_pt)} para {goal_pt}.",
                f"Para {goal_pt}, basta {by_pt}.",
                f"Se quiser {goal_pt}, {do_pt}.",
            ]
        return ways[style % 4].format(**slots)

    style = rng.randrange(4)
    told = tell(lp, style, buttons[0], n)
    kind = rng.random()
    if kind < 0.5:
        return told, tell(lh, style + rng.randint(1, 3), buttons[0], n), ENT
    if kind < 0.8 or "{b}" not in do_en:
        wrong = n + rng.choice([1, 2, 5, 10, 30])
        return told, tell(lh, style + rng.randint(0, 3), buttons[0], wrong), CON
    return told, tell(lh, style + rng.randint(0, 3), buttons[1], n), NOT


_STATES = [
    ("The {n} is open on {d}.", "A {m} abre {e}.", "The {n} is closed on {d}.", "A {m} fecha {e}."),
    (
        "Pets are allowed in the {n}.",
        "Animais são permitidos na {m}.",
        "Pets are banned from the {n}.",
        "É proibida a entrada de animais na {m}.",
    ),
    (
        "Entry to the {n} is free.",
        "A entrada na {m} é gratuita.",
        "You have to pay to enter the {n}.",
        "É preciso pagar para entrar na {m}.",
    ),
    (
        "The {n} has a lift.",
        "A {m} tem elevador.",
        "The {n} has no lift.",
        "A {m} não tem elevador.",
    ),
    (
        "The {n} was finished on time.",
        "A {m} ficou pronta no prazo.",
        "The {n} was finished late.",
        "A {m} ficou pronta com atraso.",
    ),
    ("The {n} made a profit.", "A {m} deu lucro.", "The {n} made a loss.", "A {m} deu prejuízo."),
    (
        "The {n} is still in use.",
        "A {m} ainda está em uso.",
        "The {n} is no longer in use.",
        "A {m} já não está em uso.",
    ),
    (
        "The plan for the {n} was accepted.",
        "O plano para a {m} foi aceito.",
        "The plan for the {n} was rejected.",
        "O plano para a {m} foi rejeitado.",
    ),
    (
        "Smoking is permitted in the {n}.",
        "É permitido fumar na {m}.",
        "Nobody may smoke in the {n}.",
        "Ninguém pode fumar na {m}.",
    ),
    (
        "Booking is required for the {n}.",
        "É necessário reservar para ir à {m}.",
        "You can go to the {n} without booking.",
        "Dá para ir à {m} sem reserva.",
    ),
]

_VENUES = [
    ("library", "biblioteca"),
    ("gallery", "galeria"),
    ("factory", "fábrica"),
    ("clinic", "clínica"),
    ("school", "escola"),
    ("shop", "loja"),
    ("station", "estação"),
    ("bakery", "padaria"),
    ("farm", "fazenda"),
    ("theatre school", "escola de teatro"),
]

_ON_DAYS = [
    f"às {day.replace('-feira', 's-feiras')}" if "-" in day else f"aos {day}s"
    for day in WEEKDAYS["pt"]
]


def opposites(rng: random.Random, lp: str, lh: str) -> Made:
    """Opposite states: antonyms, negations and what follows from neither."""
    row = rng.choice(_STATES)
    venue = rng.choice(_VENUES)
    place = names.place(rng)
    day = rng.randrange(7)
    slots = {
        "en": {"n": f"{venue[0]} of {place}", "d": WEEKDAYS["en"][day] + "s"},
        "pt": {
            "m": f"{venue[1]} de {place}",
            "e": _ON_DAYS[day],
        },
    }

    def tell(lang: str, i: int) -> str:
        return row[2 * i + (0 if lang == "en" else 1)].format(**slots[lang])

    i = rng.randrange(2)
    told = tell(lp, i)
    kind = rng.random()
    if kind < 0.3:
        doubt = {
            "en": ["It is not true that {}", "It would be wrong to say that {}"],
            "pt": ["Não é verdade que {}", "Seria errado dizer que {}"],
        }[lh]
        j = rng.randrange(2)
        claim = tell(lh, j)
        return told, rng.choice(doubt).format(claim[0].lower() + claim[1:]), CON if i == j else ENT
    if kind < 0.5 and lp != lh:
        return told, tell(lh, i), ENT
    if kind < 0.8:
        return told, tell(lh, 1 - i), CON
    unrelated = rng.choice([r for r in _STATES if r is not row])
    return told, unrelated[2 * i + (0 if lh == "en" else 1)].format(**slots[lh]), NEU
