"""Build the training mix: public NLI and evidence sets plus rule-made pairs in two languages.

Every pair whose text occurs in a development set is dropped, and so is every evidence row whose
document (over 60 words) begins like a development document. The same seed and data give the same
file.

Example:
    python mix.py --data DATA --out train.jsonl --templates 45000 --edits 30000
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import math
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perturb import edit_pairs
from phenomena import template_pairs
from sources import EVIDENCE, MAX_PREMISE_WORDS, NLI, Source
from wording import split_sentences

Pair = dict[str, str]
LABELS = {"entailment", "neutral", "contradiction", "not_entailment"}
WINDOW_WORDS = (40, 60, 80, 100, 150)


def normal(text: str) -> str:
    """Lower-case letters and digits only, single spaces."""
    return re.sub(r"\W+", " ", text.lower()).strip()


def read_set(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read one gzipped JSONL file; an absent set is reported and skipped."""
    path = folder / f"{name}.jsonl.gz"
    if not path.exists():
        print(f"missing: {name}")
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@dataclass
class HeldOut:
    """What the development sets contain, to keep it out of the mix."""

    pairs: set[tuple[str, str]] = field(default_factory=set)
    responses: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    dropped: collections.Counter[str] = field(default_factory=collections.Counter)

    @classmethod
    def read(cls, folder: Path) -> HeldOut:
        """Collect the texts of all development sets in a folder."""
        held = cls()
        for path in sorted(folder.glob("*.jsonl.gz")):
            for row in read_set(folder, path.name.removesuffix(".jsonl.gz")):
                if "premise" in row:
                    held.pairs.add(cls._pair(row["premise"], row["hypothesis"]))
                else:
                    held.responses.add(normal(row["response"]))
                    held.documents.add(cls._opening(as_text(row["context"])))
        return held

    @staticmethod
    def _pair(premise: str, hypothesis: str) -> tuple[str, str]:
        return normal(premise)[:160], normal(hypothesis)

    @staticmethod
    def _opening(document: str) -> str:
        return normal(document)[:120]

    def allows(self, premise: str, hypothesis: str, document: str = "") -> bool:
        """Whether a pair, and the document it was cut from, may be trained on."""
        if self._pair(premise, hypothesis) in self.pairs:
            self.dropped["pair"] += 1
        elif len(hypothesis.split()) > 3 and normal(hypothesis) in self.responses:
            self.dropped["response"] += 1
        elif len(document.split()) > 60 and self._opening(document) in self.documents:
            self.dropped["document"] += 1
        else:
            return True
        return False


def as_text(context: str | list[str]) -> str:
    """A context as one string."""
    return context if isinstance(context, str) else "\n".join(context)


def window(document: str, claim: str, budget: int) -> str:
    """The sentences of a document most like a claim, in order, up to a number of words."""
    sentences = split_sentences(document)
    if sum(len(s.split()) for s in sentences) <= budget:
        return " ".join(sentences)
    words = [set(re.findall(r"\w+", s.lower())) for s in sentences]
    frequency = collections.Counter(word for bag in words for word in bag)
    wanted = set(re.findall(r"\w+", claim.lower()))
    count = len(sentences)
    own = [sum(math.log(1 + count / frequency[w]) for w in bag & wanted) for bag in words]
    padded = [0.0, *own, 0.0]
    score = [own[i] + 0.4 * (padded[i] + padded[i + 2]) for i in range(count)]
    kept: set[int] = set()
    used = 0
    for i in sorted(range(count), key=lambda i: -score[i]):
        length = len(sentences[i].split())
        if kept and used + length > budget:
            break
        kept.add(i)
        used += length
    return " ".join(sentences[i] for i in sorted(kept))


def nli_pairs(
    folder: Path, source: Source, held: HeldOut, rng: random.Random, share: float = 1.0
) -> Iterator[Pair]:
    """Draw pairs of an NLI set."""
    rows = read_set(folder, source.name)
    rng.shuffle(rows)
    longest = MAX_PREMISE_WORDS.get(source.name, 220)
    taken, wanted = 0, round(source.rows * share)
    for row in rows:
        label = str(row.get("label")).replace("-", "_")
        premise, hypothesis = row["premise"], row["hypothesis"]
        if taken == wanted:
            break
        if not premise or not hypothesis or label not in LABELS:
            continue
        if len(premise.split()) > longest or not held.allows(premise, hypothesis):
            continue
        taken += 1
        for _ in range(source.copies):
            yield pair(premise, hypothesis, label, source.name)


