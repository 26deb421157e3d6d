"""Rows per second of `caco batch`, locally and on Ray, against the engine's own on the same rows.

usage: python benchmarks/batch_throughput.py [--rows N] [--rounds N] [--actors N] [--no-ray]
                                             [--chunk-rows N]

A row is an answer of 5 sentences against 4 documents of 120 words, each with texts of its own, so
that no cache helps. The engine: one process, the model loaded, `Validator.validate_batch` on all
rows at once. The command: the same rows from a JSON-lines file into another, with tension, claims
and progress noted on the disk. Each runs in a process of its own, and they take turns; a ratio is
that of the two rates of one round, and the median over the rounds is printed. The command's rate is
that between a fifth and four fifths of the rows, when as much is under way at the end as at the
beginning: what a long run sees. Start-up (Python, the model, Ray's cluster) is in the last column,
the seconds of the whole process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import describe_machine
from rag_check import rag_check

ENGINE = """
import json, sys, time
import caco
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
validator = caco.Validator()
validator.preload()
started = time.perf_counter()
validator.validate_batch(rows)
print(json.dumps({"rate": len(rows) / (time.perf_counter() - started)}))
"""

BATCH = """
import json, sys, time
from caco.batch import BatchJob, BatchValidator, LocalEngine, RayEngine, open_source, run_batch
source, output, size, actors, total = *sys.argv[1:3], *map(int, sys.argv[3:])
times = []
def progress(now):
    if total / 5 <= now.rows <= total * 4 / 5:
        times.append((time.perf_counter(), now.rows))
engine = RayEngine(actors=actors, chunk_rows=size) if actors else LocalEngine(size)
validator = BatchValidator(threads=1 if actors else None)
run_batch(BatchJob(open_source(source), output, validator=validator, engine=engine), progress)
(first, before), (last, rows) = times[0], times[-1]
print(json.dumps({"rate": (rows - before) / (last - first)}))
"""


def measured(program: str, *arguments: str) -> dict[str, float]:
    """Return what a program prints last, run in a process of its own."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "whole": time.perf_counter() - started}


def write_rows(path: Path, count: int, seed: int) -> None:
    """Write rows that no other seed has."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            answer, documents = rag_check(seed * 1_000_000 + number)
            file.write(json.dumps({"id": number, "response": answer, "context": documents}) + "\n")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--actors", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--chunk-rows", type=int, default=32)
    parser.add_argument("--no-ray", action="store_true")
    arguments = parser.parse_args()
    size, total = str(arguments.chunk_rows), str(arguments.rows)
    engines = {"caco batch": "0"}
    if not arguments.no_ray:
        engines[f"caco batch, Ray, {arguments.actors} actors"] = str(arguments.actors)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ("engine", *engines)}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            path = Path(folder) / f"{number}.jsonl"
            write_rows(path, arguments.rows, number)
            found["engine"].append(measured(ENGINE, str(path)))
            output = str(path.with_suffix(".out.jsonl"))
            for name, actors in engines.items():
                found[name].append(measured(BATCH, str(path), output, size, actors, total))
    print(
        f"{arguments.rows} rows of 5 claims and 4 documents of 120 words, {arguments.rounds} rounds"
    )
    print(f"{'':28s}{'rows/s':>10s}{'of engine':>12s}{'whole process':>16s}")
    for name, runs in found.items():
        rate, whole = (statistics.median(run[key] for run in runs) for key in ("rate", "whole"))
        ratio = statistics.median(
            run["rate"] / engine["rate"] for run, engine in zip(runs, found["engine"], strict=True)
        )
        print(f"{name:28s}{rate:10.2f}{ratio:12.2f}{whole:14.1f} s")
    print(describe_machine("ray"))


if __name__ == "__main__":
    main()
