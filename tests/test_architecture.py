"""The import rule of the packages: a module imports only from the rows above its own."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "core" / "caco"
ADAPTERS = ("langchain_caco", "llamaindex_caco")

# Top-level modules and packages of caco, from what imports nothing to what may import everything.
ROWS = (
    ("models", "errors"),
    ("phrases", "typography", "summary", "settings", "stems"),
    ("blocks", "sentences", "checkworthy"),
    ("text", "figures", "roles", "quantifiers", "counts", "conditions"),
    ("extractor", "evidence", "search", "config"),
    ("items", "classifier", "signals", "aggregator"),
    ("gate", "tuning", "receipts", "consistency"),
    ("tension", "ranking"),
    ("validator",),
    ("citations", "streaming", "factual", "batch", "render", "governance", "core"),
    ("evaluation", "testing"),
    ("service", "actor"),
    ("cli",),
)
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}

# The root module and the entry point gather the others: they stand outside the rows.
GATHERERS = ("caco", "caco.__main__")

HEAVY = (
    "langchain",
    "langchain_core",
    "llama_index",
    "nltk",
    "numpy",
    "onnxruntime",
    "sentence_transformers",
    "tokenizers",
    "torch",
    "transformers",
)


class Import(NamedTuple):
    importer: str
    imported: str
    names: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules_of(package: Path) -> dict[str, Path]:
    """Dotted module name -> file."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, source: str) -> list[Import]:
    """Every import in the source, those in functions included, those only for typing left out."""

    def visit(node: ast.AST) -> Iterator[Import]:
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.orelse:
                yield from visit(child)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(module, "." * node.level + (node.module or ""), names, node.lineno)
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    return list(visit(ast.parse(source)))


MODULES = modules_of(CORE)
IMPORTS = {
    name: imports_of(name, path.read_text(encoding="utf-8")) for name, path in MODULES.items()
}


def targets(item: Import) -> list[str]:
    """The modules of caco that an import reaches, as dotted names ("caco" for the root itself)."""
    if item.imported.split(".")[0] != "caco":
        return []
    nested = [f"{item.imported}.{name}" for name in item.names]
    submodules = [name for name in nested if name in MODULES]
    # `from caco import text` reaches a module; `from caco import Validator` reaches the root.
    if item.imported == "caco" and len(submodules) < len(nested):
        submodules.append("caco")
    return submodules or [item.imported]


def breaches(item: Import) -> list[str]:
    """What is wrong with one import of a module that stands in a row."""
    own = item.importer.split(".")[1]
    wrong = []
    for target in targets(item):
        if target == "caco":
            # The version is a constant of the root, set before anything could need it.
            if item.names != ("__version__",):
                wrong.append(f"{item}: import from the module that defines it")
            continue
        other = target.split(".")[1]
        if other == own:
            if item.importer == f"caco.{own}.base":
                wrong.append(f"{item}: base.py comes first in its package")
            continue
        if ROW_OF[other] >= ROW_OF[own]:
            wrong.append(f"{item}: row {ROW_OF[other]} from row {ROW_OF[own]}")
    return wrong


def in_rows() -> Iterator[Import]:
    for name, imports in IMPORTS.items():
        if name not in GATHERERS:
            yield from imports


def test_every_module_has_a_row():
    top = {name.split(".")[1] for name in MODULES if name not in GATHERERS}
    assert top <= set(ROW_OF), "a new module needs a place in ROWS"


def test_modules_import_only_from_rows_above():
    wrong = [breach for item in in_rows() for breach in breaches(item)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("caco.models", "from caco.validator import Validator"),
        ("caco.text", "def f():\n    import caco.cli"),
        ("caco.text", "if True:\n    from caco import cli"),
        ("caco.evidence", "from caco import Validator"),
        ("caco.cli.check", "import caco"),
        ("caco.classifier.base", "from caco.classifier.nli import NLIClassifier"),
        ("caco.extractor.rule", "from caco.evidence import windows"),
    ],
)
def test_the_rule_notices(module, source):
    (item,) = imports_of(module, source)
    assert breaches(item)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("caco.validator", "from caco.models import Labels"),
        ("caco.cli.check", "from caco.cli.base import Command"),
        ("caco.cli", "from caco import __version__"),
        ("caco.text", "import json"),
    ],
)
def test_the_rule_lets_pass(module, source):
    (item,) = imports_of(module, source)
    assert not breaches(item)


def test_imports_for_typing_are_not_counted():
    source = "if TYPE_CHECKING:\n    from caco.validator import Validator\nelse:\n    import json"
    assert [item.imported for item in imports_of("caco.models", source)] == ["json"]


def edges() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for item in in_rows():
        graph[item.importer].update(
            target for target in targets(item) if target in MODULES and target != "caco"
        )
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for following in sorted(graph[name]):
            if found := walk(following, [*path, name]):
                return found
        done.add(name)
        return []

    return next((cycle for name in sorted(graph) if (cycle := walk(name, []))), [])


def test_there_are_no_import_cycles():
    assert not find_cycle(edges())


def test_cycles_are_noticed():
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert not find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_adapters_import_the_engine_and_never_each_other():
    for adapter in ADAPTERS:
        others = {"core", *ADAPTERS} - {adapter}
        for name, path in modules_of(ROOT / adapter).items():
            for item in imports_of(name, path.read_text(encoding="utf-8")):
                assert item.imported.split(".")[0] not in others, str(item)


def test_the_engine_imports_no_adapter():
    banned = {"core", "langchain", "langchain_core", "langgraph", "llama_index", *ADAPTERS}
    found = [
        str(item)
        for imports in IMPORTS.values()
        for item in imports
        if item.imported.split(".")[0] in banned
    ]
    assert not found


def test_no_relative_imports_and_no_second_copy_of_the_package():
    """An editable install puts the repository root on the path too: ``core.caco`` would import."""
    sources = [
        path for folder in ("core", "tests", *ADAPTERS) for path in (ROOT / folder).rglob("*.py")
    ]
    assert sources
    for path in sources:
        for item in imports_of(path.stem, path.read_text(encoding="utf-8")):
            assert not item.imported.startswith("."), f"{path}: {item}"
            assert item.imported.split(".")[0] != "core", f"{path}: {item}"


def test_nothing_is_called_utils():
    names = [part for name in MODULES for part in name.split(".")]
    assert not {"utils", "util", "helpers", "common", "misc"} & set(names)


def loaded_after(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after the statement."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CORE.parent)},
        cwd=CORE.parent,
    )
    return {name.split(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "statement",
    [
        "import caco",
        "from caco import Document, HallucinationError, ValidationResult",
        "import caco, caco.cli; caco.cli.COMMANDS",
    ],
)
def test_importing_loads_nothing_heavy(statement):
    assert not loaded_after(statement) & set(HEAVY)


def test_a_check_with_the_embedded_model_needs_no_torch():
    statement = "import caco; caco.Validator().validate('The sky is blue.', 'The sky is blue.')"
    loaded = loaded_after(statement)
    assert "onnxruntime" in loaded or "numpy" in loaded
    assert not loaded & {"torch", "transformers", "sentence_transformers", *ADAPTERS}
