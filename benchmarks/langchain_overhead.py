"""What the LangChain guard adds to the engine, and what a batch saves against single calls.

usage: python benchmarks/langchain_overhead.py [--answers N] [--rounds N]

In each round the three ways run side by side on the same new answers: the engine's own batch, the
guard's batch, and one guarded call after the other. No score is in the cache when a way begins.
Printed are medians over the rounds, of wall time and of this process' CPU time, which other work on
the machine disturbs less; the ratios are taken within each round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from machine import describe_machine

import caco
from langchain_caco import CacoGuard

THINGS = ("apples", "chairs", "letters", "candles", "coins", "bottles", "lamps", "stones")


def new_rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Return answers of two claims, each with three documents, that no other seed gives."""
    rows = []
    for position in range(count):
        number, thing = seed * count + position, THINGS[position % len(THINGS)]
        room = f"Room {number}"
        rows.append(
            {
                "answer": f"{room} holds {position + 3} {thing}. The door of it is red.",
                "context": [
                    f"{room} was painted in spring. It holds {position + 3} {thing} and a table.",
                    f"{room} lies on the north side. Its door is blue, its window is closed.",
                    f"The rooms near {room.lower()} are empty. Nobody has been there since May.",
                ],
            }
        )
    return rows


class Times(NamedTuple):
    """Seconds that a piece of work took."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Times:
    """Do the work and say how long it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Times(time.perf_counter() - wall, time.process_time() - cpu)


def fresh() -> caco.Validator:
    """Return an engine that remembers no scores; its model is loaded already."""
    return caco.Validator()


def one_round(rows: list[dict[str, Any]], turn: int) -> dict[str, Times]:
    """Time each way once, in an order that changes from round to round."""
    items = [{"response": row["answer"], "context": row["context"]} for row in rows]
    engine, batched, single = fresh(), CacoGuard(validator=fresh()), CacoGuard(validator=fresh())
    ways: list[tuple[str, Callable[[], object]]] = [
        ("engine", lambda: engine.validate_batch(items)),
        ("batch", lambda: batched.batch(rows)),
        ("single", lambda: [single.invoke(row) for row in rows]),
    ]
    first = turn % len(ways)
    return {name: timed(work) for name, work in ways[first:] + ways[:first]}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    fresh().preload()
    one_round(new_rows(8, seed=10_000), turn=0)
    rounds = [
        one_round(new_rows(arguments.answers, seed=turn), turn) for turn in range(arguments.rounds)
    ]
    print(f"{arguments.answers} answers of two claims, {arguments.rounds} rounds, medians")
    print(f"{'':18s} {'wall':>11s} {'CPU':>11s}")
    labels = {"engine": "validate_batch", "batch": "CacoGuard.batch", "single": "CacoGuard.invoke"}
    for name, label in labels.items():
        values = [median(t[name][kind] for t in rounds) * 1000 for kind in (0, 1)]
        print(f"{label:18s} {values[0]:8.1f} ms {values[1]:8.1f} ms")
    for slow, fast, note in (
        ("batch", "engine", "(at most 1.05 is wanted)"),
        ("single", "batch", ""),
    ):
        values = [median(t[slow][kind] / t[fast][kind] for t in rounds) for kind in (0, 1)]
        print(f"{f'{slow} / {fast}':18s} {values[0]:11.3f} {values[1]:11.3f} {note}")
    print(describe_machine("langchain-core"))


if __name__ == "__main__":
    main()
