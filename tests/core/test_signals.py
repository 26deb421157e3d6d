"""Stage-1 signals: terms, sentences that stand in no source, scores, batches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import caco
from caco.models import Document, Signal
from caco.signals import OVERCONFIDENT_TERMS, SignalReport, _patterns, detect_signals
from caco.testing import FakeClassifier


def terms_of(report: SignalReport) -> list[str]:
    return [i.value for i in report.issues if i.type == "overconfident_language"]


def unsupported(report: SignalReport) -> int | None:
    counts = [i.count for i in report.issues if i.type == "unsupported_claims"]
    assert len(counts) <= 1
    return counts[0] if counts else None


def test_the_example_of_the_contract_to_the_letter():
    report = caco.detect_signals(
        model_output="This is absolutely guaranteed to work.",
        context="The product improves efficiency.",
    )
    assert report.to_dict() == {
        "hallucination_score": 0.75,
        "risk_level": "high",
        "issues": [
            {"type": "overconfident_language", "value": "absolutely"},
            {"type": "overconfident_language", "value": "guaranteed"},
            {"type": "unsupported_claims", "count": 1},
        ],
    }
    assert list(report.to_dict()) == ["hallucination_score", "risk_level", "issues"]


@pytest.mark.parametrize(
    ("language", "term"),
    [(language, term) for language, terms in OVERCONFIDENT_TERMS.items() for term in terms],
)
def test_every_term_is_found_in_any_case_and_named_once(language, term):
    text = f"So {term.upper()}, and {term} again."
    for chosen in (None, language):
        report = detect_signals(text, text, language=chosen)
        assert terms_of(report) == [term]
        assert report.hallucination_score == 0.25


@pytest.mark.parametrize(
    "text",
    [
        "Nevertheless, hallways and uncertainly.",
        "It rose by 2,100% and by 1.100%.",
        "O sempreverde e a garantidora.",
        "Code never_mind and x100%.",
        "100%25 of it",
    ],
)
def test_terms_are_whole_words(text):
    assert terms_of(detect_signals(text, text)) == []


def test_a_term_of_several_words_matches_across_any_white_space_and_both_unicode_forms():
    text = "Sem \n du\u0301vida: com\u00a0certeza."
    assert terms_of(detect_signals(text)) == ["sem dúvida", "com certeza"]


def test_terms_stand_in_order_of_appearance():
    text = "Never say always; certainly never."
    assert terms_of(detect_signals(text)) == ["never", "always", "certainly"]


@pytest.mark.parametrize(("language", "found"), [("en", ["always"]), ("pt-br", ["sempre"])])
def test_a_language_limits_the_terms(language, found):
    assert terms_of(detect_signals("always e sempre", language=language)) == found


class TestTerms:
    def test_a_list_replaces_all(self):
        report = detect_signals("Trust me, always. C++ rocks.", terms=["trust me", "C++"])
        assert terms_of(report) == ["trust me", "C++"]

    def test_a_mapping_replaces_by_language(self):
        terms = {"en": ["clearly"], "pt": ["claramente"]}
        text = "Clearly, claramente, always."
        assert terms_of(detect_signals(text, terms=terms)) == ["clearly", "claramente"]
        assert terms_of(detect_signals(text, terms=terms, language="pt")) == ["claramente"]

    def test_none_at_all(self):
        assert detect_signals("Always.", terms=[]).issues == ()

    @pytest.mark.parametrize("terms", ["always", [3], {"english": "always"}])
    def test_of_a_wrong_type(self, terms):
        with pytest.raises(TypeError, match="term"):
            detect_signals("x", terms=terms)

    @pytest.mark.parametrize("terms", [[" "], {"klingon": ["x"]}])
    def test_that_cannot_be(self, terms):
        with pytest.raises(ValueError, match=r"blank|klingon"):
            detect_signals("x", terms=terms)


class TestSentences:
    def test_verbatim_apart_from_case_and_white_space(self):
        context = "The   sky is BLUE.\nGrass is green."
        report = detect_signals("The sky is blue. Grass\nis green. Snow is white.", context)
        assert unsupported(report) == 1
        assert report.compared

    def test_a_sentence_must_stand_in_one_document(self):
        halves = ["The sky is", "blue today."]
        assert unsupported(detect_signals("The sky is blue today.", halves)) == 1
        assert unsupported(detect_signals("The sky is blue today.", " ".join(halves))) is None

    def test_bullets_rules_and_emoji_are_no_sentences(self):
        text = "- The sky is blue.\n\n---\n\n🎉\n"
        assert unsupported(detect_signals(text, "The sky is blue.")) is None

    @pytest.mark.parametrize("context", [None, "", " \n", [], ["", "  "]])
    def test_without_context_nothing_is_compared_and_the_result_says_so(self, context):
        report = detect_signals("The sky is green.", context)
        assert report == SignalReport(0.0, "low", (), compared=False)
        assert report.to_dict()["compared"] is False

    def test_documents_of_every_form(self):
        for context in (
            Document("The sky is blue."),
            {"text": "The sky is blue."},
            [Document("Other.", id="a"), {"page_content": "The sky is blue."}],
        ):
            assert unsupported(detect_signals("The sky is blue.", context)) is None


@pytest.mark.parametrize(
    ("count", "score", "level"),
    [(0, 0.0, "low"), (1, 0.25, "low"), (2, 0.5, "medium"), (3, 0.75, "high"), (9, 1.0, "high")],
)
def test_scores_and_levels(count, score, level):
    text = " ".join(f"Sentence number {number} is new." for number in range(count)) or "Known."
    report = detect_signals(text, "Known.")
    assert (report.hallucination_score, report.risk_level) == (score, level)


class TestBatch:
    def test_one_context_for_all(self):
        reports = detect_signals(["Known.", "New one."], "Known.")
        assert [unsupported(report) for report in reports] == [None, 1]

    def test_one_context_each(self):
        reports = detect_signals(["Known.", "Known."], ["Known.", "Other."])
        assert [unsupported(report) for report in reports] == [None, 1]
        several = detect_signals(["Known."], [["Other.", "Known."]])
        assert unsupported(several[0]) is None

    def test_mappings(self):
        items = [{"model_output": "New.", "context": "Known."}, {"model_output": "Always."}]
        first, second = detect_signals(items)
        assert (unsupported(first), second.compared) == (1, False)

    def test_equals_one_by_one(self):
        texts = ["Always new.", "Known.", "100% sure."]
        assert detect_signals(texts, "Known.") == [detect_signals(t, "Known.") for t in texts]

    def test_none(self):
        assert detect_signals([]) == []

    def test_another_number_of_contexts(self):
        with pytest.raises(ValueError, match="2 answers, but 1 contexts"):
            detect_signals(["a", "b"], ["c"])

    @pytest.mark.parametrize("items", [[3], 3, None, {"model_output": "x"}, b"bytes"])
    def test_of_a_wrong_type(self, items):
        with pytest.raises(TypeError, match="model_output"):
            detect_signals(items)

    def test_a_mapping_without_an_answer(self):
        with pytest.raises(ValueError, match="item 0 has no 'model_output'"):
            detect_signals([{"output": "x"}])


def test_an_unknown_language():
    with pytest.raises(ValueError, match="klingon"):
        detect_signals("x", language="klingon")


@given(st.text(max_size=300), st.none() | st.text(max_size=300))
def test_any_text_gives_a_score_that_its_issues_explain(text, context):
    report = detect_signals(text, context)
    points = len(terms_of(report)) + (unsupported(report) or 0)
    assert report.hallucination_score == min(1.0, points / 4)
    assert report.compared == bool(context and context.strip())
    assert hash(report) == hash(detect_signals(text, context))
    if not report.compared:
        assert unsupported(report) is None


@given(st.lists(st.sampled_from("always never maybe 100% x, sempre .".split()), max_size=12))
def test_terms_agree_with_a_plain_reading(words):
    text = " ".join(words)
    expected = {
        w for w in ("always", "never", "sempre", "100%") if w in re.findall(r"[\w%]+", text)
    }
    assert set(terms_of(detect_signals(text))) == expected


def test_it_asks_no_model_and_keeps_its_patterns(monkeypatch, count_calls):
    """It takes microseconds: some 300 calls."""

    def asked(self, pairs):
        raise AssertionError("a model was asked")

    def detect():
        detect_signals("This is absolutely guaranteed to work.", "The product is good.")

    monkeypatch.setattr("caco.classifier.onnx.OnnxScorer.score", asked)
    detect()
    built = _patterns.cache_info().misses
    assert count_calls(detect) < 1000
    assert _patterns.cache_info().misses == built


def test_the_validator_adds_them_when_asked():
    off = caco.Validator(classifier=FakeClassifier())
    on = caco.Validator(classifier=FakeClassifier(), signals=True)
    assert off.validate("It always works.", "It works.").signals == ()
    result = on.validate("It always works.", "It works.")
    assert result.signals == (
        Signal("overconfident_language", value="always"),
        Signal("unsupported_claims", count=1),
    )
    assert caco.ValidationResult.from_dict(result.to_dict()) == result
