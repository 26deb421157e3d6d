"""Print how much of a training mix occurs in the development sets, exactly or nearly.

Texts are compared as lower-case words. A text is *exact* when its words are those of a development
text, in order. It is *near* one when the two share at least half of their runs of eight words
(Jaccard index of the sets of runs), and *inside* when at least half of the runs of the shorter of
the two are in the longer: a window cut from a document, also one of picked sentences. Texts of
fewer than twelve words are near when at least 80 % of their runs of three words are the same, and
never inside.

What is counted, in rows of the mix:

- pair: premise and claim overlap with the two texts of one development row;
- answer: the claim overlaps with an answer of more than three words of a faithfulness set;
- document: the premise overlaps with a document of more than 60 words of such a set;
- passage, hypothesis, premise: the same of shorter documents and of the texts of inference sets by
  themselves. Sets that are split by pairs share these (captions, passages with several answers).

``--write`` leaves the first three out.

Example:
    python overlap.py train.jsonl DATA --write clean.jsonl
"""

from __future__ import annotations

import argparse
import collections
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mix import as_text, normal, read_set

LONG_RUN = 8
SHORT_RUN = 3
SHORT_WORDS = 12
NEAR = 0.5
NEAR_SHORT = 0.8
INSIDE = 0.5
COMMON = 200
"""A run that more development texts have (a formula, a header) says nothing about one of them."""

ANSWER_WORDS = 3
DOCUMENT_WORDS = 60
DROPPED = ("pair", "answer", "document")
KINDS = (*DROPPED, "passage", "hypothesis", "premise")
WAYS = ("exact", "near", "inside")
EXAMPLES = 3

Runs = frozenset[int]
Place = tuple[str, str]
"""A kind of text, out of `KINDS`, and a development set that has it."""


@dataclass(frozen=True)
class Match:
    """A development text, by its number, and how a text overlaps with it."""

    how: str
    number: int


def is_short(text: str) -> bool:
    """Whether a normal text is compared by short runs."""
    return len(text.split()) < SHORT_WORDS


def runs_of(text: str) -> Runs:
    """Hashes of a normal text's runs of words; a text shorter than a run is one."""
    words = text.split()
    size = SHORT_RUN if is_short(text) else LONG_RUN
    return frozenset(hash(tuple(words[i : i + size])) for i in range(max(1, len(words) - size + 1)))


@dataclass
class Index:
    """Development texts by their runs of words; long and short texts apart."""

    numbers: dict[str, int] = field(default_factory=dict)
    runs: list[Runs] = field(default_factory=list)
    places: list[set[Place]] = field(default_factory=list)
    holders: dict[tuple[bool, int], list[int]] = field(default_factory=dict)
    found: dict[str, list[Match]] = field(default_factory=dict)

    def add(self, text: str, place: Place) -> int:
        """Put a text in and return its number."""
        plain = normal(text)
        if plain not in self.numbers:
            self.numbers[plain] = len(self.runs)
            self.runs.append(runs_of(plain))
            self.places.append(set())
            for run in self.runs[-1]:
                self.holders.setdefault((is_short(plain), run), []).append(len(self.runs) - 1)
        number = self.numbers[plain]
        self.places[number].add(place)
        return number

    def find(self, text: str) -> list[Match]:
        """The development texts that a text overlaps with; one that recurs is looked up once."""
        plain = normal(text)
        if plain not in self.found:
            self.found[plain] = list(self._matches(plain))
        return self.found[plain]

    def _matches(self, plain: str) -> Iterator[Match]:
        exact = self.numbers.get(plain)
        if exact is not None:
            yield Match("exact", exact)
        runs, short = runs_of(plain), is_short(plain)
        shared: collections.Counter[int] = collections.Counter()
        for run in runs:
            holders = self.holders.get((short, run), ())
            if len(holders) <= COMMON:
                shared.update(holders)
        for number, count in shared.items():
            size, other = len(runs), len(self.runs[number])
            if number == exact:
                continue
            if count / (size + other - count) >= (NEAR_SHORT if short else NEAR):
                yield Match("near", number)
            elif not short and count / min(size, other) >= INSIDE:
                yield Match("inside", number)


