"""Stage 2: claims' scores, and whether what is cited is what backs the claim."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import caco
from caco.citations import check_citations, find_citations, resolve_key
from caco.evidence import as_documents
from caco.extractor.base import ExtractorContract
from caco.models import Document, Labels
from caco.testing import FakeClassifier

PRO = Document("The Pro plan costs $35 per month. It includes ten seats.", id="d1")
SUPPORT = Document("Support answers within two hours on weekdays.", id="d2")
DOCUMENTS = [PRO, SUPPORT]


def says(text: str, document: str) -> Labels:
    """A claim is supported by a text that holds its words, markers apart."""
    words = text.partition("[")[0].partition("(")[0].strip(" .")
    return Labels.VALUE_ENTAILMENT if words in document else Labels.VALUE_NEUTRAL


@pytest.fixture
def validator():
    return caco.Validator(classifier=FakeClassifier(says))


def supports(response, context=DOCUMENTS, validator=None):
    report = check_citations(response, context, validator)
    return [(check.cited, check.support) for check in report.citations]


class TestWithTheModel:
    def test_by_the_cited_source_by_another_by_none(self):
        response = (
            "The Pro plan costs $35 per month [1]. "
            "Support answers within two hours on weekdays (Source: d1). "
            "The company was founded in 1990 [2]."
        )
        report = check_citations(response, DOCUMENTS)
        assert [check.support for check in report.citations] == ["cited", "other", "none"]
        assert [check.cited for check in report.citations] == [("d1",), ("d1",), ("d2",)]
        assert [check.supported_by for check in report.citations] == [("d1",), ("d2",), ()]
        first = report.citations[0].against_cited
        assert (first.label, first.evidence_document) == (Labels.VALUE_ENTAILMENT, "d1")
        assert [claim.label for claim in report.claims] == [
            Labels.VALUE_ENTAILMENT,
            Labels.VALUE_ENTAILMENT,
            Labels.VALUE_NEUTRAL,
        ]
        assert json.dumps(report.to_dict())

    def test_portuguese(self):
        documents = [
            {"id": "precos.txt", "text": "O plano Pro custa R$ 35 por mês."},
            {"id": "suporte.txt", "text": "O suporte responde em até duas horas."},
        ]
        response = (
            "O plano Pro custa R$ 35 por mês.[^1] O suporte responde em duas horas "
            "(Fonte: precos.txt).\n\n[^1]: precos.txt, página 2"
        )
        report = check_citations(response, documents, caco.Validator(language="pt"))
        assert [check.support for check in report.citations] == ["cited", "other"]
        assert report.citations[0].cited == ("precos.txt",)
        assert len(report.claims) == 2


class TestWhatAMarkerBelongsTo:
    @pytest.mark.parametrize(
        "response",
        [
            "Support answers within two hours on weekdays [2].",
            "Support answers within two hours on weekdays. [2]",
            "Support answers within two hours on weekdays.[2]",
            "Support answers within two hours on weekdays. (Source: d2)",
            "Support answers within two hours on weekdays [doc 2].",
            "Support answers within two hours on weekdays 【2】.",
            "Support answers within two hours on weekdays【2†source】.",
            "- Support answers within two hours on weekdays (Fonte: d2)\n- Hello!",
            "[2] Support answers within two hours on weekdays.",
        ],
    )
    def test_the_claim_around_or_before_it(self, validator, response):
        (check,) = check_citations(response, DOCUMENTS, validator).citations
        assert (check.cited, check.unknown) == (("d2",), ())
        assert check.claim.text.count("Support answers") == 1

    def test_only_that_claim(self, validator):
        response = "The Pro plan costs $35 per month. Support answers within two hours [2]."
        report = check_citations(response, DOCUMENTS, validator)
        assert [check.claim.text[:7] for check in report.citations] == ["Support"]
        assert [claim.text[:7] for claim in report.uncited] == ["The Pro"]

    def test_a_marker_on_its_own_paragraph_belongs_to_none(self, validator):
        response = "The Pro plan costs $35 per month.\n\n[1]"
        assert check_citations(response, DOCUMENTS, validator).citations == ()

    def test_several_markers(self, validator):
        response = "The Pro plan costs $35 per month [1][2]."
        (check,) = check_citations(response, DOCUMENTS, validator).citations
        assert (check.markers, check.cited) == (("[1]", "[2]"), ("d1", "d2"))
        assert (check.support, check.supported_by) == ("cited", ("d1",))

    def test_cited_sources_may_back_a_claim_only_together(self):
        def joint(_claim: str, text: str) -> Labels:
            both = "Pro plan" in text and "Support" in text
            return Labels.VALUE_ENTAILMENT if both else Labels.VALUE_NEUTRAL

        engine = caco.Validator(classifier=FakeClassifier(joint))
        (check,) = check_citations("Both plans are good [1, 2].", DOCUMENTS, engine).citations
        assert (check.support, check.supported_by) == ("cited", ("d1", "d2"))

    def test_claims_that_an_llm_rewrote_keep_the_markers_in_their_text(self, validator):
        class Rewriter(ExtractorContract):
            def extract(self, response, context, prompt=None):
                return ["Support answers within two hours on weekdays [2]."]

        engine = caco.Validator(extractor=Rewriter(), classifier=validator.classifier)
        assert supports("It answers fast.", validator=engine) == [(("d2",), "cited")]


class TestKeys:
    @pytest.mark.parametrize(
        ("ids", "key", "expected"),
        [
            (["d1", "d2"], "2", "d2"),
            (["d2", "d1"], "2", "d2"),
            (["d1", "d2"], "d2", "d2"),
            (["d1", "d2"], "D2", "d2"),
            (["d1", "d2"], "document 2", "d2"),
            (["7", "2"], "2", "2"),
            (["a.txt", "b.txt"], "2", "b.txt"),
            (["a.txt", "b.txt"], "b.txt", "b.txt"),
            (["a.txt", "b.txt"], "3", None),
            (["a.txt", "b.txt"], "0", None),
            (["a.txt", "b.txt"], "c.txt", None),
            (["d1", "d3"], "2", None),
            (["a1", "b2"], "1", "a1"),
        ],
    )
    def test_are_looked_up_by_id_then_by_number(self, ids, key, expected):
        documents = [Document(f"Text {name}.", id=name) for name in ids]
        found = resolve_key(key, documents)
        assert (found.id if found else None) == expected

    def test_titles_count(self):
        documents = as_documents([Document("x", metadata={"title": "Annual Report"})])
        assert resolve_key("annual report", documents) is documents[0]

    def test_without_ids_numbers_count_from_one(self, validator):
        texts = [PRO.text, SUPPORT.text]
        response = "The Pro plan costs $35 per month [1]. Support answers within two hours [2]."
        assert supports(response, texts, validator) == [(("0",), "cited"), (("1",), "cited")]

    def test_unless_the_answer_counts_from_zero(self, validator):
        texts = [PRO.text, SUPPORT.text]
        response = "The Pro plan costs $35 per month [0]. Support answers within two hours [1]."
        assert supports(response, texts, validator) == [(("0",), "cited"), (("1",), "cited")]

    def test_what_names_no_document_is_told(self, validator):
        (check,) = check_citations("The Pro plan is good [9].", DOCUMENTS, validator).citations
        assert (check.cited, check.unknown, check.against_cited) == ((), ("9",), None)
        assert check.support == "none"
        response = "The Pro plan costs $35 per month (Source: Wikipedia)."
        (check,) = check_citations(response, DOCUMENTS, validator).citations
        assert (check.unknown, check.support, check.supported_by) == (("Wikipedia",), "other", ())

    @pytest.mark.parametrize(
        "listing",
        [
            "[^a]: d2",
            "[^a]: see d2, page 3",
            "Sources:\n[a] d2",
            "## References\n\n- [a] d2",
            "**Fontes:**\n[a] d2",
        ],
    )
    def test_the_answers_own_list_of_sources_counts(self, validator, listing):
        response = f"Support answers within two hours on weekdays [^a].\n\n{listing}"
        assert supports(response, validator=validator) == [(("d2",), "cited")]

    def test_a_numbered_list_of_sources_overrules_positions(self, validator):
        response = "Support answers within two hours on weekdays [1].\n\nSources:\n1. d2\n2. d1\n"
        assert supports(response, validator=validator) == [(("d2",), "cited")]


def test_markers_and_their_places():
    response = "A [1-3] b [^n] (Fonte: d1; d3) 【2†x】 [doc 4] a[0] [2](u) [x]\n\n[^n]: d2"
    found = find_citations(response)
    assert [citation.keys for citation in found] == [
        ("1", "2", "3"),
        ("n",),
        ("d1", "d3"),
        ("2",),
        ("4",),
        ("0",),
    ]
    assert all(response[c.start : c.end] == c.text for c in found)


@given(st.text(alphabet="[]()【】^123,-–; Source:d\n.a†", max_size=80))
def test_any_text_can_be_searched(text):
    for citation in find_citations(text):
        assert text[citation.start : citation.end] == citation.text
        assert citation.keys is not None


@pytest.mark.parametrize("context", [None, "", ["", " "]])
def test_without_documents_nothing_is_backed(validator, context):
    (check,) = check_citations("The Pro plan is good [1].", context, validator).citations
    assert check.support == "none"
    assert check.claim.label is Labels.VALUE_NEUTRAL
    assert validator.classifier.calls == []


def test_the_threshold_decides_what_is_backed():
    weak = FakeClassifier(score=0.6)
    response = "The Pro plan is good [1]."
    for threshold, support in ((0.5, "cited"), (0.3, "none")):
        engine = caco.Validator(classifier=weak, threshold=threshold)
        (check,) = check_citations(response, DOCUMENTS, engine).citations
        assert check.support == support


@pytest.mark.parametrize(
    ("response", "error"), [("", ValueError), ("  ", ValueError), (3, TypeError)]
)
def test_wrong_arguments(response, error):
    with pytest.raises(error, match="response"):
        check_citations(response, DOCUMENTS)


def test_verify_keeps_groups_and_order(validator):
    claims = validator.extractor.claims("The Pro plan costs $35 per month. Other words here.")
    found = validator.verify([(claims, PRO), (claims[:1], SUPPORT), ((), PRO), (claims, None)])
    assert [[str(r.label) for r in group] for group in found] == [
        ["entailment", "neutral"],
        ["neutral"],
        [],
        ["neutral", "neutral"],
    ]
