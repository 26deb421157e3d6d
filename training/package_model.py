"""Turn a trained model into the packaged one.

The one command that refreshes core/caco/model:

    python training/package_model.py TRAINED_FOLDER core/caco/model --version 0.2.0

TRAINED_FOLDER is what training writes (config.json, model.safetensors, tokenizer.json). The network
is exported to ONNX, its weights are quantised (``--form``; benchmarks/model_forms.py compares the
forms), and config.json is written with the SHA-256 of both files. Settings that belong to the
product (name, window size, calibration) are kept from the config that is already there.

Needs torch, transformers, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from torch import Tensor

DEFAULTS = {
    "name": "caco-nli-en-pt",
    "version": "0.1.0",
    "license": "MIT",
    "languages": ["en", "pt"],
    "window_words": 80,
    "max_tokens": 512,
    "calibration": {"scale": 1.0, "bias": 0.0},
}
"""What a package without a config starts from."""

LABELS = {"entailment", "neutral", "contradiction"}
NOT_ARCHITECTURE = {"id2label", "label2id", "architectures", "dtype", "transformers_version"}
HEAD = ("bert.pooler.dense.weight", "classifier.weight")
"""Weights that stay fp32: 150,000 parameters at the end, where an error is not averaged away."""

FEED_FORWARD = (".intermediate.dense.weight", ".output.dense.weight")
CALM_SHARE = 0.99
"""Share of a layer's input channels that set its range; the few above it are scaled down."""
CALIBRATION = (
    ("The bridge opened in 1932 and cost 4.2 million dollars.", "It was opened before 1940."),
    ("A Ana comprou um carro vermelho em março de 2019.", "A Ana nunca teve um carro."),
    ("The drug reduced symptoms in 64% of the patients, the study found.", "It had no effect."),
    ("O rio atravessa três estados antes de chegar ao mar.", "O rio passa por vários estados."),
    ("She said, 'I will not go.' Then she left.", "She stayed at home."),
    ("Segundo o relatório, a empresa teve lucro de R$ 3,5 milhões.", "Houve prejuízo."),
    ("The committee postponed the vote until next week.", "Pizza is popular in Naples."),
    ("Python 3.12 was released in October 2023.", "Python 3.12 came out in 2023."),
)
"""Pairs that show which channels run high; these are the same for any text."""


