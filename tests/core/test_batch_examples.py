"""The examples, run as a user runs them, and what each tool makes of the columns."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import caco
from caco.batch import RESULT_TYPES, BatchValidator
from caco.cli import _build_parser
from caco.cli.batch_arguments import check_arguments
from caco.models import Labels
from caco.testing import FakeClassifier

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
NEEDED = {
    "pandas_frame": ("pandas",),
    "hf_datasets": ("datasets",),
    "spark_frame": ("pyspark", "pandas"),
    "ray_dataset": ("ray", "pandas"),
}
EXPECTED = {"right": "faithful", "wrong": "hallucination", "nowhere": "hallucination"}


def need(*packages: str) -> None:
    """Skip where a package is not installed; importing some of them here would take seconds."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def python(program: str, folder: Path) -> subprocess.CompletedProcess:
    path = [str(ROOT / "core"), str(EXAMPLES), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "HF_HOME": str(folder),
            "HF_HUB_OFFLINE": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
        },
        timeout=280,
    )


def test_every_example_is_listed():
    files = {path.stem for path in EXAMPLES.glob("*.py")} - {"answers"}
    assert files == set(NEEDED)
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in readme for name in files)


def test_the_commands_and_files_of_the_page_exist():
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    commands = [
        line.split("caco ", 1)[1] for line in page.splitlines() if line.startswith("caco b")
    ]
    assert len(commands) == 4
    for command in commands:
        options = _build_parser().parse_args(shlex.split(command))
        check_arguments(options)
    programs = re.findall(r"python (benchmarks/\w+\.py)", page)
    assert len(programs) >= 5
    assert all((ROOT / program).exists() for program in programs)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NEEDED))
def test_the_example_prints_the_verdicts(name, tmp_path):
    need(*NEEDED[name])
    done = python(f"import runpy; runpy.run_module({name!r}, run_name='__main__')", tmp_path)
    assert done.returncode == 0, done.stderr
    words = done.stdout.replace("|", " ").split()
    for row, verdict in EXPECTED.items():
        assert words[words.index(row) + 1] == verdict


@pytest.mark.slow
def test_datasets_in_several_processes_after_a_check_in_this_one(tmp_path):
    """A forked process must not count on the threads of the model that its parent has loaded."""
    need("datasets")
    program = """
import json, caco, hf_datasets
from answers import ANSWERS
from datasets import Dataset
caco.Validator().preload()
dataset = Dataset.from_dict({name: column * 20 for name, column in ANSWERS.items()})
checked = hf_datasets.check(dataset, processes=2)
first = checked[0]
print(json.dumps([checked.column_names, checked["verdict"][:], first["context"], first["error"]]))
"""
    done = python(program, tmp_path)
    assert done.returncode == 0, done.stderr
    names, verdicts, context, error = json.loads(done.stdout.splitlines()[-1])
    assert names == ["id", "response", "context", *RESULT_TYPES, "error"]
    assert verdicts == list(EXPECTED.values()) * 20
    assert isinstance(context, list)
    assert error is None


@pytest.mark.slow
def test_spark_gets_the_types_that_it_was_told(tmp_path):
    need("pyspark", "pandas")
    program = """
import json, spark_frame
from answers import ANSWERS
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").getOrCreate()
rows = list(zip(*ANSWERS.values())) + [("blank", "", ["x"])]
found = spark_frame.check(spark.createDataFrame(rows, spark_frame.COLUMNS).repartition(2))
rows = {row.id: [row.verdict, row.is_hallucination, row.error] for row in found.collect()}
print(json.dumps([found.dtypes, rows]))
"""
    done = python(program, tmp_path)
    assert done.returncode == 0, done.stderr
    types, rows = json.loads(done.stdout.splitlines()[-1])
    assert dict(types)["is_hallucination"] == "boolean"
    assert dict(types)["score"] == dict(types)["cts"] == "double"
    assert {name: row[0] for name, row in rows.items()} == {**EXPECTED, "blank": "error"}
    assert rows["blank"][1] is True
    assert "blank" in rows["blank"][2]


def verdict(claim, context):
    return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_CONTRADICTION


class TestPandas:
    @pytest.fixture
    def frame(self):
        pandas = pytest.importorskip("pandas")
        context = ["The pier is long.", ["x", "The pier is long."], None, np.array(["x"])]
        return pandas.DataFrame(
            {"n": range(4), "response": ["The pier is long."] * 4, "context": context},
            index=[7, 3, 5, 1],
        )

    @pytest.fixture
    def validator(self):
        return BatchValidator(
            caco.Validator(classifier=FakeClassifier(verdict)), tension="heuristic"
        )

    def test_a_frame_keeps_its_index_and_its_columns(self, frame, validator):
        found = validator(frame)
        assert list(found.index) == [7, 3, 5, 1]
        assert list(found.columns) == ["n", "response", "context", *RESULT_TYPES, "error"]
        assert list(found["status"]) == ["CHECKED", "CHECKED", "NO_CONTEXT", "CHECKED"]
        assert list(found["is_hallucination"]) == [False, False, True, True]
        assert found["score"].dtype == float
        assert found["is_hallucination"].dtype == bool
        assert list(frame.columns) == ["n", "response", "context"]

    def test_frame_by_frame(self, frame, validator):
        found = list(validator.frames(iter([frame[:2], frame[2:]])))
        assert [list(part["n"]) for part in found] == [[0, 1], [2, 3]]
        assert list(found[1]["status"]) == ["NO_CONTEXT", "CHECKED"]

    def test_missing_answers_are_errors(self, validator):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(
            {"response": [None, float("nan"), pandas.NA], "context": ["x"] * 3}
        )
        assert list(validator(frame)["verdict"]) == ["error"] * 3

    def test_by_groups(self, frame, validator):
        """Columns as ``numpy`` arrays, as Ray hands them over."""
        arrays = {name: frame[name].to_numpy() for name in frame.columns}
        assert validator(arrays)["verdict"] == list(validator(frame)["verdict"])


def test_arrow_columns():
    arrow = pytest.importorskip("pyarrow")
    validator = BatchValidator(
        caco.Validator(classifier=FakeClassifier(verdict)), tension="heuristic"
    )
    columns = {
        "response": arrow.array(["The pier is long."] * 3),
        "context": arrow.chunked_array([[["The pier is long."]], [["x"], None]]),
    }
    assert validator(columns)["status"] == ["CHECKED", "CHECKED", "NO_CONTEXT"]
