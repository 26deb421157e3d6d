"""``--engine ray``: the same rows as this process finds, in order, whatever happens to an actor.

Ray runs in processes of its own, beside the one that runs the tests.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import caco
from caco.batch import BatchJob, BatchValidator, RayEngine, open_source, run_batch

CORE = Path(caco.__file__).parent.parent

LAW = "The LGPD was enacted on August 14, 2018, by President Michel Temer."

PRELUDE = """
import os, signal, subprocess, sys, time
import caco
from caco.batch import BatchJob, BatchValidator, LocalEngine, RayEngine, open_source, run_batch
from caco.models import Labels
from caco.testing import FakeClassifier

def verdict(claim, context):
    time.sleep(0.01)
    if "boom" in claim:
        raise KeyError("boom")
    if "gone" in claim:
        raise caco.ModelNotAvailableError("the model is gone")
    return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_CONTRADICTION

validator = BatchValidator(caco.Validator(classifier=FakeClassifier(verdict)), tension="heuristic")

def run(engine, output, on_progress=lambda progress: None, **settings):
    source = open_source(sys.argv[1])
    settings = {"validator": validator, "engine": engine, **settings}
    return run_batch(BatchJob(source, output, **settings), on_progress)

def actors():
    found = subprocess.run(["pgrep", "-f", "^ray::MapWorker"], capture_output=True, text=True)
    own = {int(pid) for pid in found.stdout.split()}
    return sorted(pid for pid in own if is_ours(pid))

def is_ours(pid):
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False
"""


def write_input(path: Path, count: int) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            row = {"id": n, "context": [f"Tower {n} is 90 metres high."]}
            row["response"] = f"Tower {n} is {90 + (n % 4 == 0)} metres high."
            if n % 50 == 7:
                row["response"] = "" if n % 100 == 7 else "It went boom."
            file.write(json.dumps(row) + "\n")
    return path


def python(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess:
    script = folder / "program.py"
    script.write_text(PRELUDE + program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CORE)},
        timeout=280,
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("actors", 0),
        ("actors", 1.5),
        ("chunk_rows", 0),
        ("cpus_per_actor", -1),
        ("gpus_per_actor", float("nan")),
    ],
)
def test_wrong_settings(setting, value):
    with pytest.raises(ValueError, match=setting):
        RayEngine(**{setting: value})


def test_without_ray(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    source = open_source(str(write_input(tmp_path / "in.jsonl", 3)))
    job = BatchJob(
        source, str(tmp_path / "o.jsonl"), validator=BatchValidator(), engine=RayEngine()
    )
    with pytest.raises(caco.MissingExtraError, match=r"caco-guard\[ray\]"):
        run_batch(job)


@pytest.mark.slow
class TestRay:
    @pytest.fixture(autouse=True)
    def _needs_ray(self):
        pytest.importorskip("ray", reason="needs the extra ray")

    def test_the_same_output_when_an_actor_is_killed_in_the_middle(self, tmp_path):
        source = write_input(tmp_path / "in.jsonl", 200)
        program = """
run(LocalEngine(16), "local.jsonl")
killed = []
def progress(now):
    if now.rows >= 60 and not killed:
        victim = actors()[0]
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)
report = run(RayEngine(actors=2, cpus_per_actor=0.5, chunk_rows=16), "ray.jsonl", progress)
assert len(killed) == 1
print(report.rows, report.errors, sorted(report.verdicts.items()))
"""
        done = python(tmp_path, program, str(source))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "200 4 [('faithful', 146), ('hallucination', 50)]"
        for name in ("", ".errors.jsonl"):
            local, ray = (tmp_path / f"{engine}.jsonl{name}" for engine in ("local", "ray"))
            assert local.read_bytes() == ray.read_bytes()

    def test_a_run_goes_on_with_ray(self, tmp_path):
        source = write_input(tmp_path / "in.jsonl", 160)
        program = """
caco.batch.run.COMMIT_SECONDS = 0
def stop(now):
    if now.rows >= 60:
        raise KeyboardInterrupt
run(LocalEngine(16), "local.parquet")
engine = RayEngine(actors=2, cpus_per_actor=0.5, chunk_rows=8)
try:
    run(engine, "ray.parquet", stop)
except KeyboardInterrupt:
    pass
