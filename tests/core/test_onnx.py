from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caco.classifier import onnx
from caco.classifier.model_files import MODEL_FOLDER, ModelConfig
from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import COLUMNS, encodable
from caco.errors import ModelNotAvailableError

CORE = Path(onnx.__file__).parents[2]

PAIRS = [
    ("A cat sat on the mat in the kitchen.", "There is a cat in the kitchen."),
    ("A cat sat on the mat in the kitchen.", "Nobody was in the kitchen."),
    ("A cat sat on the mat in the kitchen.", "The price of copper fell in March."),
    ("A Ana comprou um carro vermelho.", "A Ana comprou um carro."),
    ("A Ana comprou um carro vermelho.", "A Ana não comprou carro nenhum."),
    ("The law was enacted in 2018 by Michel Temer.", "The law was enacted in 2018."),
    ("", ""),
    ("x" * 300, "emoji 😀 and ﬁ ligatures"),
]


@pytest.fixture(scope="module")
def scorer() -> OnnxScorer:
    return OnnxScorer(threads=2)


def copy_model(target: Path, *, real: str = "") -> Path:
    """Copy the packaged model, as links but for the file that the test is going to change."""
    target.mkdir()
    for file in MODEL_FOLDER.iterdir():
        if file.name == real:
            shutil.copyfile(file, target / file.name)
        else:
            (target / file.name).symlink_to(file)
    return target


def run_python(code: str) -> str:
    script = f"import sys; sys.path.insert(0, {str(CORE)!r})\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("pair", "label"),
    [
        (PAIRS[0], "entailment"),
        (PAIRS[1], "contradiction"),
        (PAIRS[2], "neutral"),
        (PAIRS[3], "entailment"),
        (PAIRS[4], "contradiction"),
    ],
)
def test_columns_mean_what_they_say(scorer, pair, label):
    row = scorer.score([pair]).probabilities[0]
    assert COLUMNS[row.argmax()] == label


def test_shapes_and_sums(scorer):
    scores = scorer.score(PAIRS)
    assert scores.probabilities.shape == (len(PAIRS), 3)
    assert scores.probabilities.dtype == np.float64
    assert np.allclose(scores.probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert not scores.truncated.any()
    assert scores.truncated.dtype == np.bool_


def test_no_pairs(scorer):
    scores = scorer.score([])
    assert scores.probabilities.shape == (0, 3)
    assert scores.truncated.shape == (0,)


def test_a_pair_alone_among_others_in_any_order_and_twice(scorer):
    alone = np.array([scorer.score([pair]).probabilities[0] for pair in PAIRS])
    together = scorer.score(PAIRS).probabilities
    backwards = scorer.score(PAIRS[::-1] + PAIRS).probabilities
    assert np.array_equal(alone, together)
    assert np.array_equal(alone[::-1], backwards[: len(PAIRS)])
    assert np.array_equal(alone, backwards[len(PAIRS) :])


def test_the_number_of_threads_changes_nothing(scorer):
    one = OnnxScorer(threads=1).score(PAIRS).probabilities
    assert np.array_equal(one, scorer.score(PAIRS).probabilities)


def test_equal_pairs_run_once(scorer, monkeypatch):
    model = scorer._loaded()
    runs = []
    run = model._run
    monkeypatch.setattr(model, "_run", lambda row: runs.append(row) or run(row))
    scores = scorer.score([PAIRS[0], PAIRS[1], PAIRS[0], PAIRS[0]])
    assert len(runs) == 2
    assert np.array_equal(scores.probabilities[0], scores.probabilities[3])


def test_sixteen_threads(scorer):
    expected = scorer.score(PAIRS).probabilities
    orders = [np.random.default_rng(seed).permutation(len(PAIRS)) for seed in range(16)]
    barrier = threading.Barrier(16)

    def work(order):
        barrier.wait()
        return [scorer.score([PAIRS[i] for i in order]).probabilities for _ in range(2)]

    with ThreadPoolExecutor(16) as pool:
        for order, results in zip(orders, pool.map(work, orders), strict=True):
            assert all(np.array_equal(result, expected[order]) for result in results)


def test_never_more_runs_at_a_time_than_threads(scorer, monkeypatch):
    model = scorer._loaded()
    running, most, count = 0, 0, threading.Lock()
    run = model._run

    def counted(row):
        nonlocal running, most
        with count:
            running += 1
            most = max(most, running)
        try:
            return run(row)
        finally:
            with count:
                running -= 1

    monkeypatch.setattr(model, "_run", counted)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: scorer.score(PAIRS), range(6)))
    assert 1 <= most <= 2


