"""Which form of the embedded model is best: accuracy and speed of each, one pair per run.

    python benchmarks/model_forms.py --data DATA/dev --model TRAINED_FOLDER

Builds every form of training/package_model.py from TRAINED_FOLDER (config.json, model.safetensors,
tokenizer.json), plus any ONNX file given with ``--file``, and prints two tables: accuracy with 95 %
Wilson intervals beside the agreement with fp32, and tokens per second of one run at a time on
``--threads`` threads against as many single-threaded runs side by side.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent.parent / "training"))
import package_model

SEED = 13
SETS = {
    # file, rows (None: all), two classes
    "mnli": ("nli_mnli_dev", 1000, False),
    "assin2": ("nli_pt_assin2_dev", None, True),
    "inferbr": ("nli_pt_inferbr_val", None, False),
}


@dataclass(frozen=True)
class Rows:
    """Encoded pairs with their labels, and whether the set tells entailment from the rest only."""

    ids: list[list[int]]
    labels: list[str]
    two_classes: bool


def read_rows(path: Path, limit: int | None) -> list[dict[str, str]]:
    """Read one set, shuffled with a fixed seed, at most ``limit`` rows."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(rows)
    return rows[:limit]


def load_sets(data: Path, tokenizer: Tokenizer, scale: float) -> dict[str, Rows]:
    """Encode the accuracy sets; ``scale`` < 1 takes that part of each."""
    sets = {}
    for name, (file, limit, two_classes) in SETS.items():
        rows = read_rows(data / f"{file}.jsonl.gz", limit)
        rows = rows[: max(1, round(len(rows) * scale))]
        ids = [tokenizer.encode(row["premise"], row["hypothesis"]).ids for row in rows]
        sets[name] = Rows(ids, [row["label"] for row in rows], two_classes)
    return sets


def open_session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    """Open a model for runs on ``threads`` threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(session: onnxruntime.InferenceSession, ids: Sequence[int]) -> np.ndarray:
    """Score one encoded pair; probabilities float64 [3] in the model's own order."""
    row = np.array([ids], dtype=np.int64)
    feed = {"input_ids": row, "attention_mask": np.ones_like(row)}
    logits = session.run(["logits"], feed)[0][0].astype(np.float64)
    scores = np.exp(logits - logits.max())
    return scores / scores.sum()


def run_all(
    session: onnxruntime.InferenceSession, rows: Sequence[Sequence[int]], workers: int
) -> np.ndarray:
    """Score every pair by itself, ``workers`` at a time; float64 [n, 3]."""
    with ThreadPoolExecutor(workers) as pool:
        return np.array(list(pool.map(lambda ids: run(session, ids), rows)))


def correct(probabilities: np.ndarray, rows: Rows, labels: Sequence[str]) -> np.ndarray:
    """Say of each row whether it was judged right; two classes: P(entailment) > 0.5."""
    if rows.two_classes:
        entailed = probabilities[:, labels.index("entailment")] > 0.5
        return entailed == np.array([label == "entailment" for label in rows.labels])
    return np.array(labels)[probabilities.argmax(axis=1)] == np.array(rows.labels)


