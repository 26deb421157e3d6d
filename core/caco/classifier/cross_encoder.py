"""NLI cross-encoders of sentence-transformers as pair scorers, and the classifier built on them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from caco.classifier.calibration import Calibration
from caco.classifier.claim_verdict import OnConflict
from caco.classifier.nli import NLIClassifier
from caco.classifier.scoring import COLUMNS, PairScores, encodable
from caco.errors import MissingExtraError, ModelNotAvailableError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder
    from transformers import PretrainedConfig

__all__ = ["CrossEncoderClassifier", "CrossEncoderScorer", "DeBERTaClassifier"]

DEFAULT_MODEL = "cross-encoder/nli-deberta-v3-base"
SENTENCE_PAIR_WINDOW = 40
"""Words of premise: models trained on sentence pairs read one or two sentences best."""
TOKEN_BUDGET = 16_384
"""Padded tokens in a batch, whatever its number of pairs."""

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
        batch_size: Pairs in a batch, at most; long pairs make smaller batches.
        labels: Which output means what, for a model that does not name its three outputs
            "entailment", "neutral" and "contradiction": ``{"entailment": 0, ...}``. A model with
            two outputs always needs it: ``{"entailment": 1, "not_entailment": 0}``; P(neutral) is
            then P(not entailed) and P(contradiction) 0.
        max_tokens: Tokens that a pair may have; the model's own limit holds besides.
        window_words: Words of premise the model wants at a time.
        local_files_only: Never download; use what is on this machine.

    Raises:
        ValueError: ``batch_size``, ``max_tokens`` or ``window_words`` is less than 1, or ``labels``
            cannot be a map of labels.
    """

    calibration = Calibration()

    def __init__(
        self,
        model_name: str | Path = DEFAULT_MODEL,
        device: str | int | None = None,
        batch_size: int = 32,
        *,
        labels: Mapping[str, int] | None = None,
        max_tokens: int = 512,
        window_words: int = SENTENCE_PAIR_WINDOW,
        local_files_only: bool = False,
    ) -> None:
        for setting, value in (
            ("batch_size", batch_size),
            ("max_tokens", max_tokens),
            ("window_words", window_words),
        ):
            if value < 1:
                raise ValueError(f"{setting} must be at least 1, not {value!r}")
        self.model_name = str(model_name)
        self.device = device
        self.batch_size = batch_size
        self.labels = None if labels is None else _checked_labels(labels)
        self.max_tokens = max_tokens
        self.window_words = window_words
        self.local_files_only = local_files_only

    @property
    def name(self) -> str:
        """The model's name; of a local folder only the last part."""
        return Path(self.model_name).name if Path(self.model_name).is_dir() else self.model_name

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

    def _loaded(self) -> _LoadedCrossEncoder:
        return _shared_cross_encoder(self.model_name, self.device, self.local_files_only)

    def __repr__(self) -> str:
        return f"CrossEncoderScorer({self.model_name!r}, device={self.device!r})"