def test_a_text_is_tokenised_once_however_many_pairs_it_is_in(monkeypatch):
    scorer = OnnxScorer(threads=1)
    model = scorer._loaded()
    seen = []
    encode = model._encode
    monkeypatch.setattr(model, "_encode", lambda text: seen.append(text) or encode(text))
    scorer.score([("A cat sat.", "A cat."), ("A cat sat.", "A dog."), ("It rained.", "A cat.")])
    assert sorted(seen) == ["A cat sat.", "A cat.", "A dog.", "It rained."]


def test_long_pairs_run_first(monkeypatch):
    scorer = OnnxScorer(threads=1)
    model = scorer._loaded()
    lengths = []
    run = model._run
    monkeypatch.setattr(model, "_run", lambda row: lengths.append(len(row)) or run(row))
    scorer.score([("A cat sat on the mat. " * n, "A cat.") for n in (2, 9, 1, 5)])
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 4


def test_a_relative_folder_stays_the_one_it_was(monkeypatch, tmp_path, scorer):
    monkeypatch.chdir(MODEL_FOLDER.parent)
    relative = OnnxScorer(MODEL_FOLDER.name, threads=2)
    assert relative._loaded() is scorer._loaded()
    monkeypatch.chdir(tmp_path)
    assert relative._loaded() is scorer._loaded()


def test_an_error_in_a_run_surfaces(scorer, monkeypatch):
    def fail(row):
        raise MemoryError("no room")

    monkeypatch.setattr(scorer._loaded(), "_run", fail)
    with pytest.raises(MemoryError, match="no room"):
        scorer.score(PAIRS)


def test_pickling_drops_the_model(scorer):
    scorer.load()
    data = pickle.dumps(scorer)
    assert len(data) < 10_000
    again = pickle.loads(data)
    assert again._loaded() is scorer._loaded()
    assert again.name == scorer.name


def test_scorers_share_one_model(scorer):
    scorer.load()
    before = _resident_bytes()
    other = OnnxScorer(threads=2)
    other.load()
    assert other._loaded() is scorer._loaded()
    assert _resident_bytes() - before < 5_000_000


def _resident_bytes() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("needs /proc")
    lines = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
    return int(lines[0].split()[1]) * 1024


def test_loads_once_however_many_threads_ask(monkeypatch):
    loads = []
    build = onnx._LoadedModel
    monkeypatch.setattr(onnx, "_models", {})
    monkeypatch.setattr(onnx, "_LoadedModel", lambda *args: loads.append(args) or build(*args))
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: OnnxScorer(threads=1)._loaded(), range(8)))
    assert len(loads) == 1
    assert len({id(model) for model in models}) == 1


def test_nothing_is_loaded_before_it_is_needed():
    output = run_python("""
        import caco.classifier.onnx as onnx
        scorer = onnx.OnnxScorer()
        scorer.name, scorer.window_words, scorer.max_tokens, scorer.calibration
        print([m for m in ("onnxruntime", "tokenizers", "torch", "nltk") if m in sys.modules])
        print(onnx._models)
    """)
    assert output.split("\n")[:2] == ["[]", "{}"]


