"""Large pools of invented names, so that a model learns relations and not particular names."""

from __future__ import annotations

import random
from dataclasses import dataclass

from wording import listed

WOMEN = listed(
    "Anna Beatriz Clara Daniela Elena Fernanda Gabriela Helena Irene Joana Karin Laura "
    "Marta Nadia Olivia Paula Renata Sofia Teresa Vera Ingrid Camila Luiza Rosa Priya "
    "Aisha Mei Hannah Emily Grace Julia Alice Bruna Carolina Dora Edith Flora Gloria Iris "
    "Judith Lívia Mônica Nora Ruth"
)
MEN = listed(
    "Adam Bruno Carlos Daniel Eduardo Felipe Gustavo Henrique Igor João Karl Lucas Marcos "
    "Nuno Oscar Paulo Rafael Samuel Tiago Victor Walter Hugo André Diego Omar Raj Kenji "
    "Peter George Martin Thomas Simon Miguel Otávio Renato Sérgio Caio Davi Enzo Frank "
    "Gabriel Ivan Leon Noah"
)
SURNAMES = listed(
    "Almeida Barros Castro Duarte Esteves Fonseca Gouveia Holm Iversen Jansen Keller Lima "
    "Moreira Nunes Oliveira Prado Queiroz Ribeiro Sampaio Tavares Ursino Vidal Weber "
    "Xavier Yates Zanetti Abbott Bishop Carver Dalton Ellison Forbes Garner Hale Ingram "
    "Jarvis Kemp Lowell Mercer Norris Osborn Pratt Quigley Rowe Stokes Thorne Upton Vance "
    "Whitlock Okafor Tanaka Petrov Haddad"
)
_ONSET = listed("b br c d dr f fl g gr h j k l m n p pr qu r s st t tr v z")
_VOWEL = ["a", "e", "i", "o", "u", "ai", "ei", "ia"]
_CODA = ["", "", "", "n", "r", "l", "s", "m", "x"]
_FIRM_TAIL = listed(
    "Labs Group Foods Energy Motors Systems Logistics Pharma Partners Textiles Mining "
    "Airlines Software Robotics Shipping Paper Optics Insurance Dairy Steel"
)
_PLACE_TAIL = ["", "", "ville", "ton", "berg", "dale", "ópolis", "mar", "polis", "haven", "ândia"]
_TITLE = [
    "The Silent {}",
    "{} at Dawn",
    "A Map of {}",
    "The {} Letters",
    "O Jardim de {}",
    "Cartas de {}",
    "{} Revisited",
    "Noites em {}",
    "The Last Train to {}",
    "O Segredo de {}",
]


@dataclass(frozen=True)
class Person:
    """An invented person."""

    name: str
    female: bool

    @property
    def surname(self) -> str:
        """The last word of the name."""
        return self.name.split()[-1]


def syllables(rng: random.Random, count: int) -> str:
    """A pronounceable invented word."""
    parts = [rng.choice(_ONSET) + rng.choice(_VOWEL) for _ in range(count)]
    return ("".join(parts) + rng.choice(_CODA)).capitalize()


def person(rng: random.Random) -> Person:
    """An invented person of either sex."""
    female = rng.random() < 0.5
    first = rng.choice(WOMEN if female else MEN)
    return Person(f"{first} {rng.choice(SURNAMES)}", female)


def people(rng: random.Random, count: int) -> list[Person]:
    """Different persons without a name in common."""
    found: list[Person] = []
    while len(found) < count:
        new = person(rng)
        if not any(set(new.name.split()) & set(p.name.split()) for p in found):
            found.append(new)
    return found


def place(rng: random.Random) -> str:
    """An invented town."""
    name = syllables(rng, rng.choice([1, 2, 2])) + rng.choice(_PLACE_TAIL)
    return (
        f"{rng.choice(['Port', 'São', 'Santa', 'New', 'Vila'])} {name}"
        if rng.random() < 0.2
        else name
    )


def firm(rng: random.Random) -> str:
    """An invented firm."""
    kind = rng.random()
    if kind < 0.5:
        return f"{syllables(rng, 2)} {rng.choice(_FIRM_TAIL)}"
    if kind < 0.7:
        return f"{rng.choice(SURNAMES)} & {rng.choice(SURNAMES)}"
    return syllables(rng, rng.choice([2, 3]))


def product(rng: random.Random) -> str:
    """An invented product, often with a model number."""
    name = syllables(rng, 2)
    kind = rng.random()
    if kind < 0.4:
        return (
            f"{name} {rng.choice('ABCDEGHKLMNPQRSTVXZ')}{rng.choice(['', '', '1', '2', '5', '10'])}"
        )
    if kind < 0.7:
        return f"{name} {rng.randint(2, 900)}"
    return f"{name} {rng.choice(['Pro', 'Mini', 'Lite', 'Max', 'Plus', 'One', 'Air'])}"


def family(rng: random.Random, name: str, count: int) -> list[str]:
    """Names that differ from a given one in the last part only."""
    stem = name.rsplit(" ", 1)[0]
    tails = ["A", "B", "C", "S", "X", "Pro", "Mini", "Lite", "Plus", "II", "III", "2", "3", "10"]
    rng.shuffle(tails)
    return [f"{stem} {tail}" for tail in tails if f"{stem} {tail}" != name][:count]


def title(rng: random.Random) -> str:
    """An invented book or film."""
    return rng.choice(_TITLE).format(syllables(rng, 2))
