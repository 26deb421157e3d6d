"""How the cost of `caco batch` grows with rows, claims and documents, and what memory it takes.

usage: python benchmarks/scaling.py [rows] [claims] [documents] [memory] [--most-rows N]
                                    [--repeats N]

Without a part all four are measured.

rows: 10^2, 10^3, … short rows, each with texts of its own: one claim of 6 words, one document of
two sentences, so that 10^5 of them end within hours on two cores. The slope is that of a line
through the logarithms of rows and cost (1: linear).
claims and documents: one answer of 1 to 32 claims, and one claim against 1 to 64 documents of 120
words; once where the first document looked at supports it, once where none does.
Cost is CPU time, on all cores together and without start-up: what a cluster is paid for, and little
disturbed by what else the machine does.
memory: the highest resident memory of `caco batch` on 10^3 and on `--most-rows` rows, for every
format. The embedded model is loaded, and has read a pair, but the rows are judged by a classifier
that only compares texts: 10^5 rows through the model take hours, and what it holds does not depend
on their number. What is measured beside it: reading, splitting, chunks, results, writing.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from machine import describe_machine
from rag_check import SUBJECTS, TOWNS, document

import caco

PARTS = ("rows", "claims", "documents", "memory")
FORMATS = ("jsonl", "csv", "parquet")

RUN = """
import json, resource, sys, time
import caco
from caco.batch import BatchJob, BatchValidator, open_source, run_batch
from caco.models import Labels
from caco.testing import FakeClassifier

class Comparing(FakeClassifier):
    def classify(self, claim, context):
        self.calls.clear()
        return super().classify(claim, context)

def verdict(claim, context):
    return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_NEUTRAL

embedded = BatchValidator()
# What is loaded once is loaded now, the sentence splitter too.
embedded({"response": ["It opened in May."], "context": ["In May it did. It has lamps."]})
comparing = BatchValidator(caco.Validator(classifier=Comparing(verdict)), tension="heuristic")
validator = comparing if sys.argv[3] == "comparing" else embedded
started = time.process_time()
report = run_batch(BatchJob(open_source(sys.argv[1]), sys.argv[2], validator=validator))
cpu = time.process_time() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"rows": report.rows, "cpu": cpu, "peak": peak}))
"""


def batch(source: Path, judge: str, ending: str = "jsonl") -> dict[str, float]:
    """Run `caco batch` in a process of its own: rows, CPU seconds, peak memory in MB."""
    output = source.with_suffix(f".out.{ending}")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(source), str(output), judge],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    output.unlink()
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def short_rows(count: int) -> Iterator[dict[str, object]]:
    """Yield rows of one short claim and a document of two sentences, no two of them alike."""
    for number in range(count):
        answer = f"The pier number {number} opened in {1900 + number % 100}."
        opened = 1900 + (number + number % 3) % 100
        text = f"In {opened} pier number {number} was opened. It has {number % 90 + 3} lamps."
        yield {"id": number, "response": answer, "context": text}


def write_table(path: Path, rows: Iterator[dict[str, object]]) -> None:
    """Write rows in the format that the path's ending says, a few at a time."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema(
            [("id", pa.int64()), ("response", pa.string()), ("context", pa.string())]
        )
        with pq.ParquetWriter(path, schema) as writer:
            while group := [row for _, row in zip(range(10_000), rows, strict=False)]:
                writer.write_table(pa.Table.from_pylist(group, schema))
        return
    with path.open("w", encoding="utf-8") as file:
        if path.suffix == ".csv":
            file.write("id,response,context\n")
        for row in rows:
            cells = ",".join(f'"{value}"' for value in row.values())
            file.write((cells if path.suffix == ".csv" else json.dumps(row)) + "\n")


