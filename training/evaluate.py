"""Measure models on the development sets, side by side.

NLI sets: accuracy. Faithfulness sets: AUROC and balanced accuracy at 0.5 of a plain pipeline:
claims are the sentences of the response; premises are windows of whole sentences (80 words, one
sentence of overlap) and one premise joined from the sentences most like the claim; the support of a
claim is the highest P(entailment), the risk of a response the highest 1 - support of its claims.

Example:
    python evaluate.py --data DATA --model first=MODEL --model int8=EXPORT/model_int8.onnx
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import math
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from phenomena import template_pairs
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from tokenizers import Tokenizer
from wording import split_sentences

Pairs = list[tuple[str, str]]
Scorer = Callable[[Pairs], np.ndarray]
CONTRADICTION, ENTAILMENT, NEUTRAL = 0, 1, 2
MAX_LENGTH = 320
WINDOW = 80
BATCH_TOKENS = 6144


@dataclass(frozen=True)
class DevSet:
    """A development set: its file, how many rows, and how it is scored."""

    name: str
    rows: int
    kind: str
    question: bool = False


SETS = (
    DevSet("nli_mnli_dev", 1500, "three"),
    DevSet("nli_pt_assin2_dev", 500, "two"),
    DevSet("nli_pt_inferbr_val", 633, "three"),
    DevSet("nli_rte_glue_dev", 277, "two"),
    DevSet("begin_wow_dev", 429, "faith"),
    DevSet("begin_tc_dev", 379, "faith"),
    DevSet("begin_cmu_dev", 337, "faith"),
    DevSet("attributionbench_dev", 500, "faith"),
    DevSet("wice_claim_dev", 150, "faith"),
    DevSet("qags_cnndm", 235, "faith"),
    DevSet("qags_xsum", 239, "faith"),
    DevSet("halueval_qa", 600, "faith", question=True),
    DevSet("made_templates", 800, "two"),
)
"""``made_templates`` is drawn from the training templates with another seed: it shows whether the
relations were learned, not whether they carry over."""


def encoder(tokenizer_file: Path) -> Tokenizer:
    """The pair encoder: shortens the premise, never the claim."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_LENGTH, strategy="only_first")
    return tokenizer