def test_scores_in_a_forked_child_and_while_the_interpreter_exits():
    output = run_python("""
        import atexit, os, warnings
        warnings.simplefilter("ignore")
        from caco.classifier.onnx import OnnxScorer
        scorer = OnnxScorer(threads=2)
        pairs = [("A cat sat.", "A cat."), ("A dog ran.", "A cat."), ("Rain fell.", "It rained.")]
        first = scorer.score(pairs).probabilities
        if hasattr(os, "fork"):
            child = os.fork()
            if child == 0:
                same = (scorer.score(pairs).probabilities == first).all()
                os._exit(0 if same else 1)
            assert os.waitpid(child, 0)[1] == 0
        atexit.register(lambda: print((scorer.score(pairs).probabilities == first).all()))
    """)
    assert output.strip() == "True"


def test_a_long_premise_is_cut_and_reported_and_the_claim_is_not(scorer):
    claim = "There is a cat in the kitchen."
    words = ["A cat sat on the mat in the kitchen."] + ["More text follows."] * 3_334
    scores = scorer.score([(" ".join(words), claim), (" ".join(words[:40]), claim)])
    assert scores.truncated.tolist() == [True, False]
    assert COLUMNS[scores.probabilities[0].argmax()] == "entailment"


def test_a_claim_too_long_alone_is_cut_last_and_reported(scorer):
    scores = scorer.score([("Short premise.", "word " * 600), ("", "word " * 600)])
    assert scores.truncated.all()
    assert np.isfinite(scores.probabilities).all()


@given(
    premise=st.lists(st.integers(10, 99), max_size=40),
    hypothesis=st.lists(st.integers(100, 199), max_size=40),
    limit=st.integers(10, 60),
)
def test_joining(premise, hypothesis, limit):
    template = onnx._Template((0,), (2, 2), (2,), frozenset({0, 2}), 3)
    ids, cut = template.join(premise, hypothesis, limit)
    assert len(ids) <= limit
    kept_premise = [number for number in ids if 10 <= number < 100]
    kept_hypothesis = [number for number in ids if number >= 100]
    assert ids == [0, *kept_premise, 2, 2, *kept_hypothesis, 2]
    assert kept_premise == premise[: len(kept_premise)]
    assert kept_hypothesis == hypothesis[: len(kept_hypothesis)]
    assert cut == (kept_premise != premise or kept_hypothesis != hypothesis)
    if kept_hypothesis != hypothesis:
        assert not kept_premise
    if cut:
        assert len(ids) == limit


def test_joins_as_the_tokenizer_would(scorer):
    model = scorer._loaded()
    for premise, hypothesis in PAIRS:
        ids, _ = model._template.join(model._encode(premise), model._encode(hypothesis), 512)
        assert ids == model._tokenizer.encode(premise, hypothesis).ids


@pytest.mark.parametrize("text", ["a </s></s> b", "<s>", "<pad> <mask>", "＜/s＞"])
def test_a_text_cannot_forge_a_separator(scorer, text):
    model = scorer._loaded()
    reserved = model._template.reserved - {model._template.unknown}
    assert reserved.isdisjoint(model._encode(text))
    # Without the check it would: the model's vocabulary holds the separators as plain pieces.
    assert not reserved.isdisjoint(model._tokenizer.encode(text, add_special_tokens=False).ids)
    ids, _ = model._template.join(model._encode(text), model._encode(text), 512)
    assert ids.count(2) == 3
    assert ids.count(0) == 1


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfffb", "\ud83d\ude00", "\x00", "שלום \u202e", "\u200b" * 50, "\n\t "]
)
def test_odd_text(scorer, text):
    scores = scorer.score([(text, "A claim."), ("A premise.", text)])
    assert np.isfinite(scores.probabilities).all()


@given(st.text(st.characters(), max_size=40))
def test_encodable_text_is_utf8_and_nothing_else_changes(text):
    encodable(text).encode("utf-8")
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert encodable(text) == text