class _LoadedCrossEncoder:
    """A cross-encoder ready to run; one call at a time."""

    def __init__(self, model: CrossEncoder) -> None:
        self.model = model
        self._turn = threading.Lock()

    def score(
        self, pairs: Sequence[tuple[str, str]], max_tokens: int, batch_size: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return softmaxed outputs [n, labels] and which pairs were cut [n]."""
        with self._turn:
            limit = min(max_tokens, self._own_limit())
            fitted = [self._fit(premise, hypothesis, limit) for premise, hypothesis in pairs]
            outputs = np.empty((len(pairs), self.model.config.num_labels), dtype=np.float64)
            for batch in _batches([size for _, _, size in fitted], batch_size):
                outputs[batch] = self.model.predict(
                    [fitted[index][0] for index in batch],
                    batch_size=len(batch),
                    apply_softmax=True,
                    show_progress_bar=False,
                )
        # The softmax was float32: its rows sum to 1 only to seven digits.
        outputs /= outputs.sum(axis=1, keepdims=True)
        return outputs, np.array([cut for _, cut, _ in fitted], dtype=np.bool_)

    def _own_limit(self) -> int:
        """Return how many tokens the model can read."""
        limits = [
            self.model.tokenizer.model_max_length,
            getattr(self.model.config, "max_position_embeddings", None),
            getattr(self.model, "max_seq_length", None),  # sentence-transformers 6
        ]
        return min(int(limit) for limit in limits if limit)

    def _fit(self, premise: str, hypothesis: str, limit: int) -> tuple[tuple[str, str], bool, int]:
        """Cut a pair to ``limit`` tokens: the premise first, the hypothesis only when it must be.

        Returns the pair as the model reads it, whether anything was cut, and its length in tokens.
        """
        room = limit - int(self.model.tokenizer.num_special_tokens_to_add(pair=True))
        premise, hypothesis = encodable(premise), encodable(hypothesis)
        kept_hypothesis, size = self._cut(hypothesis, room)
        kept_premise, premise_size = self._cut(premise, room - size)
        cut = len(kept_hypothesis) < len(hypothesis) or len(kept_premise) < len(premise)
        return (kept_premise, kept_hypothesis), cut, limit - room + size + premise_size

    def _cut(self, text: str, room: int) -> tuple[str, int]:
        """Return the longest beginning of ``text`` of at most ``room`` tokens, and its tokens."""
        size = self._count(text)
        if size <= room:
            return text, size
        fits, too_long, fitting_size = 0, len(text), 0
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            size = self._count(text[:middle])
            if size <= room:
                fits, fitting_size = middle, size
            else:
                too_long = middle
        return text[:fits], fitting_size

    def _count(self, text: str) -> int:
        encoded = self.model.tokenizer(
            text, add_special_tokens=False, truncation=False, padding=False, verbose=False
        )
        return len(encoded["input_ids"])


_cross_encoders: dict[tuple[str, str, bool], _LoadedCrossEncoder] = {}
_cross_encoders_lock = threading.Lock()


def _shared_cross_encoder(
    model_name: str, device: str | int | None, local_files_only: bool
) -> _LoadedCrossEncoder:
    try:
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise MissingExtraError("A CrossEncoder classifier", "torch") from error

    place = _resolve_device(torch, device)
    key = (model_name, place, local_files_only)
    with _cross_encoders_lock:
        if key not in _cross_encoders:
            model = _open(CrossEncoder, model_name, place, local_files_only)
            _cross_encoders[key] = _LoadedCrossEncoder(model)
        return _cross_encoders[key]


def _forget_cross_encoders() -> None:
    """Start afresh in a forked child, where torch's threads are gone and a lock may be held."""
    global _cross_encoders, _cross_encoders_lock
    _cross_encoders, _cross_encoders_lock = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_cross_encoders)


def _open(
    constructor: type[CrossEncoder], model_name: str, device: str, local_files_only: bool
) -> CrossEncoder:
    from safetensors import SafetensorError

    try:
        return constructor(model_name, device=device, local_files_only=local_files_only)
    except (OSError, ValueError, SafetensorError) as error:
        where = (
            f"the folder {Path(model_name).resolve()}"
            if Path(model_name).exists()
            else "the local Hugging Face cache"
            + ("" if local_files_only else " and on huggingface.co")
        )
        raise ModelNotAvailableError(
            f"The model {model_name!r} could not be loaded; looked for it in {where}. "
            "Check the name, download it once while online, or give the path of a local folder; "
            "the embedded model (caco.classifier.NLIClassifier) needs no download. "
            f"Cause: {type(error).__name__}: {error}"
        ) from error


def _resolve_device(torch: ModuleType, device: str | int | None) -> str:
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    if device is not None:
        return str(device)
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


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


def _batches(sizes: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Group pairs of like length, longest first, within ``batch_size`` and the token budget."""
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        # The first of a batch is its longest, and the others are padded to it.
        full = batch and (len(batch) + 1) * sizes[batch[0]] > TOKEN_BUDGET
        if full or len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


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

    Raises:
        ValueError: A setting is out of its range.
    """

    def __init__(
        self,
        model_name: str | Path = DEFAULT_MODEL,
        device: str | int | None = None,
        batch_size: int = 32,
        *,
        language: str = "english",
        labels: Mapping[str, int] | None = None,
        max_tokens: int = 512,
        window_words: int = SENTENCE_PAIR_WINDOW,
        local_files_only: bool = False,
        on_conflict: OnConflict = "best_score",
    ) -> None:
        scorer = CrossEncoderScorer(
            model_name,
            device,
            batch_size,
            labels=labels,
            max_tokens=max_tokens,
            window_words=window_words,
            local_files_only=local_files_only,
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
        batch_size: int = 32,
        calibrator_path: str | Path | None = None,
    ) -> None:
        if calibrator_path is not None:
            raise ValueError(
                f"calibrator_path is not supported, and was {str(calibrator_path)!r}: pickled "
                "calibrators are not loaded; set the threshold on your own data instead"
            )
        super().__init__(model_name, device, batch_size, language=language)
