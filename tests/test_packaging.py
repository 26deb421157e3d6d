"""What is installed: the files in the wheel and the sdist, the extras, the command."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import caco

ROOT = Path(__file__).parent.parent
PACKAGES = ("caco", "langchain_caco", "llamaindex_caco")
MODEL_FILES = ("config.json", "model.onnx", "tokenizer.json")
EXTRAS = {
    "actor",
    "torch",
    "service",
    "langchain",
    "agents",
    "llamaindex",
    "batch",
    "ray",
    "search",
    "sat",
    "yaml",
    "otel",
    "eval",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with a wheel and a source distribution of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist"]
    subprocess.run([*command, "-d", str(folder)], cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    assert path.name == f"caco_guard-{caco.__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def source_names(built) -> list[str]:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def shipped_files() -> set[str]:
    """Every file of the packages in the tree, as the wheel should name it."""
    folders = (ROOT / "core" / "caco", ROOT / "langchain_caco", ROOT / "llamaindex_caco")
    return {
        path.relative_to(folder.parent).as_posix()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.slow
def test_the_wheel_holds_the_packages_and_nothing_else(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == shipped_files()


@pytest.mark.slow
def test_the_wheel_holds_the_model_the_demo_and_the_type_markers(wheel):
    names = set(wheel.namelist())
    assert {f"caco/model/{name}" for name in MODEL_FILES} <= names
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert "caco/demo/examples.json" in names
    assert wheel.getinfo("caco/model/model.onnx").file_size > 30_000_000


@pytest.mark.slow
def test_the_wheel_declares_the_command_the_licence_and_the_extras(wheel):
    (entry_points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert "caco = caco.cli:main" in wheel.read(entry_points).decode()
    assert {"LICENSE", "NOTICE"} <= {name.rpartition("/")[2] for name in wheel.namelist()}
    (path,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = wheel.read(path).decode()
    assert set(re.findall(r"^Provides-Extra: (\S+)", metadata, re.M)) == EXTRAS | {"all", "dev"}
    base = [line for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    needed = {re.split(r"[ :<>=!~;\[]+", line)[1] for line in base if "extra ==" not in line}
    assert needed == {"numpy", "onnxruntime", "tokenizers", "nltk"}


@pytest.mark.slow
def test_the_source_distribution_can_rebuild_and_test_itself(source_names):
    expected = {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "tests/conftest.py", "Makefile"}
    assert expected <= set(source_names)
    assert {f"core/caco/model/{name}" for name in MODEL_FILES} <= set(source_names)


@pytest.mark.slow
def test_the_source_distribution_leaves_big_test_data_out(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        big = [item.name for item in archive if item.size > 1_000_000]
    assert all("/core/caco/model/" in name for name in big), big


def test_all_holds_every_extra():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r'^all = \["caco-guard\[([^\]]+)\]"\]', text, re.M)
    assert set(listed.split(",")) == EXTRAS


def test_every_constraint_is_of_a_declared_dependency_or_of_one_of_theirs():
    """A stale pin would be silently useless."""
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in lines if line and not line.startswith("#")}
    indirect = {"coverage", "safetensors", "scipy"}
    assert pinned
    assert all(
        re.search(rf'"{name}(?:\[\w+\])?>=', declared) or name in indirect for name in pinned
    )
