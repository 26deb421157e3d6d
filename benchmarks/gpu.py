"""Tokens per second of the embedded weights on torch, on a CUDA device or any other.

usage: python benchmarks/gpu.py [--device cuda] [--checks N] [--batch-size N ...]

The weights are exported by `caco.export_cross_encoder` and run by `CrossEncoderScorer`: first the
pairs of RAG checks alone, in both precisions and in batches of several sizes, then the checks from
end to end. Beside each stands the share of what the device reaches in plain matrix products of the
same numbers, and how far probabilities are from those of the first line. Needs the extra ``torch``.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from machine import describe_machine
from rag_check import Recorder, rag_check, token_rows

import caco
from caco.classifier.cross_encoder import CrossEncoderClassifier, CrossEncoderScorer
from caco.classifier.loaded_cross_encoder import Precision
from caco.classifier.onnx import OnnxScorer


def seconds(action: Callable[[], object], device: str) -> float:
    """Return the median time of three runs, after one that warms up."""
    times = []
    for _ in range(4):
        started = time.perf_counter()
        action()
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])


def matrix_rate(device: str, precision: Precision) -> float:
    """Return the floating-point operations per second of a large matrix product."""
    size = 8192 if device.startswith("cuda") else 1024
    one = torch.ones((size, size), device=device, dtype=getattr(torch, precision))
    return 2 * size**3 / seconds(lambda: one @ one, device)


def operations(lengths: np.ndarray) -> float:
    """Return the floating-point operations of the embedded model on pairs of these lengths."""
    shape = OnnxScorer().config.architecture
    hidden, inner = shape["hidden_size"], shape["intermediate_size"]
    in_layers = 2 * (4 * hidden**2 + 2 * hidden * inner) * lengths + 4 * hidden * lengths**2
    return float(in_layers.sum()) * float(shape["num_hidden_layers"])


def checked_pairs(checks: int) -> list[tuple[str, str]]:
    """Return the pairs that RAG checks score when every window is read."""
    recorder = Recorder(OnnxScorer())
    validator = caco.Validator(classifier=caco.NLIClassifier(recorder))
    validator.validate_batch([rag_check(seed) for seed in range(checks)])
    return list(recorder.pairs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--checks", type=int, default=20)
    parser.add_argument("--copies", type=int, default=1, help="of each pair, made different")
    parser.add_argument("--batch-size", type=int, nargs="*", default=[32, 256])
    arguments = parser.parse_args()
    device, checks = arguments.device, arguments.checks
    pairs = [
        (premise, f"{hypothesis} {copy}" if copy else hypothesis)
        for premise, hypothesis in checked_pairs(checks)
        for copy in range(arguments.copies)
    ]
    lengths = np.array([row.shape[1] for row in token_rows(pairs)])
    print(f"{len(pairs)} pairs, {lengths.sum()} tokens, on {device}")
    print(f"{'precision':10s}{'batch':>7s}{'tokens/s':>10s}{'of products':>13s}{'difference':>12s}")
    with tempfile.TemporaryDirectory() as place:
        folder = caco.export_cross_encoder(Path(place) / "exported")
        expected = None
        for precision in get_args(Precision):
            rate = matrix_rate(device, precision)
            for batch_size in (None, *arguments.batch_size):
                scorer = CrossEncoderScorer(folder, device, batch_size, precision=precision)
                found = scorer.score(pairs).probabilities
                expected = found if expected is None else expected
                spent = seconds(lambda: scorer.score(pairs), device)  # noqa: B023 (run at once)
                print(
                    f"{precision:10s}{batch_size or 'auto':>7}{lengths.sum() / spent:10.0f}"
                    f"{operations(lengths) / spent / rate:13.1%}"
                    f"{np.abs(found - expected).max():12.2g}"
                )
        items = [rag_check(seed) for seed in range(checks)]
        for precision in get_args(Precision):
            spent = seconds(
                lambda: caco.Validator(
                    classifier=CrossEncoderClassifier(folder, device, precision=precision)  # noqa: B023
                ).validate_batch(items),
                device,
            )
            print(f"{precision}: {checks / spent:.1f} checks/s from end to end, in one batch")
    print(describe_machine("torch", "sentence-transformers"))
    if device.startswith("cuda"):
        print(torch.cuda.get_device_name(device))


if __name__ == "__main__":
    main()
