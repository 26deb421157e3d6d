"""NLI cross-encoders of sentence-transformers as pair scorers, and the classifier built on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt

from caco.classifier.calibration import Calibration
from caco.classifier.claim_verdict import OnConflict
from caco.classifier.loaded_cross_encoder import (
    LoadedCrossEncoder,
    Precision,
    shared_cross_encoder,
)
from caco.classifier.nli import NLIClassifier
from caco.classifier.scoring import COLUMNS, PairScores

if TYPE_CHECKING:
    from transformers import PretrainedConfig

__all__ = ["CrossEncoderClassifier", "CrossEncoderScorer", "DeBERTaClassifier"]

DEFAULT_MODEL = "cross-encoder/nli-deberta-v3-base"
SENTENCE_PAIR_WINDOW = 40
"""Words of premise: models trained on sentence pairs read one or two sentences best."""

NOT_ENTAILMENT = "not_entailment"


class CrossEncoderScorer:
    """Scores pairs with a sentence-transformers ``CrossEncoder``; needs the ``torch`` extra.

    The model is loaded on first use, once per process for each (model, device), and shared. A
    scorer holds no model itself, so it is picklable. Calls take turns: the tokenizer is not
    thread-safe, and torch already uses every core.

    Args:
        model_name: Name on the Hugging Face hub, or a local folder.
        device: "cuda", "cuda:1", "mps", "cpu", or a CUDA index (-1: CPU). None: CUDA if there is
            one, else MPS, else the CPU.
        batch_size: Pairs in a batch, at most; long pairs make smaller batches. None: on CUDA, what
            its memory holds; elsewhere 32.
        labels: Which output means what, for a model that does not name its three outputs
            "entailment", "neutral" and "contradiction": ``{"entailment": 0, ...}``. A model with
            two outputs always needs it: ``{"entailment": 1, "not_entailment": 0}``; P(neutral) is
            then P(not entailed) and P(contradiction) 0.
        max_tokens: Tokens that a pair may have; the model's own limit holds besides.
        window_words: Words of premise the model wants at a time.
        local_files_only: Never download; use what is on this machine.
        precision: "float32": a pair's probabilities are the same within 1e-3 whatever stands beside
            it in a batch. "bfloat16", for CUDA devices that compute in it: half the memory, and
            the embedded weights' probabilities are off by up to 0.02 (0.01 between one batch and
            another), so that near a tie the label may change.

    Raises:
        ValueError: ``batch_size``, ``max_tokens`` or ``window_words`` is less than 1, ``precision``
            is not one of the two, or ``labels`` cannot be a map of labels.
    """

    calibration = Calibration()

    def __init__(
        self,
        model_name: str | Path = DEFAULT_MODEL,
        device: str | int | None = None,
        batch_size: int | None = None,
        *,
        labels: Mapping[str, int] | None = None,
        max_tokens: int = 512,
        window_words: int = SENTENCE_PAIR_WINDOW,
        local_files_only: bool = False,
        precision: Precision = "float32",
    ) -> None:
        for setting, value in (
            ("batch_size", batch_size),
            ("max_tokens", max_tokens),
            ("window_words", window_words),
        ):
            if value is not None and value < 1:
                raise ValueError(f"{setting} must be at least 1, not {value!r}")
        if precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {get_args(Precision)}, not {precision!r}")
        self.model_name = str(model_name)
        self.device = device
        self.batch_size = batch_size
        self.labels = None if labels is None else _checked_labels(labels)
        self.max_tokens = max_tokens
        self.window_words = window_words
        self.local_files_only = local_files_only
        self.precision: Precision = precision

    @property
    def name(self) -> str:
        """The model's name, of a local folder only the last part; and "bfloat16" where it is."""
        local = Path(self.model_name).is_dir()
        name = Path(self.model_name).name if local else self.model_name
        return name if self.precision == "float32" else f"{name} ({self.precision})"

    def load(self) -> None:
        """Load the model now rather than on the first `score`.

        Raises:
            ModelNotAvailableError: The model was not found, could not be downloaded or read.
            MissingExtraError: sentence-transformers is not installed.
            ValueError: ``labels`` is needed and missing, or does not fit the model.
        """
        loaded = self._loaded()
        _mixing_matrix(loaded.model.config, self.labels, self.model_name)

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        """Score ``(premise, hypothesis)`` pairs; see `PairScorer`.

        Raises:
            ModelNotAvailableError: The model was not found, could not be downloaded or read.
            MissingExtraError: sentence-transformers is not installed.
            ValueError: ``labels`` is needed and missing, or does not fit the model.
        """
        if not pairs:
            return PairScores.empty()
        loaded = self._loaded()
        mixing = _mixing_matrix(loaded.model.config, self.labels, self.model_name)
        unique = list(dict.fromkeys(pairs))
        outputs, cut = loaded.score(unique, self.max_tokens, self.batch_size)
        place = {pair: index for index, pair in enumerate(unique)}
        order = np.array([place[pair] for pair in pairs], dtype=np.intp)
        return PairScores((outputs @ mixing)[order], cut[order])

    def _loaded(self) -> LoadedCrossEncoder:
        return shared_cross_encoder(
            self.model_name, self.device, self.precision, self.local_files_only
        )

    def __repr__(self) -> str:
        return f"CrossEncoderScorer({self.model_name!r}, device={self.device!r})"


