"""Reading labelled data, judging it, measuring it, and the baselines beside."""

from __future__ import annotations

import builtins
import csv
import gzip
import io
import json
import random
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import caco
from caco.evaluation import (
    BASELINES,
    Dataset,
    Row,
    Validators,
    evaluate,
    evaluation_tables,
    measure_baselines,
    plot,
    read_dataset,
    render_page,
    save_plots,
    take,
    wilson_interval,
)
from caco.evaluation.measures import BINS, area, mean_of, measure, reliability
from caco.evaluation.report import Table
from caco.models import ClaimResult, Labels, Status
from caco.testing import FakeClassifier

ANSWER = {"context": "Cats sleep all day.", "response": "Cats sleep.", "label": 0}
PAIR = {"premise": "A cat sleeps.", "hypothesis": "A cat is awake.", "label": "contradiction"}


def written(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


class TestRead:
    def test_the_same_rows_from_every_format(self, tmp_path):
        import pyarrow
        import pyarrow.parquet

        rows = [
            {**ANSWER, "question": "Do cats sleep?"},
            {"context": "Dogs bark.", "response": 'Dogs "moo",\nall of them.', "label": 1},
        ]
        expected = read_dataset(written(tmp_path / "d.jsonl", rows)).rows
        packed = tmp_path / "d.jsonl.gz"
        packed.write_bytes(gzip.compress((tmp_path / "d.jsonl").read_bytes()))
        table = tmp_path / "d.csv"
        with table.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, ["context", "response", "label", "question"])
            writer.writeheader()
            writer.writerows(rows)
        columns = {key: [row.get(key) for row in rows] for key in (*ANSWER, "question")}
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "d.parquet")
        for name in ("d.jsonl.gz", "d.csv", "d.parquet"):
            data = read_dataset(tmp_path / name)
            assert (data.name, data.kind, data.rows) == ("d", "answers", expected), name
        assert expected[0].prompt == "Do cats sleep?"
        assert [row.label for row in expected] == [False, True]

    def test_lists_of_documents(self, tmp_path):
        documents = ["One.", "Two."]
        (row,) = read_dataset(
            written(tmp_path / "d.jsonl", [{**ANSWER, "context": documents}])
        ).rows
        assert row.context == documents
        assert row.text == "One.\nTwo."
        table = tmp_path / "d.csv"
        with table.open("w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["context", "response", "label"])
            writer.writerow([json.dumps(documents), "One.", "0"])
            writer.writerow(["[1] is a citation, not a list", "One.", "0"])
        first, second = read_dataset(table).rows
        assert first.context == documents
        assert second.context == "[1] is a citation, not a list"

    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("claims", [[], [{"text": "Cats sleep.", "label": 0}]])
    def test_lists_in_csv_are_json(self, tmp_path, indent, claims):
        row = {
            **ANSWER,
            "context": json.dumps(["One.", "Two."], indent=indent),
            "claims": json.dumps(claims, indent=indent),
        }
        with (tmp_path / "d.csv").open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(row))
            writer.writeheader()
            writer.writerow(row)
        (read,) = read_dataset(tmp_path / "d.csv").rows
        assert read.text == "One.\nTwo."
        assert read.claims == tuple((claim["text"], False) for claim in claims)

    @pytest.mark.parametrize("text", ["[1] Cats sleep.", "[1, 2]", "[", "['One.']"])
    def test_a_context_that_only_looks_like_a_list_is_a_text(self, text):
        (row,) = read_dataset([("1", {**ANSWER, "context": text})]).rows
        assert row.text == text

    @pytest.mark.parametrize("label", [1, True, 1.0, "1", "1.0", "true", "TRUE", " 1 "])
    def test_labels_that_are_one(self, label):
        assert read_dataset([("row 1", {**ANSWER, "label": label})]).rows[0].label is True

    @pytest.mark.parametrize("label", [0, False, 0.0, "0", "false", "no"])
    def test_labels_that_are_zero(self, label):
        assert read_dataset([("row 1", {**ANSWER, "label": label})]).rows[0].label is False

    @pytest.mark.parametrize("label", [2, -1, 0.5, "maybe", None, [], float("nan"), ""])
    def test_other_labels_are_an_error(self, label):
        with pytest.raises(ValueError, match=r"row 1.*label"):
            read_dataset([("row 1", {**ANSWER, "label": label})])

    def test_pairs(self):
        data = read_dataset([("1", PAIR), ("2", {**PAIR, "label": "not-entailment", "lang": "pt"})])
        assert data.kind == "pairs"
        assert [(row.gold, row.label) for row in data.rows] == [
            ("contradiction", True),
            ("not_entailment", True),
        ]
        assert data.rows[1].language == "portuguese"

    def test_claims_are_a_set_of_their_own(self):
        claims = [
            {"text": "Cats sleep.", "label": "supported"},
            {"text": "Cats bark.", "label": 1},
        ]
        whole, own = read_dataset([("1", {**ANSWER, "claims": claims})], "cats").with_claims()
        assert whole.name == "cats"
        assert own.name == "cats:claims"
        assert own.of_claims
        assert [(r.response, r.label, r.context) for r in own.rows] == [
            ("Cats sleep.", False, ANSWER["context"]),
            ("Cats bark.", True, ANSWER["context"]),
        ]
        assert len(read_dataset([("1", ANSWER)]).with_claims()) == 1

    def test_questions_can_be_left_out(self):
        row = {**ANSWER, "prompt": "Why?", "question": "How?"}
        assert read_dataset([("1", row)]).rows[0].prompt == "Why?"
        assert read_dataset([("1", row)], with_prompt=False).rows[0].prompt is None

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"context": "x", "response": "y"}, 'no "label"'),
            ({"response": "y", "label": 1}, 'no "context"'),
            ({"label": 1}, "neither"),
            ({**ANSWER, "response": 5}, '"response" must be a text'),
            ({**ANSWER, "context": 5}, "context must be"),
            ({**ANSWER, "context": [{"no": "text"}]}, "no 'text'"),
            ({**ANSWER, "language": "klingon"}, "line 3: .*klingon"),
            ({**ANSWER, "language": 5}, "line 3: .*5"),
            ({**ANSWER, "prompt": 5}, "question must be a text"),
            ({**ANSWER, "claims": "x"}, "claims must be a list"),
            ({**ANSWER, "claims": "5"}, "claims must be a list"),
            ({**ANSWER, "claims": [{"text": "x"}]}, "claim has no label"),
            ({**ANSWER, "claims": [{"text": "x", "label": "perhaps"}]}, "label must be"),
            ({**ANSWER, "claims": ["x"]}, "a claim must be"),
            ({**PAIR, "label": "perhaps"}, "label must be one of"),
            ({**PAIR, "premise": None}, '"premise" must be a text'),
        ],
    )
    def test_rows_that_are_wrong(self, row, message):
        with pytest.raises(ValueError, match=message):
            read_dataset([("d.jsonl line 3", row)])

    def test_answers_and_pairs_do_not_mix(self):
        with pytest.raises(ValueError, match="mixes"):
            read_dataset([("1", ANSWER), ("2", PAIR)])
        with pytest.raises(ValueError, match="no rows"):
            read_dataset([], "empty")

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("d.txt", b"x", "does not end in"),
            (
                "d.jsonl",
                json.dumps(ANSWER).encode() + b"\n\n{oops\n",
                "d.jsonl row 3: the line is not JSON",
            ),
            ("d.csv", b"a,b\n1\n", "row 1: it has 1 fields"),
            ("d.parquet", b"not parquet", "Parquet"),
        ],
    )
    def test_files_that_are_wrong(self, tmp_path, name, content, message):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_dataset(tmp_path / name)

    def test_null_is_as_if_it_was_not_there(self, tmp_path):
        nothing = {"language": None, "prompt": None, "claims": None}
        (row,) = read_dataset(written(tmp_path / "d.jsonl", [{**ANSWER, **nothing}])).rows
        assert (row.language, row.prompt, row.claims) == (None, None, ())

    def test_standard_input(self, monkeypatch):
        content = io.BytesIO(json.dumps(ANSWER).encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
        assert read_dataset("-").name == "data"

    def test_take_is_a_seeded_shuffle(self):
        rows = tuple(Row(str(n), "x", False) for n in range(50))
        data = Dataset("d", rows)
        order = list(rows)
        random.Random(0).shuffle(order)
        assert take(data, 10).rows == tuple(order[:10])
        assert take(data, 10, seed=1).rows != tuple(order[:10])
        assert take(data, None) is data
        assert len(take(data, 99).rows) == 50
        with pytest.raises(ValueError, match="limit"):
            take(data, 0)


RISKS = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.25, 0.5, 0.50001, 0.7, 0.9, 0.95, 1.0])
ROWS = st.lists(st.tuples(RISKS, st.booleans(), st.booleans()), min_size=1, max_size=40)


