"""``training/overlap.py`` finds what of a training mix is in the development sets."""

from __future__ import annotations

import gzip
import json

import pytest

DOCUMENT = " ".join(
    f"On day {n} the keeper of lighthouse number {n} wrote {n + 3} lines on the sea near {place}."
    for n, place in enumerate(
        "Arvel Brenn Corda Dunst Elmo Farn Gorst Hulme Irvel Jorne Kessel Lorne".split()
    )
)
ANSWER = "The keeper of the last lighthouse wrote fourteen lines on the sea near Lorne."
DEV = {
    "faith": [{"context": DOCUMENT, "response": ANSWER, "label": 0}],
    "nli": [
        {
            "premise": "A man in a red coat is playing an old piano in an empty town hall tonight.",
            "hypothesis": "A man plays the piano in the town hall.",
            "label": "entailment",
        }
    ],
}
OTHER = "Several children are building a tall tower of wooden blocks on the kitchen floor."


@pytest.fixture(scope="module")
def overlap(import_training):
    return import_training("overlap")


@pytest.fixture(scope="module")
def development(overlap, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dev")
    for name, rows in DEV.items():
        text = "\n".join(map(json.dumps, rows))
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return overlap.Development.read(folder)


PREMISE, HYPOTHESIS = DEV["nli"][0]["premise"], DEV["nli"][0]["hypothesis"]
SENTENCES = DOCUMENT.split(". ")
FOUND = [
    (PREMISE, HYPOTHESIS, {("pair", "exact"), ("premise", "exact"), ("hypothesis", "exact")}),
    (PREMISE.upper() + "!", OTHER, {("premise", "exact")}),
    (PREMISE.replace("tonight", "today"), OTHER, {("premise", "near")}),
    (
        PREMISE.replace("tonight", "today"),
        HYPOTHESIS,
        {("pair", "near"), ("premise", "near"), ("hypothesis", "exact")},
    ),
    (OTHER, HYPOTHESIS, {("hypothesis", "exact")}),
    (OTHER, ANSWER, {("answer", "exact")}),
    (OTHER, f"Yes. {ANSWER}", {("answer", "near")}),
    (DOCUMENT, OTHER, {("document", "exact")}),
    (DOCUMENT.replace("keeper", "owner", 2), OTHER, {("document", "near")}),
    (f"{SENTENCES[2]}. {SENTENCES[7]}. {SENTENCES[9]}.", OTHER, {("document", "inside")}),
    (SENTENCES[4], OTHER, {("document", "inside")}),
    (f"{DOCUMENT} {' '.join(f'word{n}' for n in range(400))}", OTHER, {("document", "inside")}),
    (OTHER, OTHER, set()),
    ("A man in a red coat is asleep.", "The sea near Lorne.", set()),
]


@pytest.mark.parametrize(("premise", "claim", "expected"), FOUND)
def test_what_is_found(development, premise, claim, expected):
    assert set(development.overlaps(premise, claim)) == expected


def test_the_sets_are_named(development):
    found = development.overlaps(DOCUMENT, HYPOTHESIS)
    assert found == {("document", "exact"): {"faith"}, ("hypothesis", "exact"): {"nli"}}


def test_a_mix_is_counted_and_cleaned(overlap, development, tmp_path):
    mix, clean = tmp_path / "mix.jsonl", tmp_path / "clean.jsonl"
    rows = [
        {"premise": premise, "hypothesis": claim, "label": "neutral", "source": "made"}
        for premise, claim, _ in FOUND
    ]
    mix.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = overlap.compare(mix, development, clean)
    dropped = [any(kind in overlap.DROPPED for kind, _ in expected) for *_, expected in FOUND]
    assert (found.rows, found.dropped) == (len(FOUND), sum(dropped))
    kept = [json.loads(line) for line in clean.read_text().splitlines()]
    assert kept == [row for row, gone in zip(rows, dropped, strict=True) if not gone]
    lines = list(found.lines(3))
    assert "document, inside: 3 rows (21.429%)" in lines
    assert any(line.split() == ["3", "made", "in", "faith"] for line in lines)


def test_without_development_sets_nothing_is_said_to_be_clean(overlap, tmp_path):
    with pytest.raises(SystemExit, match="no development set"):
        overlap.Development.read(tmp_path)
