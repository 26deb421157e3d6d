"""Time one RAG check against a bare onnxruntime session fed the same pairs; cold start; memory.

usage: python benchmarks/latency.py [--repeats N] [--threads N]

The check: an answer of 5 sentences (3 right, 2 wrong) against 4 documents of 120 words. Every
repetition has texts of its own, so that no cache helps the engine. The bare session gets the ids
of the unique pairs that the engine scored, tokenised beforehand, one pair per run, single-threaded
runs side by side on as many threads as the engine uses. Engine and session take turns in one run,
so the ratio holds on a noisy machine.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
from machine import describe_machine
from tokenizers import Tokenizer

import caco
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import MODEL_FOLDER, OnnxScorer
from caco.classifier.scoring import PairScores

TOWNS = ("Arden", "Brask", "Colby", "Dunmore", "Elsworth", "Farrow", "Gilden", "Harlow")
SUBJECTS = ("library", "tram depot", "water works", "town museum", "ferry pier", "music school")
COLD = """
import time; started = time.perf_counter()
import caco
imported = time.perf_counter()
caco.Validator().validate("Ana leads the refund team.", "The refund team is led by Ana Reis.")
done = time.perf_counter()
import resource
print(imported - started, done - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


class Recorder:
    """A scorer that passes everything on and keeps the unique pairs."""

    def __init__(self, scorer: OnnxScorer) -> None:
        self.scorer = scorer
        self.name, self.window_words = scorer.name, scorer.window_words
        self.max_tokens, self.calibration = scorer.max_tokens, scorer.calibration
        self.pairs: dict[tuple[str, str], None] = {}

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score and remember the pairs."""
        self.pairs.update(dict.fromkeys(pairs))
        return self.scorer.score(pairs)


def document(rng: random.Random, town: str, subject: str) -> tuple[str, dict[str, int]]:
    """Return a text of about 120 words and the figures in it."""
    facts = {
        "year": rng.randint(1850, 1990),
        "staff": rng.randint(12, 90),
        "cost": rng.randint(100, 900),
        "visits": rng.randint(1000, 9000),
    }
    text = (
        f"The {subject} of {town} was founded in {facts['year']} after a vote of the council. It "
        f"employs {facts['staff']} people, most of whom live in {town} or in the villages around "
        f"it. Running the {subject} costs {facts['cost']} thousand crowns a year, two thirds of "
        f"which the region pays. In the last year {facts['visits']} people used it, a few more "
        f"than in the year before. The building was repaired twice, the second time after a fire "
        f"that destroyed the roof and a part of the archive. Its director is appointed for six "
        f"years and reports to a board of nine members, three of whom are chosen by the staff. "
        f"The {subject} is closed on public holidays, and a guided visit can be booked by "
        f"telephone or at the desk."
    )
    return text, facts


def rag_check(seed: int) -> tuple[str, list[str]]:
    """Return an answer of five sentences and its four documents."""
    rng = random.Random(seed)
    towns, subjects = rng.sample(TOWNS, 4), rng.sample(SUBJECTS, 4)
    made = [document(rng, town, subject) for town, subject in zip(towns, subjects, strict=True)]
    (_, a), (_, b), (_, c), _ = made
    answer = (
        f"The {subjects[0]} of {towns[0]} dates from {a['year']}. "
        f"{b['staff']} people work for the {subjects[1]} of {towns[1]}. "
        f"The yearly cost of the {subjects[2]} is {c['cost'] + 50} thousand crowns. "
        f"The {subjects[0]} can be visited with a guide. "
        f"The {subjects[3]} of {towns[3]} was designed by a famous architect from abroad."
    )
    return answer, [text for text, _ in made]


class BareSession:
    """onnxruntime and nothing else: rows of ids in, logits out."""

    def __init__(self, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        path = str(MODEL_FOLDER / "model.onnx")
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(MODEL_FOLDER / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.pool = ThreadPoolExecutor(threads)
        self.threads = threads

    def rows(self, pairs: Sequence[tuple[str, str]]) -> list[np.ndarray]:
        """Tokenise pairs, longest first."""
        encoded = [np.array([self.tokenizer.encode(*pair).ids], dtype=np.int64) for pair in pairs]
        return sorted(encoded, key=lambda ids: -ids.shape[1])

    def run(self, rows: Sequence[np.ndarray]) -> None:
        """Run every row by itself, ``threads`` at a time."""
        waiting = iter(rows)
        for done in [self.pool.submit(self._drain, waiting) for _ in range(self.threads)]:
            done.result()

    def _drain(self, waiting: object) -> None:
        for ids in waiting:  # type: ignore[attr-defined]
            self.session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})


def cold_start() -> tuple[float, float, float]:
    """Return seconds to import, seconds to the first verdict, peak MB, in a fresh process."""
    output = subprocess.run(
        [sys.executable, "-c", COLD], check=True, capture_output=True, text=True
    ).stdout
    imported, done, peak = map(float, output.split())
    return imported, done, peak


def resident_mb() -> float:
    """Return the highest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, default=min(os.cpu_count() or 1, 8))
    arguments = parser.parse_args()
    repeats = arguments.repeats
    scorer = OnnxScorer(threads=arguments.threads)
    bare = BareSession(threads=arguments.threads)
    engine_ms, bare_ms, ratios, pairs, tokens = [], [], [], [], []
    for seed in range(-2, repeats):  # the first two warm up
        recorder = Recorder(scorer)
        validator = caco.Validator(classifier=NLIClassifier(recorder))
        answer, documents = rag_check(seed)
        started = time.perf_counter()
        result = validator.validate(answer, documents)
        engine = time.perf_counter() - started
        rows = bare.rows(list(recorder.pairs))
        started = time.perf_counter()
        bare.run(rows)
        session = time.perf_counter() - started
        if seed < 0:
            continue
        engine_ms.append(engine * 1000)
        bare_ms.append(session * 1000)
        ratios.append(session / engine)
        pairs.append(result.coverage.pairs_scored)
        tokens.append(sum(row.shape[1] for row in rows))
    before = resident_mb()
    caco.Validator().validate(answer, documents)
    second = resident_mb() - before
    imported, first, peak = cold_start()
    rate = sum(tokens) / (sum(engine_ms) / 1000)
    print("One RAG check: 5 claims, 4 documents of 120 words")
    print(f"  engine, median                 {statistics.median(engine_ms):8.1f} ms")
    print(f"  bare session, median           {statistics.median(bare_ms):8.1f} ms")
    print(f"  pairs, median                  {statistics.median(pairs):8.0f}")
    print(f"  tokens/s through the engine    {rate:8.0f}")
    print(
        f"  engine throughput / bare       {statistics.median(ratios):8.2f}  (median of {repeats})"
    )
    print(f"  import caco                    {imported * 1000:8.0f} ms")
    print(f"  import, load and first check   {first:8.2f} s")
    print(f"  peak memory of that process    {peak:8.0f} MB")
    print(f"  a second validator adds        {second:8.1f} MB")
    print(describe_machine())


if __name__ == "__main__":
    main()