def wilson(successes: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a proportion."""
    z = 1.96
    share = successes / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2)
    return middle - half, middle + half


def accuracy_row(
    name: str,
    output: dict[str, np.ndarray],
    fp32: dict[str, np.ndarray],
    sets: dict[str, Rows],
    labels: Sequence[str],
) -> str:
    """Format one line of the accuracy table."""
    cells = []
    rights = []
    for key, rows in sets.items():
        right = correct(output[key], rows, labels)
        low, high = wilson(int(right.sum()), len(right))
        cells.append(f"{right.mean():.3f} [{low:.3f}, {high:.3f}]")
        rights.append(right)
    ours, theirs = (np.concatenate([side[key] for key in sets]) for side in (output, fp32))
    same = (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()
    cells.append(f"{np.concatenate(rights).mean():.4f}")
    cells.append(f"{same:.4f}")
    cells.append(f"{np.abs(ours - theirs).mean():.4f}")
    return f"| {name} | " + " | ".join(cells) + " |"


def tokens_per_second(
    session: onnxruntime.InferenceSession, rows: Sequence[Sequence[int]], workers: int
) -> float:
    """Time all rows once, after a short warm-up."""
    run_all(session, rows[: 2 * workers], workers)
    start = time.perf_counter()
    run_all(session, rows, workers)
    return sum(map(len, rows)) / (time.perf_counter() - start)


def print_accuracy(
    files: dict[str, Path], sets: dict[str, Rows], labels: Sequence[str], threads: int
) -> None:
    """Print the accuracy table."""
    heads = [f"{key} (n={len(rows.ids)})" for key, rows in sets.items()]
    print("\n| form | MB | " + " | ".join([*heads, "all", "= fp32", "mean abs dp"]) + " |")
    print("|---" * (len(heads) + 5) + "|")
    outputs: dict[str, dict[str, np.ndarray]] = {}
    for name, path in files.items():
        session = open_session(path, 1)
        outputs[name] = {key: run_all(session, rows.ids, threads) for key, rows in sets.items()}
        size = path.stat().st_size / 1e6
        head = f"{name} | {size:.1f}"
        print(accuracy_row(head, outputs[name], outputs["fp32"], sets, labels), flush=True)


def print_speed(files: dict[str, Path], rows: Sequence[Sequence[int]], threads: int) -> None:
    """Print the speed table: pairs of about 44 and about 160 tokens, best of two passes."""
    short = [row for row in rows if 38 <= len(row) <= 50][:120]
    flat = [token for row in rows for token in row[1:-1]]
    long = [[rows[0][0], *flat[i : i + 158], rows[0][-1]] for i in range(0, 158 * 40, 158)]
    print(f"\n| form | tokens/pair | one run, {threads} threads | {threads} runs, 1 thread each |")
    print("|---|---|---|---|")
    for name, path in files.items():
        wide, narrow = open_session(path, threads), open_session(path, 1)
        for part in (short, long):
            one = max(tokens_per_second(wide, part, 1) for _ in range(2))
            many = max(tokens_per_second(narrow, part, threads) for _ in range(2))
            size = round(sum(map(len, part)) / len(part))
            print(f"| {name} | {size} | {one:,.0f} | {many:,.0f} |", flush=True)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the dev sets")
    parser.add_argument("--model", type=Path, required=True, help="folder with the trained model")
    parser.add_argument("--file", type=Path, action="append", default=[], help="another ONNX file")
    parser.add_argument("--form", action="append", choices=sorted(package_model.FORMS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--part", type=float, default=1.0, help="part of each set to take")
    parser.add_argument("--only", choices=("accuracy", "speed"))
    parser.add_argument("--keep", type=Path, help="folder to keep (and look for) built forms in")
    return parser.parse_args()


def main() -> None:
    """Build the forms, measure them, print the tables."""
    arguments = parse_arguments()
    tokenizer = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    tokenizer.enable_truncation(512, strategy="only_first")
    config = json.loads((arguments.model / "config.json").read_text(encoding="utf-8"))
    labels = [config["id2label"][str(index)] for index in range(3)]
    sets = load_sets(arguments.data, tokenizer, arguments.part)
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        files = {}
        for form in dict.fromkeys(["fp32", *(arguments.form or package_model.FORMS)]):
            files[form] = folder / f"{form}.onnx"
            if not files[form].exists():
                package_model.build(arguments.model, files[form], form)
        files.update({path.stem: path for path in arguments.file})
        if arguments.only != "speed":
            print_accuracy(files, sets, labels, arguments.threads)
        if arguments.only != "accuracy":
            print_speed(files, sets["mnli"].ids, arguments.threads)


if __name__ == "__main__":
    main()