class TestMeasures:
    @given(ROWS)
    def test_resamples_are_measured_as_scikit_learn_does(self, rows):
        risks, flagged, labels = map(list, zip(*rows, strict=True))
        found = measure(risks, flagged, labels, resamples=3, seed=5)
        weights = np.random.default_rng(5).multinomial(len(rows), [1 / len(rows)] * len(rows), 3)
        for number, weight in enumerate(weights):
            both = {label for label, w in zip(labels, weight, strict=True) if w} == {True, False}
            if not both:
                assert np.isnan(found.resampled["auroc"][number])
                continue
            expected = {
                "auroc": metrics.roc_auc_score(labels, risks, sample_weight=weight),
                "balanced_accuracy": metrics.balanced_accuracy_score(
                    labels, flagged, sample_weight=weight
                ),
                "recall": metrics.recall_score(labels, flagged, sample_weight=weight),
                "accuracy": metrics.accuracy_score(labels, flagged, sample_weight=weight),
            }
            for name, value in expected.items():
                assert found.resampled[name][number] == pytest.approx(value), name

    @given(ROWS)
    def test_all_rows_once_is_the_point_estimate(self, rows):
        risks, flagged, labels = map(list, zip(*rows, strict=True))
        found = measure(risks, flagged, labels, resamples=1).estimates
        assert found["auroc"].value == area(risks, labels)
        gaps = [
            row.rows * abs(row.mean_risk - row.bad_share)
            for row in reliability(risks, labels)
            if row.rows
        ]
        assert found["ece"].value == pytest.approx(sum(gaps) / len(rows))

    def test_values_by_hand(self):
        risks = [0.9, 0.8, 0.4, 0.3, 0.1]
        labels = [True, False, True, False, False]
        found = measure(risks, [risk > 0.5 for risk in risks], labels).estimates
        assert found["auroc"].value == pytest.approx(5 / 6)
        assert found["precision"].value == found["recall"].value == found["f1"].value == 0.5
        assert found["balanced_accuracy"].value == pytest.approx((1 / 2 + 2 / 3) / 2)
        assert found["accuracy"].value == 0.6
        assert found["ece"].value == pytest.approx((0.1 + 0.8 + 0.6 + 0.3 + 0.1) / 5)

    def test_what_is_not_defined_is_none(self):
        good = measure([0.1, 0.9], [False, False], [False, False]).estimates
        assert good["auroc"].value is good["balanced_accuracy"].value is None
        assert good["precision"].value is good["recall"].value is good["f1"].value is None
        assert good["accuracy"].value == 1.0
        assert measure([0.1], [False], [True]).estimates["precision"].value is None
        assert area([0.5], [True]) is None

    def test_intervals_hold_the_value_and_narrow_with_rows(self):
        rng = np.random.default_rng(1)
        widths = []
        for rows in (50, 800):
            labels = rng.random(rows) < 0.5
            risks = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
            found = measure(risks.tolist(), (risks > 0.5).tolist(), labels.tolist()).estimates
            for name in ("auroc", "balanced_accuracy", "recall"):
                estimate = found[name]
                assert estimate.low < estimate.value < estimate.high
            widths.append(found["auroc"].high - found["auroc"].low)
        assert widths[1] < widths[0] / 2

    def test_the_same_seed_gives_the_same_interval(self):
        rows = ([0.1, 0.6, 0.7, 0.2], [False, True, True, False], [False, True, False, True])
        assert measure(*rows).estimates == measure(*rows).estimates
        assert measure(*rows).estimates != measure(*rows, seed=1).estimates

    def test_an_ideal_risk_is_calibrated_and_a_bold_one_is_not(self):
        rng = np.random.default_rng(3)
        risks = rng.random(4000)
        labels = (rng.random(4000) < risks).tolist()
        bold = (risks > 0.5).astype(float)
        true = measure(risks.tolist(), [False] * 4000, labels).estimates["ece"].value
        assert true < 0.03
        assert measure(bold.tolist(), [False] * 4000, labels).estimates["ece"].value > 0.2

    def test_bins(self):
        table = reliability([0.0, 0.1, 0.10001, 1.0], [False, True, True, True])
        assert len(table) == BINS
        assert [row.rows for row in table] == [2, 1, *[0] * 7, 1]
        assert table[0].mean_risk == 0.05
        assert table[0].bad_share == 0.5
        assert table[5].mean_risk is None

    def test_mean_over_sets(self):
        one = measure([0.9, 0.1], [True, False], [True, False])
        other = measure([0.9, 0.1], [True, False], [False, True])
        assert mean_of([one, other])["auroc"].value == 0.5
        single = measure([0.9], [True], [True])
        assert mean_of([one, single])["auroc"].value is None
        assert mean_of([one, single])["recall"].value == 1.0

    def test_wrong_arguments(self):
        with pytest.raises(ValueError, match="nothing to measure"):
            measure([], [], [])
        with pytest.raises(ValueError, match="2 risks, 1 verdicts, 2 labels"):
            measure([0.1, 0.2], [True], [True, False])

    def test_wilson(self):
        assert wilson_interval(0, 0) == (0.0, 1.0)
        low, high = wilson_interval(8, 10)  # 0.4902, 0.9433: Wilson's own formula by hand
        assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
        assert wilson_interval(0, 10)[0] == pytest.approx(0)
        for total in range(1, 200):
            assert wilson_interval(0, total)[0] >= 0.0
            assert wilson_interval(total, total)[1] <= 1.0


