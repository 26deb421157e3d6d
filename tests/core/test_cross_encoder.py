from __future__ import annotations

import gzip
import itertools
import json
import os
import pickle
import random
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from caco.classifier import loaded_cross_encoder
from caco.classifier.cross_encoder import (
    CrossEncoderClassifier,
    CrossEncoderScorer,
    DeBERTaClassifier,
)
from caco.classifier.export import export_cross_encoder
from caco.classifier.onnx import OnnxScorer
from caco.classifier.scoring import COLUMNS
from caco.errors import MissingExtraError, ModelNotAvailableError
from caco.models import ClaimResult

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

USUAL = ("contradiction", "entailment", "neutral")

PAIRS = [
    ("The cat sat on the mat.", "A cat sat."),
    ("The dog ran in the park and the cat sat on the mat.", "The dog sat."),
    ("Rain fell on the park.", "The park was dry."),
    ("", "The dog ran."),
    ("The dog ran.", ""),
    ("The cat " * 20, "The cat ran."),
]


def save_tiny_model(folder: Path, labels: tuple[str, ...] | None, outputs: int = 3) -> Path:
    """Write a DeBERTa-v2 of random (seeded) weights, with a tokenizer made on the spot."""
    import tokenizers
    import transformers

    words = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran on in mat park and rain fell was "
    vocabulary = {word: number for number, word in enumerate((words + "dry .").split())}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    ).save_pretrained(folder)
    config = transformers.DebertaV2Config(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        relative_attention=True,
        position_buckets=16,
        pos_att_type=["c2p", "p2c"],
        position_biased_input=False,
        initializer_range=0.5,
        num_labels=outputs,
    )
    if labels is not None:
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: number for number, label in enumerate(labels)}
    torch.manual_seed(7)
    network = transformers.DebertaV2ForSequenceClassification(config).eval()
    network.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _one_torch_thread():
    """Keep torch from waiting for cores that other processes hold: the networks are tiny."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Folders of one network under different labels, by those labels."""
    root = tmp_path_factory.mktemp("models")
    variants = [*itertools.permutations(USUAL), None, ("ENTAILMENT", "Neutral", "contradiction")]
    folders = {
        labels: save_tiny_model(root / f"three-{number}", labels)
        for number, labels in enumerate(variants)
    }
    folders["two"] = save_tiny_model(root / "two", ("entailment", "not_entailment"), outputs=2)
    folders["one"] = save_tiny_model(root / "one", None, outputs=1)
    return folders


@pytest.fixture(scope="module")
def scorer(models) -> CrossEncoderScorer:
    return CrossEncoderScorer(models[USUAL], "cpu", batch_size=4)


