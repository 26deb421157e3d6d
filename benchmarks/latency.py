"""Time one RAG check, or a batch of them, against a bare onnxruntime session fed the same pairs.

usage: python benchmarks/latency.py [--repeats N] [--batch N] [--threads N]

The check: an answer of 5 sentences (3 right, 2 wrong) against 4 documents of 120 words. Every
repetition has texts of its own, so that no cache helps the engine. The bare session gets the ids
of the unique pairs that the engine scored, tokenised beforehand, one pair per run, single-threaded
runs side by side on as many threads as the engine uses. Engine and session take turns in one run,
so the ratio holds on a noisy machine. With ``--batch`` as many checks go through one
``validate_batch``, and the session runs each 128 pairs right after the engine has, off the engine's
clock; without it, cold start and memory are measured too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from machine import describe_machine, peak_memory_mb
from rag_check import BareSession, Recorder, rag_check, token_rows

import caco
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import PairScores

TURN = 128
"""Pairs that engine and session run before it is the other one's turn."""
COLD = """
import time; started = time.perf_counter()
import caco
imported = time.perf_counter()
caco.Validator().validate("Ana leads the refund team.", "The refund team is led by Ana Reis.")
done = time.perf_counter()
from machine import peak_memory_mb
print(imported - started, done - started, peak_memory_mb())
"""


def cold_start() -> tuple[float, float, float]:
    """Return seconds to import, seconds to the first verdict, peak MB, in a fresh process."""
    output = subprocess.run(
        [sys.executable, "-c", COLD],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    ).stdout
    imported, done, peak = map(float, output.split())
    return imported, done, peak


def measure(
    check: tuple[str, list[str]], scorer: OnnxScorer, bare: BareSession
) -> tuple[float, float, int, int]:
    """Check an answer; then let the bare session run its pairs.

    Returns:
        Seconds of the engine, seconds of the session, pairs, tokens.
    """
    recorder = Recorder(scorer)
    validator = caco.Validator(classifier=NLIClassifier(recorder))
    started = time.perf_counter()
    validator.validate(*check)
    engine = time.perf_counter() - started
    rows = token_rows(list(recorder.pairs))
    started = time.perf_counter()
    bare.run(rows)
    session = time.perf_counter() - started
    return engine, session, len(rows), sum(row.shape[1] for row in rows)


class Rival(Recorder):
    """A scorer that lets the bare session run the same pairs in turns, some at a time.

    Args:
        scorer: The engine's scorer.
        bare: The session.
    """

    def __init__(self, scorer: OnnxScorer, bare: BareSession) -> None:
        super().__init__(scorer)
        self.bare = bare
        self.session_seconds = self.seconds_aside = 0.0
        self.tokens = 0

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score pairs, and let the session run them."""
        parts = [self._turn(pairs[i : i + TURN]) for i in range(0, len(pairs), TURN)]
        return PairScores(
            np.concatenate([part.probabilities for part in parts]),
            np.concatenate([part.truncated for part in parts]),
        )

    def _turn(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        scores = super().score(pairs)
        arrived = time.perf_counter()
        rows = token_rows(pairs)
        started = time.perf_counter()
        self.bare.run(rows)
        done = time.perf_counter()
        self.session_seconds += done - started
        self.seconds_aside += done - arrived
        self.tokens += sum(row.shape[1] for row in rows)
        return scores


def time_batch(size: int, scorer: OnnxScorer, bare: BareSession) -> None:
    """Print how long one batch takes."""
    rival = Rival(scorer, bare)
    validator = caco.Validator(classifier=NLIClassifier(rival))
    checks = [rag_check(seed) for seed in range(size)]
    started = time.perf_counter()
    validator.validate_batch(checks)
    engine = time.perf_counter() - started - rival.seconds_aside
    session, pairs, tokens = rival.session_seconds, len(rival.pairs), rival.tokens
    print(f"One batch of {size} checks of 5 claims, 4 documents of 120 words each")
    print(f"  engine                         {engine:8.1f} s")
    print(f"  bare session                   {session:8.1f} s")
    print(f"  pairs                          {pairs:8.0f}")
    print(f"  tokens/s through the engine    {tokens / engine:8.0f}")
    print(f"  engine throughput / bare       {session / engine:8.3f}")


def time_checks(repeats: int, scorer: OnnxScorer, bare: BareSession) -> None:
    """Print how long one check takes, how long the first takes, and what memory they need."""
    measured = [measure(rag_check(seed), scorer, bare) for seed in range(repeats)]
    engines, sessions, pairs, tokens = zip(*measured, strict=True)
    ratios = [session / engine for engine, session, _, _ in measured]
    before = peak_memory_mb()
    caco.Validator().validate(*rag_check(repeats))
    second = peak_memory_mb() - before
    imported, first, peak = cold_start()
    print("One RAG check: 5 claims, 4 documents of 120 words")
    print(f"  engine, median                 {statistics.median(engines) * 1000:8.1f} ms")
    print(f"  bare session, median           {statistics.median(sessions) * 1000:8.1f} ms")
    print(f"  pairs, median                  {statistics.median(pairs):8.0f}")
    print(f"  tokens/s through the engine    {sum(tokens) / sum(engines):8.0f}")
    print(
        f"  engine throughput / bare       {statistics.median(ratios):8.3f}  (median of {repeats})"
    )
    print(f"  import caco                    {imported * 1000:8.0f} ms")
    print(f"  import, load and first check   {first:8.2f} s")
    print(f"  peak memory of that process    {peak:8.0f} MB")
    print(f"  a second validator adds        {second:8.1f} MB")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--batch", type=int, help="checks in one batch")
    parser.add_argument("--threads", type=int, default=min(os.cpu_count() or 1, 8))
    arguments = parser.parse_args()
    scorer = OnnxScorer(threads=arguments.threads)
    bare = BareSession(threads=arguments.threads)
    for seed in (1_000_000, 1_000_001):  # the first runs load and warm up
        measure(rag_check(seed), scorer, bare)
    if arguments.batch is not None:
        time_batch(arguments.batch, scorer, bare)
    else:
        time_checks(arguments.repeats, scorer, bare)
    print(describe_machine())


if __name__ == "__main__":
    main()
