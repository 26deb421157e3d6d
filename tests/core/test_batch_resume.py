"""Runs that are killed, at any moment, and go on: no row is lost, none is there twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caco
from caco.batch import BatchJob, BatchValidator, LocalEngine, open_source, run_batch
from caco.batch import append as append_module
from caco.batch import run as run_module
from caco.models import Labels
from caco.testing import FakeClassifier

ENDINGS = ("jsonl", "csv", "jsonl.gz", "parquet")
CORE = Path(caco.__file__).parent.parent


class Killed(BaseException):
    """Stands for a kill in the middle of a run."""


def verdict(claim, context):
    return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_CONTRADICTION


def write_input(path: Path, count: int) -> Path:
    """Rows of which every fourth is not supported and every fifth is bad."""
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            row = {"id": n, "context": f"Tower {n} is 90 metres high.", "n": n / 7}
            row["response"] = (
                " " if n % 5 == 4 else f"Tower {n} is {90 + (n % 4 == 0)} metres high."
            )
            file.write(json.dumps(row) + "\n")
    return path


def read_rows(path) -> list[dict]:
    return [row.data for row in open_source(str(path)).rows()]


def run(source, output, *, killed_after: int | None = None, **settings_of_job):
    validator = BatchValidator(caco.Validator(classifier=FakeClassifier(verdict)))
    engine = settings_of_job.pop("engine", LocalEngine(4))
    settings_of_job.setdefault("resume", True)
    chunks_done = 0

    def progress(now):
        nonlocal chunks_done
        chunks_done += 1
        if chunks_done == killed_after:
            raise Killed

    return run_batch(
        BatchJob(
            open_source(str(source)),
            str(output),
            validator=validator,
            engine=engine,
            **settings_of_job,
        ),
        progress,
    )


def bad_rows(path: Path) -> list[int]:
    return [json.loads(line)["row"] for line in path.read_text(encoding="utf-8").splitlines()]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=8)
@given(data=st.data())
def test_any_number_of_kills_at_any_chunk(ending, data):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        source = write_input(folder / "in.jsonl", 37)
        run(source, folder / f"expected.{ending}")
        output = folder / f"out.{ending}"
        for kill in data.draw(st.lists(st.integers(1, 6), max_size=5)):
            # Some of what was written is known to be on the disk, some is not.
            patch.setattr(run_module, "COMMIT_SECONDS", data.draw(st.sampled_from([0, 100])))
            engine = LocalEngine(data.draw(st.integers(1, 9)))
            try:
                run(source, output, killed_after=kill, engine=engine)
                break
            except Killed:
                torn = folder / f"out.{ending}{'.partial' if ending == 'parquet' else ''}"
                with torn.open("ab") as file:  # the last line of one that was killed is torn
                    file.write(data.draw(st.binary(max_size=9)))
        report = run(source, output)
        assert report.rows == 37
        assert report.errors == 7
        assert report.verdicts == {"faithful": 22, "hallucination": 8}
        assert read_rows(output) == read_rows(folder / f"expected.{ending}")
        if ending in ("jsonl", "csv"):
            assert output.read_bytes() == (folder / f"expected.{ending}").read_bytes()
        bad = f"out.{ending}.errors.jsonl"
        assert (folder / bad).read_bytes() == (
            folder / f"expected.{ending}.errors.jsonl"
        ).read_bytes()
        assert bad_rows(folder / bad) == [5, 10, 15, 20, 25, 30, 35]
        assert leftovers(folder) == sorted(
            ["in.jsonl", output.name, bad, f"expected.{ending}", f"expected.{ending}.errors.jsonl"]
        )


def killed(tmp_path, ending="jsonl", **settings_of_job) -> tuple[Path, Path]:
    """An input of which a run has done twelve rows, and the output."""
    source = write_input(tmp_path / "in.jsonl", 37)
    output = tmp_path / f"out.{ending}"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(run_module, "COMMIT_SECONDS", 0)
        run(source, output, killed_after=3, **settings_of_job)
    assert json.loads((tmp_path / f"out.{ending}.progress").read_text())["rows"] == 12
    return source, output


def test_an_unfinished_run_is_not_written_over_by_mistake(tmp_path):
    source, output = killed(tmp_path)
    before = output.read_bytes()
    with pytest.raises(ValueError, match=r"did not finish.*12 rows"):
        run(source, output, resume=False)
    assert output.read_bytes() == before
    assert run(source, output, resume=False, restart=True).new_rows == 37


def test_what_was_done_is_not_done_again(tmp_path):
    source, output = killed(tmp_path)
    report = run(source, output)
    assert (report.rows, report.new_rows) == (37, 25)


@pytest.mark.parametrize("change", ["a row done", "fewer rows", "another order"])
def test_another_input_is_noticed(tmp_path, change):
    source, output = killed(tmp_path)
    rows = source.read_text().splitlines()
    if change == "a row done":
        rows[2] = rows[2].replace("Tower", "tower")
    elif change == "fewer rows":
        rows = rows[:8]
    else:
        rows[0], rows[1] = rows[1], rows[0]
    source.write_text("\n".join(rows) + "\n")
    before = output.read_bytes()
    with pytest.raises(ValueError, match="first 12 rows are not those"):
        run(source, output)
    assert output.read_bytes() == before


def test_rows_that_came_since_are_taken_along(tmp_path):
    source, output = killed(tmp_path)
    write_input(source, 50)
    assert run(source, output).rows == 50


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"names": caco.batch.ColumnNames(response="id")}, "columns was"),
        ({"errors": "elsewhere.jsonl"}, "errors was"),
        ({"validator": BatchValidator(threshold=0.9)}, "threshold was 0.5 and is 0.9"),
    ],
)
def test_other_settings_are_noticed(tmp_path, other, message):
    source, output = killed(tmp_path)
    validator = BatchValidator(caco.Validator(classifier=FakeClassifier(verdict)))
    arguments = {"validator": validator, "resume": True, **other}
    with pytest.raises(ValueError, match=message):
        run_batch(BatchJob(open_source(str(source)), str(output), **arguments))


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_an_output_that_has_lost_something_is_noticed(tmp_path, ending):
    source, output = killed(tmp_path, ending)
    file = tmp_path / f"out.{ending}{'.partial' if ending == 'parquet' else ''}"
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(ValueError, match="bytes; the run had written"):
        run(source, output)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"version": 1}', b'{"version": 99}', b"\xff"])
def test_a_damaged_note_of_the_progress(tmp_path, content):
    source, output = killed(tmp_path)
    (tmp_path / "out.jsonl.progress").write_bytes(content)
    with pytest.raises(ValueError, match="is not the progress"):
        run(source, output)


def test_parquet_killed_while_it_is_packed(tmp_path, monkeypatch):
    source = write_input(tmp_path / "in.jsonl", 37)
    output = tmp_path / "out.parquet"
    output.write_bytes(b"of an earlier run")
    replace = Path.replace

    def kill(path, target):
        if path.name.endswith(".packing"):
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Path, "replace", kill)
        run(source, output)
    assert output.read_bytes() == b"of an earlier run"
    report = run(source, output)
    assert (report.rows, report.new_rows) == (37, 0)
    assert len(read_rows(output)) == 30


def test_killed_after_the_packing(tmp_path, monkeypatch):
    source = write_input(tmp_path / "in.jsonl", 37)
    output = tmp_path / "out.parquet"

    def kill(self):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(run_module.Journal, "discard", kill)
        run(source, output)
    assert len(read_rows(output)) == 30
    run(source, output)
    assert len(read_rows(output)) == 30
    assert leftovers(tmp_path) == ["in.jsonl", "out.parquet", "out.parquet.errors.jsonl"]


def test_the_note_speaks_only_of_what_is_on_the_disk(tmp_path, monkeypatch):
    """Whenever the note is written, the files have been synchronised up to what it says."""
    synced = {}
    fsync = os.fsync

    def watched(descriptor):
        fsync(descriptor)
        synced[str(Path(f"/proc/self/fd/{descriptor}").readlink())] = os.fstat(descriptor).st_size

    noted = []
    write = run_module.Journal.write

    def check(self, state):
        write(self, state)
        noted.append(state.rows)
        for name, size in (("out.jsonl", state.output_size), ("bad", state.errors_size)):
            assert synced.get(str(tmp_path / name), 0) >= (size or 0)

    monkeypatch.setattr(append_module.os, "fsync", watched)
    monkeypatch.setattr(run_module.Journal, "write", check)
    monkeypatch.setattr(run_module, "COMMIT_SECONDS", 0)
    source = write_input(tmp_path / "in.jsonl", 20)
    run(source, tmp_path / "out.jsonl", errors=str(tmp_path / "bad"))
    assert noted == [0, 4, 8, 12, 16, 20, 20]


PROGRAM = """
import sys, time
import caco
from caco.batch import run
from caco.batch import BatchJob, BatchValidator, LocalEngine, open_source, run_batch
from caco.models import Labels
from caco.testing import FakeClassifier

