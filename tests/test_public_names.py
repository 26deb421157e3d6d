"""The names that users import, frozen: a change here is a change to the public contract."""

from __future__ import annotations

import ast
import os
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import caco

ROOT = Path(__file__).parent.parent

EXPECTED = {
    "Aggregator",
    "Attempt",
    "BatchValidator",
    "CTS",
    "Caco",
    "CacoError",
    "CitationReport",
    "Claim",
    "ClaimResult",
    "ClassifierContract",
    "Coverage",
    "CrossEncoderClassifier",
    "DeBERTaClassifier",
    "Decision",
    "Document",
    "Evidence",
    "ExtractorContract",
    "GatingPolicy",
    "GovernedPath",
    "HallucinationError",
    "LLMError",
    "LLMExtractor",
    "Labels",
    "MissingContextError",
    "MissingExtraError",
    "ModelNotAvailableError",
    "NLIClassifier",
    "RagCaiConfig",
    "Receipt",
    "ReceiptLog",
    "RuleExtractor",
    "SearchError",
    "Signal",
    "SignalReport",
    "Site",
    "Status",
    "ValidationResult",
    "Validator",
    "__version__",
    "check_citations",
    "cts",
    "detect_signals",
    "export_cross_encoder",
    "fit_weights",
    "make_receipt",
    "tune_tau_star",
    "verify_receipts",
}

# How code written for cavaquinho 0.2 imports, with the root replaced.
UPSTREAM_IMPORTS = [
    ("caco", "Validator"),
    ("caco", "Caco"),
    ("caco", "caco"),
    ("caco", "Labels"),
    ("caco", "ClaimResult"),
    ("caco", "ValidationResult"),
    ("caco.aggregator", "Aggregator"),
    ("caco.classifier", "DeBERTaClassifier"),
    ("caco.classifier.base", "ClassifierContract"),
    ("caco.extractor", "LLMExtractor"),
    ("caco.extractor", "RuleExtractor"),
    ("caco.extractor.llm_extractor", "LLMExtractor"),
    ("caco.extractor.rule_extractor", "RuleExtractor"),
    ("caco.classifier.deberta", "DeBERTaClassifier"),
    ("caco.config", "DEFAULT_THRESHOLD"),
    ("caco.core", "Validator"),
    ("caco.extractor.base", "ExtractorContract"),
    ("caco.models", "ClaimResult"),
    ("caco.models", "Labels"),
    ("caco.models", "ValidationResult"),
]


def test_the_list_is_what_was_promised():
    assert set(caco.__all__) == EXPECTED
    assert len(caco.__all__) == len(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_name_resolves(name):
    assert getattr(caco, name) is not None
    assert name in dir(caco)


def test_nothing_else_is_public():
    """Submodules may show up once they have been imported; stray imports of the root may not."""
    program = (
        "import caco, types\n"
        "print(*[n for n, v in vars(caco).items() if not n.startswith('_')"
        " and not isinstance(v, types.ModuleType)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "core")},
    )
    allowed = EXPECTED | {"TYPE_CHECKING", "annotations", "import_module"}
    assert set(done.stdout.split()) <= allowed


def test_upstream_aliases_are_the_validator():
    assert caco.Caco is caco.Validator
    assert caco.caco is caco.Validator
    assert issubclass(caco.DeBERTaClassifier, caco.CrossEncoderClassifier)
    assert "caco" in dir(caco)


@pytest.mark.parametrize(("module", "name"), UPSTREAM_IMPORTS)
def test_upstream_imports_work(module, name):
    assert hasattr(import_module(module), name)


SUBMODULES = ["aggregator", "classifier", "config", "core", "extractor", "models", "testing"]


@pytest.mark.parametrize("name", [*SUBMODULES, "validator"])
def test_submodules_are_reachable_from_the_root(name):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import caco; print(caco.{name}.__name__)"],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "core")},
    )
    assert done.stdout.strip() == f"caco.{name}"


def test_a_star_import_leaves_the_module_alone():
    namespace: dict[str, object] = {}
    exec("import caco\nfrom caco import *", namespace)
    assert namespace["caco"] is caco
    assert namespace["Validator"] is caco.Validator


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Validater'"):
        _ = caco.Validater


def test_type_checkers_see_the_same_names_as_the_interpreter():
    """The names under TYPE_CHECKING and the lazy table say the same."""
    tree = ast.parse(Path(caco.__file__).read_text(encoding="utf-8"))
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    typed = {}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            typed.update({alias.name: (node.module, alias.name) for alias in node.names})
        elif isinstance(node, ast.Assign):
            typed[ast.unparse(node.targets[0])] = typed[ast.unparse(node.value)]
    assert typed == caco._LAZY_NAMES


def test_each_module_lists_what_it_defines():
    """``__all__`` of every module holds only names that exist."""
    for path in sorted(Path(caco.__file__).parent.rglob("*.py")):
        parts = path.relative_to(ROOT / "core").with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if parts[-1] == "__main__":
            continue
        module = import_module(name)
        missing = [item for item in getattr(module, "__all__", ()) if not hasattr(module, item)]
        assert not missing, f"{name}.__all__ names {missing}"


def test_errors_share_a_root_and_pickle():
    errors = [caco.__dict__[name] for name in EXPECTED if name.endswith("Error")]
    assert all(issubclass(error, caco.CacoError) for error in errors)
    extra = pickle.loads(pickle.dumps(caco.MissingExtraError("A chart", "charts")))
    assert isinstance(extra, ImportError)
    assert 'pip install "caco-guard[charts]"' in str(extra)


def test_the_version_looks_like_one():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.\w+)?", caco.__version__)
