"""What every benchmark prints beside its numbers: the machine, the versions, an interval."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version


def describe_machine(*packages: str) -> str:
    """Return one line on the processor, the cores and the versions of what was measured."""
    names = ("caco-guard", "onnxruntime", "tokenizers", "numpy", *packages)
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    processor = platform.processor() or platform.machine()
    cores = os.cpu_count()
    python = platform.python_version()
    return f"{processor}, {cores} cores, Python {python}; " + ", ".join(found)


def wilson_interval(right: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    if total == 0:
        return 0.0, 1.0
    z, share = 1.959964, right / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total)
    half *= (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    return middle - half, middle + half