def evidence_pairs(
    folder: Path, source: Source, held: HeldOut, rng: random.Random
) -> Iterator[Pair]:
    """Draw pairs of an evidence set, with the document cut to windows of several sizes."""
    rows = read_set(folder, source.name)
    rng.shuffle(rows)
    for row in rows[: source.rows]:
        document, claim = as_text(row["context"]), row["response"]
        if not document.strip() or not claim.strip():
            continue
        if not held.allows(document, claim, document):
            continue
        label = "not_entailment" if row["label"] == 1 else "entailment"
        for size in rng.sample(WINDOW_WORDS, source.copies):
            yield pair(window(document, claim, size), claim, label, source.name)


def pair(premise: str, hypothesis: str, label: str, source: str) -> Pair:
    """One row of the mix."""
    return {"premise": premise, "hypothesis": hypothesis, "label": label, "source": source}


def documents(folder: Path, held: HeldOut, rng: random.Random) -> dict[str, list[list[str]]]:
    """Real sentences to edit: one list of sentences per document, per language."""
    found: dict[str, list[list[str]]] = {"en": [], "pt": []}
    seen: set[str] = set()
    for source in EVIDENCE:
        for row in read_set(folder, source.name):
            text = as_text(row["context"])[:6000]
            opening = HeldOut._opening(text)
            if opening not in seen and held.allows(text, "", text):
                seen.add(opening)
                found["en"].append(split_sentences(text))
    for row in read_set(folder, "nli_fever_dev"):
        if row["premise"][:80] not in seen:
            seen.add(row["premise"][:80])
            found["en"].append(split_sentences(row["premise"]))
    portuguese = [s.name for s in NLI if "_pt_" in s.name and "train" in s.name]
    lines = list(dict.fromkeys(r["premise"] for n in portuguese for r in read_set(folder, n)))
    rng.shuffle(lines)
    for i in range(0, len(lines) - 3, 3):
        three = [line if line[-1:] in ".!?" else f"{line}." for line in lines[i : i + 3]]
        found["pt"].append([s for line in three for s in split_sentences(line)])
    return found


def build(args: argparse.Namespace) -> list[Pair]:
    """Draw every part of the mix and shuffle it."""
    rng = random.Random(args.seed)
    data = Path(args.data)
    held = HeldOut.read(data / "dev")
    rows: list[Pair] = []
    for source in NLI:
        made = nli_pairs(data / "train", source, held, rng, args.public)
        rows += report(source.name, made)
    for source in EVIDENCE:
        rows += report(source.name, evidence_pairs(data / "train", source, held, rng))
    if args.edits:
        texts = documents(data / "train", held, rng)
        made = edit_pairs(texts, args.edits, rng)
        rows += report("edits", (p for p in made if held.allows(p["premise"], p["hypothesis"])))
    if args.templates:
        made = template_pairs(args.templates, rng)
        rows += report("templates", (p for p in made if held.allows(p["premise"], p["hypothesis"])))
    print(f"dropped because they occur in a development set: {dict(held.dropped)}")
    rng.shuffle(rows)
    return rows


def report(name: str, made: Iterable[Pair]) -> list[Pair]:
    """Print how many pairs of each label a part gave."""
    rows = list(made)
    counts = dict(sorted(collections.Counter(row["label"] for row in rows).items()))
    print(f"{name}: {len(rows)} {counts}")
    return rows


def main() -> None:
    """Write the mix as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with train/ and dev/")
    parser.add_argument("--out", required=True, help="train.jsonl to write")
    parser.add_argument("--templates", type=int, default=45000, help="pairs made from templates")
    parser.add_argument("--edits", type=int, default=30000, help="edited pairs of real sentences")
    parser.add_argument("--public", type=float, default=1.0, help="share of each NLI set")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rows = build(args)
    labels = collections.Counter(row["label"] for row in rows)
    print(f"{len(rows)} pairs: {dict(sorted(labels.items()))}")
    with Path(args.out).open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
