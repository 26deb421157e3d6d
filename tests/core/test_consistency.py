"""Contradictions among documents: found in any order, bounded, and with honest numbers."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caco import consistency
from caco.classifier import NLIClassifier
from caco.consistency import (
    ConflictReport,
    SourceConflict,
    find_source_conflicts,
    outvoted,
    penalties,
)
from caco.models import ClaimResult, Document, Evidence, Labels
from caco.testing import FakeClassifier


def documents(*texts: str) -> list[Document]:
    return [Document(text, f"d{i}") for i, text in enumerate(texts)]


def years_differ(claim: str, context: str) -> Labels:
    years = [
        {word for word in text.rstrip(".").split() if word.isdigit()} for text in (claim, context)
    ]
    return Labels.VALUE_NEUTRAL if years[0] == years[1] else Labels.VALUE_CONTRADICTION


def report_of(*triples: tuple[str, str, float]) -> ConflictReport:
    return ConflictReport(
        tuple(
            SourceConflict(Evidence(a, "x", 0, 1, score), Evidence(b, "y", 0, 1, score), score)
            for a, b, score in triples
        ),
        pairs_compared=len(triples),
        pairs_skipped=0,
    )


def pairs(report: ConflictReport) -> set[frozenset[tuple[str, str]]]:
    return {
        frozenset({(c.first.document, c.first.text), (c.second.document, c.second.text)})
        for c in report.conflicts
    }


def last_sentences(*texts: str) -> list[tuple[str, str]]:
    return [(f"d{i}", text.rpartition(". ")[2]) for i, text in enumerate(texts)]


class TestFinding:
    def test_two_documents_that_disagree(self):
        given_documents = documents("The bridge opened in 1932.", "The bridge opened in 1951.")
        report = find_source_conflicts(given_documents, FakeClassifier(years_differ))
        (conflict,) = report.conflicts
        assert {conflict.first.document, conflict.second.document} == {"d0", "d1"}
        assert conflict.score == pytest.approx(0.99)
        assert (report.pairs_compared, report.pairs_skipped) == (1, 0)

    def test_quotations_can_be_cut_out_of_their_documents(self):
        given_documents = documents(
            "A prologue. **The bridge** opened in 1932.\n\nAn epilogue.",
            "- The museum is large.\n- The bridge opened in 1951.",
        )
        texts = {document.id: document.text for document in given_documents}
        report = find_source_conflicts(given_documents, FakeClassifier(years_differ))
        assert report.conflicts
        for conflict in report.conflicts:
            for quote in (conflict.first, conflict.second):
                assert texts[quote.document][quote.start : quote.end] == quote.text
                assert "bridge" in quote.text

    def test_one_direction_is_not_enough(self):
        def one_way(claim: str, context: str) -> ClaimResult:
            score = 0.8 if "1932" in claim else 0.0
            return ClaimResult(
                claim,
                "",
                Labels.VALUE_NEUTRAL,
                1 - score,
                probabilities={"entailment": 0, "neutral": 1 - score, "contradiction": score},
            )

        given_documents = documents("The bridge opened in 1932.", "The bridge opened in 1951.")
        classifier = FakeClassifier(one_way)
        assert find_source_conflicts(given_documents, classifier).conflicts == ()
        assert len(classifier.calls) == 2
        assert classifier.calls[0] == classifier.calls[1][::-1]

    def test_a_document_is_not_compared_with_itself(self):
        classifier = FakeClassifier(default=Labels.VALUE_CONTRADICTION)
        text = "The bridge opened in 1932. The bridge opened in 1951."
        report = find_source_conflicts(documents(text), classifier)
        assert (report.conflicts, report.pairs_compared, classifier.calls) == ((), 0, [])

    def test_identical_sentences_are_skipped(self):
        classifier = FakeClassifier(default=Labels.VALUE_CONTRADICTION)
        same = documents(
            "The bridge opened in 1932.",
            "the bridge opened in 1932",
            " The bridge opened in 1932. ",
        )
        report = find_source_conflicts(same, classifier)
        assert (report.conflicts, report.pairs_compared, classifier.calls) == ((), 0, [])

    def test_a_sentence_that_several_documents_hold_is_read_once_and_reported_for_each(self):
        classifier = FakeClassifier(years_differ)
        given_documents = documents(
            "The bridge opened in 1932.", "The bridge opened in 1932.", "The bridge opened in 1951."
        )
        report = find_source_conflicts(given_documents, classifier)
        assert report.pairs_compared == 1
        assert len(classifier.calls) == 2
        assert {frozenset((c.first.document, c.second.document)) for c in report.conflicts} == {
            frozenset(("d0", "d2")),
            frozenset(("d1", "d2")),
        }

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("The museum has forty rooms.", "A recipe needs two eggs."),
            ("Alice Smith was born in Paris in 1970.", "Bob Jones was born in Paris in 1982."),
            ("The Eiffel Tower is 330 metres tall.", "The Burj Khalifa is 828 metres tall."),
            ("Mount Everest is 8,848 m high.", "K2 is 8,611 m high."),
            ("Revenue grew 5% in 2020.", "Revenue grew 8% in 2021."),
            ("# The bridge in 1932\n\nPeople like it.", "The bridge opened in 1951."),
            ("Did the bridge open in 1932?", "The bridge opened in 1951."),
            (
                "Java came first. It was released in 1995.",
                "Ruby came later. It was released in 1996.",
            ),
        ],
        ids=["topic", "people", "names", "codes", "periods", "heading", "question", "pronoun"],
    )
    def test_what_speaks_of_something_else_is_not_compared(self, first, second):
        classifier = FakeClassifier(default=Labels.VALUE_CONTRADICTION)
        assert find_source_conflicts(documents(first, second), classifier).conflicts == ()
        assert classifier.calls == []

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("The plant opened in 2015.", "The factory opened in 2018."),
            ("Revenue grew 5% in 2020.", "Revenue fell 2% in 2020."),
            (
                "The LGPD was enacted on August 14, 2018, by President Michel Temer.",
                "The LGPD was created in 2015 during Dilma Rousseff's government.",
            ),
            (
                "Python was created by Guido van Rossum. It was released in 1991.",
                "Python was first released in 1989.",
            ),
            ("O filme foi dirigido por Ana Silva.", "O filme foi dirigido por Pedro Costa."),
            ("The drug is safe for children.", "The drug is not safe for children."),
        ],
        ids=["synonym", "negative", "law", "pronoun", "portuguese", "negation"],
    )
    def test_what_speaks_of_the_same_is_compared(self, first, second):
        classifier = FakeClassifier(default=Labels.VALUE_CONTRADICTION)
        assert find_source_conflicts(documents(first, second), classifier).conflicts

    @pytest.mark.parametrize(
        ("first", "second", "language"),
        [
            (
                "The pension reform raised the age. It was enacted in 2019.",
                "The budget cap froze spending. It was enacted in 2016.",
                "english",
            ),
            ("It was enacted in 2018.", "It was enacted in 2014.", "english"),
            ("It was enacted in 2018.", "The Marco Civil was enacted in 2014.", "english"),
            (
                "Our bridge is old. It was opened in 1950.",
                "The tunnel is new. It was opened in 2005.",
                "english",
            ),
            (
                "Banco do Brasil lends money. It was founded in 1808.",
                "Correios do Brasil carries letters. It was founded in 1663.",
                "english",
            ),
            (
                "The bridge is red. This bridge opened in 1990.",
                "The tunnel is dark. This tunnel opened in 1980.",
                "english",
            ),
            (
                "A reforma elevou a idade. Ela foi aprovada em 2019.",
                "O teto congelou os gastos. Ele foi aprovado em 2016.",
                "portuguese",
            ),
            (
                "A LGPD protege dados. Foi sancionada em 2018.",
                "O Marco Civil regula a rede. Foi sancionado em 2014.",
                "portuguese",
            ),
        ],
        ids=[
            "nouns",
            "unknown",
            "unknown and name",
            "possessive",
            "shared word",
            "this",
            "portuguese",
            "no pronoun",
        ],
    )
    def test_pronouns_for_different_things_are_not_compared(self, first, second, language):
        classifier = FakeClassifier(default=Labels.VALUE_CONTRADICTION)
        given_documents = documents(first, second)
        report = find_source_conflicts(given_documents, classifier, language=language)
        assert frozenset(last_sentences(first, second)) not in pairs(report)

    @pytest.mark.parametrize(
        ("first", "second", "language"),
        [
            (
                "The bridge crosses the river. It was opened in 1950.",
                "The old bridge is red. It was opened in 1960.",
                "english",
            ),
            (
                "The office is in Lisbon. It opens at 9 am.",
                "The office opens at 10 am.",
                "english",
            ),
            ("This bridge was opened in 1950.", "The bridge was opened in 1960.", "english"),
            (
                "Acme sells tools. These Terms end in 2025.",
                "Buyers be aware. The Terms end in 2026.",
                "english",
            ),
            (
                "Maria Silva lives in Rome. She works for a bank.",
                "Silva works for a school.",
                "english",
            ),
            (
                "A ponte cruza o rio. Ela foi aberta em 1950.",
                "A ponte foi aberta em 1960.",
                "portuguese",
            ),
            ("Foi sancionada a LGPD em 2018.", "A LGPD foi sancionada em 2014.", "portuguese"),
        ],
        ids=["noun", "one pronoun", "this", "these", "part of a name", "portuguese", "verb first"],
    )
    def test_pronouns_for_the_same_thing_are_compared(self, first, second, language):
        classifier = FakeClassifier(default=Labels.VALUE_CONTRADICTION)
        given_documents = documents(first, second)
        report = find_source_conflicts(given_documents, classifier, language=language)
        assert frozenset(last_sentences(first, second)) in pairs(report)

    def test_order_of_the_documents_changes_nothing(self):
        given_documents = documents(
            "The bridge opened in 1932. It is red.",
            "The bridge opened in 1951. The museum opened in 1960.",
            "The museum opened in 1970.",
            "The bridge opened in 1951.",
        )
        expected = find_source_conflicts(given_documents, FakeClassifier(years_differ), max_pairs=3)
        assert expected.conflicts
        for order in itertools.permutations(given_documents):
            assert (
                find_source_conflicts(order, FakeClassifier(years_differ), max_pairs=3) == expected
            )

    @pytest.mark.parametrize("given_documents", [[], documents(""), documents("", "  ", "\n")])
    def test_nothing_to_compare(self, given_documents):
        report = find_source_conflicts(given_documents, FakeClassifier())
        assert report == ConflictReport((), 0, 0)

    def test_documents_without_ids_get_their_position(self):
        report = find_source_conflicts(
            [Document("The bridge opened in 1932."), Document("The bridge opened in 1951.")],
            FakeClassifier(years_differ),
        )
        assert {report.conflicts[0].first.document, report.conflicts[0].second.document} == {
            "0",
            "1",
        }


class TestBounds:
    def many(self, count: int) -> list[Document]:
        return documents(*(f"The old bridge opened in {1900 + i}." for i in range(count)))

    def test_max_pairs(self):
        classifier = FakeClassifier(years_differ)
        report = find_source_conflicts(self.many(10), classifier, max_pairs=7)
        assert (report.pairs_compared, report.pairs_skipped) == (7, 38)
        assert len(classifier.calls) == 14

    def test_most_similar_first(self):
        given_documents = documents(
            "The old stone bridge over the river opened to carts in 1932.",
            "The old bridge opened to carts in 1940, after a long war and much hardship.",
            "The old stone bridge over the river opened to carts in 1951.",
        )
        report = find_source_conflicts(given_documents, FakeClassifier(years_differ), max_pairs=1)
        (conflict,) = report.conflicts
        assert {conflict.first.document, conflict.second.document} == {"d0", "d2"}
        assert report.pairs_skipped == 2

    def test_zero_pairs_says_what_it_skipped(self):
        report = find_source_conflicts(self.many(3), FakeClassifier(), max_pairs=0)
        assert report == ConflictReport((), 0, 3)

    def test_figures_are_compared_for_few_of_many_candidates(self, monkeypatch):
        compared = []
        real = consistency.compare

        def counting(*arguments: str) -> object:
            compared.append(arguments)
            return real(*arguments)

        monkeypatch.setattr(consistency, "compare", counting)
        report = find_source_conflicts(
            documents(*(f"Revenue grew {i}% in {1900 + i}." for i in range(60))),
            FakeClassifier(),
            max_pairs=4,
        )
        assert len(compared) <= 32
        assert report.pairs_compared == 0, "each is about a year of its own"
        assert report.pairs_skipped == 60 * 59 / 2 - 32

    def test_many_long_documents_take_little_time_to_rank(self):
        words = [f"word{i}" for i in range(3000)]
        chosen = random.Random(0)
        texts = [
            " ".join(f"The {' '.join(chosen.sample(words, 12))} is here." for _ in range(40))
            for _ in range(20)
        ]
        report = find_source_conflicts(documents(*texts), FakeClassifier(), max_pairs=5)
        assert report.pairs_compared <= 5

    @pytest.mark.parametrize(
        ("max_pairs", "error"),
        [(-1, ValueError), (1.5, TypeError), (True, TypeError), ("9", TypeError)],
    )
    def test_bad_max_pairs(self, max_pairs, error):
        with pytest.raises(error, match="max_pairs"):
            find_source_conflicts([], FakeClassifier(), max_pairs=max_pairs)

    def test_bad_documents_and_language(self):
        with pytest.raises(ValueError, match="klingon"):
            find_source_conflicts([], FakeClassifier(), language="klingon")
        with pytest.raises(ValueError, match="id 'a'"):
            find_source_conflicts([Document("x", "a"), Document("y", "a")], FakeClassifier())
        with pytest.raises(TypeError):
            find_source_conflicts([3], FakeClassifier())


class TestPenalties:
    def test_share_of_the_others_that_contradict(self):
        report = report_of(("d0", "d1", 0.9), ("d0", "d2", 0.7), ("d0", "d2", 0.8))
        found = penalties(report, documents("a", "b", "c", "d"))
        assert found == pytest.approx({"d0": 1.7 / 3, "d1": 0.3, "d2": 0.8 / 3, "d3": 0.0})

    def test_everyone_is_listed(self):
        assert penalties(report_of(), documents("a")) == {"d0": 0.0}
        assert penalties(report_of(), []) == {}

    @given(
        st.lists(
            st.tuples(
                st.integers(0, 4), st.integers(0, 4), st.floats(0.5, 1, allow_nan=False)
            ).filter(lambda t: t[0] != t[1])
        )
    )
    def test_range_and_no_conflict_left(self, triples):
        given_documents = documents(*"abcde")
        report = report_of(*((f"d{a}", f"d{b}", score) for a, b, score in triples))
        found = penalties(report, given_documents)
        assert all(0.0 <= value <= 1.0 for value in found.values())
        left_out = outvoted(report, given_documents)
        kept = {document.id for document in given_documents} - set(left_out)
        assert kept
        assert not any(
            c.first.document in kept and c.second.document in kept for c in report.conflicts
        )


class TestOutvoted:
    def test_the_one_against_the_rest(self):
        report = report_of(("d0", "d1", 0.9), ("d0", "d2", 0.9))
        assert outvoted(report, documents("a", "b", "c")) == ("d0",)

    def test_of_equals_the_later(self):
        report = report_of(("d0", "d1", 0.9))
        assert outvoted(report, documents("a", "b")) == ("d1",)
        assert outvoted(report, documents("a", "b")[::-1]) == ("d0",)

    def test_nobody(self):
        assert outvoted(report_of(), documents("a", "b")) == ()


@pytest.fixture(scope="module")
def classifier() -> NLIClassifier:
    return NLIClassifier()


class TestEmbeddedModel:
    def test_finds_the_document_that_is_wrong(self, classifier):
        given_documents = documents(
            "The Golden Gate Bridge opened in 1937. It is painted orange.",
            "San Francisco lies in California. The city has many hills.",
            "The Golden Gate Bridge opened in 1951.",
            "In 1937 the Golden Gate Bridge opened to traffic.",
        )
        report = find_source_conflicts(given_documents, classifier)
        assert {"d2"} < {c.first.document for c in report.conflicts} | {
            c.second.document for c in report.conflicts
        }
        found = penalties(report, given_documents)
        assert max(found, key=found.__getitem__) == "d2"
        assert found["d1"] == 0.0

    def test_portuguese(self):
        report = find_source_conflicts(
            documents("O museu abriu em 1990.", "O museu abriu em 2005.", "A praça é verde."),
            language="portuguese",
        )
        assert pairs(report) == {
            frozenset({("d0", "O museu abriu em 1990."), ("d1", "O museu abriu em 2005.")})
        }

    def test_documents_that_agree(self, classifier):
        report = find_source_conflicts(
            documents(
                "The bridge is 120 metres long and opened in 1932.",
                "The bridge opened in 1932.",
                "It took two years to build the bridge.",
            ),
            classifier,
        )
        assert report.conflicts == ()
        assert report.pairs_compared > 0

    def test_what_does_not_fit_the_model_counts_as_skipped(self):
        class Cut:
            def __init__(self, scorer: object) -> None:
                self.scorer = scorer

            def __getattr__(self, name: str) -> object:
                return getattr(self.scorer, name)

            def score(self, pairs: object) -> object:
                from dataclasses import replace

                scores = self.scorer.score(pairs)  # type: ignore[attr-defined]
                return replace(scores, truncated=scores.truncated | True)

        classifier = NLIClassifier(Cut(NLIClassifier().scorer))  # type: ignore[arg-type]
        report = find_source_conflicts(
            documents("The bridge opened in 1932.", "The bridge opened in 1951."), classifier
        )
        assert report == ConflictReport((), 0, 1)
