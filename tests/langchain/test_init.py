"""The names of the package, and what importing them costs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import caco
import langchain_caco

ROOT = Path(langchain_caco.__file__).parents[1]

EXPECTED = {
    "AsyncCacoCallbackHandler",
    "CacoCallbackHandler",
    "CacoDocumentCompressor",
    "CacoGovernor",
    "CacoGuard",
    "CacoVerifyTool",
    "GovernedText",
    "GuardedText",
    "HallucinationError",
    "HallucinationRetry",
    "MonitorRecord",
    "NextAttempt",
    "caco_evaluator",
    "caco_monitor",
    "with_hallucination_retry",
}


def run(program):
    """Run a program in a fresh interpreter and return what it prints."""
    path = os.pathsep.join([str(ROOT), str(Path(caco.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return done.stdout.strip()


def test_the_list_is_what_was_promised():
    assert set(langchain_caco.__all__) == EXPECTED
    assert len(langchain_caco.__all__) == len(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_name_resolves(name):
    assert getattr(langchain_caco, name) is not None
    assert name in dir(langchain_caco)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'CacoGuardian'"):
        _ = langchain_caco.CacoGuardian


def test_type_checkers_see_the_same_names_as_the_interpreter():
    tree = ast.parse(Path(langchain_caco.__file__).read_text(encoding="utf-8"))
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    typed = {alias.name: node.module for node in block.body for alias in node.names}
    assert typed == langchain_caco._LAZY_NAMES


def test_importing_loads_no_framework_and_no_model():
    loaded = run("import langchain_caco, sys; print(*sys.modules)").split()
    heavy = {"langchain", "langchain_core", "langgraph", "numpy", "onnxruntime", "torch"}
    assert not heavy & {name.split(".")[0] for name in loaded}
    program = "from langchain_caco import CacoGuard; import sys; CacoGuard(); print(*sys.modules)"
    assert not {"langchain", "langgraph", "torch"} & set(run(program).split())


def test_without_langchain_the_extra_is_named():
    program = (
        "import sys; sys.modules['langchain_core'] = None\n"
        "import langchain_caco\n"
        "try:\n    langchain_caco.CacoGuard\n"
        "except langchain_caco.MissingExtraError as error:\n    print(error)"
    )
    assert 'pip install "caco-guard[langchain]"' in run(program)