def export_fp32(trained: Path, target: Path) -> Path:
    """Write the network as plain fp32 ONNX whose weights carry their parameter's name.

    Inputs ``input_ids`` and ``attention_mask`` int64 [batch, sequence]; output ``logits``
    [batch, 3].
    """
    import torch
    from transformers import AutoModelForSequenceClassification

    class Logits(torch.nn.Module):
        def __init__(self, model: torch.nn.Module) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
            # Token types spelled out: left to itself the model looks them up in nine more nodes.
            types = torch.zeros_like(input_ids)
            output = self.model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=types
            )
            return output.logits

    model = AutoModelForSequenceClassification.from_pretrained(
        trained, attn_implementation="eager", dtype=torch.float32
    ).eval()
    ids = torch.randint(5, 2000, (2, 16))
    sizes = {0: "batch", 1: "sequence"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Logits(model).eval(),
            (ids, torch.ones_like(ids)),
            str(target),
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            dynamic_axes={"input_ids": sizes, "attention_mask": sizes, "logits": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
    names = {}
    for name, parameter in model.state_dict().items():
        if parameter.ndim == 2:
            names[_fingerprint(parameter.numpy().T)] = name
    graph = onnx.load(target)
    _name_weights(graph.graph, names)
    onnx.save(graph, target)
    return target


def _fingerprint(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _name_weights(graph: GraphProto, names: dict[str, str]) -> None:
    """Give the transposed weight matrices, which the exporter numbers, their parameter's name."""
    renamed = {}
    for tensor in graph.initializer:
        if tensor.name.startswith("model."):
            renamed[tensor.name] = tensor.name.removeprefix("model.")
        else:
            name = names.get(_fingerprint(numpy_helper.to_array(tensor)))
            if name is not None:
                renamed[tensor.name] = name
    for tensor in graph.initializer:
        tensor.name = renamed.get(tensor.name, tensor.name)
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]


def fuse(source: Path, *, attention: bool) -> ModelProto:
    """Return the fp32 model with onnxruntime's fused BERT operators (all but the embedding's)."""
    from onnxruntime.transformers import optimizer
    from onnxruntime.transformers.fusion_options import FusionOptions

    logging.getLogger("onnxruntime.transformers").setLevel(logging.ERROR)
    config = json.loads((source.parent / "config.json").read_text(encoding="utf-8"))
    options = FusionOptions("bert")
    options.use_multi_head_attention = not attention  # leaves the projections to the quantiser
    options.enable_embed_layer_norm = False  # it would hide the embedding table
    fused = optimizer.optimize_model(
        str(source),
        model_type="bert",
        num_heads=config["num_attention_heads"],
        hidden_size=config["hidden_size"],
        opt_level=1,
        optimization_options=options,
    )
    return fused.model


def quantise_rows(model: ModelProto) -> ModelProto:
    """Store the embedding table as int8 with one scale a row."""
    graph = model.graph
    tables = {tensor.name: tensor for tensor in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "Gather" and n.input[0] in tables]:
        table = numpy_helper.to_array(tables[node.input[0]])
        if table.ndim != 2 or table.shape[0] < 10_000:
            continue
        scale = np.abs(table).max(axis=1, keepdims=True).clip(min=1e-12) / 127
        name, indices, output = node.input[0], node.input[1], node.output[0]
        graph.initializer.remove(tables[name])
        graph.initializer.extend(
            [
                numpy_helper.from_array(
                    np.round(table / scale).astype(np.int8), f"{name}_quantized"
                ),
                numpy_helper.from_array(scale.astype(np.float32), f"{name}_scale"),
            ]
        )
        place = list(graph.node).index(node)
        graph.node.remove(node)
        steps = [
            helper.make_node("Gather", [f"{name}_quantized", indices], [f"{output}_int8"], axis=0),
            helper.make_node("Cast", [f"{output}_int8"], [f"{output}_float"], to=TensorProto.FLOAT),
            helper.make_node("Gather", [f"{name}_scale", indices], [f"{output}_row"], axis=0),
            helper.make_node("Mul", [f"{output}_float", f"{output}_row"], [output]),
        ]
        for step in reversed(steps):
            graph.node.insert(place, step)
    return model


def calm(model: ModelProto, tokenizer: Path) -> ModelProto:
    """Scale down the feed-forward channels that run far above the rest, and their weights up.

    The network computes the same. But a whole activation is quantised on one scale, and in each
    layer one channel of 1,536 reaches six times what the others do: left as it is, it takes most of
    the 256 steps for itself.
    """
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    nodes = [
        (node, name)
        for node in graph.node
        for name in node.input
        if name in weights and name.endswith(FEED_FORWARD) and ".attention." not in name
    ]
    peaks = _peaks(model, [node.input[0] for node, _ in nodes], tokenizer)
    for node, name in nodes:
        peak = peaks[node.input[0]]
        scale = np.maximum(1.0, peak / np.quantile(peak, CALM_SHARE)).astype(np.float32)
        array = numpy_helper.to_array(weights[name])
        weights[name].CopyFrom(numpy_helper.from_array(array * scale[:, None], name))
        graph.initializer.append(numpy_helper.from_array(1 / scale, f"{name}_inverse"))
        step = helper.make_node("Mul", [node.input[0], f"{name}_inverse"], [f"{name}_input"])
        graph.node.insert(list(graph.node).index(node), step)
        node.input[0] = f"{name}_input"
    return model


def _peaks(model: ModelProto, names: list[str], tokenizer: Path) -> dict[str, np.ndarray]:
    """Return the highest absolute value of each channel of the named activations."""
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    names = list(dict.fromkeys(names))
    probe = ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names
    )
    session = InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    encoder = Tokenizer.from_file(str(tokenizer))
    peaks = {name: np.zeros(1) for name in names}
    for pair in CALIBRATION:
        ids = np.array([encoder.encode(*pair).ids], dtype=np.int64)
        outputs = session.run(names, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for name, output in zip(names, outputs, strict=True):
            peaks[name] = np.maximum(peaks[name], np.abs(output).max(axis=(0, 1)))
    return peaks


def _head_nodes(model: ModelProto) -> list[str]:
    """Name the nodes of the head, also as the quantiser renames them when it splits a Gemm."""
    heads = [node.name for node in model.graph.node if any(name in HEAD for name in node.input)]
    return [*heads, *(f"{name}_MatMul" for name in heads)]


def dynamic(
    source: Path,
    target: Path,
    *,
    calmed: bool = True,
    reduce_range: bool = True,
    signed: bool = True,
) -> None:
    """Write int8 weights, one scale a channel; activations are quantised as they come."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = fuse(source, attention=True)
    if calmed:
        model = calm(model, source.parent / "tokenizer.json")
    head = _head_nodes(model)
    with tempfile.TemporaryDirectory() as folder:
        fused = Path(folder) / "fused.onnx"
        onnx.save(model, fused)
        quantize_dynamic(
            str(fused),
            str(target),
            op_types_to_quantize=["MatMul", "Attention"],
            per_channel=True,
            reduce_range=reduce_range,
            weight_type=QuantType.QInt8 if signed else QuantType.QUInt8,
            nodes_to_exclude=head,
            extra_options={"DefaultTensorType": TensorProto.FLOAT, "MatMulConstBOnly": True},
        )
    onnx.save(quantise_rows(onnx.load(target)), target)


def blocks(source: Path, target: Path, *, size: int = 32) -> None:
    """Write 8-bit blocks of ``size`` weights; activations stay fp32."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    model = fuse(source, attention=False)
    quantiser = MatMulNBitsQuantizer(
        model,
        bits=8,
        block_size=size,
        is_symmetric=True,
        accuracy_level=4,
        nodes_to_exclude=_head_nodes(model),
    )
    quantiser.process()
    onnx.save(quantise_rows(quantiser.model.model), target)


FORMS: dict[str, Callable[[Path, Path], None]] = {
    "fp32": lambda source, target: onnx.save(fuse(source, attention=True), target),
    "dynamic": dynamic,
    "dynamic-8bit": lambda source, target: dynamic(source, target, reduce_range=False),
    "dynamic-plain": lambda source, target: dynamic(
        source, target, calmed=False, reduce_range=False
    ),
    "blocks-32": blocks,
    "blocks-128": lambda source, target: blocks(source, target, size=128),
}
"""The forms a model can be written in: (fp32 ONNX beside config and tokenizer, file to write).

``dynamic`` has 7-bit weights: sums of 8-bit products saturate on CPUs without VNNI, so that not
every machine would get the same scores.
"""


def build(trained: Path, target: Path, form: str) -> Path:
    """Export ``trained`` and write it to ``target`` in one of `FORMS`."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config.json", "tokenizer.json"):
            shutil.copyfile(trained / name, Path(folder) / name)
        source = export_fp32(trained, Path(folder) / "plain.onnx")
        FORMS[form](source, target)
    return target


def package(model: Path, trained: Path, target: Path, version: str | None = None) -> Path:
    """Write ``target`` (model.onnx, tokenizer.json, config.json) and return its config's path.

    Raises:
        ValueError: The trained config does not name the three labels.
    """
    source = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    labels = [source["id2label"][str(place)].lower() for place in range(len(source["id2label"]))]
    if set(labels) != LABELS or len(labels) != len(LABELS):
        raise ValueError(f"id2label must name {sorted(LABELS)}, not {labels}")
    target.mkdir(parents=True, exist_ok=True)
    path = target / "config.json"
    settings = dict(DEFAULTS)
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        settings.update({name: before[name] for name in DEFAULTS if name in before})
    if version is not None:
        settings["version"] = version
    sources = {"model.onnx": model, "tokenizer.json": trained / "tokenizer.json"}
    for name, source_file in sources.items():
        if source_file.resolve() != (target / name).resolve():
            shutil.copyfile(source_file, target / name)
        (target / name).chmod(0o644)
    settings["labels"] = labels
    settings["files"] = {
        name: hashlib.sha256((target / name).read_bytes()).hexdigest() for name in sources
    }
    settings["architecture"] = {
        name: value for name, value in sorted(source.items()) if name not in NOT_ARCHITECTURE
    }
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return path


def main() -> None:
    """Read the command line and package the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trained", type=Path, help="folder with the trained model")
    parser.add_argument("target", type=Path, help="the package's model folder")
    parser.add_argument("--form", choices=sorted(FORMS), default="dynamic")
    parser.add_argument("--version", help="version of the weights; default: keep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = build(arguments.trained, Path(folder) / "model.onnx", arguments.form)
        path = package(model, arguments.trained, arguments.target, arguments.version)
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