def direct(folder: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    """Score by transformers alone, one pair at a time; float64 [n, outputs]."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    rows = []
    for premise, hypothesis in pairs:
        inputs = tokenizer([premise], [hypothesis], return_tensors="pt")
        with torch.no_grad():
            rows.append(torch.softmax(network(**inputs).logits.double(), -1)[0].numpy())
    return np.array(rows)


def test_agrees_with_transformers(scorer, models):
    scores = scorer.score(PAIRS)
    order = [USUAL.index(label) for label in COLUMNS]
    assert np.allclose(scores.probabilities, direct(models[USUAL], PAIRS)[:, order], atol=1e-5)
    assert np.ptp(scores.probabilities, axis=0).max() > 0.05
    assert np.allclose(scores.probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert scores.probabilities.dtype == np.float64
    assert not scores.truncated.any()


@pytest.mark.parametrize("labels", list(itertools.permutations(USUAL)), ids=" ".join)
def test_labels_are_read_by_name(models, labels):
    outputs = direct(models[labels], PAIRS[:2])
    expected = outputs[:, [labels.index(label) for label in COLUMNS]]
    assert np.allclose(
        CrossEncoderScorer(models[labels], "cpu").score(PAIRS[:2]).probabilities,
        expected,
        atol=1e-5,
    )


def test_labels_in_capitals(models):
    folder = models["ENTAILMENT", "Neutral", "contradiction"]
    expected = direct(folder, PAIRS[:2])
    assert np.allclose(
        CrossEncoderScorer(folder, "cpu").score(PAIRS[:2]).probabilities, expected, atol=1e-5
    )


def test_an_unlabelled_model_needs_a_map(models):
    with pytest.raises(ValueError, match=r"LABEL_0.*say which is which.*labels="):
        CrossEncoderScorer(models[None], "cpu").score(PAIRS[:1])
    labels = {"neutral": 0, "contradiction": 1, "entailment": 2}
    scores = CrossEncoderScorer(models[None], "cpu", labels=labels).score(PAIRS)
    assert np.allclose(scores.probabilities, direct(models[None], PAIRS)[:, [2, 0, 1]], atol=1e-5)


def test_a_map_overrules_the_models_own_names(models):
    labels = {"entailment": 0, "neutral": 1, "contradiction": 2}
    scores = CrossEncoderScorer(models[USUAL], "cpu", labels=labels).score(PAIRS)
    assert np.allclose(scores.probabilities, direct(models[USUAL], PAIRS), atol=1e-5)


def test_two_outputs_need_a_map_and_the_rest_is_neutral(models):
    with pytest.raises(ValueError, match=r"not_entailment.*labels="):
        CrossEncoderScorer(models["two"], "cpu").score(PAIRS[:1])
    labels = {"entailment": 0, "not_entailment": 1}
    scores = CrossEncoderScorer(models["two"], "cpu", labels=labels).score(PAIRS)
    outputs = direct(models["two"], PAIRS)
    assert np.allclose(scores.probabilities[:, :2], outputs, atol=1e-5)
    assert not scores.probabilities[:, COLUMNS.index("contradiction")].any()


@pytest.mark.parametrize(
    ("which", "labels"),
    [
        (USUAL, {"entailment": 0, "neutral": 1}),
        (USUAL, {"entailment": 0, "neutral": 0, "contradiction": 1}),
        (USUAL, {"entailment": 1, "neutral": 2, "contradiction": 3}),
        ("two", {"entailment": 0, "neutral": 1, "contradiction": 2}),
        ("one", {"entailment": 0}),
    ],
    ids=str,
)
def test_a_map_that_does_not_fit(models, which, labels):
    with pytest.raises(ValueError, match="must name each of the"):
        CrossEncoderScorer(models[which], "cpu", labels=labels).load()


@pytest.mark.parametrize("labels", [{}, {"neutral": 0}, {"entailment": 0, "refuted": 1}], ids=str)
def test_a_map_of_unknown_labels(labels):
    with pytest.raises(ValueError, match="labels must map 'entailment'"):
        CrossEncoderScorer("any", labels=labels)


@pytest.mark.parametrize("setting", ["batch_size", "max_tokens", "window_words"])
def test_settings_must_be_positive(setting):
    with pytest.raises(ValueError, match=f"{setting} must be at least 1, not 0"):
        CrossEncoderScorer("any", **{setting: 0})


def test_no_pairs_load_nothing():
    scores = CrossEncoderScorer("no-such-model").score([])
    assert scores.probabilities.shape == (0, 3)
    assert scores.truncated.shape == (0,)


def test_alone_together_in_any_order_and_twice(scorer):
    alone = np.array([scorer.score([pair]).probabilities[0] for pair in PAIRS])
    together = scorer.score(PAIRS).probabilities
    backwards = scorer.score(PAIRS[::-1] + PAIRS).probabilities
    assert np.allclose(alone, together, atol=1e-3)
    assert np.allclose(alone[::-1], backwards[: len(PAIRS)], atol=1e-3)
    assert np.array_equal(backwards[: len(PAIRS)][::-1], backwards[len(PAIRS) :])


def test_equal_pairs_run_once(scorer, monkeypatch):
    model = scorer._loaded().model
    seen = []
    predict = model.predict
    monkeypatch.setattr(
        model, "predict", lambda pairs, **options: seen.extend(pairs) or predict(pairs, **options)
    )
    scorer.score([PAIRS[0], PAIRS[1], PAIRS[0]])
    assert sorted(seen) == sorted(PAIRS[:2])


def test_threads(scorer):
    expected = scorer.score(PAIRS).probabilities
    orders = [np.random.default_rng(seed).permutation(len(PAIRS)) for seed in range(16)]
    with ThreadPoolExecutor(16) as pool:
        results = pool.map(lambda order: scorer.score([PAIRS[i] for i in order]), orders)
        for order, result in zip(orders, results, strict=True):
            assert np.allclose(result.probabilities, expected[order], atol=1e-3)


def test_only_the_premise_is_cut(scorer, monkeypatch):
    model = scorer._loaded().model
    seen = []
    predict = model.predict
    monkeypatch.setattr(
        model, "predict", lambda pairs, **options: seen.extend(pairs) or predict(pairs, **options)
    )
    premise = "the cat sat on the mat . " * 1_500
    claim = "the dog ran in the park ."
    scores = scorer.score([(premise, claim), ("the cat sat .", claim)])
    assert scores.truncated.tolist() == [True, False]
    kept, hypothesis = next(pair for pair in seen if len(pair[0]) > 20)
    assert hypothesis == claim
    assert premise.startswith(kept)
    assert len(kept.split()) == 64 - 3 - 7


def test_max_tokens_of_the_caller(models):
    scores = CrossEncoderScorer(models[USUAL], "cpu", max_tokens=12).score(
        [("the cat sat on the mat .", "a cat sat ."), ("the cat sat .", "a cat sat .")]
    )
    assert scores.truncated.tolist() == [True, False]


def test_a_claim_too_long_alone_is_cut_and_reported(scorer):
    scores = scorer.score([("the cat", "the dog " * 60), ("", "the dog " * 60)])
    assert scores.truncated.all()
    assert np.isfinite(scores.probabilities).all()


@pytest.mark.parametrize("text", ["\ud800", "\ud83d\ude00", "\x00", "שלום", "\n", "x" * 5_000])
def test_odd_text(scorer, text):
    scores = scorer.score([(text, "the cat"), ("the cat", text)])
    assert np.isfinite(scores.probabilities).all()
    assert not scores.truncated.any()


def test_batches_hold_every_pair_once_within_the_budget():
    sizes = [random.Random(3).randint(3, 512) for _ in range(300)]
    batches = list(loaded_cross_encoder._batches(sizes, 64, loaded_cross_encoder.TOKEN_BUDGET))
    assert sorted(itertools.chain(*batches)) == list(range(300))
    for batch in batches:
        assert len(batch) <= 64
        assert (
            max(sizes[index] for index in batch) * len(batch) <= loaded_cross_encoder.TOKEN_BUDGET
        )
    firsts = [sizes[batch[0]] for batch in batches]
    assert firsts == sorted(firsts, reverse=True)
    assert len(batches) < 15
    assert list(
        loaded_cross_encoder._batches([100_000, 5], 8, loaded_cross_encoder.TOKEN_BUDGET)
    ) == [[0], [1]]


def test_a_batch_of_any_number_within_the_budget():
    batches = list(loaded_cross_encoder._batches([10] * 1_000, None, 4_000))
    assert [len(batch) for batch in batches] == [400, 400, 200]


@pytest.mark.parametrize(
    ("device", "gigabytes", "expected"),
    [
        ("cpu", 0, (32, 16_384)),
        ("mps", 0, (32, 16_384)),
        ("cuda", 2, (None, 16_384)),
        ("cuda:1", 16, (None, 65_536)),
        ("cuda", 140, (None, 262_144)),
    ],
)
def test_batches_are_as_large_as_the_device_allows(device, gigabytes, expected):
    def properties(place):
        assert place == device
        return types.SimpleNamespace(total_memory=gigabytes * 2**30)

    fake = types.SimpleNamespace(cuda=types.SimpleNamespace(get_device_properties=properties))
    assert loaded_cross_encoder._batch_limits(fake, device) == expected


def test_batch_sizes_change_nothing_that_counts(models):
    pairs = [(f"the cat {'ran ' * n}on the mat .", "a cat ran .") for n in range(40)]
    whole = CrossEncoderScorer(models[USUAL], "cpu").score(pairs).probabilities
    for batch_size in (1, 3, 40):
        other = CrossEncoderScorer(models[USUAL], "cpu", batch_size).score(pairs).probabilities
        assert np.allclose(other, whole, atol=1e-3)
        assert np.array_equal(other.argmax(axis=1), whole.argmax(axis=1))


def test_every_text_is_counted_once_and_in_one_go(scorer, monkeypatch):
    model = scorer._loaded().model
    calls = []
    tokenizer = model.tokenizer

    class Counting:
        def __getattr__(self, name):
            return getattr(tokenizer, name)

        def __call__(self, *texts, **options):
            calls.append(texts)
            return tokenizer(*texts, **options)

    loaded = loaded_cross_encoder.LoadedCrossEncoder(
        types.SimpleNamespace(
            tokenizer=Counting(),
            config=model.config,
            predict=lambda pairs, **options: model.predict(pairs, **options),
        ),
        32,
        16_384,
    )
    pairs = [("the cat sat .", "a cat ."), ("the dog ran .", "a cat ."), ("rain", "the cat sat .")]
    outputs, cut = loaded.score(pairs, 64, None)
    assert calls == [(["the cat sat .", "a cat .", "the dog ran .", "rain"],)]
    assert np.allclose(outputs.sum(axis=1), 1.0, atol=1e-12)
    assert not cut.any()


def test_bfloat16(models):
    exact = CrossEncoderScorer(models[USUAL], "cpu")
    coarse = CrossEncoderScorer(models[USUAL], "cpu", precision="bfloat16")
    expected, found = exact.score(PAIRS).probabilities, coarse.score(PAIRS).probabilities
    assert next(coarse._loaded().model.parameters()).dtype is torch.bfloat16
    assert next(exact._loaded().model.parameters()).dtype is torch.float32
    assert np.allclose(found, expected, atol=0.05)
    assert not np.array_equal(found, expected)
    assert np.allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert coarse.name == f"{exact.name} (bfloat16)"
    assert pickle.loads(pickle.dumps(coarse))._loaded() is coarse._loaded()
    assert CrossEncoderClassifier(models[USUAL], "cpu", precision="bfloat16").name == coarse.name


@pytest.mark.parametrize("constructor", [CrossEncoderScorer, CrossEncoderClassifier])
def test_an_unknown_precision(constructor):
    with pytest.raises(ValueError, match=r"precision must be one of .*bfloat16.*, not 'int8'"):
        constructor("any", precision="int8")


def test_pickling_drops_the_model(scorer):
    scorer.load()
    data = pickle.dumps(scorer)
    assert len(data) < 10_000
    again = pickle.loads(data)
    assert again._loaded() is scorer._loaded()
    assert np.array_equal(again.score(PAIRS).probabilities, scorer.score(PAIRS).probabilities)


def test_name_of_a_folder_is_not_a_path(scorer, models):
    assert scorer.name == models[USUAL].name
    assert CrossEncoderScorer("org/model").name == "org/model"


@pytest.mark.parametrize("name", ["no-such-org/no-such-model", "missing/folder/of/a/model"])
def test_an_unknown_model(name, monkeypatch):
    with pytest.raises(ModelNotAvailableError, match="could not be loaded") as caught:
        CrossEncoderScorer(name, "cpu", local_files_only=True).score(PAIRS)
    assert name in str(caught.value)
    assert "local Hugging Face cache" in str(caught.value)
    assert "needs no download" in str(caught.value)


def test_offline(monkeypatch):
    def offline(*args, **options):
        raise OSError("We couldn't connect to 'https://huggingface.co'")

    monkeypatch.setattr("sentence_transformers.CrossEncoder", offline)
    with pytest.raises(ModelNotAvailableError, match=r"huggingface\.co.*couldn't connect"):
        CrossEncoderScorer("org/model", "cpu").load()


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_broken_file(tmp_path, name):
    folder = save_tiny_model(tmp_path / "broken", USUAL)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelNotAvailableError, match="could not be loaded") as caught:
        CrossEncoderScorer(folder, "cpu").load()
    assert str(folder) in str(caught.value)


def test_a_missing_file(tmp_path):
    folder = save_tiny_model(tmp_path / "broken", USUAL)
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelNotAvailableError, match="could not be loaded"):
        CrossEncoderScorer(folder, "cpu").load()


def test_without_sentence_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r'pip install "caco-guard\[torch\]"'):
        CrossEncoderScorer("org/model").score(PAIRS)


@pytest.mark.parametrize("module", ["transformers", "onnx", "torch"])
def test_export_without_the_extra(monkeypatch, tmp_path, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r'pip install "caco-guard\[torch\]"'):
        export_cross_encoder(tmp_path / "model")


@pytest.mark.parametrize(
    ("given", "cuda", "mps", "expected"),
    [
        (None, True, True, "cuda"),
        (None, False, True, "mps"),
        (None, False, False, "cpu"),
        (-1, True, False, "cpu"),
        (1, True, False, "cuda:1"),
        ("mps", True, True, "mps"),
    ],
)
def test_device(given, cuda, mps, expected):
    fake = types.SimpleNamespace(
        cuda=types.SimpleNamespace(is_available=lambda: cuda),
        backends=types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: mps)),
    )
    assert loaded_cross_encoder._resolve_device(fake, given) == expected


def test_classifier(models):
    classifier = CrossEncoderClassifier(models[USUAL], "cpu", 8, language="pt")
    result = classifier.classify("The cat ran.", "The cat sat on the mat. The dog ran.")
    assert isinstance(result, ClaimResult)
    assert sum(result.probabilities.values()) == pytest.approx(1.0)
    assert classifier.name == models[USUAL].name
    upstream = DeBERTaClassifier(models[USUAL], "cpu", "portuguese", 8)
    assert isinstance(upstream, CrossEncoderClassifier)
    assert upstream.language == classifier.language
    assert (
        pickle.loads(pickle.dumps(upstream)).classify(
            "The cat ran.", "The cat sat on the mat. The dog ran."
        )
        == result
    )
    with pytest.raises(ValueError, match=r"calibrator_path is not supported.*'c\.joblib'"):
        DeBERTaClassifier("m", None, "english", 32, "c.joblib")
    assert (
        pickle.loads(pickle.dumps(classifier)).classify(
            "The cat ran.", "The cat sat on the mat. The dog ran."
        )
        == result
    )


# --- the embedded weights through both runtimes -------------------------------------------------


def made_pairs(count: int) -> list[tuple[str, str]]:
    """Make varied English and Portuguese pairs: supported, altered and unrelated."""
    draw = random.Random(11)
    people = ["Ana Souza", "John Miller", "Maria Lima", "Peter Novak", "the mayor", "a engenheira"]
    places = ["Lisbon", "Recife", "Boston", "the old harbour", "São Paulo", "a small town"]
    facts = [
        ("{who} opened a library in {where} in {year}.", "{who} opened a library."),
        ("{who} did not visit {where} before {year}.", "{who} visited {where} before {year}."),
        ("In {year}, {n} people worked for {who} in {where}.", "{who} had {n} employees."),
        ("{who} comprou {n} livros em {where} no ano de {year}.", "{who} comprou livros."),
        ("{who} vendeu a casa de {where} em {year}.", "A casa de {where} foi vendida por {who}."),
        ("{who} nunca morou em {where}.", "{who} mora em {where} desde {year}."),
        ("The bridge in {where} is {n} metres long.", "The bridge is in {where}."),
        ("A ponte de {where} custou {n} milhões.", "A ponte custou {n} milhões de reais."),
    ]
    pairs = []
    while len(pairs) < count:
        chosen = draw.sample(facts, draw.randint(1, 4))
        values = [
            {
                "who": draw.choice(people),
                "where": draw.choice(places),
                "year": draw.randint(1900, 2024),
                "n": draw.randint(2, 900),
            }
            for _ in range(2)
        ]
        premise = " ".join(fact.format(**values[0]) for fact, _ in chosen)
        claim = draw.choice(chosen if draw.random() < 0.8 else facts)[draw.randint(0, 1)]
        pairs.append((premise, claim.format(**values[draw.random() < 0.4])))
    return pairs


def dev_pairs(count: int) -> list[tuple[str, str]]:
    """Read pairs from the folder that CACO_DATA names, if it does."""
    folder = os.environ.get("CACO_DATA")
    if not folder:
        pytest.skip("CACO_DATA names no data folder")
    pairs = []
    for file in sorted(Path(folder).rglob("nli_*dev.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in itertools.islice(lines, 200)]
        pairs += [(row["premise"], row["hypothesis"]) for row in rows]
    assert pairs, f"no nli_*dev.jsonl.gz under {folder}"
    return random.Random(5).sample(pairs, count)


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    return export_cross_encoder(tmp_path_factory.mktemp("exported") / "new" / "folder")


@pytest.mark.slow
@pytest.mark.parametrize("source", [made_pairs, dev_pairs], ids=lambda source: source.__name__)
def test_exported_weights_agree_with_onnxruntime(exported, source):
    pairs = source(500)
    ours = OnnxScorer().score(pairs).probabilities
    theirs = CrossEncoderScorer(exported, "cpu").score(pairs).probabilities
    same = (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()
    difference = np.abs(ours - theirs).mean()
    assert np.unique(ours.argmax(axis=1)).size == 3
    assert same >= 0.95, f"same label {same:.4f}, mean difference {difference:.4f}"
    assert difference <= 0.04


@pytest.mark.slow
def test_exported_weights_in_bfloat16(exported):
    pairs = made_pairs(60)
    exact = CrossEncoderScorer(exported, "cpu").score(pairs).probabilities
    coarse = CrossEncoderScorer(exported, "cpu", precision="bfloat16").score(pairs).probabilities
    assert np.abs(exact - coarse).max() <= 0.03
    assert (exact.argmax(axis=1) == coarse.argmax(axis=1)).mean() >= 0.95


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-3), ("bfloat16", 0.03)])
def test_exported_weights_on_cuda(exported, precision, tolerance):
    pairs = made_pairs(500)
    exact = CrossEncoderScorer(exported, "cpu").score(pairs).probabilities
    for batch_size in (None, 7):
        scorer = CrossEncoderScorer(exported, "cuda", batch_size, precision=precision)
        found = scorer.score(pairs).probabilities
        assert np.abs(exact - found).max() <= tolerance
        same = (exact.argmax(axis=1) == found.argmax(axis=1)).mean()
        assert same == 1.0 if precision == "float32" else same >= 0.95


@pytest.mark.slow
def test_exported_folder_works_as_a_plain_cross_encoder(exported):
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(exported), device="cpu")
    scores = model.predict(made_pairs(8), apply_softmax=True, show_progress_bar=False)
    labels = [model.config.id2label[number] for number in range(3)]
    ours = CrossEncoderScorer(exported, "cpu").score(made_pairs(8)).probabilities
    assert np.allclose(scores[:, [labels.index(label) for label in COLUMNS]], ours, atol=1e-4)
    assert model.max_seq_length == 512