def encode(tokenizer: Tokenizer, pairs: Pairs) -> list[list[int]]:
    """Token numbers of every pair; claims are held to 150 words."""
    held = [(premise or ".", " ".join(claim.split()[:150])) for premise, claim in pairs]
    return [e.ids for e in tokenizer.encode_batch(held)]


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of logits, row by row."""
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def in_batches(
    encoded: list[list[int]], run: Callable[[np.ndarray, np.ndarray], np.ndarray], pad: int
) -> np.ndarray:
    """Run pairs in batches of like length."""
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
    result = np.zeros((len(encoded), 3), dtype=np.float32)
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and len(encoded[order[end]]) * (end + 1 - start) <= BATCH_TOKENS:
            end += 1
        rows = order[start:end]
        width = len(encoded[rows[-1]])
        ids = np.full((len(rows), width), pad, dtype=np.int64)
        mask = np.zeros_like(ids)
        for k, i in enumerate(rows):
            ids[k, : len(encoded[i])] = encoded[i]
            mask[k, : len(encoded[i])] = 1
        result[rows] = run(ids, mask)
        start = end
    return softmax(result)


def torch_scorer(folder: Path, threads: int = 0) -> Scorer:
    """A scorer of a folder of safetensors weights, in fp32."""
    import torch
    from transformers import AutoModelForSequenceClassification

    if threads:
        torch.set_num_threads(threads)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = encoder(folder / "tokenizer.json")

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            out = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        return out.logits.numpy()

    return lambda pairs: in_batches(encode(tokenizer, pairs), run, model.config.pad_token_id)


def onnx_scorer(file: Path, threads: int = 0) -> Scorer:
    """A scorer of an ONNX file; dynamically quantised files run one pair at a time."""
    import onnx
    import onnxruntime

    graph = onnx.load(str(file)).graph
    dynamic = any("QAttention" in n.op_type or "DynamicQuantize" in n.op_type for n in graph.node)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    tokenizer = encoder(file.parent / "tokenizer.json")
    pad = json.loads((file.parent / "config.json").read_text())["pad_token_id"]

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return session.run(None, {"input_ids": ids, "attention_mask": mask})[0]

    def score(pairs: Pairs) -> np.ndarray:
        encoded = encode(tokenizer, pairs)
        if not dynamic:
            return in_batches(encoded, run, pad)
        rows = [np.array([ids], dtype=np.int64) for ids in encoded]
        return softmax(np.concatenate([run(ids, np.ones_like(ids)) for ids in rows]))

    return score


def windows(sentences: list[str], budget: int = WINDOW) -> list[str]:
    """Windows of whole sentences up to a number of words, one sentence of overlap."""
    made: list[str] = []
    start = 0
    while start < len(sentences):
        end, used = start, 0
        while end < len(sentences):
            length = len(sentences[end].split())
            if end > start and used + length > budget:
                break
            used += length
            end += 1
        made.append(" ".join(sentences[start:end]))
        if end >= len(sentences):
            break
        start = max(end - 1, start + 1)
    return made


def joined(sentences: list[str], claim: str, budget: int = WINDOW) -> str:
    """The sentences most like the claim, in order, up to a number of words."""
    bags = [set(re.findall(r"\w+", s.lower())) for s in sentences]
    frequency = collections.Counter(word for bag in bags for word in bag)
    wanted = set(re.findall(r"\w+", claim.lower()))
    weight = {w: math.log(1 + len(sentences) / frequency[w]) for w in wanted if w in frequency}
    score = [sum(weight[w] for w in bag & wanted) for bag in bags]
    kept: list[int] = []
    used = 0
    for i in sorted(range(len(sentences)), key=lambda i: -score[i]):
        length = len(sentences[i].split())
        if kept and used + length > budget:
            break
        kept.append(i)
        used += length
    return " ".join(sentences[i] for i in sorted(kept))


def read_rows(data: Path, dev: DevSet, share: float, seed: int = 0) -> list[dict[str, Any]]:
    """The first rows of a set after a seeded shuffle."""
    count = max(20, round(dev.rows * share))
    if dev.name == "made_templates":
        return list(template_pairs(count, random.Random(12345)))
    with gzip.open(data / "dev" / f"{dev.name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(seed).shuffle(rows)
    return rows[:count]


def nli_measure(rows: list[dict[str, Any]], dev: DevSet, scorer: Scorer) -> dict[str, float]:
    """Accuracy over three classes, or of P(entailment) > 0.5."""
    p = scorer([(row["premise"], row["hypothesis"]) for row in rows])
    if dev.kind == "two":
        gold = np.array([row["label"] == "entailment" for row in rows])
        return {"accuracy": float(((p[:, ENTAILMENT] > 0.5) == gold).mean())}
    number = {"contradiction": CONTRADICTION, "entailment": ENTAILMENT, "neutral": NEUTRAL}
    gold = np.array([number[row["label"]] for row in rows])
    return {"accuracy": float((p.argmax(axis=1) == gold).mean())}


def risks(rows: list[dict[str, Any]], dev: DevSet, scorer: Scorer) -> np.ndarray:
    """The risk of every response: the highest 1 - support of its claims."""
    pairs: Pairs = []
    spans: list[list[tuple[int, int]]] = []
    for row in rows:
        context = row["context"]
        text = context if isinstance(context, str) else "\n".join(context)
        sentences = split_sentences(text) or ["."]
        made = windows(sentences)
        claims = split_sentences(row["response"]) or [row["response"]]
        if dev.question:
            claims = [f"{row['question']} {claim}" for claim in claims]
        spans.append([])
        for claim in claims:
            extra = [joined(sentences, claim)] if len(made) > 1 else []
            start = len(pairs)
            pairs += [(premise, claim) for premise in made + extra]
            spans[-1].append((start, len(pairs)))
    unique = list(dict.fromkeys(pairs))
    place = {pair: i for i, pair in enumerate(unique)}
    entailed = scorer(unique)[:, ENTAILMENT]
    support = np.array([entailed[place[pair]] for pair in pairs])
    return np.array([max(1 - support[a:b].max() for a, b in claims) for claims in spans])


def faith_measure(rows: list[dict[str, Any]], dev: DevSet, scorer: Scorer) -> dict[str, float]:
    """AUROC, balanced accuracy at 0.5 and at the best threshold, and the length baseline."""
    risk = risks(rows, dev, scorer)
    gold = np.array([int(row["label"]) for row in rows])
    length = np.array([len(row["response"].split()) for row in rows])
    balanced = [balanced_accuracy_score(gold, risk > t) for t in np.linspace(0.02, 0.98, 97)]
    return {
        "auroc": float(roc_auc_score(gold, risk)),
        "balanced": float(balanced_accuracy_score(gold, risk > 0.5)),
        "best": float(max(balanced)),
        "length": float(roc_auc_score(gold, length)),
    }


def measure(data: Path, dev: DevSet, scorer: Scorer, share: float) -> dict[str, float]:
    """Measure one model on one set."""
    rows = read_rows(data, dev, share)
    return (faith_measure if dev.kind == "faith" else nli_measure)(rows, dev, scorer)


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Markdown table: one line per set and measure, one column per model."""
    models = list(results)
    lines = ["| set | measure | " + " | ".join(models) + " |", "|---" * (len(models) + 2) + "|"]
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    for name in names:
        measures = next(found[name] for found in results.values() if name in found)
        for key in measures:
            cells = [f"{results[m][name][key]:.3f}" if name in results[m] else "" for m in models]
            lines.append(f"| {name} | {key} | " + " | ".join(cells) + " |")
    for key in ("accuracy", "auroc", "balanced"):
        means = []
        for m in models:
            values = [found[key] for found in results[m].values() if key in found]
            means.append(f"{np.mean(values):.3f}" if values else "")
        lines.append(f"| mean | {key} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with dev/")
    parser.add_argument(
        "--model", action="append", required=True, help="NAME=PATH: a folder, or an .onnx file"
    )
    parser.add_argument("--sets", default="", help="comma-separated; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="part of each set's rows")
    parser.add_argument("--threads", type=int, default=0, help="0: the runtime's choice")
    parser.add_argument("--json", default="", help="file that keeps results and adds to them")
    args = parser.parse_args()
    wanted = [dev for dev in SETS if not args.sets or dev.name in args.sets.split(",")]
    kept = Path(args.json) if args.json else None
    results = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for item in args.model:
        name, _, path = item.partition("=")
        scorer = (onnx_scorer if path.endswith(".onnx") else torch_scorer)(Path(path), args.threads)
        found = results.setdefault(name, {})
        for dev in wanted:
            began = time.time()
            found[dev.name] = measure(Path(args.data), dev, scorer, args.share)
            shown = {key: round(value, 3) for key, value in found[dev.name].items()}
            print(f"{name} {dev.name} {shown} {time.time() - began:.0f} s", flush=True)
            if kept:
                kept.write_text(json.dumps(results, indent=1))
    print(table(results))


if __name__ == "__main__":
    main()