def says(verdicts, threshold=0.5):
    return caco.Validator(classifier=FakeClassifier(verdicts), threshold=threshold)


def answers(*rows):
    return Dataset("data", tuple(Row(text, "Cats sleep.", label) for text, label in rows))


class TestEvaluate:
    VERDICTS = {
        "Cats bark.": Labels.VALUE_CONTRADICTION,
        "Cats fly.": Labels.VALUE_NEUTRAL,
    }

    def test_counts_and_measures(self):
        data = answers(("Cats bark.", True), ("Cats fly.", False), ("Cats sleep.", False))
        (report,) = evaluate([data], says(self.VERDICTS), baselines=False).reports
        assert [j.flagged for j in report.judgements] == [True, True, False]
        assert report.estimate("balanced_accuracy").value == 0.75
        assert report.estimate("precision").value == 0.5
        assert report.statuses == {Status.CHECKED: 1.0}
        assert report.as_wrong == 0.75
        assert report.milliseconds > 0

    def test_what_is_not_judged_is_in_no_measure_and_never_a_pass(self):
        data = answers(
            ("Cats bark.", True),
            ("Cats sleep.", False),
            ("I don't know.", True),
            ("  ", True),
        )
        (report,) = evaluate([data], says(self.VERDICTS), baselines=False).reports
        statuses = [judgement.status for judgement in report.judgements]
        assert statuses == [Status.CHECKED, Status.CHECKED, Status.ABSTAINED, Status.ERROR]
        assert report.judged == 2
        assert report.labels == [True, False]
        assert report.estimate("recall").value == 1.0
        assert report.as_wrong == pytest.approx((1 / 3 + 1) / 2)
        assert report.statuses[Status.ERROR] == 0.25
        notes = [note for table in evaluation_tables(evaluate([data], says(self.VERDICTS)))
                 for note in table.notes]  # fmt: skip
        assert any("2 rows were not judged" in note and "0.667" in note for note in notes)

    def test_nothing_judged(self):
        evaluation = evaluate([answers(("I don't know.", False))], says({}), baselines=False)
        (report,) = evaluation.reports
        assert report.measured is None
        assert report.estimate("auroc").value is None
        assert evaluation.mean == {}
        assert json.dumps(evaluation.to_dict())
        assert [table.title for table in evaluation_tables(evaluation)] == ["Measures", "Statuses"]

    def test_no_context_counts_as_flagged(self):
        data = Dataset("data", (Row("Cats bark.", "", True), Row("Cats bark.", [], True)))
        (report,) = evaluate([data], says(self.VERDICTS), baselines=False).reports
        assert report.statuses == {Status.NO_CONTEXT: 1.0}
        assert report.estimate("recall").value == 1.0

    def test_the_threshold_is_the_validators(self):
        def verdict(claim, context):
            return ClaimResult(claim, "", Labels.VALUE_ENTAILMENT, 0.4)

        data = answers(("Cats bark.", True))
        for threshold, flagged in ((0.5, True), (0.7, False)):
            evaluation = evaluate([data], says(verdict, threshold), baselines=False)
            assert evaluation.threshold == threshold
            assert evaluation.reports[0].judgements[0].flagged is flagged

    def test_pairs_are_judged_by_class(self):
        rows = [
            ("Cats bark.", "contradiction"),
            ("Cats fly.", "contradiction"),
            ("Cats fly.", "not_entailment"),
            ("Cats sleep.", "entailment"),
        ]
        data = Dataset(
            "pairs",
            tuple(Row(h, "Cats sleep.", g != "entailment", gold=g) for h, g in rows),
            "pairs",
        )
        (report,) = evaluate([data], says(self.VERDICTS), baselines=False).reports
        assert report.estimate("pair_accuracy").value == 0.75
        assert report.estimate("accuracy").value == 1.0
        assert report.model_accuracy is None
        assert report.estimate("pair_accuracy").low <= 0.75 <= report.estimate("pair_accuracy").high

    def test_the_embedded_model_on_pairs(self):
        rows = (
            Row("A cat is asleep.", "A cat sleeps.", False, gold="entailment"),
            Row("No cat sleeps.", "A cat sleeps.", True, gold="contradiction"),
            Row("Um gato dorme.", "Um gato dorme.", False, None, "portuguese", gold="entailment"),
        )
        (report,) = evaluate([Dataset("pairs", rows, "pairs")], baselines=False).reports
        assert report.model_accuracy == 1.0
        assert report.estimate("pair_accuracy").value == 1.0

    def test_every_row_in_its_language_and_order(self):
        made = []

        def make(language):
            made.append(language)
            return caco.Validator(classifier=FakeClassifier(self.VERDICTS), language=language)

        rows = tuple(
            Row("Cats bark." if n % 3 else "Cats sleep.", "x y", bool(n % 3), language=language)
            for n in range(40)
            for language in (None, "portuguese")
        )
        steps = []
        report = evaluate(
            [Dataset("d", rows)],
            Validators(make),
            baselines=False,
            progress=lambda *step: steps.append(step),
        ).reports[0]
        assert sorted(made) == ["english", "portuguese"]
        assert report.estimate("accuracy").value == 1.0
        assert [judgement.result.language for judgement in report.judgements] == [
            "english",
            "portuguese",
        ] * 40
        assert steps[-1] == ("d", 80, 80)
        made.clear()
        evaluate([Dataset("d", rows)], Validators(make, "portuguese", only=True), baselines=False)
        assert made == ["portuguese"]

    def test_prompts_reach_the_validator(self):
        asked = []

        class Watching(caco.RuleExtractor):
            def claims(self, response, context, prompt=None):
                asked.append(prompt)
                return super().claims(response, context, prompt)

        validator = caco.Validator(extractor=Watching(), classifier=FakeClassifier())
        data = Dataset("d", (Row("Blue.", "The sky is blue.", False, "What colour?"),))
        evaluate([data], validator, baselines=False)
        assert asked[-1] == "What colour?"

    def test_claims_are_left_out_of_the_mean(self):
        row = Row("Cats sleep.", "x", False, claims=(("Cats bark.", False),))
        evaluation = evaluate([Dataset("d", (row,))], says(self.VERDICTS), baselines=False)
        assert [report.dataset.name for report in evaluation.reports] == ["d", "d:claims"]
        assert evaluation.reports[1].estimate("accuracy").value == 0.0
        assert evaluation.mean["accuracy"].value == 1.0

    def test_no_sets(self):
        with pytest.raises(ValueError, match="nothing"):
            evaluate([])

    def test_without_scikit_learn(self, monkeypatch):
        real = builtins.__import__

        def without(name, *rest, **options):
            if name.split(".")[0] == "sklearn":
                raise ImportError(name)
            return real(name, *rest, **options)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(caco.MissingExtraError, match=r"caco-guard\[eval\]"):
            evaluate([answers(("Cats bark.", True))], says({}))


