"""Claims made from documents: supported ones stay true, wrong ones are wrong, all are counted."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import caco
from caco.evaluation import Judgement, mutants, mutation_report, read_corpus
from caco.evaluation.mutation import KINDS, SUPPORTED_KINDS
from caco.evaluation.mutation_report import KindReport
from caco.figures import equal, find_figures
from caco.models import Document, Labels, Status
from caco.testing import FakeClassifier

ENGLISH = [
    "The ferry to Port Ellery was built on March 5, 2011 and carries 12 cars. "
    "It is owned by Norden Lines. The crossing takes 40 minutes and costs 15 dollars. "
    "In 2019 about 96,400 people used it, most of them in August. "
    "It cannot sail in a storm. Tickets are not sold on board.",
    "The library in Kestrel Valley holds 23,000 books and was opened by Ruth Calloway. "
    "Sales of old books rose by 25% last year. It stays closed on Monday for three weeks in May.",
]
PORTUGUESE = [
    "A balsa para Porto Velho foi construída em 5 de março de 2011 e leva 12 carros. "
    "Ela pertence à empresa Linhas do Norte. A travessia leva 40 minutos e custa 15 reais. "
    "Em 2019 cerca de 96.400 pessoas a usaram, a maioria em agosto. "
    "As passagens não são vendidas a bordo.",
    "A biblioteca de Vale Verde tem 23.000 livros e foi aberta por Helena Prates. "
    "As vendas cresceram 25% no ano passado. Ela fica fechada na segunda-feira por três semanas.",
]
CORPORA = {"english": ENGLISH, "portuguese": PORTUGUESE}


def documents(texts):
    return [Document(text, str(number)) for number, text in enumerate(texts)]


def by_kind(language, **options):
    found = {}
    for mutant in mutants(documents(CORPORA[language]), language, **options):
        found.setdefault(mutant.kind, []).append(mutant)
    return found


@pytest.mark.parametrize("language", CORPORA)
class TestMutants:
    def test_every_kind_is_made(self, language):
        assert tuple(by_kind(language)) == KINDS

    def test_claims_come_from_their_sentences(self, language):
        for mutant in mutants(documents(CORPORA[language]), language):
            text = mutant.document.text
            assert mutant.sentence in text
            assert (mutant.claim == mutant.sentence) is (mutant.kind == "verbatim")
            assert mutant.supported is (mutant.kind in SUPPORTED_KINDS)
            if not mutant.supported:
                assert mutant.claim not in text

    def test_one_thing_is_changed(self, language):
        for kind, found in by_kind(language).items():
            for mutant in found:
                before, after = mutant.sentence.split(), mutant.claim.split()
                prefix = next(
                    (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
                    len(before),
                )
                before, after = before[prefix:][::-1], after[prefix:][::-1]
                suffix = next(
                    (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
                    min(len(before), len(after)),
                )
                assert len(after) - suffix <= 5, (kind, mutant)

    def test_figures_are_kept_or_changed(self, language):
        for kind in ("number_form", "date_form", "number", "date", "unit"):
            for mutant in by_kind(language)[kind]:
                known = find_figures(mutant.document.text, language)
                strange = [
                    figure
                    for figure in find_figures(mutant.claim, language)
                    if not any(equal(figure, other) for other in known)
                ]
                assert bool(strange) is not mutant.supported, mutant

    def test_a_negation_is_put_in_or_taken_out(self, language):
        word = {"english": "not", "portuguese": "não"}[language]
        for mutant in by_kind(language)["negation"]:
            counts = [
                len(re.findall(rf"\b{word}\b", text)) for text in (mutant.sentence, mutant.claim)
            ]
            assert abs(counts[0] - counts[1]) == 1

    def test_a_name_of_another_document_takes_its_place(self, language):
        texts = CORPORA[language]
        for mutant in by_kind(language)["entity"]:
            other = texts[1 - int(mutant.document.id)]
            new = [word for word in mutant.claim.split() if word not in mutant.sentence.split()]
            assert new
            assert all(word.strip(".,") in other for word in new)

    def test_the_same_seed_gives_the_same_claims(self, language):
        texts = documents(CORPORA[language])
        assert mutants(texts, language) == mutants(texts, language)
        assert mutants(texts, language, seed=1) != mutants(texts, language)

    def test_a_limit_bounds_each_kind(self, language):
        found = by_kind(language, limit=2)
        assert {len(claims) for claims in found.values()} <= {1, 2}
        assert len(found["verbatim"]) == 2
        every = by_kind(language)
        for kind, claims in found.items():
            assert set(claims) <= set(every[kind])


class TestForms:
    @pytest.mark.parametrize(
        ("language", "sentence", "claim"),
        [
            ("english", "They all left on March 5, 2011.", "They all left on 5 March 2011."),
            ("english", "They all left on 5 March 2011.", "They all left on March 5, 2011."),
            (
                "portuguese",
                "Ele saiu de casa em 5 de março de 2011.",
                "Ele saiu de casa em 05/03/2011.",
            ),
        ],
    )  # fmt: skip
    def test_dates(self, language, sentence, claim):
        made = mutants([Document(sentence)], language)
        assert [m.claim for m in made if m.kind == "date_form"] == [claim]

    @pytest.mark.parametrize(
        ("language", "sentence", "claim"),
        [
            ("english", "A hall has 12 doors and a roof.", "A hall has twelve doors and a roof."),
            ("english", "A hall has twelve doors and a roof.", "A hall has 12 doors and a roof."),
            ("english", "The city has 96,400 trees now.", "The city has 96400 trees now."),
            ("english", "The city has 96400 trees now.", "The city has 96,400 trees now."),
            ("english", "The price rose by 25% a year.", "The price rose by 25 percent a year."),
            ("portuguese", "A casa tem 12 portas e janelas.", "A casa tem doze portas e janelas."),
            ("portuguese", "A casa tem 96.400 tijolos hoje.", "A casa tem 96400 tijolos hoje."),
            ("portuguese", "O preço subiu 25% neste ano.", "O preço subiu 25 por cento neste ano."),
        ],
    )  # fmt: skip
    def test_numbers(self, language, sentence, claim):
        made = mutants([Document(sentence)], language)
        assert [m.claim for m in made if m.kind == "number_form"] == [claim]

    @pytest.mark.parametrize(
        "sentence",
        [
            "The room 4-12 is near COVID-19 ward B2.",
            "The score was 3:2 after the break today.",
            "The road A/12 was closed for the day.",
        ],
    )
    def test_numbers_in_names_are_left_alone(self, sentence):
        kinds = {mutant.kind for mutant in mutants([Document(sentence)])}
        assert not kinds & {"number", "number_form", "unit"}

    @pytest.mark.parametrize(
        "sentence",
        [
            "He was not only late but also tired.",
            "She never was in the old town hall.",
            "They said that it doesn't work and is old.",
            "It is not known whether or not he came.",
        ],
    )
    def test_sentences_with_tricky_denials_are_not_negated(self, sentence):
        assert "negation" not in {mutant.kind for mutant in mutants([Document(sentence)])}

    def test_a_number_that_the_document_has_is_not_a_wrong_one(self):
        """Every one-digit number is there: no change of the digit gives a false claim."""
        digits = " ".join(f"Room number {n} has {n} chairs in it." for n in range(1, 10))
        assert "number" not in {mutant.kind for mutant in mutants([Document(digits)])}

    def test_a_sentence_of_many_documents_is_used_once(self):
        text = "The ferry leaves the port at noon."
        texts = [Document(text, "a"), Document(text.upper(), "b"), Document(text, "c")]
        assert [m.kind for m in mutants(texts)].count("verbatim") == 1

    @given(st.text(max_size=300))
    def test_any_text_is_taken(self, text):
        for mutant in mutants([Document(text)]):
            assert mutant.claim.strip()
            assert mutant.kind in KINDS

    def test_wrong_arguments(self):
        with pytest.raises(ValueError, match="klingon"):
            mutants([], "klingon")
        with pytest.raises(ValueError, match="limit"):
            mutants([], limit=0)


class TestReport:
    def validator(self, flagged):
        def verdict(claim, context):
            return Labels.VALUE_NEUTRAL if flagged(claim, context) else Labels.VALUE_ENTAILMENT

        return caco.Validator(classifier=FakeClassifier(verdict))

    def test_an_oracle_catches_all_and_alarms_on_none(self):
        supported = {m.claim for m in mutants(documents(ENGLISH)) if m.supported}
        oracle = self.validator(lambda claim, context: claim not in supported)
        report = mutation_report(documents(ENGLISH), oracle)
        assert [kind.kind for kind in report.kinds] == list(KINDS)
        for kind in report.kinds:
            assert kind.flagged == (0 if kind.kind in SUPPORTED_KINDS else len(kind.claims))
            assert not kind.wrong
        rows = {row[0]: row for row in report.table().rows}
        assert rows["all wrong claims"][3].startswith("100.0%")
        assert rows["all supported claims"][3].startswith("0.0%")

    def test_one_that_passes_all_misses_all(self):
        report = mutation_report(documents(ENGLISH), self.validator(lambda *_: False))
        for kind in report.kinds:
            assert kind.flagged == 0
            assert len(kind.wrong) == (0 if kind.kind in SUPPORTED_KINDS else len(kind.claims))

    def test_claims_are_checked_against_their_own_document(self):
        seen = []
        validator = self.validator(lambda claim, context: seen.append((claim, context)))
        report = mutation_report(documents(ENGLISH), validator)
        made = {(m.claim, m.document.text) for kind in report.kinds for m in kind.claims}
        assert made <= set(seen)

    def test_what_is_not_judged_is_not_caught(self):
        texts = [Document("I could not find the answer in the documents.")]
        report = mutation_report(texts, self.validator(lambda *_: True))
        for kind in report.kinds:
            if kind.unjudged:
                assert kind.flagged <= len(kind.claims) - kind.unjudged
                assert len(kind.wrong) >= kind.unjudged
        assert any(kind.unjudged for kind in report.kinds)

    def test_a_check_that_failed_is_not_caught(self):
        (claim,) = mutants([Document("The old ferry leaves the port at noon.")])
        failed, caught = Judgement(Status.ERROR, 1.0, True), Judgement(Status.CHECKED, 1.0, True)
        report = KindReport("number", (claim, claim), (failed, caught))
        assert (report.flagged, report.unjudged) == (1, 1)
        assert (claim, failed) in report.wrong

    def test_missing_kinds_are_named(self):
        report = mutation_report([Document("The old ferry is blue and green.")],
                                 self.validator(lambda *_: False))  # fmt: skip
        assert "entity" in report.missing
        assert "entity" in report.table().notes[1]

    def test_nothing_to_make_claims_from(self):
        with pytest.raises(ValueError, match="no claim can be made"):
            mutation_report([Document("Hi.")])

    def test_json_holds_the_missed_ones(self):
        report = mutation_report(documents(ENGLISH), self.validator(lambda *_: False), limit=1)
        data = json.loads(json.dumps(report.to_dict()))
        wrong = [one for kind in data["kinds"] for one in kind["wrong"]]
        assert len(wrong) == 5
        assert {"claim", "sentence", "document", "status", "risk"} == set(wrong[0])

    @pytest.mark.parametrize("language", CORPORA)
    def test_the_embedded_model_catches_most(self, language):
        report = mutation_report(documents(CORPORA[language]), language=language)
        caught = [k.flagged for k in report.kinds if k.kind not in SUPPORTED_KINDS]
        claims = [len(k.claims) for k in report.kinds if k.kind not in SUPPORTED_KINDS]
        assert sum(caught) / sum(claims) > 0.6
        alarms = sum(k.flagged for k in report.kinds if k.kind in SUPPORTED_KINDS)
        assert alarms <= 3


class TestCorpus:
    def test_files_of_every_kind(self, tmp_path):
        (tmp_path / "a.txt").write_text("\ufeffText one.", encoding="utf-8")
        (tmp_path / "b.md").write_text("# Two\n", encoding="utf-8")
        (tmp_path / "blank.txt").write_text(" \n", encoding="utf-8")
        rows = [{"text": "Three."}, {"context": ["Four.", "Five."]}, {"page_content": "Text one."}]
        (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        found = read_corpus(tmp_path / name for name in ("a.txt", "b.md", "blank.txt", "c.jsonl"))
        assert [(document.id, document.text) for document in found] == [
            ("a.txt", "Text one."),
            ("b.md", "# Two\n"),
            ("c.jsonl row 1", "Three."),
            ("c.jsonl row 2", "Four.\n\nFive."),
        ]

    def test_lists_in_csv_are_json(self, tmp_path):
        (tmp_path / "a.csv").write_text('context\n"[""Four."", ""Five.""]"\n', encoding="utf-8")
        (found,) = read_corpus([tmp_path / "a.csv"])
        assert found.text == "Four.\n\nFive."

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.txt", b"\xff\xfe", "UTF-8"),
            ("a.txt", b"  ", "no document"),
            ("a.jsonl", b'{"other": "x"}', "none of text"),
            ("a.jsonl", b'{"text": 5}', "row 1"),
        ],
    )
    def test_files_that_are_wrong(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_corpus([tmp_path / name])
