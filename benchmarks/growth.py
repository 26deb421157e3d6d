"""Time the check of an answer that grew by one sentence beside the check of that sentence alone.

usage: python benchmarks/growth.py [--repeats N]

A retry or a stream validates an answer again that has one sentence more; the same validator has
checked all before it. "Alone" is the new sentence as an answer of its own, checked by a validator
that remembers nothing, just after. "Streamed" is `StreamingValidator.feed` of the sentence and the
first word behind it; "finished" is `finish` when all sentences were fed but the last is new.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

from machine import describe_machine
from rag_check import SUBJECTS, TOWNS, document

import caco
from caco.streaming import StreamingValidator

LENGTHS = (1, 2, 5, 10, 20)


def answer_sentences(seed: int) -> tuple[list[str], list[str]]:
    """Return 24 sentences about four documents, most of them right, and the documents."""
    rng = random.Random(seed)
    sentences, documents = [], []
    for town, subject in zip(rng.sample(TOWNS, 4), rng.sample(SUBJECTS, 4), strict=True):
        text, facts = document(rng, town, subject)
        documents.append(text)
        sentences += [
            f"The {subject} of {town} dates from {facts['year']}.",
            f"{facts['staff']} people work for the {subject} of {town}.",
            f"The {subject} of {town} costs {facts['cost'] + 50} thousand crowns a year.",
            f"Last year the {subject} of {town} was used by {facts['visits']} people.",
            f"Nobody can visit the {subject} of {town} on public holidays.",
            f"The {subject} of {town} was designed by a famous architect from abroad.",
        ]
    rng.shuffle(sentences)
    return sentences, documents


def seconds(action: Callable[[], object]) -> float:
    """Return how long an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def measure(length: int, seed: int) -> dict[str, float]:
    """Return the seconds of each way to check one sentence more than ``length``."""
    sentences, documents = answer_sentences(seed)
    before, new = " ".join(sentences[:length]), sentences[length]

    retrying = caco.Validator()
    retrying.validate(before, documents)
    times = {"retried": seconds(lambda: retrying.validate(f"{before} {new}", documents))}

    stream = StreamingValidator(caco.Validator(), documents)
    first, rest = new.split(" ", 1)
    stream.feed(f"{before} {first}")
    times["streamed"] = seconds(lambda: stream.feed(f" {rest} Then"))

    last = StreamingValidator(caco.Validator(), documents)
    last.feed(f"{before} {new}")
    times["finished"] = seconds(last.finish)

    alone = caco.Validator()
    times["alone"] = seconds(lambda: alone.validate(new, documents))
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=12)
    repeats = parser.parse_args().repeats
    measure(2, 1_000_000)
    print("Time by that of the new sentence alone, median and 90th percentile of", repeats)
    print(
        f"{'sentences before':18s}{'alone':>10s}{'retried':>16s}{'streamed':>16s}{'finished':>16s}"
    )
    for length in LENGTHS:
        measured = [measure(length, seed) for seed in range(repeats)]
        alone = statistics.median(times["alone"] for times in measured)
        line = f"{length:<18d}{alone * 1000:7.0f} ms"
        for name in ("retried", "streamed", "finished"):
            ratios = sorted(times[name] / times["alone"] for times in measured)
            high = ratios[min(len(ratios) - 1, int(0.9 * len(ratios)))]
            line += f"{statistics.median(ratios):10.2f}{high:6.2f}"
        print(line)
    print(describe_machine())


if __name__ == "__main__":
    main()
