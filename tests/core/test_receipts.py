"""Receipts: their form, the file under many writers and crashes, the hash chain, sinks, secrecy."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caco
from caco.models import Decision, Document
from caco.receipts import (
    SCHEMA_FILE,
    ReceiptLog,
    Site,
    logging_sink,
    make_receipt,
    opentelemetry_sink,
    receipt_from_dict,
    verify_receipts,
)
from caco.receipts.lines import FIRST_HASH
from caco.tension import cts
from caco.testing import FakeClassifier

SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(
    SCHEMA, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)
PASSED = Decision(False, None, 0.7)
WITHHELD = Decision(True, "no_entailment, CTS > tau_star", 0.7, ("ask_for_source",))
SITES = (Site("retrieve", 0.2, 0.4, 0.08, ("d1", "d2")), Site("generate", 0.4, 0.6, 0.24, ("d1",)))


def receipt(decision: Decision = WITHHELD, **options):
    return make_receipt("Seven words make up this short answer.", SITES, decision, **options)


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


class TestForm:
    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_what_the_design_says(self):
        plain = receipt().to_dict()
        VALIDATOR.validate(plain)
        assert list(plain) == [
            "request_id",
            "timestamp",
            "user_role",
            "sites",
            "path_scores",
            "decision",
            "redaction",
        ]
        assert plain["path_scores"] == pytest.approx({"S": 0.3, "C": 0.5, "CTS": 0.16})
        assert plain["decision"] == {
            "abstained": True,
            "reason": "no_entailment, CTS > tau_star",
            "tau_star": 0.7,
        }
        assert plain["redaction"] == {"raw_text_logged": False, "token_count": 7}
        assert plain["sites"][1] == {
            "name": "generate",
            "S": 0.4,
            "C": 0.6,
            "CTS": 0.24,
            "provenance": ["d1"],
        }
        assert plain["timestamp"].endswith("Z")

    def test_raw_text_only_when_switched_on_and_then_said(self):
        plain = receipt(log_raw_text=True).to_dict()
        VALIDATOR.validate(plain)
        assert plain["redaction"]["raw_text_logged"] is True
        assert plain["raw_text"].startswith("Seven words")
        for lie in (
            {**receipt().to_dict(), "raw_text": "secret"},
            {key: value for key, value in plain.items() if key != "raw_text"},
        ):
            assert list(VALIDATOR.iter_errors(lie))

    @pytest.mark.parametrize(
        "change",
        [
            {"request_id": "7"},
            {"timestamp": "2026-01-01T00:00:00+00:00"},
            {"user_role": "a role"},
            {"sites": []},
            {"extra": 1},
            {"path_scores": {"S": 2, "C": 0, "CTS": 0}},
            {"decision": {"abstained": 1, "reason": None, "tau_star": 0.7}},
        ],
    )
    def test_the_schema_and_the_reader_refuse_the_same(self, change):
        plain = {**receipt().to_dict(), **change}
        assert list(VALIDATOR.iter_errors(plain))
        with pytest.raises(ValueError):
            receipt_from_dict(plain)

    def test_reading_is_the_inverse_of_writing(self):
        for decision in (PASSED, WITHHELD):
            for raw in (True, False):
                plain = receipt(decision, log_raw_text=raw).to_dict()
                assert receipt_from_dict(json.loads(json.dumps(plain))).to_dict() == plain

    @pytest.mark.parametrize("plain", [None, [], {}, {"sites": 3}, "x"])
    def test_what_is_no_receipt(self, plain):
        with pytest.raises(ValueError, match="not a receipt"):
            receipt_from_dict(plain)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Site("the whole question", 0, 0, 0),
            lambda: Site("x" * 65, 0, 0, 0),
            lambda: Site("generate", 1.5, 0, 0),
            lambda: receipt(user_role="Tell me, who am I?"),
            lambda: make_receipt("x", [], PASSED),
            lambda: receipt(request_id="not-a-uuid"),
        ],
    )
    def test_free_text_has_no_place(self, make):
        with pytest.raises(ValueError):
            make()

    def test_a_site_of_a_tension(self):
        documents = [Document("France has a capital.", id="geo"), Document("no id")]
        tension = cts("Paris is the capital.", documents)
        site = Site.of("tool:search", tension, documents)
        assert (tension.S, tension.C, tension.value) == (site.S, site.C, site.CTS)
        assert site.provenance == ("geo",)

    @given(st.lists(st.text(max_size=30), max_size=3))
    def test_any_document_id_fits_on_a_line(self, ids):
        plain = make_receipt("x", [Site("generate", 0, 0, 0, tuple(ids))], PASSED).to_dict()
        line = json.dumps(plain)
        assert "\n" not in line
        assert json.loads(line)["sites"][0]["provenance"] == ids


def append_many(path: str, writer: int, count: int, *, hash_chain: bool) -> None:
    log = ReceiptLog(path, hash_chain)
    for number in range(count):
        sites = [Site(f"w{writer}:{number}", 0.1, 0.2, 0.02, ("d" * (number % 400),))]
        log.append(make_receipt("x", sites, PASSED))


def run_writers(path: Path, writers: int, count: int, *, hash_chain: bool) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(
            target=append_many, args=(str(path), writer, count), kwargs={"hash_chain": hash_chain}
        )
        for writer in range(writers)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


class TestFile:
    def test_is_made_and_appended_to(self, tmp_path):
        path = tmp_path / "receipts.jsonl"
        log = ReceiptLog(path)
        log.append(receipt())
        log(receipt(PASSED))
        first, second = read(path)
        VALIDATOR.validate(first)
        assert (first["decision"]["abstained"], second["decision"]["abstained"]) == (True, False)
        assert log.verify().ok
        assert log.verify().lines == 2

    @pytest.mark.parametrize("hash_chain", [False, True])
    def test_threads_lose_nothing(self, tmp_path, hash_chain):
        path = tmp_path / "receipts.jsonl"
        log = ReceiptLog(path, hash_chain)
        threads = [
            threading.Thread(target=lambda: [log.append(receipt()) for _ in range(25)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (log.verify().lines, log.verify().problems) == (200, ())

    @pytest.mark.slow
    @pytest.mark.parametrize("hash_chain", [False, True])
    def test_eight_processes_lose_and_tear_nothing_over_20_000_lines(self, tmp_path, hash_chain):
        path = tmp_path / "receipts.jsonl"
        run_writers(path, 8, 2500, hash_chain=hash_chain)
        lines = read(path)
        assert len(lines) == 20_000
        written = {site["name"] for line in lines for site in line["sites"]}
        assert written == {f"w{w}:{n}" for w in range(8) for n in range(2500)}
        for writer in range(8):
            own = [n for line in lines for n in [line["sites"][0]["name"]] if n[:2] == f"w{writer}"]
            assert own == [f"w{writer}:{number}" for number in range(2500)]
        check = verify_receipts(path, chained=hash_chain)
        assert (check.ok, check.lines, check.chained) == (True, 20_000, hash_chain)

    @pytest.mark.parametrize("torn", [b'{"request_id": "0', b"x", b"\x00\x00", b"y" * 20_000])
    @pytest.mark.parametrize("hash_chain", [False, True])
    def test_a_torn_last_line_is_passed_over_and_then_removed(self, tmp_path, torn, hash_chain):
        path = tmp_path / "receipts.jsonl"
        log = ReceiptLog(path, hash_chain)
        log.append(receipt())
        with path.open("ab") as file:
            file.write(torn)
        check = log.verify()
        assert (check.ok, check.lines, check.torn_bytes) == (True, 1, len(torn))
        log.append(receipt())
        assert len(read(path)) == 2
        assert (log.verify().ok, log.verify().torn_bytes) == (True, 0)

    def test_a_file_of_one_torn_line(self, tmp_path):
        path = tmp_path / "receipts.jsonl"
        path.write_bytes(b'{"torn')
        log = ReceiptLog(path, hash_chain=True)
        log.append(receipt())
        assert read(path)[0]["chain"]["previous"] == FIRST_HASH

    def test_a_write_that_fails_leaves_nothing(self, tmp_path, monkeypatch):
        path = tmp_path / "receipts.jsonl"
        log = ReceiptLog(path)
        log.append(receipt())
        before = path.read_bytes()
        real = os.write

        def full(descriptor, data):
            if len(data) > 50:
                return real(descriptor, bytes(data[:50]))
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            log.append(receipt())
        monkeypatch.undo()
        assert path.read_bytes() == before

    @pytest.mark.parametrize("hash_chain", [False, True])
    def test_kill_9_in_the_middle_loses_at_most_one_line(self, tmp_path, hash_chain):
        """The writer says after each append that it is done; what was said done must be there."""
        path = tmp_path / "receipts.jsonl"
        program = (
            "import sys\n"
            "from caco.receipts import ReceiptLog, Site, make_receipt\n"
            "from caco.models import Decision\n"
            f"log = ReceiptLog({str(path)!r}, {hash_chain})\n"
            "for number in range(10**9):\n"
            "    site = Site(f'n:{number}', 0, 0, 0, ('d' * 5000,))\n"
            "    log.append(make_receipt('x', [site], Decision(False, None, 0.7)))\n"
            "    print(number, flush=True)\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(caco.__file__).parent.parent)}
        lines = 0
        for wait in (0.01, 0.05, 0.1):
            with subprocess.Popen(
                [sys.executable, "-c", program],
                stdout=subprocess.PIPE,
                env=environment,
            ) as process:
                process.stdout.readline()
                time.sleep(wait)
                process.send_signal(signal.SIGKILL)
                said = 1 + process.stdout.read().count(b"\n")
            check = verify_receipts(path, chained=hash_chain)
            assert check.ok
            assert check.lines - lines in (said, said + 1)
            lines = check.lines
        ReceiptLog(path, hash_chain).append(receipt())
        check = verify_receipts(path, chained=hash_chain)
        assert (check.ok, check.lines, check.torn_bytes) == (True, lines + 1, 0)

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            ReceiptLog(tmp_path / "missing" / "receipts.jsonl").append(receipt())


class TestChain:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "receipts.jsonl"
        log = ReceiptLog(path, hash_chain=True)
        for _ in range(5):
            log.append(receipt())
        return path

    def test_each_line_names_the_one_before(self, path):
        chain = [line["chain"] for line in read(path)]
        assert [link["previous"] for link in chain] == [
            FIRST_HASH,
            *(link["hash"] for link in chain[:-1]),
        ]
        for line in read(path):
            VALIDATOR.validate(line)
        check = verify_receipts(path, chained=True)
        assert (check.ok, check.chained, check.last_hash) == (True, True, chain[-1]["hash"])

    @pytest.mark.parametrize(
        ("edit", "line"),
        [
            (lambda lines: lines.__setitem__(2, lines[2].replace("true", "false")), 3),
            (lambda lines: lines.__setitem__(0, lines[0].replace("0.24", "0.25")), 1),
            (lambda lines: lines.pop(1), 2),
            (lambda lines: lines.pop(0), 1),
            (lambda lines: lines.insert(3, lines[1]), 4),
            (lambda lines: lines.reverse(), 1),
            (lambda lines: lines.__setitem__(4, "{}"), 5),
            (lambda lines: lines.__setitem__(1, "not json"), 2),
        ],
    )
    def test_tampering_shows(self, path, edit, line):
        lines = path.read_text(encoding="ascii").splitlines()
        edit(lines)
        path.write_text("".join(f"{text}\n" for text in lines), encoding="ascii")
        check = verify_receipts(path)
        assert not check.ok
        assert check.problems[0].startswith(f"line {line}: ")

    def test_stripping_the_chain_shows_where_one_is_expected(self, path):
        lines = [{k: v for k, v in line.items() if k != "chain"} for line in read(path)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
        assert verify_receipts(path).ok
        assert len(verify_receipts(path, chained=True).problems) == 5

    def test_lines_cut_off_show_by_the_last_hash(self, path):
        noted = verify_receipts(path).last_hash
        lines = path.read_text(encoding="ascii").splitlines(keepends=True)
        path.write_text("".join(lines[:-1]), encoding="ascii")
        assert verify_receipts(path).ok
        assert verify_receipts(path).last_hash != noted

    def test_the_order_of_keys_and_blanks_are_no_tampering(self, path):
        text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in read(path))
        path.write_text(text, encoding="ascii")
        assert verify_receipts(path, chained=True).ok

    def test_goes_on_over_processes(self, path):
        run_writers(path, 2, 5, hash_chain=True)
        check = verify_receipts(path, chained=True)
        assert (check.ok, check.lines) == (True, 15)

    def test_cannot_begin_in_the_middle_of_a_file(self, tmp_path):
        path = tmp_path / "receipts.jsonl"
        ReceiptLog(path).append(receipt())
        before = path.read_bytes()
        with pytest.raises(ValueError, match="no hash to go on from"):
            ReceiptLog(path, hash_chain=True).append(receipt())
        assert path.read_bytes() == before

    def test_an_end_of_the_chain_shows(self, path):
        ReceiptLog(path).append(receipt())
        assert verify_receipts(path).problems == ("line 6: it has no hash",)

    def test_problems_are_bounded(self, tmp_path):
        path = tmp_path / "receipts.jsonl"
        path.write_text("x\n" * 1000, encoding="ascii")
        assert len(verify_receipts(path).problems) == 100


class TestSinks:
    def test_a_callable(self, tmp_path):
        seen = []
        log = ReceiptLog(tmp_path / "r.jsonl", sinks=[seen.append])
        log.append(receipt())
        assert seen[0].to_dict() == read(tmp_path / "r.jsonl")[0]

    def test_without_a_file(self):
        seen = []
        log = ReceiptLog(sinks=[seen.append])
        log.append(receipt())
        assert len(seen) == 1
        with pytest.raises(ValueError, match="no file"):
            log.verify()

    def test_a_log_is_a_sink(self, tmp_path):
        both = ReceiptLog(tmp_path / "a.jsonl", sinks=[ReceiptLog(tmp_path / "b.jsonl")])
        both.append(receipt())
        assert read(tmp_path / "a.jsonl") == read(tmp_path / "b.jsonl")

    def test_python_logging(self, caplog):
        with caplog.at_level(logging.INFO, "caco.receipts"):
            ReceiptLog(sinks=[logging_sink()]).append(receipt())
        (record,) = caplog.records
        VALIDATOR.validate(json.loads(record.getMessage()))

    def test_opentelemetry(self):
        pytest.importorskip("opentelemetry.sdk", exc_type=ImportError)
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs import export as exporting

        memory = getattr(exporting, "InMemoryLogRecordExporter", None)
        memory = memory or exporting.InMemoryLogExporter
        exporter, provider = memory(), LoggerProvider()
        provider.add_log_record_processor(exporting.SimpleLogRecordProcessor(exporter))
        ReceiptLog(sinks=[opentelemetry_sink(provider)]).append(receipt())
        (entry,) = exporter.get_finished_logs()
        record = entry.log_record
        VALIDATOR.validate(json.loads(record.body))
        assert record.attributes["caco.abstained"] is True
        assert record.attributes["caco.cts"] == pytest.approx(0.16)
        provider.shutdown()

    def test_opentelemetry_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "opentelemetry._logs", None)
        with pytest.raises(caco.MissingExtraError, match=r"caco-guard\[otel\]"):
            opentelemetry_sink()

    def test_what_a_sink_raises_surfaces_after_the_file_is_written(self, tmp_path):
        def fail(_receipt):
            raise RuntimeError("full")

        log = ReceiptLog(tmp_path / "r.jsonl", sinks=[fail])
        with pytest.raises(RuntimeError, match="full"):
            log.append(receipt())
        assert len(read(tmp_path / "r.jsonl")) == 1

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({}, ValueError),
            ({"hash_chain": True, "sinks": [print]}, ValueError),
            ({"sinks": [3]}, TypeError),
        ],
    )
    def test_wrong_arguments(self, arguments, error):
        with pytest.raises(error):
            ReceiptLog(**arguments)


def pieces(text: str) -> set[str]:
    return {text[start : start + 12] for start in range(len(text) - 11)}


def test_no_twelve_characters_of_the_input_in_200_random_runs(tmp_path):
    """Questions, documents and answers leave no trace, whatever rule fires."""
    chance = random.Random(20)
    alphabet = "abcdefghijklmnopqrstuvwxyz     éãç0123456789.,"
    words = "tension entailment policy source answer documents decision reason abstained".split()

    def text(length: int) -> str:
        noise = "".join(chance.choices(alphabet, k=length))
        return f"{noise} {' '.join(chance.choices(words, k=3))}. The {noise[:20]} is not it."

    path = tmp_path / "receipts.jsonl"
    log = ReceiptLog(path, hash_chain=True)
    secrets: set[str] = set()
    for number in range(200):
        documents = [Document(text(60), id=f"d{place}") for place in range(3)]
        answer, question = text(80), text(40)
        rules = chance.sample(caco.gate.RULES, chance.randint(1, 5))
        policy = caco.GatingPolicy(tau_star=chance.random() / 4, abstain_if=tuple(rules))
        labels = dict.fromkeys([answer], chance.choice(list(caco.Labels)))
        engine = caco.Validator(
            classifier=FakeClassifier(labels, default=chance.choice(list(caco.Labels))),
            policy=policy,
        )
        result = engine.validate(answer, documents if number % 7 else None, question)
        tension = engine.tension(result, documents)
        site = Site.of("generate", tension, documents)
        log.append(make_receipt(answer, [site], result.gate))
        for piece in (answer, question, *(document.text for document in documents)):
            secrets |= pieces(piece)
    written = path.read_text(encoding="ascii")
    decoded = " ".join(json.dumps(line, ensure_ascii=False) for line in read(path))
    assert not secrets & (pieces(written) | pieces(decoded))
    assert len(read(path)) == 200
    assert {line["decision"]["abstained"] for line in read(path)} == {True, False}
    raw = make_receipt(answer, [site], result.gate, log_raw_text=True)
    assert pieces(answer) & pieces(json.dumps(raw.to_dict(), ensure_ascii=False))
