"""What benchmarks share: the machine and the versions in one line, and a process's memory."""

from __future__ import annotations

import os
import platform
import resource
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


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


def peak_memory_mb() -> float:
    """Return the most resident memory that this process has held so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # elsewhere, a child also counts what its parent held when it forked
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