def separable(rows=60):
    """Bad answers are long, use other words and names, and so every baseline can tell them."""
    made = []
    for n in range(rows):
        bad = n % 2 == 0
        context = f"Anna met Bob in room {n} of the old castle."
        response = (
            f"Anna quarrelled with Zoltan about {n + 500} wooden elephants in another galaxy."
            if bad
            else f"Anna met Bob in room {n}."
        )
        made.append(Row(response, context, bad))
    return Dataset("separable", tuple(made))


class TestBaselines:
    def test_they_find_what_is_there(self):
        found = measure_baselines(separable())
        assert tuple(found) == BASELINES
        assert found["majority"].auroc.value == found["majority"].balanced_accuracy.value == 0.5
        for name in BASELINES[1:]:
            assert found[name].auroc.value == 1.0, name
            assert found[name].balanced_accuracy.value == 1.0, name

    def test_they_do_not_find_what_is_not_there(self):
        rng = random.Random(2)
        words = "cat dog sun moon tree lake road hill".split()
        rows = tuple(
            Row(" ".join(rng.sample(words, 4)), " ".join(rng.sample(words, 6)), rng.random() < 0.5)
            for _ in range(200)
        )
        for name, baseline in measure_baselines(Dataset("noise", rows)).items():
            assert 0.35 < baseline.auroc.value < 0.65, name
            assert 0.35 < baseline.balanced_accuracy.value < 0.65, name

    def test_rows_with_the_same_documents_are_never_on_both_sides(self):
        """A document of its own word for each group: only a leak could tell the labels."""
        rng = random.Random(4)
        rows = []
        for group in range(40):
            label = rng.random() < 0.5
            word = f"word{group}"
            rows += [Row(f"{word} {word}", f"{word} other", label)] * 4
        found = measure_baselines(Dataset("groups", tuple(rows)))["tfidf_logistic"]
        assert found.auroc.value < 0.75

    def test_fitted_on_other_rows(self):
        data = separable(24)
        turned = Dataset(
            "turned", tuple(Row(row.response, row.context, not row.label) for row in data.rows)
        )
        found = measure_baselines(data, turned)
        assert found["tfidf_logistic"].auroc.value == 0.0
        assert measure_baselines(data, data)["tfidf_logistic"].auroc.value == 1.0

    @pytest.mark.parametrize(
        ("rows", "note"),
        [
            (tuple(Row("x", "y", n < 3) for n in range(40)), "10 rows of each label"),
            (tuple(Row(f"x{n}", "y", n < 20) for n in range(40)), "there are 1"),
            (tuple(Row("?", "." * n, n % 2 == 0) for n in range(40)), "too few words"),
        ],
    )
    def test_what_cannot_be_fitted_says_why(self, rows, note):
        found = measure_baselines(Dataset("d", rows))
        assert found["majority"].auroc.value == 0.5
        for name in BASELINES[1:]:
            assert found[name].auroc.value is None
            assert note in found[name].note


