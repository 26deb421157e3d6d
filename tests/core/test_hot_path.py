"""What is done to save time changes nothing: quick looks, what is remembered, blocks of claims."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caco
from caco.classifier import claim_search, nli
from caco.classifier.claim_search import _BOUNDS, _clash, _plain_bounds
from caco.classifier.nli import NLIClassifier
from caco.classifier.scoring import PairScores
from caco.evidence import ClaimWords, Corpus, as_documents, content_words
from caco.figures import comparison, identifiers, scan
from caco.figures.comparison import compare, read_pair
from caco.models import Claim

IDENTIFIERS = (
    *("http://a.b/c", "www.a.b", "a@b.c", "--flag", "a.py", "a/b.json", "+55 11 2222-3333"),
    *("(11) 3333-4444", "0800 123 4567", "555-123-4567", "555.123.4567", "555-1234", "98765-4321"),
    *("123.456.789-00", "12.345.678/0001-99", "12345-678", "10.0.0.1", "v2", "v.3", "V 4.1"),
    *("1.2.3", "1.2.3rc1", "python 3.11", "13.709/2018", "2024-12345", "AB12", "A-1", "x7-b9"),
)
CLAIMS = (
    "The fee is 9 euros and two thirds of the members pay it.",
    "Delivery is free for orders of 30 kg within 5 days.",
    "The pier opened in 1912.",
    "It holds forty trams.",
)
EVIDENCE = (
    "The fee is 12 euros for members and 9 euros for guests. Delivery costs 4 euros.",
    "Delivery is free. A parcel may weigh 20 kg. --timeout (seconds): default 30.",
    "The pier opened in 1921, the mill in 1912. The depot holds 40 trams in total.",
    "Nothing is said of it.",
)


@given(st.text("aVvwx019.,-+()/@:_ \n", max_size=24))
def test_a_quick_look_overlooks_no_identifier(text: str) -> None:
    if identifiers._PATTERN.search(text):
        assert identifiers._HINT.search(text)


def test_a_quick_look_sees_every_kind_of_identifier() -> None:
    kinds = set()
    for text in IDENTIFIERS:
        found = identifiers._PATTERN.search(f"Zoe said: {text} (so it is)")
        assert found is not None, text
        assert identifiers._HINT.search(found[0]), text
        kinds.add(found.lastgroup)
    assert kinds == set(identifiers._PATTERN.groupindex)


def test_a_quick_look_is_worth_it() -> None:
    assert identifiers._HINT.search("The pier opened in 1912; 45 people, 1200 crowns.") is None


def slowly_plain(text: str) -> str:
    for pattern, plain in _BOUNDS:
        text = pattern.sub(plain, text)
    return text


PHRASES = st.sampled_from(
    [
        *("no more than 2", "Not more than 2", "a maximum of 3", "UP TO 4", "up to a point"),
        *("no less than 5", "not fewer than 6", "a minimum of 7", "não mais do que 8", "é que"),
        *("não mais que 9", "um máximo de 1", "não menos que 2", "Um Mínimo de 3", "mais"),
        *("no le\u017f\u017f than 2", "a max\u0131mum of 2", "a M\u0130N\u0130MUM of 2", "maps"),
    ]
)


@given(st.lists(PHRASES | st.text(max_size=8), max_size=5).map(" ".join))
def test_a_quick_look_overlooks_no_bound(text: str) -> None:
    assert _plain_bounds(text) == slowly_plain(text)


def test_bounds_are_plain() -> None:
    assert _plain_bounds("No more than 2, up to 3, um máximo de 4.") == (
        "at most 2, at most 3, no máximo 4."
    )


def forget() -> None:
    for function in (
        scan.find_figures,
        comparison._claimed,
        comparison._given,
        claim_search._clash,
    ):
        function.cache_clear()


@settings(max_examples=25)
@given(st.permutations([(c, e) for c in CLAIMS for e in EVIDENCE]))
def test_what_was_compared_before_changes_no_comparison(pairs: list[tuple[str, str]]) -> None:
    for language, source in (("english", "source"), ("portuguese", "fonte")):
        fresh = []
        for claim, evidence in pairs:
            forget()
            fresh.append((compare(claim, evidence, language), _clash(claim, evidence, language)))
        forget()
        warm = [(compare(c, e, language), _clash(c, e, language)) for c, e in pairs]
        assert warm == fresh
        assert any(clash and f", {source} " in clash.description for _, clash in warm)


def test_evidence_is_read_as_the_claim_asks() -> None:
    free, timeout = "Delivery is free.", "--timeout (seconds): default 30"
    assert [figure.kind for figure in read_pair("It costs 5 euros.", free, "english")[1].figures]
    assert read_pair("It takes 5 kg.", free, "english")[1].figures == ()
    kinds = [
        [figure.kind for figure in read_pair(claim, timeout, "english")[1].figures]
        for claim in ("The timeout is 20 seconds.", "There are 20 tests.", "It is red.")
    ]
    assert kinds == [["identifier", "quantity"], ["identifier", "number"], []]


WORDS = "library tram depot water works museum pier school founded paid closed guided roof".split()


@given(st.lists(st.sampled_from(WORDS), min_size=1, unique=True), st.randoms())
def test_a_claim_wholly_held_has_all_of_its_weight(chosen: list[str], rng: random.Random) -> None:
    documents = [" ".join(rng.choices(WORDS, k=6)) + "." for _ in range(9)]
    corpus = Corpus(as_documents(documents), "english", 40)
    claim = Claim(text=" ".join(chosen), hypothesis=" ".join(chosen))
    words = ClaimWords(claim, corpus, "english")
    assert words.share(content_words(claim.hypothesis)) == 1.0
    assert words.share(frozenset()) == 0.0
    parts = [words.share(content_words(word)) for word in chosen]
    assert sum(parts) == pytest.approx(1.0)
    assert all(part > 0 for part in parts)


class Counting:
    """Scores a pair by its texts, whatever stands beside it."""

    name, window_words, max_tokens, calibration = "counting", 40, 256, (1.0, 0.0)

    def __init__(self) -> None:
        self.calls: list[int] = []

    def score(self, pairs: Sequence[tuple[str, str]]) -> PairScores:
        self.calls.append(len(pairs))
        rows = [np.random.default_rng(list(map(len, pair))).dirichlet((1, 1, 1)) for pair in pairs]
        return PairScores(np.array(rows).reshape(-1, 3), np.zeros(len(pairs), dtype=np.bool_))


@pytest.mark.parametrize("side_by_side", [1, 3, 256])
def test_blocks_of_claims_change_nothing(monkeypatch, side_by_side: int) -> None:
    items = [
        (f"Box {n} holds {n + 7} red apples. It is {n} years old.", [f"Box {n} holds {m} nuts."])
        for n, m in itertools.product(range(4), range(3))
    ]
    scorer = Counting()
    monkeypatch.setattr(nli, "SIDE_BY_SIDE", side_by_side)
    validator = caco.Validator(classifier=NLIClassifier(scorer))
    results = validator.validate_batch(items)
    alone = [caco.Validator(classifier=NLIClassifier(Counting())).validate(*item) for item in items]
    assert results == alone
    blocks = -(-2 * len(items) // side_by_side)
    assert blocks <= len(scorer.calls) <= 3 * blocks


def test_preload_leaves_nothing_to_import_to_the_first_check() -> None:
    script = """
import sys, caco
validator = caco.Validator()
validator.preload()
before = set(sys.modules)
validator.validate("It is late. Mr. Smith left.", "Mr. Smith left at 5 p.m. It is late.")
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
