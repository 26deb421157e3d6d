"""Write the model card of the packaged weights, from what is measured on them.

usage: python training/model_card.py MODEL [--kept FILE]

The prose is in ``model_card.md``; what changes with the weights is put in: the version and the head
from MODEL/config.json, the training sets and their licences from ``sources.py``, and the figures.
``--kept`` takes the figures from what ``benchmarks/accuracy.py --keep FILE`` stored of these very
weights; they are kept in ``model_card.json`` with the SHA-256 of the weights and the head, and
figures of others are refused.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from string import Template
from typing import Any

from sources import licences

from caco.evaluation.measures import wilson_interval

HERE = Path(__file__).parent
FIGURES = HERE / "model_card.json"
ENGINE = ("auroc", "balanced_accuracy", "ece")

Figures = dict[str, Any]


def inference_figures(kept: Path) -> dict[str, list[int]]:
    """Return how many pairs of each inference set the model alone gets right, and of how many."""
    stored = json.loads(kept.read_text(encoding="utf-8"))
    return {
        name: [round(found["model_accuracy"] * found["rows"]), found["rows"]]
        for name, found in stored.items()
        if found["kind"] == "pairs"
    }


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
        raise ValueError("the figures are of other weights: measure anew (--kept)")
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
    parser.add_argument("--kept", type=Path, help="what benchmarks/accuracy.py stored")
    arguments = parser.parse_args()
    config = json.loads((arguments.model / "config.json").read_text(encoding="utf-8"))
    if arguments.kept is not None:
        figures = {
            "model": [config["files"]["model.onnx"], config["calibration"]],
            "inference": inference_figures(arguments.kept),
            "engine": engine_figures(arguments.kept),
        }
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    text = card(config, json.loads(FIGURES.read_text(encoding="utf-8")))
    (arguments.model / "MODEL_CARD.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
