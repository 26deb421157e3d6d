"""The whole engine on real input: verdicts, invariants, bad input, replaceable parts."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pickle
import random
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caco
from caco.classifier.base import ClassifierContract
from caco.extractor.base import ExtractorContract

LAW = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
WRONG = "The LGPD was created in 2015 during Dilma Rousseff's government."
RIGHT = "President Michel Temer enacted the LGPD in August 2018."
FILLER = (
    "The library opens at nine on weekdays.",
    "Bread rises faster in a warm kitchen.",
    "The orchestra will rehearse in the old theatre.",
    "Maple leaves turn red in autumn.",
    "The ferry carries bicycles free of charge.",
)


@pytest.fixture(scope="module")
def validator() -> caco.Validator:
    return caco.Validator()


def verdict(result: caco.ValidationResult) -> list[tuple[str, str, int | None]]:
    return [(claim.text, claim.label.value, claim.start) for claim in result.claims]


def check_offsets(result: caco.ValidationResult, documents: dict[str, str]) -> None:
    for claim in result.claims:
        if claim.start is not None:
            assert result.response[claim.start : claim.end] == claim.text
        quotes = [
            (claim.evidence_document, claim.evidence_start, claim.evidence_end, claim.evidence)
        ]
        if claim.evidence_document is None:
            assert claim.evidence == ""
            quotes = []
        quotes += [
            (e.document, e.start, e.end, e.text) for e in claim.supporting + claim.conflicting
        ]
        for document, start, end, text in quotes:
            assert documents[document][start:end] == text


def test_contract_example(validator: caco.Validator) -> None:
    result = validator.validate(response=WRONG, context=LAW)
    assert result.is_hallucination is True
    assert result.score > 0.9
    assert result.claims[0].label is caco.Labels.VALUE_CONTRADICTION
    assert result.claims[0].evidence == LAW
    assert "2015" in result.claims[0].reason
    assert "2018" in result.claims[0].reason
    assert result.status is caco.Status.CHECKED
    assert (result.coverage.claims_total, result.coverage.claims_checked) == (1, 1)
    assert not result.coverage.truncated


def test_a_paraphrase_is_supported_and_an_addition_is_not(validator: caco.Validator) -> None:
    assert not validator.validate(RIGHT, LAW).is_hallucination
    result = validator.validate(RIGHT + " It was praised by the press of twelve countries.", LAW)
    assert result.is_hallucination
    assert result.claims[0].label is caco.Labels.VALUE_ENTAILMENT
    assert result.claims[1].label is not caco.Labels.VALUE_ENTAILMENT


def test_portuguese() -> None:
    validator = caco.Validator(language="pt-br")
    lei = "A LGPD foi sancionada em 14 de agosto de 2018 pelo presidente Michel Temer."
    result = validator.validate("A LGPD foi criada em 2015.", lei)
    assert result.is_hallucination
    assert result.language == "portuguese"
    assert "LGPD" in result.summary
    assert "afirmaç" in result.summary
    assert not validator.validate("Michel Temer sancionou a LGPD em 2018.", lei).is_hallucination


def test_evidence_names_the_document_and_its_place(validator: caco.Validator) -> None:
    documents = {"a": FILLER[0] + " " + FILLER[1], "b": FILLER[2] + "\n\n" + LAW + " " + FILLER[3]}
    result = validator.validate(RIGHT, [caco.Document(t, i) for i, t in documents.items()])
    claim = result.claims[0]
    assert (claim.evidence_document, claim.evidence) == ("b", LAW)
    check_offsets(result, documents)


def test_contexts_of_every_shape_agree(validator: caco.Validator) -> None:
    shapes = [
        LAW,
        [LAW],
        (LAW,),
        caco.Document(LAW),
        [caco.Document(LAW)],
        {"text": LAW},
        [{"page_content": LAW, "id": None}],
    ]
    results = [validator.validate(RIGHT, shape) for shape in shapes]
    assert all(result == results[0] for result in results)
    assert results[0].claims[0].evidence_document == "0"


def test_verbatim_claims_need_no_model(validator: caco.Validator) -> None:
    result = validator.validate(LAW, [*FILLER, LAW])
    assert not result.is_hallucination
    assert result.claims[0].evidence == LAW
    assert result.coverage.pairs_scored == 0


def test_disagreeing_documents_are_both_reported(validator: caco.Validator) -> None:
    documents = {
        "old": "The museum closes at 17:00 on Sundays.",
        "new": "The museum closes at 19:00 on Sundays.",
    }
    context = [caco.Document(text, name) for name, text in documents.items()]
    result = validator.validate("The museum closes at 17:00 on Sundays.", context)
    claim = result.claims[0]
    assert [e.document for e in claim.supporting] == ["old"]
    assert [e.document for e in claim.conflicting] == ["new"]
    assert "disagree" in result.summary
    check_offsets(result, documents)


def test_conflict_policy_decides_who_wins() -> None:
    context = ["The museum closes at 17:00 on Sundays.", "The museum closes at 19:00 on Sundays."]
    answer = "The museum closes at 17:00 on Sundays."
    labels = {
        policy: caco.Validator(classifier=caco.NLIClassifier(on_conflict=policy))
        .validate(answer, context)
        .claims[0]
        .label.value
        for policy in ("support", "contradiction")
    }
    assert labels == {"support": "entailment", "contradiction": "contradiction"}
    with pytest.raises(ValueError, match="on_conflict"):
        caco.NLIClassifier(on_conflict="coin")


# --- statuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", ["", "  \n ", [], None, ["", " \t"], [{"text": ""}]])
def test_no_context_is_never_a_pass(context: object) -> None:
    flagged = caco.Validator().validate(RIGHT, context)
    assert flagged.status is caco.Status.NO_CONTEXT
    assert flagged.is_hallucination
    assert flagged.with_threshold(1.0).is_hallucination
    assert flagged.redacted() == ""
    abstained = caco.Validator(on_missing_context="abstain").validate(RIGHT, context)
    assert abstained.status is caco.Status.ABSTAINED
    assert not abstained.is_hallucination
    with pytest.raises(caco.MissingContextError):
        caco.Validator(on_missing_context="raise").validate(RIGHT, context)
    with pytest.raises(ValueError, match="document"):
        caco.Validator(on_missing_context="raise").validate(RIGHT, context)


def test_greetings_and_declining_answers_have_their_own_status(validator: caco.Validator) -> None:
    greeting = validator.validate("Hello! How can I help you today?", LAW)
    assert greeting.status is caco.Status.NO_CLAIMS
    assert not greeting.is_hallucination
    declined = validator.validate("I don't know.", LAW)
    assert declined.status is caco.Status.ABSTAINED
    assert not declined.is_hallucination
    assert declined.score == 0.0


def test_too_many_claims_are_said_and_never_pass() -> None:
    answer = " ".join(FILLER)
    full = caco.Validator(max_claims=len(FILLER)).validate(answer, answer)
    assert not full.coverage.truncated
    assert not full.is_hallucination
    cut = caco.Validator(max_claims=2).validate(answer, answer)
    assert cut.coverage.truncated
    assert (cut.coverage.claims_total, cut.coverage.claims_checked) == (5, 2)
    assert cut.is_hallucination
    assert cut.with_threshold(1.0).is_hallucination
    assert "Not everything was read" in cut.summary


# --- invariants -----------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(len(FILLER) + 1)))
def test_order_of_documents_never_changes_a_verdict(order: list[int]) -> None:
    documents = [*FILLER, LAW]
    shuffled = caco.Validator().validate(RIGHT + " " + WRONG, [documents[i] for i in order])
    plain = caco.Validator().validate(RIGHT + " " + WRONG, documents)
    assert verdict(shuffled) == verdict(plain)
    assert shuffled.score == pytest.approx(plain.score, abs=1e-9)
    assert [c.evidence for c in shuffled.claims] == [c.evidence for c in plain.claims]


@settings(max_examples=15, deadline=None)
@given(extra=st.lists(st.sampled_from(FILLER), max_size=12), place=st.integers(0, 12))
def test_irrelevant_documents_never_take_support_away(extra: list[str], place: int) -> None:
    documents = [*extra[:place], LAW, *extra[place:]]
    assert caco.Validator().validate(RIGHT, documents).claims[0].label == "entailment"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0, 0),
        (200, 0),
        (200, 200),
        (0, 1000),
        pytest.param(5000, 0, marks=pytest.mark.slow),
        pytest.param(5000, 5000, marks=pytest.mark.slow),
    ],
)
def test_padding_around_the_evidence_keeps_the_verdict(
    validator: caco.Validator, before: int, after: int
) -> None:
    rng = random.Random(before + after)

    def padding(words: int) -> str:
        sentences: list[str] = []
        while sum(len(s.split()) for s in sentences) < words:
            sentences.append(rng.choice(FILLER))
        return " ".join(sentences)

    context = f"{padding(before)} {LAW} {padding(after)}"
    assert validator.validate(RIGHT, context).claims[0].label == "entailment"
    wrong = validator.validate("The LGPD was enacted in 2015.", context)
    assert wrong.claims[0].label == "contradiction"
    check_offsets(wrong, {"0": context})


@settings(max_examples=60, deadline=None)
@given(
    response=st.text(max_size=120).filter(str.strip),
    documents=st.lists(st.text(max_size=160), max_size=3),
)
def test_offsets_hold_for_any_text(response: str, documents: list[str]) -> None:
    result = caco.Validator().validate(response, documents)
    check_offsets(result, {str(i): text for i, text in enumerate(documents)})
    assert result.coverage.claims_checked <= result.coverage.claims_total
    assert caco.ValidationResult.from_dict(result.to_dict()) == result


def test_batch_equals_one_by_one(validator: caco.Validator) -> None:
    items = [
        {"response": RIGHT, "context": LAW},
        {"response": WRONG, "context": [LAW, *FILLER]},
        (FILLER[0] + " " + WRONG, list(FILLER)),
        {"response": "I don't know.", "context": LAW},
        {"response": "Delhi", "context": "Delhi is the capital of India.", "prompt": "Capital?"},
    ]
    alone = [
        validator.validate(item["response"], item["context"], item.get("prompt"))
        if isinstance(item, dict)
        else validator.validate(*item)
        for item in items
    ]
    assert validator.validate_batch(items) == alone
    assert asyncio.run(validator.avalidate_batch(items)) == alone
    assert asyncio.run(validator.avalidate(RIGHT, LAW)) == alone[0]
    assert validator.validate_batch([]) == []


def test_threads_equal_one_by_one() -> None:
    validator = caco.Validator()
    answers = [RIGHT, WRONG, *FILLER] * 3
    alone = [caco.Validator().validate(answer, [LAW, *FILLER]) for answer in answers]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda a: validator.validate(a, [LAW, *FILLER]), answers))
    assert together == alone


def test_a_pickled_validator_gives_the_same_verdict(validator: caco.Validator) -> None:
    again = pickle.loads(pickle.dumps(validator))
    assert again.validate(WRONG, LAW) == validator.validate(WRONG, LAW)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["", "   ", "\n\t"])
def test_an_empty_response_is_an_error(validator: caco.Validator, response: str) -> None:
    with pytest.raises(ValueError, match="response is empty"):
        validator.validate(response, LAW)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, LAW), "response must be a str"),
        ((b"bytes", LAW), "response must be a str"),
        ((RIGHT, 7), "context must be"),
        ((RIGHT, [7]), "document 0 must be"),
        ((RIGHT, b"bytes"), "document 0 must be"),
        ((RIGHT, LAW, 3), "prompt must be"),
    ],
)
def test_wrong_types_are_named(
    validator: caco.Validator, arguments: tuple[object, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        validator.validate(*arguments)


def test_bad_documents_are_named(validator: caco.Validator) -> None:
    with pytest.raises(ValueError, match="two documents have the id 'x'"):
        validator.validate(RIGHT, [caco.Document(LAW, "x"), caco.Document(LAW, "x")])
    with pytest.raises(ValueError, match="no 'text' or 'page_content'"):
        validator.validate(RIGHT, [{"body": LAW}])
    with pytest.raises(ValueError, match="item 1: response is empty"):
        validator.validate_batch([(RIGHT, LAW), ("", LAW)])
    with pytest.raises(ValueError, match="item 0 lacks"):
        validator.validate_batch([{"response": RIGHT}])
    with pytest.raises(TypeError, match="item 0 must be"):
        validator.validate_batch([3])


@pytest.mark.parametrize(
    "arguments",
    [
        {"language": "klingon"},
        {"threshold": 2},
        {"max_claims": 0},
        {"on_missing_context": "pass"},
    ],
)
def test_bad_settings_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        caco.Validator(**arguments)


@pytest.mark.parametrize(
    "strange",
    [
        "\ud800 lone surrogate. " + LAW,
        "NUL \x00 inside. " + LAW,
        "אבג דהו זחט. " + LAW,
        "\u202emirrored\u202c. " + LAW,
        "😀" * 200 + " " + LAW,
    ],
)
def test_strange_characters_are_survived(validator: caco.Validator, strange: str) -> None:
    result = validator.validate(RIGHT, strange)
    assert result.claims[0].label == "entailment"
    check_offsets(result, {"0": strange})
    check_offsets(validator.validate(strange, LAW), {"0": LAW})


def test_one_endless_sentence_is_read_to_its_end(validator: caco.Validator) -> None:
    words = (
        " ".join(["word"] * 6000)
        + " and the LGPD was enacted by Michel Temer in 2018 "
        + "x " * 9000
    )
    result = validator.validate("The LGPD was enacted by Michel Temer.", words)
    assert result.claims[0].label == "entailment"
    assert result.coverage.windows > 50
    answer = validator.validate("y" * 60_000, LAW)
    assert answer.is_hallucination
    check_offsets(answer, {"0": LAW})


@pytest.mark.slow
def test_a_megabyte_on_one_line(validator: caco.Validator) -> None:
    filler = " ".join(FILLER) + " "
    text = (
        filler * (1_000_000 // len(filler) // 2)
        + LAW
        + " "
        + filler * (1_000_000 // len(filler) // 2)
    )
    result = validator.validate(RIGHT, text)
    assert result.claims[0].evidence == LAW
    check_offsets(result, {"0": text})


@pytest.mark.slow
def test_ten_thousand_documents(validator: caco.Validator) -> None:
    documents = [f"Note {i}: shelf {i * 7} is empty." for i in range(10_000)]
    documents[7777] = LAW
    result = validator.validate(RIGHT, documents)
    assert result.claims[0].evidence_document == "7777"
    assert result.coverage.documents == 10_000


# --- replaceable parts ----------------------------------------------------------------------------


class SixWords(ExtractorContract):
    """Takes the answer as one claim."""

    def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
        return [" ".join(response.split()[:6])]


class Contains(ClassifierContract):
    """Supported when the claim stands in the context."""

    def __init__(self) -> None:
        self.contexts: list[str] = []

    def classify(self, claim: str, context: str) -> caco.ClaimResult:
        self.contexts.append(context)
        found = claim in context
        return caco.ClaimResult(
            text=claim,
            evidence=claim if found else "",
            label=caco.Labels.VALUE_ENTAILMENT if found else caco.Labels.VALUE_NEUTRAL,
            score=0.9,
        )


def test_custom_parts_with_one_method_work_unchanged() -> None:
    classifier = Contains()
    validator = caco.Validator(extractor=SixWords(), classifier=classifier)
    result = validator.validate(LAW, [FILLER[0], LAW])
    claim = result.claims[0]
    assert claim.text == "The LGPD was enacted on August"
    assert (claim.start, claim.end) == (0, len(claim.text))
    assert (claim.evidence_document, claim.evidence_start) == ("1", 0)
    assert classifier.contexts == [FILLER[0] + "\n\n" + LAW]
    assert not result.is_hallucination
    assert validator.validate(RIGHT, LAW).is_hallucination


def test_a_batch_method_is_preferred() -> None:
    class Batched(Contains):
        def classify_batch(self, claims: list[str], context: str) -> list[caco.ClaimResult]:
            assert isinstance(claims, list)
            return [caco.ClaimResult(c, "", caco.Labels.VALUE_ENTAILMENT, 0.8) for c in claims]

    classifier = Batched()
    result = caco.Validator(classifier=classifier).validate(" ".join(FILLER), LAW)
    assert len(result.claims) == 5
    assert classifier.contexts == []


def test_exceptions_of_custom_parts_surface() -> None:
    class Broken(ClassifierContract):
        def classify(self, claim: str, context: str) -> caco.ClaimResult:
            raise ZeroDivisionError("boom")

    class BrokenExtractor(ExtractorContract):
        def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
            raise KeyError("bang")

    with pytest.raises(ZeroDivisionError, match="boom"):
        caco.Validator(classifier=Broken()).validate(RIGHT, LAW)
    with pytest.raises(KeyError, match="bang"):
        caco.Validator(extractor=BrokenExtractor()).validate(RIGHT, LAW)


def test_broken_contracts_are_named() -> None:
    class Short(Contains):
        def classify_batch(self, claims: list[str], context: str) -> list[caco.ClaimResult]:
            return []

    class Wrong(ClassifierContract):
        def classify(self, claim: str, context: str) -> caco.ClaimResult:
            return "yes"  # type: ignore[return-value]

    class Number(ExtractorContract):
        def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
            return [3]  # type: ignore[list-item]

    with pytest.raises(ValueError, match="0 results for 1 claims"):
        caco.Validator(classifier=Short()).validate(RIGHT, LAW)
    with pytest.raises(TypeError, match="Wrong returned a str"):
        caco.Validator(classifier=Wrong()).validate(RIGHT, LAW)
    with pytest.raises(TypeError, match="Number"):
        caco.Validator(extractor=Number()).validate(RIGHT, LAW)
    for part in ("extractor", "classifier", "aggregator"):
        with pytest.raises(TypeError, match=part):
            caco.Validator(**{part: object()})


def test_an_aggregators_own_threshold_wins() -> None:
    validator = caco.Validator(aggregator=caco.Aggregator(threshold=0.9), threshold=0.1)
    assert validator.threshold == 0.9
    assert validator.validate(RIGHT, LAW).threshold == 0.9
    assert caco.Validator(threshold=0.3).validate(RIGHT, LAW).threshold == 0.3


def test_upstream_forms() -> None:
    from caco.aggregator import Aggregator
    from caco.classifier import DeBERTaClassifier  # noqa: F401
    from caco.classifier.deberta import DeBERTaClassifier as Same  # noqa: F401
    from caco.extractor import LLMExtractor, RuleExtractor  # noqa: F401
    from caco.extractor.base import ExtractorContract as Base  # noqa: F401
    from caco.models import ClaimResult, Labels, ValidationResult  # noqa: F401

    validator = caco.caco(aggregator=Aggregator())
    assert isinstance(validator, caco.Caco)
    shared = validator.validate_batch([RIGHT, WRONG], LAW)
    own = validator.validate_batch(responses=[RIGHT, WRONG], contexts=[LAW, LAW])
    assert [r.is_hallucination for r in shared] == [False, True]
    assert shared == own
    with pytest.raises(ValueError, match="2 responses, but 1 contexts"):
        validator.validate_batch(responses=[RIGHT, WRONG], contexts=[LAW])


# --- ways to slip through -------------------------------------------------------------------------


@pytest.mark.parametrize("context", ["\u200b", "\ufeff", "\x00", "---", "|---|", "...", ["\u2060"]])
def test_a_context_without_a_word_is_no_context(context: object) -> None:
    result = caco.Validator(threshold=1.0).validate(RIGHT, context)
    assert result.status is caco.Status.NO_CONTEXT
    assert result.is_hallucination
    with pytest.raises(caco.MissingContextError):
        caco.Validator(on_missing_context="raise").validate(RIGHT, context)


@pytest.mark.parametrize("response", ["\u200b", "\ufeff \u2060", "\x00 \n"])
def test_an_invisible_response_makes_no_claim(validator: caco.Validator, response: str) -> None:
    assert validator.validate(response, LAW).status is caco.Status.NO_CLAIMS


def test_async_checks_survive_a_fork() -> None:
    validator = caco.Validator()

    async def several() -> None:
        await asyncio.gather(*(validator.avalidate(RIGHT, LAW) for _ in range(5)))

    asyncio.run(several())
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a child that hangs is killed, and fails the test
        result = asyncio.run(validator.avalidate(RIGHT, LAW))
        os._exit(0 if not result.is_hallucination else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_every_document_that_backs_or_contradicts_is_named(validator: caco.Validator) -> None:
    claim = "Acme was founded in Lisbon in 1998."
    documents = [claim] * 6 + ["Acme was founded in Lisbon in 1989."]
    result = validator.validate(claim, documents)
    assert {e.document for e in result.claims[0].supporting} == set("012345")
    assert [e.document for e in result.claims[0].conflicting] == ["6"]


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("english", "The warranty lasts three years.", "The warranty lasts five years."),
        ("portuguese", "A garantia dura três anos.", "A garantia dura cinco anos."),
    ],
)
def test_number_words_conflict_as_digits_do(language: str, first: str, second: str) -> None:
    result = caco.Validator(language=language).validate(first, [first, second])
    assert [e.document for e in result.claims[0].conflicting] == ["1"]
    strict = caco.NLIClassifier(on_conflict="contradiction", language=language)
    checked = caco.Validator(language=language, classifier=strict).validate(first, [first, second])
    assert checked.is_hallucination


@pytest.mark.parametrize(
    "document",
    [
        "The following claims are false:\n\n* The earth is flat.\n* Vaccines cause autism.",
        "It is not true that:\nThe earth is flat.",
        "# Myths\n\n- The earth is flat.\n\n# Facts\n\n- The earth is round.",
        "~~The earth is flat.~~ The earth is round.",
        "If the law passes:\n- The earth is flat.",
        "The earth is flat. This is a common misconception.",
        "Which statement is true?\na) The earth is flat.\nb) The earth is round.",
        "## The earth is flat\nNo, it is not.",
    ],
)
def test_a_statement_that_is_taken_back_is_not_verbatim_support(
    validator: caco.Validator, document: str
) -> None:
    claim = validator.validate("The earth is flat.", document).claims[0]
    assert claim.probabilities["entailment"] < 0.999


def test_struck_out_text_is_no_evidence(validator: caco.Validator) -> None:
    context = "~~Refunds take 30 days.~~ Refunds take 14 days."
    assert validator.validate("Refunds take 30 days.", context).claims[0].label == "contradiction"


def test_case_tells_units_apart(validator: caco.Validator) -> None:
    assert validator.validate("THE POWER IS 5 MW.", "The power is 5 MW.").score < 0.01
    claim = validator.validate("The power is 5 mW.", "The power is 5 MW.").claims[0]
    assert claim.probabilities["entailment"] < 0.999


def test_what_shares_no_word_with_a_claim_does_not_contradict_it(
    validator: caco.Validator,
) -> None:
    claim = validator.validate("The museum has a pool.", "My cat sleeps all day.").claims[0]
    assert claim.label is caco.Labels.VALUE_NEUTRAL
    assert claim.evidence == ""


def test_a_lone_premise_may_contradict_in_other_words(validator: caco.Validator) -> None:
    fee = "A taxa é de 50 euros por mês."
    claim = validator.validate("The fee is 35 euros.", fee).claims[0]
    assert (claim.label, claim.evidence) == (caco.Labels.VALUE_CONTRADICTION, fee)


def test_a_sentence_in_another_language_is_read_by_itself() -> None:
    document = "The machine washes wool at thirty degrees. It does not dry clothes."
    answer = "A máquina lava lã a trinta graus."
    claim = caco.Validator(language="portuguese").validate(answer, document).claims[0]
    assert claim.label is caco.Labels.VALUE_ENTAILMENT
    assert claim.evidence == "The machine washes wool at thirty degrees."


@pytest.mark.parametrize("label", [caco.Labels.VALUE_NEUTRAL, caco.Labels.VALUE_CONTRADICTION])
@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_an_unsure_failing_label_never_passes(label: caco.Labels, score: float) -> None:
    class Unsure(ClassifierContract):
        def classify(self, claim: str, context: str) -> caco.ClaimResult:
            return caco.ClaimResult(claim, "", label, score)

    assert caco.Validator(classifier=Unsure()).validate(RIGHT, LAW).is_hallucination


def test_a_custom_aggregators_verdict_is_kept() -> None:
    class Strict(caco.Aggregator):
        def aggregate(self, claims: list[caco.ClaimResult]) -> caco.ValidationResult:
            return dataclasses.replace(super().aggregate(claims), is_hallucination=True)

    class Duck:
        def aggregate(self, claims: list[caco.ClaimResult]) -> caco.ValidationResult:
            return caco.Aggregator().aggregate(claims)

    assert caco.Validator(aggregator=Strict()).validate(RIGHT, LAW).is_hallucination
    duck = caco.Validator(aggregator=Duck())
    assert not duck.validate(RIGHT, LAW).is_hallucination
    assert "threshold=0.5" in repr(duck)


def test_the_summary_names_a_claim_that_fails_on_risk_alone() -> None:
    result = caco.Validator(threshold=0.0).validate(RIGHT, LAW)
    assert result.is_hallucination
    assert "weakly supported" in result.summary
    assert RIGHT in result.summary


def test_what_was_not_judged_is_not_truncated() -> None:
    validator = caco.Validator(max_claims=1, on_missing_context="abstain")
    result = validator.validate(" ".join(FILLER), "")
    assert result.status is caco.Status.ABSTAINED
    assert not result.coverage.truncated


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"responses": [RIGHT]}, ValueError),
        ({"items": [(RIGHT, LAW)], "responses": [RIGHT]}, ValueError),
        ({"responses": "abc", "context": LAW}, TypeError),
        ({"items": {"response": RIGHT, "context": LAW}}, TypeError),
        ({}, ValueError),
    ],
)
def test_batches_in_a_wrong_form_are_refused(
    validator: caco.Validator, arguments: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        validator.validate_batch(**arguments)


def test_a_batch_may_come_from_a_generator(validator: caco.Validator) -> None:
    made = validator.validate_batch(responses=(r for r in [RIGHT]), context=LAW)
    assert made == [validator.validate(RIGHT, LAW)]


@pytest.mark.parametrize("value", [True, "0.5", None, [], float("nan")])
def test_thresholds_that_are_no_numbers_are_named(value: object) -> None:
    with pytest.raises(ValueError, match="threshold must be"):
        caco.Validator(threshold=value)


def test_a_users_own_error_in_a_batch_is_not_rewritten() -> None:
    class Broken(ExtractorContract):
        def extract(self, response: str, context: str, prompt: str | None = None) -> list[str]:
            raise ValueError("mine", 7)

    with pytest.raises(ValueError, match="mine") as caught:
        caco.Validator(extractor=Broken()).validate_batch([(RIGHT, LAW)])
    assert caught.value.args == ("mine", 7)


def test_a_custom_contradiction_has_a_reason_and_true_offsets() -> None:
    class Bogus(ClassifierContract):
        def classify(self, claim: str, context: str) -> caco.ClaimResult:
            return caco.ClaimResult(
                claim, LAW, "contradiction", 0.9, evidence_document="nope", evidence_start=5
            )

    claim = caco.Validator(classifier=Bogus()).validate(WRONG, [FILLER[0], LAW]).claims[0]
    assert claim.reason == LAW
    assert (claim.evidence_document, claim.evidence_start, claim.evidence_end) == ("1", 0, len(LAW))


@pytest.mark.parametrize(
    "damage",
    [
        {"claims": [5]},
        {"claims": None},
        {"claims": [{}]},
        {"coverage": None},
        {"language": "french"},
    ],
)
def test_damaged_json_is_a_value_error(
    validator: caco.Validator, damage: dict[str, object]
) -> None:
    data = validator.validate(RIGHT, LAW).to_dict()
    with pytest.raises(ValueError):
        caco.ValidationResult.from_dict({**data, **damage})


@pytest.mark.parametrize(
    ("language", "answer", "context"),
    [
        ("english", "Leave may be split into at most two blocks.", "no more than two blocks"),
        ("english", "Failed jobs are retried at most 5 times.", "up to 5 times"),
        ("english", "You must order at least 3 boxes.", "You must order a minimum of 3 boxes."),
        ("portuguese", "Podem entrar no máximo três pessoas.", "não mais que três pessoas"),
    ],
)
def test_bounds_in_other_words_agree(language: str, answer: str, context: str) -> None:
    sources = {
        "no more than two blocks": "Leave may be split into no more than two blocks.",
        "up to 5 times": "Failed jobs are retried up to 5 times.",
        "não mais que três pessoas": "Podem entrar não mais que três pessoas.",
    }
    result = caco.Validator(language=language).validate(answer, sources.get(context, context))
    assert not result.is_hallucination
    assert caco.ValidationResult.from_dict(result.to_dict()) == result


@pytest.mark.parametrize(
    ("language", "claim", "context", "right"),
    [
        (
            "english",
            "The waiting period for consultations is {} days.",
            "The waiting period for consultations and simple exams is 30 days. For hospital stays, "
            "the waiting period is 180 days and, for births, 300 days.",
            "30",
        ),
        (
            "portuguese",
            "Consultas têm carência de {} dias.",
            "O prazo de carência para consultas e exames simples é de 30 dias. Para internações, a "
            "carência é de 180 dias e, para partos a termo, de 300 dias.",
            "30",
        ),
    ],
)
def test_anothers_figure_is_no_support(language: str, claim: str, context: str, right: str) -> None:
    validator = caco.Validator(language=language)
    assert not validator.validate(claim.format(right), context).is_hallucination
    result = validator.validate(claim.format(180), context).claims[0]
    assert result.label is caco.Labels.VALUE_CONTRADICTION
    assert "180" in (result.reason or "")
    assert "30" in (result.reason or "")