@dataclass
class Development:
    """What the development sets hold: premises, claims, and which stand in one row."""

    premises: Index = field(default_factory=Index)
    claims: Index = field(default_factory=Index)
    pairs: dict[tuple[int, int], set[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Development:
        """Read every set of a folder."""
        found = cls()
        for path in sorted(folder.glob("*.jsonl.gz")):
            name = path.name.removesuffix(".jsonl.gz")
            for row in read_set(folder, name):
                found.add(row, name)
        if not found.pairs:
            raise SystemExit(f"there is no development set in {folder}")
        return found

    def add(self, row: dict[str, object], name: str) -> None:
        """Put one row of a set in."""
        if "premise" in row:
            premise, claim = str(row["premise"]), str(row["hypothesis"])
            kinds = ("premise", "hypothesis")
        else:
            premise, claim = as_text(row["context"]), str(row["response"])  # type: ignore[arg-type]
            kinds = (
                "document" if len(premise.split()) > DOCUMENT_WORDS else "passage",
                "answer" if len(claim.split()) > ANSWER_WORDS else "hypothesis",
            )
        one = self.premises.add(premise, (kinds[0], name))
        other = self.claims.add(claim, (kinds[1], name))
        self.pairs.setdefault((one, other), set()).add(name)

    def overlaps(self, premise: str, claim: str) -> dict[tuple[str, str], set[str]]:
        """From a kind and a way, the closest of each kind only, to the sets that have it."""
        premises, claims = self.premises.find(premise), self.claims.find(claim)
        found: dict[tuple[str, str], set[str]] = {}
        for index, matches in ((self.premises, premises), (self.claims, claims)):
            for match in matches:
                for kind, name in index.places[match.number]:
                    found.setdefault((kind, match.how), set()).add(name)
        for one in premises:
            for other in claims:
                sets = self.pairs.get((one.number, other.number))
                if sets:
                    how = max(one.how, other.how, key=WAYS.index)
                    found.setdefault(("pair", how), set()).update(sets)
        closest = {
            kind: min((h for k, h in found if k == kind), key=WAYS.index) for kind, _ in found
        }
        return {key: sets for key, sets in found.items() if closest[key[0]] == key[1]}


@dataclass
class Overlap:
    """What was found in a mix: rows by (kind, way), by source and set too, and examples."""

    rows: int = 0
    dropped: int = 0
    totals: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    details: collections.Counter[tuple[str, str, str, str]] = field(
        default_factory=collections.Counter
    )
    examples: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def count(self, row: dict[str, str], found: dict[tuple[str, str], set[str]]) -> bool:
        """Count a row; whether it overlaps in a way that training must not."""
        self.rows += 1
        for (kind, how), sets in found.items():
            self.totals[kind, how] += 1
            for name in sets:
                self.details[kind, how, row["source"], name] += 1
            kept = self.examples.setdefault((kind, how), [])
            if len(kept) < EXAMPLES:
                kept.append(f"{row['premise'][:100]!r} | {row['hypothesis'][:100]!r}")
        overlaps = any(kind in DROPPED for kind, _ in found)
        self.dropped += overlaps
        return overlaps

    def lines(self, most: int) -> Iterator[str]:
        """The figures for people, with so many sources and sets for each."""
        for kind in KINDS:
            for how in WAYS:
                total = self.totals[kind, how]
                yield f"{kind}, {how}: {total} rows ({total / max(1, self.rows):.3%})"
                details = [
                    (count, source, name)
                    for (k, h, source, name), count in self.details.items()
                    if (k, h) == (kind, how)
                ]
                for count, source, name in sorted(details, reverse=True)[:most]:
                    yield f"  {count:6d}  {source} in {name}"
                if kind in DROPPED:
                    yield from (f"    e.g. {text}" for text in self.examples.get((kind, how), ()))


def compare(mix: Path, development: Development, clean: Path | None = None) -> Overlap:
    """Compare every row of a mix with the development sets; write those without overlap."""
    overlap = Overlap()
    kept = []
    with mix.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found = development.overlaps(row["premise"], row["hypothesis"])
            if not overlap.count(row, found) and clean is not None:
                kept.append(line)
    if clean is not None:
        clean.write_text("".join(kept), encoding="utf-8")
    return overlap


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mix", type=Path, help="train.jsonl, as mix.py writes it")
    parser.add_argument("data", type=Path, help="folder with dev/")
    parser.add_argument("--write", type=Path, help="the mix without pairs, answers and documents")
    parser.add_argument("--most", type=int, default=6, help="sources and sets shown for each")
    args = parser.parse_args()
    began = time.time()
    development = Development.read(args.data / "dev")
    overlap = compare(args.mix, development, args.write)
    print(*overlap.lines(args.most), sep="\n")
    print(
        f"{overlap.rows} rows against {len(development.pairs)} development rows in "
        f"{time.time() - began:.0f} s: {overlap.dropped} overlap by {', '.join(DROPPED)}"
        + (f"; the others are in {args.write}" if args.write else "")
    )


if __name__ == "__main__":
    main()
