"""``caco signals``, ``caco tune`` and ``caco receipts``, as a user meets them."""

from __future__ import annotations

import io
import json
import sys

import pytest

import caco
from caco.cli import main
from caco.models import Decision
from caco.receipts import ReceiptLog, Site, make_receipt

SURE = "This is absolutely guaranteed to work."
PRICES = "The Pro plan costs $35 per month."


def error_of(capsys, *arguments: str) -> str:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.startswith("caco: error: ")
    return printed.err


class TestSignals:
    def test_json_is_the_report(self, capsys):
        context = "The product improves efficiency."
        assert main(["signals", "--json", "--response", SURE, "--context", context]) == 0
        assert json.loads(capsys.readouterr().out) == caco.detect_signals(SURE, context).to_dict()

    def test_text(self, capsys):
        assert main(["signals", "--response", SURE, "--context", "Other."]) == 0
        printed = capsys.readouterr().out
        assert "High surface risk (score 0.75)" in printed
        assert "overconfident: absolutely" in printed
        assert "word for word: 1" in printed

    def test_portuguese_without_context(self, capsys):
        assert main(["signals", "--language", "pt", "--response", "Sempre funciona."]) == 0
        printed = capsys.readouterr().out
        assert "Risco superficial baixo" in printed
        assert "excesso de confiança: sempre" in printed
        assert "Nenhum documento foi dado" in printed

    def test_files_and_standard_input(self, capsys, tmp_path, monkeypatch):
        path = tmp_path / "prices.txt"
        path.write_text(PRICES, encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PRICES.encode())))
        arguments = ["signals", "--json", "--response-file", "-", "--context-file", str(path)]
        assert main(arguments) == 0
        assert json.loads(capsys.readouterr().out)["issues"] == []

    def test_verify_names_who_backs_what(self, capsys, tmp_path):
        prices, other = tmp_path / "prices.txt", tmp_path / "other.txt"
        prices.write_text(PRICES, encoding="utf-8")
        other.write_text("Bananas are yellow.", encoding="utf-8")
        files = ["--context-file", str(prices), "--context-file", str(other), "--verify"]
        good = "The Pro plan costs $35 per month [1]."
        assert main(["signals", "--response", good, *files]) == 0
        assert "[1] backs it" in capsys.readouterr().out
        wrong = "The Pro plan costs $35 per month [2]. Cats bark [1]. Bananas are yellow [9]."
        assert main(["signals", "--response", wrong, *files]) == 1
        printed = " ".join(capsys.readouterr().out.split())
        assert "[2] does not back it; " in printed
        assert "[1] does not back it, nor does another document" in printed
        assert "cites what is no document: 9" in printed
        assert main(["signals", "--json", "--response", wrong, *files]) == 1
        report = json.loads(capsys.readouterr().out)
        assert [c["support"] for c in report["citations"]] == ["other", "none", "other"]
        assert len(report["claims"]) == 3
        assert report["risk_level"]

    def test_errors(self, capsys):
        assert "empty" in error_of(capsys, "signals", "--response", " ")
        assert "--context" in error_of(capsys, "signals", "--response", "x", "--verify")
        assert "klingon" in error_of(capsys, "signals", "--response", "x", "--language", "klingon")
        twice = ("signals", "--response-file", "-", "--context-file", "-")
        assert "only once" in error_of(capsys, *twice)


