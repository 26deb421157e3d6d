"""``caco eval``, as a user meets it, and what a gating policy does to the data."""

from __future__ import annotations

import io
import json
import sys

import pytest

import caco
from caco.cli import main
from caco.cli.eval import _show_progress
from caco.evaluation import Dataset, Row, Validators, evaluate, gate_report, gate_table
from caco.models import Labels
from caco.testing import FakeClassifier

PRICES = "The Pro plan costs $35 per month. It includes 5 seats and was launched in 2021."
GOOD = "The Pro plan costs $35 per month."
BAD = "The Pro plan costs $99 per month."


@pytest.fixture
def data(tmp_path):
    def write(rows, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
        return str(path)

    return write


def rows(good=2, bad=2):
    return [
        *({"context": PRICES, "response": GOOD, "label": 0} for _ in range(good)),
        *({"context": PRICES, "response": BAD, "label": 1} for _ in range(bad)),
    ]


def error_of(capsys, *arguments):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out
    return printed.err


class TestEval:
    def test_json(self, capsys, data):
        assert main(["eval", "--json", data(rows())]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["threshold"] == 0.5
        assert found["model"].startswith("caco-nli")
        (one,) = found["datasets"]
        assert (one["name"], one["rows"], one["bad"], one["judged"]) == ("data", 4, 2, 4)
        assert one["measures"]["auroc"]["value"] == 1.0
        assert one["measures"]["balanced_accuracy"]["value"] == 1.0
        assert one["statuses"] == {"CHECKED": 1.0}

    def test_text(self, capsys, data):
        pair = {"premise": PRICES, "hypothesis": GOOD, "label": "entailment"}
        assert main(["eval", data(rows()), data([pair], "pairs.jsonl")]) == 0
        printed = capsys.readouterr()
        assert "1.000 [1.000, 1.000]" in printed.out
        for title in (
            "Measures",
            "Statuses",
            "Classes of pairs",
            "Baselines",
            "Reliability of data",
        ):
            assert title in printed.out
        assert "10 rows of each label" in printed.out
        assert printed.err == ""

    def test_threshold_limit_and_without(self, capsys, data):
        path = data(rows())
        arguments = ["eval", "--json", "--threshold", "1", "--limit", "3", "--without-baselines"]
        assert main([*arguments, path]) == 0
        (one,) = json.loads(capsys.readouterr().out)["datasets"]
        assert one["rows"] == 3
        assert one["measures"]["recall"]["value"] == 0.0
        assert one["baselines"] == {}

    def test_language(self, capsys, data):
        row = {"context": "O plano custa 35 reais por mês.", "response": "Não sei.", "label": 0}
        path = data([row])
        assert main(["eval", "--json", "--language", "pt", path]) == 0
        (one,) = json.loads(capsys.readouterr().out)["datasets"]
        assert one["statuses"] == {"ABSTAINED": 1.0}
        assert main(["eval", "--json", data([{**row, "lang": "pt"}])]) == 0
        assert json.loads(capsys.readouterr().out)["datasets"][0]["judged"] == 0

    def test_labelled_claims_are_measured_but_not_tuned_on(self, capsys, data):
        claims = [{"text": GOOD, "label": "supported"}]
        path = data([{**row, "claims": claims} for row in rows(12, 12)])
        assert main(["eval", "--json", "--tune", "balanced-accuracy", path]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [one["name"] for one in found["datasets"]] == ["data", "data:claims"]
        assert found["tuning"]["rows"] == 24

    def test_tune(self, capsys, data):
        path = data(rows(12, 12))
        assert main(["eval", "--json", "--tune", "miss-rate=0.1", path]) == 0
        tuning = json.loads(capsys.readouterr().out)["tuning"]
        assert 0 < tuning["threshold"] < 1
        assert tuning["held_out"]["balanced_accuracy"] == 1.0
        assert main(["eval", "--tune", "balanced-accuracy", path]) == 0
        assert "held out, 5 folds" in capsys.readouterr().out

    def test_a_threshold_that_cannot_be_chosen_costs_no_measures(self, capsys, data):
        assert main(["eval", "--json", "--tune", "miss-rate=0.1", data(rows())]) == 2
        printed = capsys.readouterr()
        assert "10 rows of each label" in printed.err
        found = json.loads(printed.out)
        assert found["datasets"][0]["measures"]["auroc"]["value"] == 1.0
        assert "tuning" not in found

    @pytest.mark.parametrize(
        "target", ["recall=0.1", "miss-rate", "miss-rate=2", "balanced-accuracy=1"]
    )
    def test_targets_that_are_wrong(self, capsys, data, target):
        assert error_of(capsys, "eval", "--tune", target, data(rows(12, 12)))

    def test_a_target_that_is_no_number(self, capsys, data):
        with pytest.raises(SystemExit) as stopped:
            main(["eval", "--tune", "miss-rate=few", data(rows())])
        assert stopped.value.code == 2
        assert "not a number" in capsys.readouterr().err

    def test_policy(self, capsys, data, tmp_path):
        policy = tmp_path / "policy.json"
        policy.write_text('{"abstain_if": ["score > threshold"]}')
        assert main(["eval", "--json", "--policy", str(policy), data(rows(3, 1))]) == 0
        (gate,) = json.loads(capsys.readouterr().out)["gate"]
        assert gate["baseline"]["unsupported_rate"] == 0.25
        assert gate["gated"]["unsupported_rate"] == 0.0
        assert gate["gated"]["abstention_rate"] == 0.25
        assert gate["gated"]["task_accuracy"] == 1.0
        assert main(["eval", "--policy", "default", data(rows())]) == 0
        assert "With a gating policy" in capsys.readouterr().out
        assert "policy" in error_of(
            capsys, "eval", "--policy", str(tmp_path / "no.json"), data(rows())
        )
        pair = {"premise": PRICES, "hypothesis": GOOD, "label": "entailment"}
        assert "only pairs" in error_of(
            capsys, "eval", "--policy", "default", data([pair], "pairs.jsonl")
        )
        both = (data(rows()), data([pair], "pairs.jsonl"))
        assert main(["eval", "--json", "--policy", "default", *both]) == 0
        assert [gate["name"] for gate in json.loads(capsys.readouterr().out)["gate"]] == ["data"]

    def test_progress_holds_no_control_characters(self, monkeypatch):
        class Screen(io.StringIO):
            def isatty(self):
                return True

        monkeypatch.setattr(sys, "stderr", Screen())
        _show_progress("a\x1b[2Jb", 1, 2)
        assert sys.stderr.getvalue() == "\ra?[2Jb: 1 of 2"

    def test_page_and_plots(self, capsys, data, tmp_path):
        page, plots = tmp_path / "page.html", tmp_path / "plots"
        assert main(["eval", "--html", str(page), "--plots", str(plots), data(rows())]) == 0
        assert "Measures" in page.read_text(encoding="utf-8")
        assert [file.name for file in plots.iterdir()] == ["data.png"]

    def test_mutate(self, capsys, data, tmp_path):
        corpus = tmp_path / "corpus.txt"
        corpus.write_text(PRICES, encoding="utf-8")
        page = tmp_path / "page.html"
        arguments = ["eval", "--mutate", "--limit", "3", "--html", str(page)]
        assert main([*arguments, str(corpus)]) == 0
        printed = capsys.readouterr().out
        assert "Claims made from your documents" in printed
        assert "all wrong claims" in printed
        assert "all wrong claims" in page.read_text(encoding="utf-8")
        assert main(["eval", "--mutate", "--json", "--threshold", "1", str(corpus)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert {kind["flagged"] for kind in found["kinds"]} == {0}
        assert "--tune" in error_of(
            capsys, "eval", "--mutate", "--tune", "balanced-accuracy", str(corpus)
        )

    def test_missed_claims_are_printed(self, capsys, tmp_path):
        corpus = tmp_path / "corpus.txt"
        corpus.write_text(PRICES, encoding="utf-8")
        assert main(["eval", "--mutate", "--threshold", "1", "--limit", "1", str(corpus)]) == 0
        printed = capsys.readouterr().out
        assert "missed (" in printed
        assert "made from:" in printed

    def test_errors(self, capsys, data, tmp_path):
        assert "no.jsonl" in error_of(capsys, "eval", str(tmp_path / "no.jsonl"))
        assert "label" in error_of(capsys, "eval", data([{"context": "x", "response": "y"}]))
        assert "limit" in error_of(capsys, "eval", "--limit", "0", data(rows()))
        assert "threshold" in error_of(capsys, "eval", "--threshold", "2", data(rows()))
        assert "config.json" in error_of(capsys, "eval", "--model", str(tmp_path), data(rows()))


class TestGate:
    def report(self, rows, policy, verdicts):
        validator = caco.Validator(classifier=FakeClassifier(verdicts))
        dataset = Dataset("d", tuple(rows))
        validators = Validators.of(validator)
        evaluation = evaluate([dataset], validators, baselines=False)
        return gate_report(evaluation.reports[0], validators, policy)

    POLICY = caco.GatingPolicy(abstain_if=("score > threshold",))

    def test_numbers_by_hand(self):
        rows = [
            Row("Cats bark.", "Cats sleep.", True),
            Row("Cats fly.", "Cats sleep.", True),
            Row("Cats sleep.", "Cats sleep.", False),
            Row("Cats purr.", "Cats sleep.", False),
        ]
        verdicts = {
            "Cats bark.": Labels.VALUE_NEUTRAL,  # bad, withheld
            "Cats purr.": Labels.VALUE_NEUTRAL,  # good, withheld
        }
        report = self.report(rows, self.POLICY, verdicts)
        assert report.baseline.unsupported_rate == 0.5
        assert report.baseline.task_accuracy == 0.5
        assert report.baseline.abstention_rate == 0.0
        assert report.baseline.reads_per_find == 2.5
        assert report.gated.unsupported_rate == 0.5
        assert report.gated.task_accuracy == 0.5
        assert report.gated.abstention_rate == 0.5
        assert (report.good_shown, report.bad_withheld) == (0.5, 0.5)
        assert gate_table([report], self.POLICY).rows[0][2] == "0.500 → 0.500"

    def test_a_good_policy_shows_fewer_unsupported_claims_and_finds_them_sooner(self):
        rows = [Row(f"Cats bark {n} times.", "Cats sleep.", True) for n in range(3)]
        rows += [Row("Cats sleep.", "Cats sleep.", False)] * 7
        verdicts = {row.response: Labels.VALUE_CONTRADICTION for row in rows if row.label}
        report = self.report(rows, self.POLICY, verdicts)
        assert report.gated.unsupported_rate == 0.0
        assert report.gated.task_accuracy == 1.0
        assert report.gated.abstention_rate == pytest.approx(0.3)
        assert report.baseline.reads_per_find == 5.5
        assert report.gated.reads_per_find == 2.0

    def test_labelled_claims_are_counted(self):
        claims = (("Cats sleep.", False), ("Cats bark.", True), ("Cats fly.", True))
        rows = [
            Row("Cats sleep and bark.", "x y", True, claims=claims),
            Row("Cats sleep.", "x y", False),
        ]
        report = self.report(rows, self.POLICY, {"Cats sleep and bark.": Labels.VALUE_NEUTRAL})
        assert report.baseline.unsupported_rate == 0.5
        assert report.gated.unsupported_rate == 0.0

    def test_what_could_not_be_checked_is_withheld(self):
        rows = [Row("  ", "Cats sleep.", True), Row("Cats sleep.", "Cats sleep.", False)]
        report = self.report(rows, caco.GatingPolicy(abstain_if=()), {})
        assert report.bad_withheld == 1.0
        assert report.gated.abstention_rate == 0.5

    def test_everything_withheld(self):
        rows = [Row("Cats bark.", "Cats sleep.", True)]
        report = self.report(rows, self.POLICY, {"Cats bark.": Labels.VALUE_NEUTRAL})
        assert report.gated.unsupported_rate is None
        assert report.good_shown is None
        assert gate_table([report], self.POLICY).rows[0][2] == "1.000 → -"

    def test_without_bad_answers(self):
        report = self.report([Row("Cats sleep.", "Cats sleep.", False)], self.POLICY, {})
        assert report.baseline.reads_per_find is report.gated.reads_per_find is None
        assert report.gated.task_accuracy == 1.0

    def test_pairs_are_refused(self):
        rows = [Row("Cats sleep.", "Cats sleep.", False, gold="entailment")]
        validators = Validators.of(caco.Validator(classifier=FakeClassifier()))
        evaluation = evaluate([Dataset("p", tuple(rows), "pairs")], validators, baselines=False)
        with pytest.raises(ValueError, match="pairs of sentences"):
            gate_report(evaluation.reports[0], validators, self.POLICY)