report = run(engine, "ray.parquet", resume=True)
print(report.rows, report.new_rows < 130)
import pyarrow.parquet as pq
assert pq.read_table("ray.parquet").equals(pq.read_table("local.parquet"))
"""
        done = python(tmp_path, program, str(source))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "160 True"

    def test_both_actors_work(self, tmp_path):
        """Each check waits until there was one in another process."""
        source = tmp_path / "in.jsonl"
        rows = [{"response": "It is high.", "context": f"It is high. {n}"} for n in range(60)]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        program = """
folder = os.path.abspath("processes")
os.mkdir(folder)

def wait(claim, context):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    deadline = time.monotonic() + 100
    while len(os.listdir(folder)) < 2:
        if time.monotonic() > deadline:
            raise caco.ModelNotAvailableError("only one process works")
        time.sleep(0.05)
    return Labels.VALUE_ENTAILMENT

validator = BatchValidator(caco.Validator(classifier=FakeClassifier(wait)), tension="heuristic")
print(run(RayEngine(actors=2, cpus_per_actor=0.5, chunk_rows=2), "ray.jsonl").verdicts)
"""
        done = python(tmp_path, program, str(source))
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "{'faithful': 60}"

    def test_what_concerns_all_rows_ends_the_run(self, tmp_path):
        source = tmp_path / "in.jsonl"
        source.write_text('{"response": "It is gone.", "context": "x"}\n', encoding="utf-8")
        program = """
try:
    run(RayEngine(actors=1, cpus_per_actor=0.5), "ray.jsonl")
except caco.CacoError as error:
    print(type(error).__name__, error)
"""
        done = python(tmp_path, program, str(source))
        assert done.stdout.strip() == "ModelNotAvailableError the model is gone"

    def test_what_breaks_the_input_off_ends_the_run_after_the_rows_before_it(self, tmp_path):
        rows = "".join(
            json.dumps({"id": n, "response": os.urandom(400).hex(), "context": "x"}) + "\n"
            for n in range(60)
        )
        source = tmp_path / "in.jsonl.gz"
        source.write_bytes(gzip.compress(rows.encode())[:-5000])
        program = """
try:
    run(RayEngine(actors=1, cpus_per_actor=0.5, chunk_rows=4), "ray.jsonl")
except ValueError as error:
    print(error)
"""
        done = python(tmp_path, program, str(source))
        assert "is not a whole gzip file" in done.stdout.splitlines()[-1]
        found = (tmp_path / "ray.jsonl").read_text(encoding="utf-8").splitlines()
        assert 20 < len(found) < 60
        assert [json.loads(line)["id"] for line in found] == list(range(len(found)))

    def test_gpus_that_are_not_there(self, tmp_path):
        source = write_input(tmp_path / "in.jsonl", 3)
        program = """
import ray
ray_init = ray.init
ray.init = lambda **options: ray_init(**options, num_gpus=0)
try:
    run(RayEngine(actors=1, gpus_per_actor=1), "ray.jsonl")
except ValueError as error:
    print(error)
"""
        done = python(tmp_path, program, str(source))
        assert done.stdout.strip() == "an actor wants 1 GPUs, and this machine has 0", done.stderr

    def test_the_command_with_the_embedded_model(self, tmp_path):
        source = tmp_path / "in.jsonl"
        rows = [
            {
                "id": n,
                "response": f"President Temer enacted the LGPD in {2015 + n}.",
                "context": LAW,
            }
            for n in range(8)
        ]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(CORE)}
        command = [sys.executable, "-m", "caco", "batch", str(source)]
        ray = ["--engine", "ray", "--actors", "2", "--cpus-per-actor", "0.5", "--chunk-rows", "2"]
        for output, more in (("local.jsonl", []), ("ray.jsonl", ray)):
            subprocess.run(
                [*command, str(tmp_path / output), *more], check=True, env=environment, timeout=200
            )
        local, distributed = (
            [
                json.loads(line)
                for line in (tmp_path / name).read_text(encoding="utf-8").splitlines()
            ]
            for name in ("local.jsonl", "ray.jsonl")
        )
        assert [row["id"] for row in distributed] == list(range(8))
        assert [row["verdict"] for row in local] == [row["verdict"] for row in distributed]
        for one, other in zip(local, distributed, strict=True):
            assert one["score"] == pytest.approx(other["score"], abs=1e-6)
            assert [c["label"] for c in one["claims"]] == [c["label"] for c in other["claims"]]
