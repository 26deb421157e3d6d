"""The model card: it is what the script writes from figures of the packaged weights."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

MODEL = Path(__file__).parent.parent / "core" / "caco" / "model"


@pytest.fixture(scope="module")
def model_card(import_training) -> ModuleType:
    return import_training("model_card")


@pytest.fixture
def config() -> dict:
    return json.loads((MODEL / "config.json").read_text(encoding="utf-8"))


def test_the_card_is_what_the_script_writes(model_card: ModuleType, config: dict) -> None:
    figures = json.loads(model_card.FIGURES.read_text(encoding="utf-8"))
    assert model_card.card(config, figures) == (MODEL / "MODEL_CARD.md").read_text("utf-8")


def test_figures_of_another_head_are_refused(model_card: ModuleType, config: dict) -> None:
    figures = json.loads(model_card.FIGURES.read_text(encoding="utf-8"))
    config["calibration"]["bias"] += 0.1
    with pytest.raises(ValueError, match="other weights"):
        model_card.card(config, figures)


def test_figures_of_other_weights_are_refused(model_card: ModuleType, config: dict) -> None:
    figures = json.loads(model_card.FIGURES.read_text(encoding="utf-8"))
    config["files"]["model.onnx"] = "0" * 64
    with pytest.raises(ValueError, match="other weights"):
        model_card.card(config, figures)
