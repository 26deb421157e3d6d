"""The files of the embedded model: where they are, what they say, whether they are intact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caco.classifier.calibration import Calibration
from caco.classifier.scoring import COLUMNS
from caco.errors import ModelNotAvailableError

__all__ = ["MODEL_FILE", "MODEL_FOLDER", "TOKENIZER_FILE", "ModelConfig", "unavailable"]

MODEL_FOLDER = Path(__file__).parent.parent / "model"
"""Where the package keeps its own model."""

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "config.json"


@dataclass(frozen=True)
class ModelConfig:
    """What a model folder's ``config.json`` says about the model beside it.

    Attributes:
        name: The model's name.
        version: Version of its weights.
        license: Their licence.
        window_words: Words of premise the model wants at a time.
        max_tokens: Tokens a pair may have, separators included.
        calibration: The head over the model's P(entailment).
        labels: The order of the network's outputs, by name.
        files: SHA-256 of each file, as hexadecimal digits.
        architecture: The BERT settings of the network.
    """

    name: str
    version: str
    license: str
    window_words: int
    max_tokens: int
    calibration: Calibration
    labels: tuple[str, ...]
    files: Mapping[str, str]
    architecture: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> ModelConfig:
        """Read ``folder/config.json``.

        Raises:
            ModelNotAvailableError: It is missing, unreadable or incomplete.
        """
        path = folder / CONFIG_FILE
        try:
            data = json.loads(_read(path))
            config = cls(
                name=data["name"],
                version=data["version"],
                license=data["license"],
                window_words=int(data["window_words"]),
                max_tokens=int(data["max_tokens"]),
                calibration=Calibration(**data["calibration"]),
                labels=tuple(data["labels"]),
                files={name: data["files"][name] for name in (MODEL_FILE, TOKENIZER_FILE)},
                architecture=data["architecture"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise unavailable(path, f"is not a model's config ({error!r})") from error
        if sorted(config.labels) != sorted(COLUMNS):
            raise unavailable(path, f"has the labels {list(config.labels)}, not {list(COLUMNS)}")
        return config

    def read_file(self, folder: Path, name: str) -> bytes:
        """Read ``folder/name`` and check it against its SHA-256.

        Raises:
            ModelNotAvailableError: It is missing, unreadable or another file.
        """
        content = _read(folder / name)
        found, expected = hashlib.sha256(content).hexdigest(), self.files[name]
        if found != expected:
            problem = f"is corrupt (SHA-256 {found[:12]}…, expected {expected[:12]}…)"
            raise unavailable(folder / name, problem)
        return content


def unavailable(path: Path, problem: str) -> ModelNotAvailableError:
    """Return the error for a model file: what is wrong, where it was looked for, what to do."""
    return ModelNotAvailableError(
        f"{path.name} of the embedded model {problem}; looked for it at {path}. "
        'Reinstall the package (pip install --force-reinstall "caco-guard") or give the folder '
        "of an intact model."
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise unavailable(path, "is missing") from error
    except OSError as error:
        raise unavailable(path, f"cannot be read ({error})") from error