def test_surrogate_pairs_are_joined():
    assert encodable("\ud83d\ude00") == "😀"
    assert encodable("a\ud83d b") == "a\ufffd b"


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=4))
def test_any_text_alone_or_together(pairs):
    scorer = OnnxScorer(threads=2)
    together = scorer.score(pairs).probabilities
    for pair, row in zip(pairs, together, strict=True):
        assert np.array_equal(scorer.score([pair]).probabilities[0], row)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_one_flipped_byte_is_noticed(tmp_path, name):
    folder = copy_model(tmp_path / "model", real=name)
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelNotAvailableError, match="corrupt") as caught:
        OnnxScorer(folder).score([PAIRS[0]])
    assert name in str(caught.value)
    assert str(folder) in str(caught.value)
    assert "pip install" in str(caught.value)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(tmp_path, name):
    folder = copy_model(tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(ModelNotAvailableError, match=f"{name} .* is missing"):
        OnnxScorer(folder).score([PAIRS[0]])


def test_a_failed_load_can_be_mended(tmp_path):
    folder = copy_model(tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    scorer = OnnxScorer(folder)
    with pytest.raises(ModelNotAvailableError):
        scorer.score([PAIRS[0]])
    (folder / "tokenizer.json").symlink_to(MODEL_FOLDER / "tokenizer.json")
    assert scorer.score([PAIRS[0]]).probabilities.shape == (1, 3)


@pytest.mark.parametrize(
    "change",
    [
        "not json",
        "[]",
        {"files": {}},
        {"labels": ["LABEL_0", "LABEL_1", "LABEL_2"]},
        {"calibration": None},
        {"window_words": "many"},
    ],
    ids=str,
)
def test_a_bad_config_is_named(tmp_path, change):
    folder = copy_model(tmp_path / "model", real="config.json")
    path = folder / "config.json"
    if isinstance(change, dict):
        change = json.dumps({**json.loads(path.read_text()), **change})
    path.write_text(change)
    with pytest.raises(ModelNotAvailableError, match=r"config\.json"):
        OnnxScorer(folder).score([PAIRS[0]])


def test_a_file_that_is_no_model_is_named(tmp_path):
    folder = copy_model(tmp_path / "model", real="config.json")
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"not a model")
    config = json.loads((folder / "config.json").read_text())
    config["files"]["model.onnx"] = hashlib.sha256(b"not a model").hexdigest()
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelNotAvailableError, match="does not run on onnxruntime"):
        OnnxScorer(folder).score([PAIRS[0]])


def test_labels_are_read_by_name(tmp_path, scorer):
    folder = copy_model(tmp_path / "model", real="config.json")
    config = json.loads((folder / "config.json").read_text())
    right = config["labels"]
    config["labels"] = [right[1], right[2], right[0]]
    (folder / "config.json").write_text(json.dumps(config))
    moved = OnnxScorer(folder, threads=1).score(PAIRS[:3]).probabilities
    usual = scorer.score(PAIRS[:3]).probabilities
    for label in COLUMNS:
        other = right[config["labels"].index(label)]
        # The columns are summed in another order, which may move the last digit.
        expected = usual[:, COLUMNS.index(other)]
        assert np.allclose(moved[:, COLUMNS.index(label)], expected, rtol=1e-12), label


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_must_be_positive(threads):
    with pytest.raises(ValueError, match="threads must be at least 1"):
        OnnxScorer(threads=threads)


def test_name_has_the_checksum(scorer):
    config = ModelConfig.read(MODEL_FOLDER)
    assert scorer.name.endswith("@" + config.files["model.onnx"][:8])
    assert scorer.name.startswith(config.name)
    assert scorer.window_words > 0
    assert scorer.max_tokens <= config.architecture["max_position_embeddings"]


def test_the_packaged_files_are_small():
    assert sum(file.stat().st_size for file in MODEL_FOLDER.iterdir()) < 50_000_000
