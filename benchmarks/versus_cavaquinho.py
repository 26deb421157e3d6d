"""Time one RAG check beside cavaquinho 0.2.5 on the same machine, each fed the same texts.

usage: python benchmarks/versus_cavaquinho.py [--repeats N]

cavaquinho wants an older transformers than caco's tests, so this needs an environment of its own::

    python -m venv cavaquinho-env
    cavaquinho-env/bin/pip install -e ".[torch]" "cavaquinho[nli]==0.2.5"
    cavaquinho-env/bin/python benchmarks/versus_cavaquinho.py

cavaquinho runs twice: with a model of its default's size (the geometry of deberta-v3-base, random
weights: speed does not depend on them), and with the embedded model's weights, exported by
`caco.export_cross_encoder`. caco runs as it comes, and once with the exported weights on torch. No
model is downloaded; cavaquinho's sentences are cut by Punkt without its trained data, which would
be a download. Each of the others is compared with caco as it comes just before and just after it,
so the ratio holds on a noisy machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import cavaquinho.classifier.deberta
import cavaquinho.extractor.rule_extractor
import nltk
import torch
from cavaquinho import Validator as TheirValidator
from machine import describe_machine
from nltk.tokenize.punkt import PunktSentenceTokenizer
from rag_check import rag_check
from transformers import AutoTokenizer, DebertaV2Config, DebertaV2ForSequenceClassification

import caco
from caco.classifier.onnx import OnnxScorer

Check = Callable[[str, list[str]], object]


def cut_without_download() -> None:
    """Let cavaquinho cut sentences without data that would have to be downloaded."""
    punkt = PunktSentenceTokenizer()

    def cut(text: str, language: str = "english") -> list[str]:
        return list(punkt.tokenize(text))

    nltk.download = lambda *names, **options: True
    cavaquinho.classifier.deberta.sent_tokenize = cut
    cavaquinho.extractor.rule_extractor.sent_tokenize = cut


def save_base_sized_model(folder: Path, tokenizer: Path) -> None:
    """Save a cross-encoder with the geometry of deberta-v3-base and random weights."""
    config = DebertaV2Config(
        vocab_size=128_100,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        max_position_embeddings=512,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        layer_norm_eps=1e-7,
        pooler_hidden_size=768,
        id2label={0: "contradiction", 1: "entailment", 2: "neutral"},
        label2id={"contradiction": 0, "entailment": 1, "neutral": 2},
    )
    torch.manual_seed(0)
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(tokenizer)).save_pretrained(folder)


def theirs(folder: Path) -> Check:
    """Return cavaquinho's check with a model of its class."""
    classifier = cavaquinho.classifier.deberta.DeBERTaClassifier(str(folder), device=-1)
    validator = TheirValidator(classifier=classifier)
    return lambda answer, documents: validator.validate(answer, "\n\n".join(documents))


def on_torch(folder: Path) -> Check:
    """Return caco's check with a model on torch and the windows that the embedded one wants."""
    classifier = caco.CrossEncoderClassifier(
        folder, "cpu", window_words=OnnxScorer().window_words, local_files_only=True
    )
    return caco.Validator(classifier=classifier).validate


def seconds(check: Check, seed: int) -> float:
    """Return how long a check takes."""
    answer, documents = rag_check(seed)
    started = time.perf_counter()
    check(answer, documents)
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    cut_without_download()
    with tempfile.TemporaryDirectory() as place:
        exported = caco.export_cross_encoder(Path(place) / "exported")
        base_sized = Path(place) / "base-sized"
        save_base_sized_model(base_sized, exported)
        others = {
            "cavaquinho, deberta-v3-base's size": theirs(base_sized),
            "cavaquinho, the embedded weights": theirs(exported),
            "caco, the embedded weights on torch": on_torch(exported),
        }
        for check in others.values():
            seconds(check, 1_000_000)
    engine: Check = caco.Validator().validate
    seconds(engine, 1_000_000)
    times: dict[str, list[float]] = {name: [] for name in others}
    ratios: dict[str, list[float]] = {name: [] for name in others}
    engine_times = [seconds(engine, 0)]
    for _ in range(repeats):
        for name, check in others.items():
            times[name].append(seconds(check, len(engine_times)))
            engine_times.append(seconds(engine, len(engine_times)))
            around = (engine_times[-2] + engine_times[-1]) / 2
            ratios[name].append(times[name][-1] / around)
    print("One RAG check: 5 claims, 4 documents of 120 words; medians")
    print(f"  {'caco as it comes':36s}{statistics.median(engine_times) * 1000:8.0f} ms")
    for name in others:
        print(
            f"  {name:36s}{statistics.median(times[name]) * 1000:8.0f} ms"
            f"{statistics.median(ratios[name]):8.1f} x caco's"
            f"  ({min(ratios[name]):.1f} to {max(ratios[name]):.1f})"
        )
    print(f"torch runs on {torch.get_num_threads()} threads")
    print(describe_machine("cavaquinho", "transformers", "torch"))


if __name__ == "__main__":
    main()