@pytest.fixture(scope="module")
def evaluation():
    verdicts = {row.response: Labels.VALUE_NEUTRAL for row in separable().rows if row.label}
    data = separable()
    hostile = Dataset("<script>alert(1)</script>/../x", data.rows)
    return evaluate([data, hostile], says(verdicts))


class TestShown:
    def test_tables(self, evaluation):
        tables = list(evaluation_tables(evaluation))
        assert [table.title for table in tables[:3]] == ["Measures", "Statuses", "Baselines"]
        assert len(tables) == 5
        assert tables[0].rows[-1][0] == "mean"
        assert tables[0].markdown().startswith("| set | rows |")
        with pytest.raises(ValueError, match="2 columns, but 1 cells"):
            Table("t", ("a", "b"), (("x",),))

    def test_json(self, evaluation):
        data = json.loads(json.dumps(evaluation.to_dict()))
        assert data["resamples"] == 1000
        assert data["datasets"][0]["measures"]["auroc"] == {"value": 1.0, "low": 1.0, "high": 1.0}
        assert data["datasets"][0]["baselines"]["length"]["auroc"]["value"] == 1.0

    def test_a_page_is_escaped(self, evaluation):
        image = plot(evaluation.reports[1], 0.5)
        page = render_page("t & t", evaluation_tables(evaluation), [("<script>", image)])
        assert "<script>" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert "data:image/png;base64," in page
        assert "http" not in page.replace("http-equiv", "")

    def test_plots_stay_in_their_folder(self, evaluation, tmp_path):
        files = save_plots(evaluation, tmp_path / "deep" / "plots")
        assert len(files) == 2
        for file in files:
            assert file.parent == tmp_path / "deep" / "plots"
            assert file.read_bytes().startswith(b"\x89PNG")
        assert save_plots(evaluation, tmp_path)[0].name == "separable.png"

    def test_a_name_is_no_formula(self, evaluation):
        report = replace(
            evaluation.reports[0],
            dataset=replace(evaluation.reports[0].dataset, name=r"$\frac$ and $5"),
        )
        assert plot(report, 0.5).startswith(b"\x89PNG")

    def test_sets_of_the_same_name_have_files_of_their_own(self, evaluation, tmp_path):
        twice = type(evaluation)((evaluation.reports[0],) * 2, "m", 0.5, "x")
        assert [file.name for file in save_plots(twice, tmp_path)] == [
            "separable.png",
            "separable_2.png",
        ]
