"""The Actor: its record, its schemas, and a run with the SDK's local storage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from caco.actor import record

ROOT = Path(__file__).parent.parent.parent
ACTOR = ROOT / ".actor"
EXAMPLE = {
    "model_output": "This is absolutely guaranteed to work.",
    "context": "The product improves efficiency.",
}
RECORD = {
    "hallucination_score": 0.75,
    "risk_level": "high",
    "issues": [
        {"type": "overconfident_language", "value": "absolutely"},
        {"type": "overconfident_language", "value": "guaranteed"},
        {"type": "unsupported_claims", "count": 1},
    ],
}


def schema(name):
    return json.loads((ACTOR / name).read_text(encoding="utf-8"))


def test_the_example_gives_its_record():
    assert record(EXAMPLE) == RECORD


def test_the_context_may_be_left_out():
    found = record({"model_output": "It always works."})
    assert found["compared"] is False
    assert found["hallucination_score"] == 0.25


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "model_output"),
        ([], "model_output"),
        ({}, "model_output"),
        ({"model_output": ""}, "model_output"),
        ({"model_output": 3}, "'model_output' must be a text"),
        ({"model_output": "x", "context": ["y"]}, "'context' must be a text"),
        ({"model_output": "x", "contxt": "y"}, "contxt"),
    ],
)
def test_a_wrong_input_says_what_is_wrong(given, message):
    with pytest.raises(ValueError, match=message):
        record(given)


def test_the_schemas_describe_input_and_record():
    jsonschema = pytest.importorskip("jsonschema")
    actor = schema("actor.json")
    for name in (actor["input"], actor["output"], actor["storages"]["dataset"]):
        assert schema(name)
    given = schema("input_schema.json")
    jsonschema.validate(EXAMPLE, given)
    assert {key: field["prefill"] for key, field in given["properties"].items()} == EXAMPLE
    assert given["required"] == ["model_output"]
    described = schema("dataset_schema.json")["fields"]
    jsonschema.validate(RECORD, described)
    jsonschema.validate(record({"model_output": "Never."}), described)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**RECORD, "risk_level": "huge"}, described)


def run_actor(folder, given):
    store = folder / "storage" / "key_value_stores" / "default"
    store.mkdir(parents=True)
    (store / "INPUT.json").write_text(json.dumps(given), encoding="utf-8")
    path = [str(ROOT / "core"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "caco.actor"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    dataset = folder / "storage" / "datasets" / "default"
    records = [
        json.loads(file.read_text(encoding="utf-8")) for file in sorted(dataset.glob("[0-9]*.json"))
    ]
    return done, records


@pytest.mark.slow
def test_a_run_with_local_storage(tmp_path):
    pytest.importorskip("apify", reason="needs the package apify")
    done, records = run_actor(tmp_path, EXAMPLE)
    assert done.returncode == 0, done.stderr
    assert records == [RECORD]


@pytest.mark.slow
def test_a_run_with_a_wrong_input_fails(tmp_path):
    pytest.importorskip("apify", reason="needs the package apify")
    done, records = run_actor(tmp_path, {"context": "x"})
    assert done.returncode == 1
    assert records == []
    assert "model_output" in done.stdout + done.stderr