def verdict(claim, context):
    time.sleep(0.004)
    return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_CONTRADICTION

run.COMMIT_SECONDS = 0.02
validator = BatchValidator(caco.Validator(classifier=FakeClassifier(verdict)), tension="heuristic")
engine = LocalEngine(5)
settings = {"validator": validator, "engine": engine, "resume": True}
print(run_batch(BatchJob(open_source(sys.argv[1]), sys.argv[2], **settings)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_kill_9_at_random_moments(tmp_path, ending):
    source = write_input(tmp_path / "in.jsonl", 1500)
    output = tmp_path / f"out.{ending}"
    command = [sys.executable, "-c", PROGRAM, str(source), str(output)]
    environment = {**os.environ, "PYTHONPATH": str(CORE)}
    rng = random.Random(ending)
    progress = tmp_path / f"out.{ending}.progress"
    kills = 0
    seen = set()
    for _ in range(6):
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
            before = json.loads(progress.read_text())["rows"] if progress.exists() else -1
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                # Wait until it has done something: Python's own start is not what is tested.
                if progress.exists() and json.loads(progress.read_text())["rows"] > before:
                    time.sleep(rng.uniform(0.0, 0.4))
                    process.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.005)
            if process.wait() == -signal.SIGKILL:
                kills += 1
                seen.add(json.loads(progress.read_text())["rows"])
    assert kills >= 4
    assert len(seen) >= 4
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "rows=1500" in done.stdout
    found = read_rows(output)
    wanted = [n for n in range(1500) if n % 5 != 4]
    assert [int(row["id"]) for row in found] == wanted
    assert [row["verdict"] == "faithful" for row in found] == [n % 4 != 0 for n in wanted]
    assert bad_rows(tmp_path / f"out.{ending}.errors.jsonl") == [
        n + 1 for n in range(1500) if n % 5 == 4
    ]
    assert leftovers(tmp_path) == ["in.jsonl", output.name, f"out.{ending}.errors.jsonl"]


@pytest.mark.slow
def test_kill_9_of_the_command(tmp_path):
    """With the embedded model, by the command line."""
    source = write_input(tmp_path / "in.jsonl", 400)
    # Other words than the document's, so that the model has to read them.
    text = source.read_text(encoding="utf-8").replace('e": "Tower', 'e": "At the pier stands tower')
    source.write_text(text, encoding="utf-8")
    output = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "caco", "batch", str(source), str(output), "--resume"]
    environment = {**os.environ, "PYTHONPATH": str(CORE)}
    progress = tmp_path / "out.jsonl.progress"
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            if progress.exists() and json.loads(progress.read_text())["rows"] > 0:
                process.send_signal(signal.SIGKILL)
            time.sleep(0.01)
    assert process.returncode == -signal.SIGKILL
    done = json.loads(progress.read_text())["rows"]
    assert 0 < done < 400
    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "400 rows" in again.stdout
    assert f"({400 - done} in" in again.stdout
    assert [row["id"] for row in read_rows(output)] == [n for n in range(400) if n % 5 != 4]
