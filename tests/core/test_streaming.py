"""Validation of a growing answer: claims as they complete, the whole at the end."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caco
from caco.streaming import StreamingValidator

DOCUMENTS = [
    "The tram depot in Brask was built in 1912. It holds forty trams.",
    "The ferry pier of Colby is closed on Mondays.",
]
ANSWER = (
    "The tram depot in Brask was built in 1912. It holds sixty trams! "
    "Shall I go on?\n\n- The ferry pier of Colby is closed on Mondays.\n- It was painted blue."
)


def streamed(pieces: list[str]) -> tuple[list[caco.ClaimResult], caco.ValidationResult]:
    stream = StreamingValidator(caco.Validator(), DOCUMENTS)
    early = [claim for piece in pieces for claim in stream.feed(piece)]
    return early, stream.finish()


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, len(ANSWER)), max_size=12))
def test_any_cutting_gives_the_verdicts_of_the_whole(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in itertools.pairwise(places)]
    early, final = streamed(pieces)
    whole = caco.Validator().validate(ANSWER, DOCUMENTS)
    assert final == whole
    known = {(claim.start, claim.text): claim.label for claim in whole.claims if claim.checkworthy}
    for claim in early:
        assert known[claim.start, claim.text] is claim.label


def test_claims_come_as_soon_as_something_follows_them() -> None:
    stream = StreamingValidator(caco.Validator(), DOCUMENTS)
    assert stream.feed("The tram depot in Brask was built in 19") == ()
    assert stream.feed("12.") == ()
    (first,) = stream.feed(" It holds")
    assert (first.label, first.start) == (caco.Labels.VALUE_ENTAILMENT, 0)
    assert stream.feed(" sixty trams.") == ()
    (second,) = stream.feed(" Then")
    assert second.label is caco.Labels.VALUE_CONTRADICTION
    assert stream.text[second.start : second.end] == "It holds sixty trams."


def test_token_by_token_equals_the_whole() -> None:
    early, final = streamed(list(ANSWER))
    assert final == caco.Validator().validate(ANSWER, DOCUMENTS)
    assert len(early) == len([c for c in final.claims if c.checkworthy]) - 1


def test_nothing_fed_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        StreamingValidator(caco.Validator(), DOCUMENTS).finish()


def test_old_claims_are_not_verified_again() -> None:
    validator = caco.Validator()
    stream = StreamingValidator(validator, DOCUMENTS)
    stream.feed("The ferry pier was painted blue. Nex")
    scored = validator.classifier.scorer.cache_info().misses
    stream.feed("t to it stands a mill. And")
    stream.feed(" so on")
    fresh = validator.classifier.scorer.cache_info()
    assert fresh.hits == 0
    assert fresh.misses > scored


@pytest.mark.parametrize("language", ["english", "portuguese"])
def test_an_answer_that_grew_costs_what_its_new_sentence_costs(language: str) -> None:
    new = "The ferry pier of Colby is open on Sundays."
    alone = caco.Validator(language=language)
    alone.validate(new, DOCUMENTS)
    validator = caco.Validator(language=language)
    old = " ".join(ANSWER.split("\n")[0].split()) + " The pier is made of wood."
    validator.validate(old, DOCUMENTS)
    before = validator.classifier.scorer.cache_info()
    grown = validator.validate(f"{old} {new}", DOCUMENTS)
    after = validator.classifier.scorer.cache_info()
    assert after.misses - before.misses == alone.classifier.scorer.cache_info().misses > 0
    assert after.hits > before.hits
    assert grown == caco.Validator(language=language).validate(f"{old} {new}", DOCUMENTS)


def test_finishing_a_stream_scores_only_its_last_claim() -> None:
    validator = caco.Validator()
    stream = StreamingValidator(validator, DOCUMENTS)
    stream.feed("The tram depot in Brask was built in 1912. It holds sixty trams! The fer")
    assert stream.feed("ry pier of Colby is closed on Mondays.") == ()
    before = validator.classifier.scorer.cache_info().misses
    stream.finish()
    assert validator.classifier.scorer.cache_info().misses == before  # it stands there verbatim
    stream.feed(" It was painted blue.")
    stream.finish()
    assert validator.classifier.scorer.cache_info().misses > before