def _checked_labels(labels: Mapping[str, int]) -> dict[str, int]:
    checked = {str(name).lower(): index for name, index in labels.items()}
    allowed = {*COLUMNS, NOT_ENTAILMENT}
    if "entailment" not in checked or not allowed.issuperset(checked):
        raise ValueError(
            f"labels must map 'entailment' and others of {sorted(allowed)} to the model's output "
            f"numbers, not {dict(labels)!r}"
        )
    return checked


def _mixing_matrix(
    config: PretrainedConfig, labels: Mapping[str, int] | None, model_name: str
) -> npt.NDArray[np.float64]:
    """Return the matrix [outputs, 3] that turns a model's outputs into our columns."""
    names = {int(index): str(name) for index, name in config.id2label.items()}
    if labels is None:
        labels = {name.lower(): index for index, name in names.items()}
        if sorted(labels) != sorted(COLUMNS):
            example = (
                '{"entailment": 1, "not_entailment": 0}'
                if len(names) == 2
                else '{"entailment": 0, "neutral": 1, "contradiction": 2}'
            )
            raise ValueError(
                f"{model_name!r} names its outputs {names}: say which is which, for example "
                f"labels={example}"
            )
    if sorted(labels.values()) != sorted(names) or len(names) < 2:
        raise ValueError(
            f"labels {dict(labels)!r} must name each of the {len(names)} outputs of "
            f"{model_name!r} once; a model needs at least two"
        )
    matrix = np.zeros((len(names), len(COLUMNS)))
    for name, index in labels.items():
        matrix[index, COLUMNS.index("neutral" if name == NOT_ENTAILMENT else name)] = 1.0
    return matrix


class CrossEncoderClassifier(NLIClassifier):
    """`NLIClassifier` on a sentence-transformers ``CrossEncoder``; needs the ``torch`` extra.

    The model is loaded on the first check, not here.

    Args:
        model_name: See `CrossEncoderScorer`, as for the others.
        device: Where the model runs.
        batch_size: Pairs in a batch, at most.
        language: "english" or "portuguese" (and their aliases); sets how documents are split.
        labels: Which output means what, where the model does not say.
        max_tokens: Tokens that a pair may have.
        window_words: Words in a premise window.
        local_files_only: Never download.
        on_conflict: See `NLIClassifier`.
        precision: "float32" or "bfloat16".

    Raises:
        ValueError: A setting is out of its range.
    """

    def __init__(
        self,
        model_name: str | Path = DEFAULT_MODEL,
        device: str | int | None = None,
        batch_size: int | None = None,
        *,
        language: str = "english",
        labels: Mapping[str, int] | None = None,
        max_tokens: int = 512,
        window_words: int = SENTENCE_PAIR_WINDOW,
        local_files_only: bool = False,
        on_conflict: OnConflict = "best_score",
        precision: Precision = "float32",
    ) -> None:
        scorer = CrossEncoderScorer(
            model_name,
            device,
            batch_size,
            labels=labels,
            max_tokens=max_tokens,
            window_words=window_words,
            local_files_only=local_files_only,
            precision=precision,
        )
        super().__init__(scorer, language=language, on_conflict=on_conflict)
        self.model_name = scorer.model_name


class DeBERTaClassifier(CrossEncoderClassifier):
    """`CrossEncoderClassifier` under cavaquinho's name, with the order of arguments it has there.

    Args:
        model_name: See `CrossEncoderScorer`.
        device: Where the model runs.
        language: "english" or "portuguese", or an alias.
        batch_size: Pairs in a batch, at most.
        calibrator_path: Must be None.

    Raises:
        ValueError: A setting is out of its range, or ``calibrator_path`` is given.
    """

    def __init__(
        self,
        model_name: str | Path = DEFAULT_MODEL,
        device: str | int | None = None,
        language: str = "english",
        batch_size: int | None = None,
        calibrator_path: str | Path | None = None,
    ) -> None:
        if calibrator_path is not None:
            raise ValueError(
                f"calibrator_path is not supported, and was {str(calibrator_path)!r}: pickled "
                "calibrators are not loaded; set the threshold on your own data instead"
            )
        super().__init__(model_name, device, batch_size, language=language)
