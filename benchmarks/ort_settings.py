"""Which settings of onnxruntime run the embedded model fastest, and whether they change a score.

usage: python benchmarks/ort_settings.py [--repeats N] [--checks N] [--only NAME ...]

The pairs are those that the engine scores in RAG checks. Every setting differs from the engine's
(one pair per run, single-threaded runs side by side on all threads, all graph optimisations, arena,
no memory patterns) in one thing; all settings take turns, and each is compared with the engine's
runs just before and just after it, so the ratio holds on a noisy machine. Memory is what a process
of its own holds after the same runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
from machine import describe_machine, peak_memory_mb
from rag_check import Recorder, rag_check, token_rows

import caco
from caco.classifier.nli import NLIClassifier
from caco.classifier.onnx import MODEL_FOLDER, OnnxScorer

LEVELS = onnxruntime.GraphOptimizationLevel
PADDING = 1


@dataclass(frozen=True)
class Setting:
    """One way to run the model.

    Attributes:
        wide: One run at a time, on all threads, instead of as many runs on one thread each.
        bound: Inputs and outputs are bound instead of passed and returned.
        batch: Pairs in a run, of like length and padded to the longest.
        options: Attributes of ``SessionOptions``.
        entries: Its configuration entries.
    """

    wide: bool = False
    bound: bool = False
    batch: int = 1
    options: Mapping[str, object] = field(default_factory=dict)
    entries: Mapping[str, str] = field(default_factory=dict)


ENGINE = "the engine's"
SETTINGS = {
    ENGINE: Setting(),
    "one run on all threads": Setting(wide=True),
    "the same, threads wait asleep": Setting(
        wide=True, entries={"session.intra_op.allow_spinning": "0"}
    ),
    "bound inputs and outputs": Setting(bound=True),
    "no arena": Setting(options={"enable_cpu_mem_arena": False}),
    "memory patterns": Setting(options={"enable_mem_pattern": True}),
    "parallel operators": Setting(
        options={"execution_mode": onnxruntime.ExecutionMode.ORT_PARALLEL}
    ),
    "basic graph optimisation": Setting(
        options={"graph_optimization_level": LEVELS.ORT_ENABLE_BASIC}
    ),
    "extended graph optimisation": Setting(
        options={"graph_optimization_level": LEVELS.ORT_ENABLE_EXTENDED}
    ),
    "no graph optimisation": Setting(options={"graph_optimization_level": LEVELS.ORT_DISABLE_ALL}),
    "weights not prepacked": Setting(entries={"session.disable_prepacking": "1"}),
    "denormals are zero": Setting(entries={"session.set_denormal_as_zero": "1"}),
    "4 pairs in a run": Setting(batch=4),
    "8 pairs in a run": Setting(batch=8),
    "8 pairs in a run on all threads": Setting(batch=8, wide=True),
}


class Model:
    """The embedded model, run in one way.

    Args:
        setting: The way.
        threads: Threads in all.
    """

    def __init__(self, setting: Setting, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads if setting.wide else 1
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        for name, value in setting.options.items():
            setattr(options, name, value)
        for name, text in setting.entries.items():
            options.add_session_config_entry(name, text)
        path = str(MODEL_FOLDER / "model.onnx")
        self.session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        self.setting = setting
        self.pool = ThreadPoolExecutor(1 if setting.wide else threads)

    def run(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """Run int64 rows [1, tokens], longest first; logits float32 [n, 3]."""
        size = self.setting.batch
        batches = [rows[start : start + size] for start in range(0, len(rows), size)]
        run: Callable[[np.ndarray, np.ndarray], np.ndarray] = (
            self._bound if self.setting.bound else self._passed
        )
        return np.concatenate(list(self.pool.map(lambda batch: run(*padded(batch)), batches)))

    def _passed(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        (logits,) = self.session.run(["logits"], {"input_ids": ids, "attention_mask": mask})
        return np.asarray(logits)

    def _bound(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        binding = self.session.io_binding()
        binding.bind_cpu_input("input_ids", ids)
        binding.bind_cpu_input("attention_mask", mask)
        binding.bind_output("logits")
        self.session.run_with_iobinding(binding)
        return np.asarray(binding.copy_outputs_to_cpu()[0])


def padded(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and attention mask, int64 [rows, longest]."""
    longest = max(row.shape[1] for row in rows)
    ids = np.full((len(rows), longest), PADDING, dtype=np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : row.shape[1]] = row[0]
        mask[index, : row.shape[1]] = 1
    return ids, mask


def check_rows(checks: int) -> list[np.ndarray]:
    """Return the ids of the pairs that the engine scores in so many RAG checks."""
    recorder = Recorder(OnnxScorer())
    validator = caco.Validator(classifier=NLIClassifier(recorder))
    validator.validate_batch([rag_check(seed) for seed in range(checks)])
    return token_rows(list(recorder.pairs))


def seconds(model: Model, rows: Sequence[np.ndarray]) -> float:
    """Return how long a model takes."""
    started = time.perf_counter()
    model.run(rows)
    return time.perf_counter() - started


def memory_mb(name: str, threads: int, rows: Sequence[np.ndarray]) -> float:
    """Return the peak resident memory of a process that runs with one setting."""
    command = [sys.executable, __file__, "--memory", name, "--threads", str(threads)]
    given = json.dumps([row[0].tolist() for row in rows])
    done = subprocess.run(command, check=True, capture_output=True, text=True, input=given)
    return float(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--checks", type=int, default=1)
    parser.add_argument("--threads", type=int, default=min(os.cpu_count() or 1, 8))
    parser.add_argument("--only", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--memory", choices=SETTINGS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory is not None:
        given = [np.array([row], dtype=np.int64) for row in json.load(sys.stdin)]
        Model(SETTINGS[arguments.memory], arguments.threads).run(given)
        print(peak_memory_mb())
        return
    rows = check_rows(arguments.checks)
    engine = Model(SETTINGS[ENGINE], arguments.threads)
    models = {name: Model(SETTINGS[name], arguments.threads) for name in arguments.only}
    expected = engine.run(rows)
    differences = {
        name: float(np.abs(model.run(rows) - expected).max()) for name, model in models.items()
    }
    ratios: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(arguments.repeats):
        before = seconds(engine, rows)
        for name, model in models.items():
            own, after = seconds(model, rows), seconds(engine, rows)
            ratios[name].append((before + after) / 2 / own)
            before = after
    tokens = sum(row.shape[1] for row in rows)
    print(f"{len(rows)} pairs, {tokens} tokens, {arguments.threads} threads")
    print(f"{'setting':34s}{'speed':>8s}{'lowest':>8s}{'highest':>9s}{'logits':>9s}{'MB':>6s}")
    for name, values in ratios.items():
        print(
            f"{name:34s}{statistics.median(values):8.3f}{min(values):8.3f}{max(values):9.3f}"
            f"{differences[name]:9.2g}{memory_mb(name, arguments.threads, rows):6.0f}"
        )
    print("speed: times the engine's setting, median; logits: the largest difference of one")
    print(describe_machine())


if __name__ == "__main__":
    main()
