"""Export weights to ONNX: fp32, per-channel dynamic int8, and weight-only 8-bit blocks.

The dynamic form is the smallest and fastest, but its activation scale spans the whole batch: run it
one pair at a time. Scores of the block form do not depend on what else is in the batch.

Example:
    python export.py --model OUT/averaged --out EXPORT
"""

from __future__ import annotations

import argparse
import logging
import shutil
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions
from transformers import AutoModelForSequenceClassification

BIG_TABLE = 10_000
"""Gather tables with at least this many rows are stored as int8."""


class Logits(torch.nn.Module):
    """The network with plain tensors in and out."""

    def __init__(self, model: torch.nn.Module) -> None:
        """Wrap a sequence classification model."""
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Scores, [rows, 3]."""
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def export_fp32(network: Logits, target: Path) -> None:
    """Write the fp32 graph with free batch and length."""
    ids = torch.randint(5, 2000, (2, 16))
    torch.onnx.export(
        network,
        (ids, torch.ones_like(ids)),
        str(target),
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_axes={
            "input_ids": {0: "batch", 1: "sequence"},
            "attention_mask": {0: "batch", 1: "sequence"},
            "logits": {0: "batch"},
        },
        opset_version=17,
        dynamo=False,
    )


def fused(source: Path, heads: int, width: int, keep_weights: bool) -> onnx.ModelProto:
    """The graph with BERT's layers fused.

    Args:
        source: The fp32 file.
        heads: Attention heads.
        width: Hidden size.
        keep_weights: Leave attention and embeddings unfused, so that their weights stay visible.

    Returns:
        The fused graph.
    """
    options = FusionOptions("bert")
    if keep_weights:
        options.enable_attention = False
        options.enable_embed_layer_norm = False
    return optimizer.optimize_model(
        str(source),
        model_type="bert",
        num_heads=heads,
        hidden_size=width,
        opt_level=1,
        optimization_options=options,
    ).model


def export_dynamic(graph: onnx.ModelProto, target: Path) -> None:
    """Write the per-channel dynamic int8 form."""
    middle = target.with_suffix(".fused.onnx")
    onnx.save(graph, str(middle))
    quantize_dynamic(
        str(middle),
        str(target),
        weight_type=QuantType.QInt8,
        per_channel=True,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )
    middle.unlink()


def int8_tables(graph: onnx.GraphProto) -> None:
    """Store big embedding tables as int8 with one scale per row."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "Gather" and n.input[0] in tensors]:
        name, indices, output = node.input[0], node.input[1], node.output[0]
        table = numpy_helper.to_array(tensors[name])
        if table.ndim != 2 or table.shape[0] < BIG_TABLE:
            continue
        scale = np.abs(table).max(axis=1, keepdims=True).clip(min=1e-12) / 127
        graph.initializer.remove(tensors[name])
        graph.initializer.extend(
            [
                numpy_helper.from_array(np.round(table / scale).astype(np.int8), f"{name}_int8"),
                numpy_helper.from_array(scale.astype(np.float32), f"{name}_scale"),
            ]
        )
        place = list(graph.node).index(node)
        graph.node.remove(node)
        for new in reversed(
            [
                helper.make_node("Gather", [f"{name}_int8", indices], [f"{output}_int8"], axis=0),
                helper.make_node(
                    "Cast", [f"{output}_int8"], [f"{output}_float"], to=TensorProto.FLOAT
                ),
                helper.make_node("Gather", [f"{name}_scale", indices], [f"{output}_row"], axis=0),
                helper.make_node("Mul", [f"{output}_float", f"{output}_row"], [output]),
            ]
        ):
            graph.node.insert(place, new)


def export_blocks(graph: onnx.ModelProto, target: Path) -> None:
    """Write the weight-only form: 8-bit blocks of 32 and an int8 embedding table."""
    quantizer = MatMulNBitsQuantizer(
        graph, bits=8, block_size=32, is_symmetric=True, accuracy_level=4
    )
    quantizer.process()
    model = quantizer.model.model
    int8_tables(model.graph)
    onnx.save(model, str(target))


def largest_difference(network: Logits, file: Path) -> float:
    """Largest difference of a probability between a file and the network, pair by pair."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    worst = 0.0
    generator = torch.Generator().manual_seed(0)
    for length in (12, 40, 160):
        ids = torch.randint(5, 20000, (1, length), generator=generator)
        mask = torch.ones_like(ids)
        with torch.inference_mode():
            right = torch.softmax(network(ids, mask), -1)
        feed = {"input_ids": ids.numpy(), "attention_mask": mask.numpy()}
        got = torch.softmax(torch.from_numpy(session.run(None, feed)[0]), -1)
        worst = max(worst, float((right - got).abs().max()))
    return worst


def main() -> None:
    """Write every form and print sizes and differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="folder of trained weights")
    parser.add_argument("--out", required=True, help="folder to write")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.INFO)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    model = AutoModelForSequenceClassification.from_pretrained(
        args.model, attn_implementation="eager", dtype=torch.float32
    ).eval()
    network = Logits(model).eval()
    heads, width = model.config.num_attention_heads, model.config.hidden_size
    export_fp32(network, out / "model_fp32.onnx")
    export_dynamic(fused(out / "model_fp32.onnx", heads, width, False), out / "model_int8.onnx")
    export_blocks(fused(out / "model_fp32.onnx", heads, width, True), out / "model_blocks.onnx")
    for name in ("tokenizer.json", "config.json"):
        shutil.copy(Path(args.model) / name, out / name)
    for name in ("model_fp32", "model_int8", "model_blocks"):
        file = out / f"{name}.onnx"
        size = file.stat().st_size / 1e6
        print(f"{file.name}: {size:.1f} MB, differs by {largest_difference(network, file):.4f}")


if __name__ == "__main__":
    main()
