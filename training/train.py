"""Train the three-class NLI cross-encoder on a CPU or one GPU.

The rows come from ``mix.py``. Two-class rows (``not_entailment``) are learned through
log(P(neutral) + P(contradiction)). The run is bounded by wall-clock minutes or by steps, writes a
checkpoint every few minutes, and keeps an exponential moving average of the weights, which is what
``OUT/averaged`` holds and what should be exported.

Example:
    python train.py --base MODEL --data train.jsonl --out OUT --minutes 90 --lr 4e-5
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import torch
from quantised import quantise
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

CLASSES = {"contradiction": 0, "entailment": 1, "neutral": 2, "not_entailment": 3}
CHUNK = 8192
"""Rows tokenised and grouped by length at a time."""

Row: TypeAlias = tuple[str, str, int]
Batch: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def read_rows(path: Path, max_claim_words: int = 110) -> list[Row]:
    """Read the mix: premise, hypothesis, class number."""
    rows: list[Row] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if len(row["hypothesis"].split()) <= max_claim_words:
                rows.append((row["premise"], row["hypothesis"], CLASSES[row["label"]]))
    return rows


def shard(rows: list[Row], part: str) -> list[Row]:
    """Every n-th row, for runs side by side whose weights are averaged afterwards.

    Args:
        rows: All rows.
        part: Which part of how many, as ``0/2``.

    Returns:
        The rows of that part.
    """
    number, _, count = part.partition("/")
    return rows[int(number) :: int(count)]


def load_model(base: str, fresh_head: bool) -> PreTrainedModel:
    """Load the encoder, with a new head when the base has none, and without dropout.

    Args:
        base: Folder of the weights to start from.
        fresh_head: Put a new three-class head on a bare encoder.

    Returns:
        The sequence classification model in fp32.
    """
    config = AutoConfig.from_pretrained(base)
    if fresh_head:
        config.num_labels = 3
        config.id2label = {0: "contradiction", 1: "entailment", 2: "neutral"}
        config.label2id = {name: number for number, name in config.id2label.items()}
    config.attention_probs_dropout_prob = 0.0
    config.hidden_dropout_prob = 0.0
    config.classifier_dropout = 0.0
    return AutoModelForSequenceClassification.from_pretrained(
        base, config=config, attn_implementation="eager", dtype=torch.float32
    )


@dataclass
class Batches:
    """An endless, resumable stream of batches of roughly equal token counts."""

    rows: list[Row]
    tokenizer: PreTrainedTokenizerBase
    tokens: int
    max_length: int
    generator: random.Random = field(default_factory=lambda: random.Random(0))
    chunk: int = 0

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches for ever, starting at chunk number ``self.chunk``."""
        per_pass = max(1, -(-len(self.rows) // CHUNK))
        while True:
            start = (self.chunk % per_pass) * CHUNK
            if start == 0 and self.chunk:
                self.generator.shuffle(self.rows)
            rows = self.rows[start : start + CHUNK]
            yield from self._of_chunk(rows)
            self.chunk += 1

    def _of_chunk(self, rows: list[Row]) -> Iterator[Batch]:
        """Group one chunk by length, then yield its batches in random order."""
        encoded = self.tokenizer(
            [row[0] for row in rows],
            [row[1] for row in rows],
            truncation="only_first",
            max_length=self.max_length,
        )["input_ids"]
        order = sorted(
            range(len(rows)), key=lambda i: len(encoded[i]) + 4 * self.generator.random()
        )
        groups: list[list[int]] = [[]]
        longest = 0
        for i in order:
            longest = max(longest, len(encoded[i]))
            if groups[-1] and longest * (len(groups[-1]) + 1) > self.tokens:
                groups.append([])
                longest = len(encoded[i])
            groups[-1].append(i)
        self.generator.shuffle(groups)
        for group in groups:
            yield self._pad([encoded[i] for i in group], [rows[i][2] for i in group])

    def _pad(self, encoded: list[list[int]], labels: list[int]) -> Batch:
        """Pad token lists to the longest of the batch."""
        width = max(len(ids) for ids in encoded)
        ids = torch.full((len(encoded), width), self.tokenizer.pad_token_id)
        mask = torch.zeros((len(encoded), width), dtype=torch.long)
        for row, tokens in enumerate(encoded):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            mask[row, : len(tokens)] = 1
        return ids, mask, torch.tensor(labels)


def loss_of(logits: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Cross entropy over three classes, or over two for ``not_entailment`` rows.

    Args:
        logits: Scores, [rows, 3].
        labels: Class numbers, 3 meaning "neutral or contradiction".
        smoothing: Share of the target spread evenly over the classes.

    Returns:
        The mean loss.
    """
    log_p = torch.log_softmax(logits.float(), dim=-1)
    three = log_p.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    two = torch.logsumexp(log_p[:, [0, 2]], dim=-1)
    hit = torch.where(labels == 3, two, three)
    even = torch.where(labels == 3, 0.5 * (two + log_p[:, 1]), log_p.mean(dim=-1))
    return -((1 - smoothing) * hit + smoothing * even).mean()


def rate_at(progress: float, warmup: float, decay: str) -> float:
    """Share of the peak learning rate at a progress between 0 and 1."""
    if progress < warmup:
        return max(progress / warmup, 0.01)
    if decay == "constant":
        return 1.0
    return max((1 - progress) / (1 - warmup), 0.005)


class Average:
    """Exponential moving average of the weights, updated every few steps."""

    def __init__(self, model: torch.nn.Module, decay: float, every: int = 10) -> None:
        """Start from the model's present weights."""
        self.decay = decay**every
        self.every = every
        self.weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: torch.nn.Module, step: int) -> None:
        """Move towards the model's weights; early steps move faster."""
        if step % self.every:
            return
        count = step // self.every
        keep = min(self.decay, count / (count + 9))
        for name, p in model.named_parameters():
            self.weights[name].lerp_(p.detach(), 1 - keep)


def freeze(model: PreTrainedModel, layers: int) -> None:
    """Hold the embeddings and the first layers still; 0 holds nothing still.

    Args:
        model: The network.
        layers: How many layers from below.
    """
    if not layers:
        return
    held = [model.base_model.embeddings, *model.base_model.encoder.layer[:layers]]
    for module in held:
        module.requires_grad_(False)


def optimizer_of(model: torch.nn.Module, rate: float) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only."""
    free = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in free if p.ndim >= 2]
    vectors = [p for p in free if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": 0.01},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


def save(
    out: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    average: Average,
    optimizer: torch.optim.Optimizer,
    progress: dict[str, float],
) -> None:
    """Write the last weights, the averaged weights, and what a resume needs."""
    model.save_pretrained(out / "last")
    tokenizer.save_pretrained(out / "last")
    last = {name: p.detach().clone() for name, p in model.named_parameters()}
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(average.weights[name])
        model.save_pretrained(out / "averaged")
        tokenizer.save_pretrained(out / "averaged")
        for name, p in model.named_parameters():
            p.copy_(last[name])
    state = {"optimizer": optimizer.state_dict(), "progress": progress, "average": average.weights}
    torch.save(state, out / "state.part")
    (out / "state.part").replace(out / "state.pt")


def train(args: argparse.Namespace) -> None:
    """Run the training loop until its time or its steps are used up."""
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    if args.threads:
        torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    resume = args.resume and (out / "state.pt").exists()
    model = load_model(str(out / "last") if resume else args.base, args.fresh_head)
    if args.quantised:
        quantise(model)
    model.to(device).train()
    freeze(model, args.freeze)
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    rows = shard(read_rows(Path(args.data)), args.shard)
    batches = Batches(rows, tokenizer, args.tokens, args.max_length, random.Random(args.seed))
    optimizer = optimizer_of(model, args.lr)
    average = Average(model, args.ema)
    progress = {"step": 0, "seen": 0, "seconds": 0.0, "chunk": 0}
    if resume:
        state = torch.load(out / "state.pt", map_location=device)
        optimizer.load_state_dict(state["optimizer"])
        average.weights, progress = state["average"], state["progress"]
        batches.chunk = int(progress["chunk"])
    print(f"{len(rows)} rows, {device}, from step {progress['step']}", flush=True)
    loop(args, model, tokenizer, batches, optimizer, average, progress, device)
    progress["chunk"] = batches.chunk
    save(out, model, tokenizer, average, optimizer, progress)
    print(f"done: {progress}", flush=True)


def loop(
    args: argparse.Namespace,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    batches: Batches,
    optimizer: torch.optim.Optimizer,
    average: Average,
    progress: dict[str, float],
    device: str,
) -> None:
    """Step through batches; print, save and stop on time."""
    before, began, saved = progress["seconds"], time.time(), time.time()
    recent, tokens = 0.0, 0
    for ids, mask, labels in batches:
        progress["seconds"] = before + time.time() - began
        if args.steps:
            share = progress["step"] / args.steps
        else:
            share = progress["seconds"] / (60 * args.minutes)
        if share >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = args.lr * rate_at(share, args.warmup, args.decay)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=not args.fp32):
            logits = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        loss = loss_of(logits, labels.to(device), args.smoothing)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        progress["step"] += 1
        progress["seen"] += len(labels)
        average.update(model, int(progress["step"]))
        tokens += int(mask.sum())
        value = loss.item()
        recent = value if not recent else 0.98 * recent + 0.02 * value
        if progress["step"] % 20 == 0:
            seconds = time.time() - began
            print(
                f"{progress['seconds'] / 60:6.1f} min  step {progress['step']}  "
                f"rows {progress['seen']} ({progress['seen'] / len(batches.rows):.2f} passes)  "
                f"loss {recent:.4f}  {tokens / seconds:.0f} tokens/s",
                flush=True,
            )
        if time.time() - saved > 60 * args.save_every:
            progress["chunk"] = batches.chunk
            save(Path(args.out), model, tokenizer, average, optimizer, progress)
            saved = time.time()


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", required=True, help="folder of the weights to start from")
    parser.add_argument("--data", required=True, help="train.jsonl from mix.py")
    parser.add_argument("--out", required=True, help="folder for checkpoints")
    bound = parser.add_mutually_exclusive_group(required=True)
    bound.add_argument("--minutes", type=float, help="stop after this wall-clock time")
    bound.add_argument("--steps", type=int, help="stop after this many steps")
    parser.add_argument("--lr", type=float, default=4e-5, help="peak learning rate")
    parser.add_argument("--warmup", type=float, default=0.03, help="share of the run")
    parser.add_argument("--decay", choices=["linear", "constant"], default="linear")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens per batch")
    parser.add_argument("--max-length", type=int, default=256, help="tokens per pair")
    parser.add_argument("--smoothing", type=float, default=0.05, help="label smoothing")
    parser.add_argument("--ema", type=float, default=0.999, help="decay of the average per step")
    parser.add_argument("--save-every", type=float, default=10, help="minutes")
    parser.add_argument("--freeze", type=int, default=0, help="hold this many layers still")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shard", default="0/1", help="train on part I of N: I/N")
    parser.add_argument("--threads", type=int, default=0, help="0: torch's choice")
    parser.add_argument("--fp32", action="store_true", help="no bf16 autocast")
    parser.add_argument("--quantised", action="store_true", help="round as the int8 form does")
    parser.add_argument("--fresh-head", action="store_true", help="the base has no NLI head")
    parser.add_argument("--resume", action="store_true", help="go on from OUT/state.pt")
    return parser.parse_args()


if __name__ == "__main__":
    train(parse())
