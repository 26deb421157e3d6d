"""Write the model card of the packaged weights, from what is measured on them.

usage: python training/model_card.py MODEL [--data DEV] [--kept FILE]

The prose is in ``model_card.md``; what changes with the weights is put in: the version and the head
from MODEL/config.json, the training sets and their licences from ``sources.py``, and the figures.
``--data`` measures the inference sets anew, one pair a run; ``--kept`` takes the figures of the
whole engine from what ``benchmarks/accuracy.py --keep FILE`` stored. Both are kept in
``model_card.json`` with the SHA-256 of the weights, and figures of other weights are refused.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from string import Template
from typing import Any

from sources import licences

from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import COLUMNS
from caco.evaluation import read_dataset, take
from caco.evaluation.measures import wilson_interval

HERE = Path(__file__).parent
FIGURES = HERE / "model_card.json"
INFERENCE = {"nli_mnli_dev": 1000, "nli_pt_assin2_dev": None, "nli_pt_inferbr_val": None}
"""Development sets of pairs, and how many rows of each, after a shuffle with seed 0."""
ENGINE = ("auroc", "balanced_accuracy", "ece")

Figures = dict[str, Any]


def accuracies(model: Path, data: Path) -> dict[str, list[int]]:
    """Return how many pairs of each inference set the model alone gets right, and of how many.

    Where a set tells entailment from the rest only, so does the measure.
    """
    scorer = OnnxScorer(model)
    found: dict[str, list[int]] = {}
    for name, limit in INFERENCE.items():
        rows = take(read_dataset(data / f"{name}.jsonl.gz"), limit).rows
        scores = scorer.score([(str(row.context), row.response) for row in rows])
        said = [COLUMNS[place] for place in scores.probabilities.argmax(axis=1)]
        two = any(row.gold not in COLUMNS for row in rows)
        right = [
            (label == "entailment") == (row.gold == "entailment") if two else label == row.gold
            for label, row in zip(said, rows, strict=True)
        ]
        found[name] = [sum(right), len(right)]
    return found


def engine_figures(kept: Path) -> dict[str, Figures]:
    """Return each answer set's rows and measures from what ``accuracy.py`` stored."""
    stored = json.loads(kept.read_text(encoding="utf-8"))
    return {
        name: {"rows": found["rows"], **{key: found["measures"][key] for key in ENGINE}}
        for name, found in stored.items()
        if found["kind"] == "answers"
    }


def inference_table(found: dict[str, list[int]]) -> str:
    """Markdown table of the accuracies with their 95 % Wilson intervals."""
    lines = ["| set | pairs | accuracy of the model alone, one pair per run |", "|---|---|---|"]
    for name, (right, total) in found.items():
        low, high = wilson_interval(right, total)
        lines.append(f"| {name} | {total} | {right / total:.3f} [{low:.3f}, {high:.3f}] |")
    return "\n".join(lines)


def engine_table(found: dict[str, Figures]) -> str:
    """Markdown table of the measures of the whole engine."""
    lines = ["| set | answers | AUROC | balanced accuracy at 0.5 | ECE |", "|---|---|---|---|---|"]
    for name, row in found.items():
        cells = [
            f"{row[key]['value']:.3f} [{row[key]['low']:.3f}, {row[key]['high']:.3f}]"
            for key in ENGINE
        ]
        lines.append(f"| {name} | {row['rows']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def card(config: Figures, figures: Figures) -> str:
    """Return the card's text.

    Raises:
        ValueError: The figures are of other weights, or of another head.
    """
    key = [config["files"]["model.onnx"], config["calibration"]]
    if figures["model"] != key:
        raise ValueError("the figures are of other weights: measure anew (--data and --kept)")
    return Template((HERE / "model_card.md").read_text(encoding="utf-8")).substitute(
        config["calibration"],
        version=config["version"],
        licences=licences(),
        nli=inference_table(figures["inference"]),
        engine=engine_table(figures["engine"]),
    )


def main() -> None:
    """Measure what was asked for and write the card."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path, help="folder of the packaged weights")
    parser.add_argument("--data", type=Path, help="folder with the development sets")
    parser.add_argument("--kept", type=Path, help="what benchmarks/accuracy.py stored")
    arguments = parser.parse_args()
    if (arguments.data is None) != (arguments.kept is None):
        parser.error("--data and --kept go together")
    config = json.loads((arguments.model / "config.json").read_text(encoding="utf-8"))
    if arguments.data is not None:
        figures = {
            "model": [config["files"]["model.onnx"], config["calibration"]],
            "inference": accuracies(arguments.model, arguments.data),
            "engine": engine_figures(arguments.kept),
        }
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    text = card(config, json.loads(FIGURES.read_text(encoding="utf-8")))
    (arguments.model / "MODEL_CARD.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