class TestTune:
    ROWS = [
        {"response": PRICES, "context": PRICES, "label": 0},
        {"response": "The Pro plan costs $99 per month.", "context": PRICES, "label": 1},
        {"response": "The Pro plan costs $35.", "context": [PRICES], "label": False},
        {"response": "Cats bark at night.", "context": {"text": PRICES}, "label": True},
    ]

    @pytest.fixture
    def data(self, tmp_path):
        def write(rows):
            path = tmp_path / "data.jsonl"
            text = "\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows)
            path.write_text(text + "\n\n", encoding="utf-8")
            return str(path)

        return write

    def test_prints_the_trade_off(self, capsys, data):
        assert main(["tune", "--target-abstention", "0.5", data(self.ROWS)]) == 0
        printed = capsys.readouterr().out
        assert printed.startswith("tau_star: 0.")
        assert "4 answers, 2 labelled bad" in printed
        assert "bad among answered" in printed
        (chosen,) = [line for line in printed.splitlines() if line.startswith("→")]
        assert chosen.split()[2:] == ["50.0%", "0.0%", "0.0%", "0.0%"]

    def test_json_and_unlabelled(self, capsys, data):
        rows = [{k: v for k, v in row.items() if k != "label"} for row in self.ROWS]
        assert main(["tune", "--json", "--target-abstention", "0.25", data(rows)]) == 0
        tuning = json.loads(capsys.readouterr().out)
        assert (tuning["rows"], tuning["bad"]) == (4, None)
        chosen = [r for r in tuning["table"] if r["tau_star"] == tuning["tau_star"]]
        assert chosen[0]["abstention_rate"] == 0.25

    def test_the_threshold_does_in_a_policy_what_was_promised(self, capsys, data):
        assert main(["tune", "--json", "--target-abstention", "0.5", data(self.ROWS)]) == 0
        tau = json.loads(capsys.readouterr().out)["tau_star"]
        policy = caco.GatingPolicy(tau_star=tau, abstain_if=("CTS > tau_star",))
        engine = caco.Validator(policy=policy)
        items = [(row["response"], row["context"]) for row in self.ROWS]
        withheld = [result.gate.abstained for result in engine.validate_batch(items)]
        assert withheld == [bool(row["label"]) for row in self.ROWS]

    def test_a_miss_rate_and_the_heuristic(self, capsys, data):
        arguments = ["tune", "--target-miss-rate", "0", "--mode", "heuristic", data(self.ROWS)]
        assert main(arguments) == 0
        assert "tau_star" in capsys.readouterr().out

    def test_tensions_that_are_known(self, capsys, data):
        rows = [{"cts": n / 10} for n in range(10)]
        assert main(["tune", "--json", "--target-abstention", "0.3", data(rows)]) == 0
        assert json.loads(capsys.readouterr().out)["tau_star"] == 0.6

    @pytest.mark.parametrize(
        ("rows", "reason"),
        [
            ([], "no answers"),
            (["{"], "line 1 is not JSON"),
            (["3"], "line 1 is not a JSON object"),
            ([{"context": "x"}], 'line 1 has neither a text "response" nor "cts"'),
            ([{"response": "x"}], 'line 1 has no "context"'),
            ([{"cts": 0.5, "label": "bad"}], "line 1: label must be"),
            ([{"cts": 0.5, "label": 1}, {"cts": 0.5}], "1 of 2 rows have a label"),
            ([{"cts": 5}], "a tension"),
        ],
    )
    def test_bad_data(self, capsys, data, rows, reason):
        assert reason in error_of(capsys, "tune", "--target-abstention", "0.1", data(rows))


class TestReceipts:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "receipts.jsonl"
        log = ReceiptLog(path, hash_chain=True)
        for _ in range(3):
            log.append(make_receipt("x", [Site("generate", 0, 0, 0)], Decision(False, None, 0.7)))
        return path

    def test_in_order(self, capsys, path):
        assert main(["receipts", "verify", str(path)]) == 0
        printed = capsys.readouterr().out
        assert "3 receipts, hash chain intact" in printed
        assert "last hash: " in printed

    def test_changed(self, capsys, path):
        path.write_text(path.read_text("ascii").replace("false,", "true,", 1), encoding="ascii")
        assert main(["receipts", "verify", str(path)]) == 1
        assert "line 1: it was changed" in capsys.readouterr().out

    def test_torn(self, capsys, path):
        with path.open("a", encoding="ascii") as file:
            file.write("{")
        assert main(["receipts", "verify", str(path)]) == 0
        assert "unfinished line of 1 bytes" in capsys.readouterr().out

    def test_json(self, capsys, path):
        assert main(["receipts", "verify", "--json", "--chained", str(path)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["ok"], found["lines"], found["problems"]) == (True, 3, [])

    def test_a_chain_that_is_missing(self, capsys, tmp_path):
        path = tmp_path / "plain.jsonl"
        site = Site("generate", 0, 0, 0)
        ReceiptLog(path).append(make_receipt("x", [site], Decision(False, None, 0.7)))
        assert main(["receipts", "verify", str(path)]) == 0
        assert "no hash chain" in capsys.readouterr().out
        assert main(["receipts", "verify", "--chained", str(path)]) == 1

    def test_a_missing_file(self, capsys, tmp_path):
        missing = str(tmp_path / "missing")
        assert f"{missing}: No such file" in error_of(capsys, "receipts", "verify", missing)

    def test_an_action_is_needed(self, capsys):
        with pytest.raises(SystemExit) as caught:
            main(["receipts"])
        assert caught.value.code == 2
        assert "ACTION" in capsys.readouterr().err