def slope(points: list[tuple[float, float]]) -> float:
    """Return the slope of a line through the logarithms of points (least squares)."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (statistics.fmean(axis) for axis in zip(*logs, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return above / sum((x - mean_x) ** 2 for x, _ in logs)


def measure_rows(most: int, folder: Path) -> None:
    """Print CPU time by number of rows."""
    print("rows (one short claim, one short document each; the embedded model)")
    print(f"{'rows':>10s}{'CPU s':>12s}{'ms a row':>12s}{'slope so far':>14s}")
    points: list[tuple[float, float]] = []
    count = 100
    while count <= most:
        path = folder / "rows.jsonl"
        write_table(path, short_rows(count))
        seconds = batch(path, "model")["cpu"]
        points.append((count, seconds))
        steep = f"{slope(points):14.2f}" if len(points) > 1 else f"{'':14s}"
        print(f"{count:10d}{seconds:12.1f}{seconds / count * 1000:12.2f}{steep}", flush=True)
        count *= 10


def seconds_of(make: Callable[[int], tuple[str, list[str]]], repeats: int) -> float:
    """Return the median CPU seconds of a check by a validator that has seen nothing of it."""
    found = []
    for seed in range(repeats):
        response, documents = make(seed)
        validator = caco.Validator()
        started = time.process_time()
        validator.validate(response, documents)
        found.append(time.process_time() - started)
    return statistics.median(found)


def table_of(
    name: str,
    sizes: list[int],
    cases: dict[str, Callable[[int, int], tuple[str, list[str]]]],
    repeats: int,
) -> None:
    """Print CPU time by size for several kinds of checks."""
    for make in cases.values():  # the model and the word lists are loaded before
        seconds_of(partial(make, sizes[0]), 1)
    print(f"{name:>10s}" + "".join(f"{case + ', CPU ms':>28s}" for case in cases))
    points: dict[str, list[tuple[float, float]]] = {case: [] for case in cases}
    for size in sizes:
        line = f"{size:10d}"
        for case, make in cases.items():
            seconds = seconds_of(partial(make, size), repeats)
            points[case].append((size, seconds))
            line += f"{seconds * 1000:28.1f}"
        print(line, flush=True)
    print(f"{'slope':>10s}" + "".join(f"{slope(found):28.2f}" for found in points.values()))


def topical(count: int, seed: int) -> list[tuple[str, str, str, dict[str, int]]]:
    """Return documents on different subjects: town, subject, text and figures."""
    rng = random.Random(seed)
    pairs = [(town, subject) for town in TOWNS for subject in SUBJECTS]
    found = []
    for number in range(count):
        town, subject = pairs[number % len(pairs)]
        town = f"{town} {number // len(pairs) + 1}" if number >= len(pairs) else town
        text, facts = document(rng, town, subject)
        found.append((town, subject, text, facts))
    return found


def many_claims(count: int, seed: int) -> tuple[str, list[str]]:
    """Return an answer of so many claims, every fourth one wrong, and four documents."""
    four = topical(4, seed)
    sentences = []
    for number in range(count):
        town, subject, _, facts = four[number % 4]
        key, wording = (
            ("year", "The {s} of {t} dates from {v}."),
            ("staff", "{v} people work for the {s} of {t}."),
            ("cost", "The {s} of {t} costs {v} thousand crowns every year."),
            ("visits", "The {s} of {t} was used by {v} people last year."),
        )[number // 4 % 4]
        value = facts[key] + number // 16 + (7 if number % 4 == 3 else 0)
        sentences.append(wording.format(s=subject, t=town, v=value))
    return " ".join(sentences), [text for _, _, text, _ in four]


def supported(count: int, seed: int) -> tuple[str, list[str]]:
    """Return a claim that the likeliest of the documents supports, in nearly its words."""
    found = topical(count, seed)
    town, subject, _, facts = found[0]
    return f"The {subject} of {town} was founded in {facts['year']}.", [
        text for _, _, text, _ in found
    ]


def unsupported(count: int, seed: int) -> tuple[str, list[str]]:
    """Return a claim that no document supports: all are read to the end."""
    found = topical(count, seed)
    town, subject, _, _ = found[0]
    answer = f"The {subject} of {town} was designed by a famous architect from abroad."
    return answer, [text for _, _, text, _ in found]


def measure_memory(most: int, folder: Path) -> None:
    """Print peak memory by format and number of rows."""
    print("peak memory of caco batch (the model loaded; rows judged by comparing texts)")
    print(f"{'format':>10s}{'1000 rows':>14s}{f'{most} rows':>16s}{'ratio':>8s}{'rows/CPU s':>14s}")
    for ending in FORMATS:
        found = []
        for count in (1000, most):
            path = folder / f"memory.{ending}"
            write_table(path, short_rows(count))
            found.append(batch(path, "comparing", ending))
        few, many = found
        ratio = many["peak"] / few["peak"]
        rate = many["rows"] / many["cpu"]
        print(
            f"{ending:>10s}{few['peak']:11.0f} MB{many['peak']:13.0f} MB{ratio:8.2f}{rate:14.0f}",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="(default: all)")
    parser.add_argument("--most-rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    parts = arguments.parts or PARTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "rows" in parts:
            measure_rows(arguments.most_rows, folder)
        if "claims" in parts:
            print("claims (one answer, 4 documents of 120 words, every fourth claim wrong)")
            table_of("claims", [1, 2, 4, 8, 16, 32], {"check": many_claims}, arguments.repeats)
        if "documents" in parts:
            print("documents (one claim; documents of 120 words on other subjects)")
            cases = {"support found early": supported, "no support": unsupported}
            table_of("documents", [1, 2, 4, 8, 16, 32, 64], cases, arguments.repeats)
        if "memory" in parts:
            measure_memory(arguments.most_rows, folder)
    print(describe_machine())


if __name__ == "__main__":
    main()
