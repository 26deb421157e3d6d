"""A sentence-transformers ``CrossEncoder`` that is loaded: shared, and run in batches."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from caco.classifier.scoring import encodable
from caco.errors import MissingExtraError, ModelNotAvailableError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

__all__ = ["LoadedCrossEncoder", "Precision", "shared_cross_encoder"]

Precision = Literal["float32", "bfloat16"]
"""In what numbers a model runs."""

CPU_BATCH = 32
"""Pairs in a batch where there is no CUDA device: more of them gain nothing there."""
TOKEN_BUDGET = 16_384
"""Padded tokens in a batch there, whatever its number of pairs."""
CUDA_TOKEN_BUDGET = 262_144
"""The same on a large CUDA device; …"""
CUDA_TOKEN_BYTES = 2**18
"""… on others, a token for so much memory: DeBERTa-v3-base takes 160 KB of it in float32."""


class LoadedCrossEncoder:
    """A cross-encoder ready to run; one call at a time.

    Args:
        model: The model.
        batch_size: Pairs in a batch, where the caller sets no limit. None: what the budget allows.
        token_budget: Padded tokens in a batch.
    """

    def __init__(self, model: CrossEncoder, batch_size: int | None, token_budget: int) -> None:
        self.model = model
        self._batch_size = batch_size
        self._token_budget = token_budget
        self._turn = threading.Lock()

    def score(
        self, pairs: Sequence[tuple[str, str]], max_tokens: int, batch_size: int | None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Score pairs in batches of like length.

        Args:
            pairs: (premise, hypothesis), n of them; the premise is cut first.
            max_tokens: Tokens that a pair may have; the model's own limit holds besides.
            batch_size: Pairs in a batch, at most. None: the loaded model's own limit.

        Returns:
            Softmaxed outputs, float64 [n, labels], and which pairs were cut, bool [n].
        """
        limit = min(max_tokens, self._own_limit())
        with self._turn:
            fitted = self._fit_all(pairs, limit)
            sizes = [size for _, _, size in fitted]
            batches = list(_batches(sizes, batch_size or self._batch_size, self._token_budget))
            # All are handed over before any is fetched: a GPU need not wait for the tokenizer.
            found = [
                self.model.predict(
                    [fitted[index][0] for index in batch],
                    batch_size=len(batch),
                    apply_softmax=True,
                    show_progress_bar=False,
                    convert_to_tensor=True,
                )
                for batch in batches
            ]
            outputs = np.empty((len(pairs), self.model.config.num_labels), dtype=np.float64)
            for batch, scores in zip(batches, found, strict=True):
                outputs[batch] = scores.float().cpu().numpy()
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

    def _fit_all(
        self, pairs: Sequence[tuple[str, str]], limit: int
    ) -> list[tuple[tuple[str, str], bool, int]]:
        """Cut pairs to ``limit`` tokens: the premise first, the hypothesis only when it must be.

        Returns each pair as the model reads it, whether anything was cut, and its length in tokens.
        """
        special = int(self.model.tokenizer.num_special_tokens_to_add(pair=True))
        pairs = [(encodable(premise), encodable(hypothesis)) for premise, hypothesis in pairs]
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        sizes = dict(zip(texts, self._count(texts), strict=True))
        fitted = []
        for premise, hypothesis in pairs:
            room = limit - special
            kept_hypothesis, size = self._cut(hypothesis, sizes[hypothesis], room)
            kept_premise, premise_size = self._cut(premise, sizes[premise], room - size)
            cut = len(kept_hypothesis) < len(hypothesis) or len(kept_premise) < len(premise)
            fitted.append(((kept_premise, kept_hypothesis), cut, special + size + premise_size))
        return fitted

    def _cut(self, text: str, size: int, room: int) -> tuple[str, int]:
        """Return the longest beginning of ``text`` of at most ``room`` tokens, and its tokens."""
        if size <= room:
            return text, size
        fits, too_long, fitting_size = 0, len(text), 0
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            (size,) = self._count([text[:middle]])
            if size <= room:
                fits, fitting_size = middle, size
            else:
                too_long = middle
        return text[:fits], fitting_size

    def _count(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has."""
        encoded = self.model.tokenizer(
            list(texts), add_special_tokens=False, truncation=False, padding=False, verbose=False
        )
        return [len(ids) for ids in encoded["input_ids"]]


_cross_encoders: dict[tuple[str, str, Precision, bool], LoadedCrossEncoder] = {}
_cross_encoders_lock = threading.Lock()


def shared_cross_encoder(
    model_name: str, device: str | int | None, precision: Precision, local_files_only: bool
) -> LoadedCrossEncoder:
    """Return the model, loaded once per process for each set of these arguments.

    Args:
        model_name: Name on the Hugging Face hub, or a local folder.
        device: See `CrossEncoderScorer`.
        precision: In what numbers it runs.
        local_files_only: Never download.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        ModelNotAvailableError: The model was not found, could not be downloaded or read.
    """
    try:
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise MissingExtraError("A CrossEncoder classifier", "torch") from error

    place = _resolve_device(torch, device)
    key = (model_name, place, precision, local_files_only)
    with _cross_encoders_lock:
        if key not in _cross_encoders:
            model = _open(CrossEncoder, model_name, place, local_files_only)
            model.to(getattr(torch, precision))
            _cross_encoders[key] = LoadedCrossEncoder(model, *_batch_limits(torch, place))
        return _cross_encoders[key]


def _batch_limits(torch: ModuleType, device: str) -> tuple[int | None, int]:
    """Return how many pairs (None: any number) and padded tokens a batch may have on a device."""
    if not device.startswith("cuda"):
        return CPU_BATCH, TOKEN_BUDGET
    memory = int(torch.cuda.get_device_properties(device).total_memory)
    return None, max(TOKEN_BUDGET, min(memory // CUDA_TOKEN_BYTES, CUDA_TOKEN_BUDGET))


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


def _batches(
    sizes: Sequence[int], batch_size: int | None, token_budget: int
) -> Iterator[list[int]]:
    """Group pairs of like length, longest first, within ``batch_size`` and the token budget."""
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        # The first of a batch is its longest, and the others are padded to it.
        full = batch and (len(batch) + 1) * sizes[batch[0]] > token_budget
        if full or len(batch) == batch_size:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
