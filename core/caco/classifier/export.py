"""The embedded model as a sentence-transformers ``CrossEncoder``, from the same weights file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from caco.classifier.model_files import MODEL_FILE, MODEL_FOLDER, TOKENIZER_FILE, ModelConfig
from caco.errors import MissingExtraError, ModelNotAvailableError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["export_cross_encoder"]

Array = npt.NDArray[np.float32]

SPECIAL_TOKENS = {
    "bos_token": "<s>",
    "cls_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}


def export_cross_encoder(folder: str | Path) -> Path:
    """Write the embedded model as a folder that ``CrossEncoder`` and transformers can open.

    The weights are the packaged ones, dequantised to fp32 (about 160 MB), so that
    ``CrossEncoder(folder).predict(pairs, apply_softmax=True)`` gives the embedded model's scores
    up to the rounding of activations. Needs the ``torch`` extra.

    Args:
        folder: Where to write; made if missing, files of the same names are replaced.

    Returns:
        ``folder`` as a Path.

    Raises:
        MissingExtraError: torch, transformers or onnx is not installed.
        ModelNotAvailableError: The packaged model is missing, corrupt or of another form.
    """
    try:
        import torch
        from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
    except ImportError as error:
        raise MissingExtraError("export_cross_encoder", "torch") from error

    target = Path(folder)
    config = ModelConfig.read(MODEL_FOLDER)
    config.read_file(MODEL_FOLDER, TOKENIZER_FILE)
    stored = _read_initializers(config.read_file(MODEL_FOLDER, MODEL_FILE))
    network = BertForSequenceClassification(
        BertConfig(
            **config.architecture,
            id2label=dict(enumerate(config.labels)),
            label2id={label: index for index, label in enumerate(config.labels)},
        )
    )
    weights: dict[str, Tensor] = {}
    for name, array in _state(stored, int(config.architecture["num_hidden_layers"])).items():
        weights[name] = torch.from_numpy(np.ascontiguousarray(array))
    network.load_state_dict(weights)
    target.mkdir(parents=True, exist_ok=True)
    network.save_pretrained(target)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(MODEL_FOLDER / TOKENIZER_FILE),
        model_max_length=config.max_tokens,
        **SPECIAL_TOKENS,
    )
    tokenizer.save_pretrained(target)
    return target


def _read_initializers(model: bytes) -> dict[str, npt.NDArray[np.generic]]:
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise MissingExtraError("export_cross_encoder", "torch") from error

    graph = onnx.load_model_from_string(model).graph
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def _state(stored: Mapping[str, npt.NDArray[np.generic]], layers: int) -> dict[str, Array]:
    """Return the parameters of a ``BertForSequenceClassification``, by name.

    The packaged file keeps most of them under their own names; linear weights are transposed, and
    query, key and value of a layer are one matrix.
    """
    state = {}
    for part in ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm"):
        state[f"bert.embeddings.{part}.weight"] = _matrix(stored, f"bert.embeddings.{part}.weight")
    state["bert.embeddings.LayerNorm.bias"] = _matrix(stored, "bert.embeddings.LayerNorm.bias")
    for layer in range(layers):
        state.update(_layer(stored, layer))
    for head in ("bert.pooler.dense", "classifier"):
        state[f"{head}.weight"] = _matrix(stored, f"{head}.weight_Transposed").T
        state[f"{head}.bias"] = _matrix(stored, f"{head}.bias")
    return state


def _layer(stored: Mapping[str, npt.NDArray[np.generic]], layer: int) -> dict[str, Array]:
    state = {}
    prefix = f"bert.encoder.layer.{layer}"
    weights = np.split(_matrix(stored, f"Attention_{layer}_qkv_weight"), 3, axis=1)
    biases = np.split(_matrix(stored, f"Attention_{layer}_qkv_bias"), 3)
    for part, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
        state[f"{prefix}.attention.self.{part}.weight"] = weight.T
        state[f"{prefix}.attention.self.{part}.bias"] = bias
    for part in ("attention.output.dense", "intermediate.dense", "output.dense"):
        state[f"{prefix}.{part}.weight"] = _matrix(stored, f"{prefix}.{part}.weight").T
        state[f"{prefix}.{part}.bias"] = _matrix(stored, f"{prefix}.{part}.bias")
    for part in ("attention.output.LayerNorm", "output.LayerNorm"):
        for kind in ("weight", "bias"):
            state[f"{prefix}.{part}.{kind}"] = _matrix(stored, f"{prefix}.{part}.{kind}")
    return state


def _matrix(stored: Mapping[str, npt.NDArray[np.generic]], name: str) -> Array:
    """Return an initializer as it is stored, dequantised to float32, input scaling undone."""
    if name in stored:
        return stored[name].astype(np.float32)
    try:
        quantised, scale = stored[f"{name}_quantized"], stored[f"{name}_scale"]
    except KeyError:
        raise ModelNotAvailableError(
            f"{MODEL_FOLDER / MODEL_FILE} has no weights called {name}: it is in a form that "
            "cannot be exported"
        ) from None
    zero_point = stored.get(f"{name}_zero_point", np.zeros(1, dtype=np.int8))
    difference = quantised.astype(np.float32) - zero_point.astype(np.float32)
    array = np.asarray(difference * scale.astype(np.float32), dtype=np.float32)
    if f"{name}_inverse" in stored:
        array *= stored[f"{name}_inverse"].astype(np.float32)[:, None]
    return array
