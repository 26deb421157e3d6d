"""Average the weights of runs that started from the same weights (a "soup").

Example:
    python average.py --model A/averaged --model B/averaged --out OUT
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def average(folders: list[Path]) -> dict[str, torch.Tensor]:
    """The mean of every tensor over the folders' ``model.safetensors``.

    Args:
        folders: Folders of weights of one architecture.

    Returns:
        The averaged tensors, in fp32.
    """
    total: dict[str, torch.Tensor] = {}
    for folder in folders:
        for name, tensor in load_file(folder / "model.safetensors").items():
            total[name] = total.get(name, torch.zeros_like(tensor.float())) + tensor.float()
    return {name: tensor / len(folders) for name, tensor in total.items()}


def main() -> None:
    """Write the averaged folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", required=True, help="folder of weights")
    parser.add_argument("--out", required=True, help="folder to write")
    args = parser.parse_args()
    folders = [Path(name) for name in args.model]
    out = Path(args.out)
    shutil.copytree(folders[0], out, dirs_exist_ok=True)
    save_file(average(folders), out / "model.safetensors", metadata={"format": "pt"})
    print(f"averaged {len(folders)} runs into {out.name}")


if __name__ == "__main__":
    main()
