"""Tables of answers: the callable, the files, the bad rows, the review list, the repairs."""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import gzip
import io
import json
import os
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caco
from caco.batch import (
    RESULT_TYPES,
    BatchJob,
    BatchValidator,
    ColumnNames,
    LocalEngine,
    TooManyErrorsError,
    open_source,
    parse_condition,
    read_new_sources,
    run_batch,
    write_review,
)
from caco.batch.append import AppendFile
from caco.batch.plain import cell_text, json_text
from caco.batch.rows import Row, chunks
from caco.cli import main
from caco.cli.progress import ProgressBar, progress_line
from caco.models import Labels
from caco.testing import FakeClassifier

LAW = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
FALSE = "The LGPD was created in 2015 during Dilma Rousseff's government."
TRUE = "President Michel Temer enacted the LGPD in 2018."


def verdict(claim, context):
    """A claim is supported where it stands in a document; "boom" is an accident."""
    if "boom" in claim:
        raise KeyError("boom")
    return Labels.VALUE_ENTAILMENT if claim in context else Labels.VALUE_CONTRADICTION


def fake(**settings) -> BatchValidator:
    validator = caco.Validator(classifier=FakeClassifier(verdict))
    return BatchValidator(validator, **settings)


def table(count: int) -> list[dict]:
    """Rows of which every third is not supported."""
    return [
        {
            "id": f"r{n}",
            "response": f"Tower {n} is {90 + n % 3} metres high.",
            "context": f"Tower {n} is 90 metres high."
            if n % 2
            else [f"Tower {n} is 90 metres high."],
        }
        for n in range(count)
    ]


def write_lines(path: Path, rows) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read_rows(path) -> list[dict]:
    return [row.data for row in open_source(str(path)).rows()]


def lines(path) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def run(source, output, validator=None, **settings):
    job = BatchJob(open_source(str(source)), str(output), validator=validator or fake(), **settings)
    return run_batch(job)


class TestBatchValidator:
    def test_columns_in_columns_out(self):
        batch = {"response": [LAW, FALSE], "context": [LAW, [LAW]], "label": [0, 1]}
        found = BatchValidator()(batch)
        assert list(found) == [*batch, *RESULT_TYPES, "error"]
        assert found["label"] == [0, 1]
        assert found["verdict"] == ["faithful", "hallucination"]
        assert found["is_hallucination"] == [False, True]
        assert found["risk_level"] == ["low", "high"]
        assert found["status"] == ["CHECKED", "CHECKED"]
        assert found["error"] == [None, None]
        expected = caco.Validator().validate(FALSE, LAW)
        assert found["score"][1] == pytest.approx(expected.score)
        assert found["cts"][1] == pytest.approx(caco.Validator().tension(expected, LAW).value)
        assert json.loads(found["claims"][1]) == expected.to_dict()["claims"]

    @pytest.mark.parametrize(
        "context",
        [
            LAW,
            [LAW],
            (LAW, "Bananas are yellow."),
            np.array([LAW, "x"], dtype=object),
            json.dumps([LAW]),
            json.dumps([{"text": LAW, "id": "law"}]),
            [{"page_content": LAW}],
            {"text": LAW, "id": 7},
            caco.Document(LAW),
            np.array([{"text": LAW}], dtype=object),
            [LAW, None],
        ],
    )
    def test_forms_of_a_context(self, context):
        (claim,) = json.loads(
            BatchValidator()({"response": [TRUE], "context": [context]})["claims"][0]
        )
        assert (claim["label"], claim["evidence"]) == ("entailment", LAW)

    @pytest.mark.parametrize("context", ["[1] is a footnote", "[]x", "[1, 2]", '[{"no": 1}]'])
    def test_a_text_that_only_looks_like_a_list_is_a_text(self, context):
        found = fake()({"response": [f"He said {context}."], "context": [f"He said {context}."]})
        assert found["verdict"] == ["faithful"]
        read = ColumnNames("response", "context")
        from caco.batch.columns import read_answer

        (document,) = read_answer({"response": "x", "context": context}, read).documents
        assert document.text == context

    @pytest.mark.parametrize("context", [None, "", [], float("nan"), np.nan])
    def test_no_context_never_passes(self, context):
        found = fake()({"response": ["The tower is high."], "context": [context]})
        assert found["status"] == ["NO_CONTEXT"]
        assert found["is_hallucination"] == [True]
        assert found["cts"][0] > 0

    @pytest.mark.parametrize(
        ("response", "context", "reason"),
        [
            ("  ", LAW, "blank"),
            (None, LAW, "must be a text"),
            (7, LAW, "must be a text"),
            (TRUE, 7, "context must be"),
            (TRUE, [{"no": 1}], "no 'text'"),
            (TRUE, [{"text": "a", "id": 1}, {"text": "b", "id": 1}], "two documents"),
            ("boom", LAW, "KeyError"),
        ],
    )
    def test_a_bad_row_has_a_reason_and_never_passes(self, response, context, reason):
        found = fake()({"response": [TRUE, response, LAW], "context": [LAW, context, LAW]})
        assert found["verdict"] == ["hallucination", "error", "faithful"]
        assert found["status"] == ["CHECKED", "ERROR", "CHECKED"]
        assert found["is_hallucination"][1] is True
        assert (found["score"][1], found["cts"][1], found["risk_level"][1]) == (1.0, 1.0, "high")
        assert reason in found["error"][1]
        assert found["error"][::2] == [None, None]

    def test_what_concerns_all_rows_surfaces(self):
        def fail(claim, context):
            raise caco.ModelNotAvailableError("gone")

        validator = BatchValidator(caco.Validator(classifier=FakeClassifier(fail)))
        with pytest.raises(caco.ModelNotAvailableError):
            validator({"response": [TRUE], "context": [LAW]})

    def test_what_is_not_judged_is_not_called_faithful(self):
        responses = ["Hello! How are you?", "I don't know."]
        found = fake()({"response": responses, "context": [LAW, LAW]})
        assert found["verdict"] == ["not_judged", "not_judged"]
        assert found["status"] == ["NO_CLAIMS", "ABSTAINED"]
        assert found["risk_level"] == ["low", "low"]

    def test_a_truncated_check_is_of_high_risk(self):
        validator = BatchValidator(caco.Validator(classifier=FakeClassifier(verdict), max_claims=1))
        found = validator({"response": [f"{LAW} It has 65 articles."], "context": [LAW]})
        assert found["verdict"] == ["hallucination"]
        assert found["score"][0] < 0.3
        assert found["risk_level"] == ["high"]

    def test_columns_are_found_or_named(self):
        assert fake()({"text": [LAW], "sources": [LAW]})["verdict"] == ["faithful"]
        named = fake(response_column="a", context_column="b", prefix="caco_")
        found = named({"a": [LAW], "b": [LAW], "verdict": ["mine"]})
        assert (found["verdict"], found["caco_verdict"]) == (["mine"], ["faithful"])

    @pytest.mark.parametrize(
        ("batch", "message"),
        [
            ({"response": [LAW]}, "no column 'context' or"),
            ({"context": [LAW]}, "no column 'response' or"),
            ({"response": [LAW], "context": []}, "different lengths"),
            ({"response": [LAW], "context": [LAW], "score": [1]}, "'score'"),
        ],
    )
    def test_wrong_columns(self, batch, message):
        with pytest.raises(ValueError, match=message):
            fake()(batch)

    def test_the_prompt_is_used(self):
        columns = {"response": ["1990."], "context": ["The pier opened in 1990."]}
        with_prompt = BatchValidator()({**columns, "question": ["When did the pier open?"]})
        expected = caco.Validator().validate(
            "1990.", columns["context"][0], "When did the pier open?"
        )
        assert with_prompt["score"] == [pytest.approx(expected.score)]
        assert json.loads(with_prompt["claims"][0]) == expected.to_dict()["claims"]

    @pytest.mark.parametrize(
        "settings",
        [
            {"threshold": 2},
            {"language": "klingon"},
            {"max_claims": 0},
            {"threads": 0},
            {"tension": "guess"},
            {"device": "cuda"},
            {"model": "x", "threads": 2},
            {"validator": caco.Validator(), "threshold": 0.7},
        ],
    )
    def test_wrong_settings(self, settings):
        with pytest.raises(ValueError, match=r"\S"):
            BatchValidator(**settings)

    def test_wrong_types(self):
        with pytest.raises(TypeError, match="Validator"):
            BatchValidator("english")
        with pytest.raises(TypeError, match="mapping"):
            fake()([1])

    def test_pickled_it_holds_no_model_and_finds_the_same(self):
        validator = BatchValidator(threshold=0.6, response_column="a", context_column="b")
        batch = {"a": [TRUE, FALSE], "b": [LAW, LAW]}
        before = validator(batch)
        data = pickle.dumps(validator)
        assert len(data) < 2000
        again = pickle.loads(data)
        assert "validator" not in vars(again)
        assert again(batch) == before

    def test_one_process_loads_the_model_once(self):
        from caco.classifier import onnx

        loaded = set(map(id, onnx._models.values()))
        for _ in range(2):
            BatchValidator()({"response": [TRUE], "context": [LAW]})
        again = set(map(id, onnx._models.values()))
        assert len(again - loaded) <= 1

    def test_heuristic_tension_needs_no_model(self):
        found = fake(tension="heuristic")({"response": [FALSE], "context": [LAW]})
        assert found["cts"] == [caco.cts(FALSE, LAW, mode="heuristic").value]

    def test_no_rows(self):
        found = fake()({"response": [], "context": []})
        assert found["verdict"] == []

    def test_schema(self):
        schema = fake(prefix="x_").result_schema
        assert schema.startswith("`x_verdict` string, `x_is_hallucination` boolean")
        assert schema.endswith("`x_error` string")


class TestFiles:
    @pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "csv.gz", "parquet"])
    def test_every_format_holds_the_same_rows(self, tmp_path, ending):
        source = write_lines(tmp_path / "in.jsonl", table(70))
        output = tmp_path / f"out.{ending}"
        report = run(source, output, engine=LocalEngine(16))
        assert report.rows == 70
        assert report.verdicts == {"faithful": 24, "hallucination": 46}
        found = read_rows(output)
        assert [row["id"] for row in found] == [f"r{n}" for n in range(70)]
        assert {str(row["is_hallucination"]).lower() for row in found} == {"true", "false"}
        for number, row in enumerate(found):
            claims = row["claims"]
            claims = json.loads(claims) if isinstance(claims, str) else claims
            assert claims[0]["text"] == f"Tower {number} is {90 + number % 3} metres high."
            assert row["verdict"] == ("hallucination" if number % 3 else "faithful")
            assert float(row["score"]) == pytest.approx(0.99 if number % 3 else 0.01, abs=0.02)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", output.name]

    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl.gz"])
    def test_every_format_can_be_read(self, tmp_path, ending):
        first = tmp_path / f"first.{ending}"
        run(write_lines(tmp_path / "in.jsonl", table(20)), first)
        validator = fake(prefix="again_")
        run(first, tmp_path / "second.jsonl", validator)
        for row in lines(tmp_path / "second.jsonl"):
            assert row["again_verdict"] == row["verdict"]
            assert row["again_cts"] == pytest.approx(float(row["cts"]))

    @pytest.mark.parametrize("chunk_rows", [1, 3, 32, 1000])
    def test_no_result_depends_on_the_chunks(self, tmp_path, chunk_rows):
        source = write_lines(tmp_path / "in.jsonl", table(40))
        run(source, tmp_path / "a.jsonl", engine=LocalEngine(7))
        run(source, tmp_path / "b.jsonl", engine=LocalEngine(chunk_rows))
        assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()

    def test_the_model_scores_alike_in_chunks_and_alone(self, tmp_path):
        rows = [
            {"response": f"{TRUE} {FALSE}" if n % 2 else FALSE, "context": [LAW, f"Note {n}."]}
            for n in range(6)
        ]
        source = write_lines(tmp_path / "in.jsonl", rows)
        run(source, tmp_path / "out.jsonl", BatchValidator(), engine=LocalEngine(4))
        validator = caco.Validator()
        for row, found in zip(rows, lines(tmp_path / "out.jsonl"), strict=True):
            alone = validator.validate(row["response"], row["context"])
            assert found["score"] == pytest.approx(alone.score, abs=1e-3)
            assert [c["label"] for c in found["claims"]] == [c.label.value for c in alone.claims]

    def test_bad_rows_go_aside_and_the_run_goes_on(self, tmp_path):
        good = json.dumps(table(1)[0])
        content = [
            good.encode(),
            b"not json",
            b'["a list"]',
            b"",
            b'{"id": 4, "response": " ", "context": "x"}',
            b'{"id": 5, "response": "boom", "context": "x"}',
            b'{"response": "\xff", "context": "x"}',
            b'{"response": "x"}',
            b"[" * 100_000,
            b'{"response": "x", "context": "x", "score": 1}',
            b'{"n": ' + b"9" * 5000 + b"}",
            good.encode(),
        ]
        source = tmp_path / "in.jsonl"
        source.write_bytes(b"\n".join(content))
        report = run(source, tmp_path / "out.jsonl")
        assert (report.rows, report.errors) == (11, 9)
        assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == ["r0", "r0"]
        bad = lines(tmp_path / "out.jsonl.errors.jsonl")
        assert [row["row"] for row in bad] == [2, 3, 5, 6, 7, 8, 9, 10, 11]
        assert [row["id"] for row in bad] == [None, None, "4", "5", None, None, None, None, None]
        for reason, part in zip(
            [row["reason"] for row in bad],
            ["JSON", "object", "blank", "boom", "UTF-8", "context", "deep", "score", "digits"],
            strict=True,
        ):
            assert part in reason

    def test_a_question_may_be_in_some_rows_only(self, tmp_path):
        row = {"response": "1990.", "context": "The pier opened in 1990."}
        rows = [row, {**row, "id": "q", "question": "When did the pier open?"}]
        source = write_lines(tmp_path / "in.jsonl", [*rows, {"id": "z"}])
        run(source, tmp_path / "out.jsonl", BatchValidator())
        expected = caco.Validator().validate_batch(
            [(*row.values(),), {**row, "prompt": "When did the pier open?"}]
        )
        found = lines(tmp_path / "out.jsonl")
        assert [row["score"] for row in found] == pytest.approx([r.score for r in expected])
        assert expected[0].status != expected[1].status or expected[0].score != expected[1].score
        assert lines(tmp_path / "out.jsonl.errors.jsonl")[0]["id"] == "z"

    def test_a_line_that_is_too_long_to_be_held(self, tmp_path, monkeypatch):
        monkeypatch.setattr("caco.batch.sources.LONGEST_LINE", 200)
        rows = [*table(2), {"response": "x", "context": "y" * 700}, *table(1)]
        source = write_lines(tmp_path / "in.jsonl", rows)
        assert run(source, tmp_path / "out.jsonl").errors == 1
        assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == ["r0", "r1", "r0"]
        (bad,) = lines(tmp_path / "out.jsonl.errors.jsonl")
        assert (bad["row"], bad["reason"]) == (3, "the line has more than 200 bytes")

    def test_reasons_quote_no_texts(self, tmp_path):
        source = tmp_path / "in.jsonl"
        source.write_text('{"response": "secret zebra", "context": "x"\n', encoding="utf-8")
        run(source, tmp_path / "out.jsonl")
        assert "zebra" not in (tmp_path / "out.jsonl.errors.jsonl").read_text(encoding="utf-8")

    def test_too_many_bad_rows_end_the_run_and_what_was_written_stays(self, tmp_path):
        rows = [*table(10), *[{"response": ""}] * 5, *table(10)]
        source = write_lines(tmp_path / "in.jsonl", rows)
        for ending in ("jsonl", "csv", "parquet"):
            output = tmp_path / f"out.{ending}"
            settings = {"engine": LocalEngine(5)}
            with pytest.raises(TooManyErrorsError, match=r"more than the 3 to bear.*row 15"):
                run(source, output, max_errors=3, **settings)
            assert [row["id"] for row in read_rows(output)] == [f"r{n}" for n in range(10)]
            with pytest.raises(ValueError, match="did not finish"):
                run(source, output, **settings)
            report = run(source, output, resume=True, max_errors=5, **settings)
            assert (report.rows, report.errors, report.new_rows) == (25, 5, 10)
            assert len(read_rows(output)) == 20

    def test_as_many_bad_rows_as_allowed_are_borne(self, tmp_path):
        source = write_lines(tmp_path / "in.jsonl", [{"response": ""}] * 3 + table(1))
        assert run(source, tmp_path / "out.jsonl", max_errors=3).errors == 3
        with pytest.raises(TooManyErrorsError):
            run(source, tmp_path / "out.jsonl", max_errors=2)

    def test_the_side_file_of_an_earlier_run_is_removed(self, tmp_path):
        source = write_lines(tmp_path / "in.jsonl", [{"response": ""}, *table(1)])
        run(source, tmp_path / "out.jsonl")
        assert (tmp_path / "out.jsonl.errors.jsonl").exists()
        run(write_lines(source, table(1)), tmp_path / "out.jsonl")
        assert not (tmp_path / "out.jsonl.errors.jsonl").exists()

    def test_csv_rows_that_are_not_of_its_form(self, tmp_path):
        source = tmp_path / "in.csv"
        source.write_bytes(
            b"\xef\xbb\xbfid,response,context\r\n"
            b'1,"Two\r\nlines, ""quoted"".","Two\r\nlines, ""quoted"". And more."\r\n'
            b"2,too,many,fields\r\n3,few\r\n\r\n4,\xff,x\r\n"
            b'5,"bad"quote,x\r\n6,The end.,The end.\r\n'
        )
        run(source, tmp_path / "out.csv")
        found = read_rows(tmp_path / "out.csv")
        assert [row["id"] for row in found] == ["1", "6"]
        assert found[0]["response"] == 'Two\r\nlines, "quoted".'
        bad = lines(tmp_path / "out.csv.errors.jsonl")
        assert [row["row"] for row in bad] == [2, 3, 4, 5]
        assert ["4 fields" in bad[0]["reason"], "UTF-8" in bad[2]["reason"]] == [True, True]

    def test_long_csv_fields(self, tmp_path):
        text = "The end. " * 30_000
        source = tmp_path / "in.csv"
        with source.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["response", "context"], ["The end.", text]])
        limit = csv.field_size_limit()
        assert run(source, tmp_path / "out.csv").verdicts == {"faithful": 1}
        assert csv.field_size_limit() == limit

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("in.csv", b"", "no header"),
            ("in.csv", b"a,a\n", "stands twice"),
            ("in.csv", b"a,b\n1,2\n", "no column 'response'"),
            ("in.csv", b"response,context,score\n1,2,3\n", "'score'"),
            ("in.jsonl.gz", b"no gzip", "gzip"),
            ("in.parquet", b"no parquet", "not Parquet"),
            ("in.txt", b"", "does not end in"),
            ("in.parquet.gz", b"", "packed"),
        ],
    )
    def test_files_that_are_wrong_as_a_whole_leave_the_output_alone(
        self, tmp_path, name, content, message
    ):
        (tmp_path / name).write_bytes(content)
        output = tmp_path / "out.jsonl"
        output.write_text("kept", encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            run(tmp_path / name, output)
        assert output.read_text(encoding="utf-8") == "kept"

    def test_a_gzip_file_that_breaks_off_ends_the_run_but_loses_nothing(self, tmp_path):
        source = write_lines(
            tmp_path / "in.jsonl.gz", [{**row, "x": os.urandom(50).hex()} for row in table(300)]
        )
        source.write_bytes(source.read_bytes()[:-3000])
        with pytest.raises(ValueError, match="whole gzip"):
            run(source, tmp_path / "out.jsonl", engine=LocalEngine(8))
        found = lines(tmp_path / "out.jsonl")
        assert len(found) > 50
        assert [row["id"] for row in found] == [f"r{n}" for n in range(len(found))]

    def test_parquet_types_survive(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema(
            [
                ("response", pa.large_string()),
                ("context", pa.list_(pa.struct([("id", pa.string()), ("text", pa.string())]))),
                ("kind", pa.dictionary(pa.int8(), pa.string())),
                ("price", pa.decimal128(10, 2)),
                ("at", pa.timestamp("us", tz="UTC")),
                ("day", pa.date32()),
                ("small", pa.int8()),
                ("blob", pa.binary()),
                ("tags", pa.map_(pa.string(), pa.int32())),
                ("nothing", pa.null()),
            ],
            metadata={"owner": "me"},
        )
        row = {
            "response": LAW,
            "context": [{"id": "law", "text": LAW}],
            "kind": "a",
            "price": decimal.Decimal("1.50"),
            "at": datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
            "day": datetime.date(2020, 1, 1),
            "small": 7,
            "blob": b"\x00\xff",
            "tags": [("a", 1)],
            "nothing": None,
        }
        pq.write_table(pa.Table.from_pylist([row] * 3, schema), tmp_path / "in.parquet")
        run(tmp_path / "in.parquet", tmp_path / "out.parquet")
        found = pq.read_table(tmp_path / "out.parquet")
        for field in schema:
            kind = pa.string() if field.name == "kind" else field.type
            assert found.schema.field(field.name).type == kind
        assert found.schema.metadata[b"owner"] == b"me"
        assert found.drop_columns(list(RESULT_TYPES)).to_pylist() == [row] * 3
        run(tmp_path / "in.parquet", tmp_path / "out.jsonl")
        plain = lines(tmp_path / "out.jsonl")[0]
        assert (plain["price"], plain["at"], plain["blob"]) == (
            "1.50",
            "2020-01-01T00:00:00+00:00",
            "AP8=",
        )
        run(tmp_path / "in.parquet", tmp_path / "out.csv")
        assert read_rows(tmp_path / "out.csv")[0]["context"] == json.dumps(row["context"])

    def test_rows_that_do_not_fit_the_first_ones(self, tmp_path):
        rows = table(6)
        rows[1]["label"] = None
        rows[3]["new"] = 1
        rows[5]["label"] = {"a": 1}
        source = write_lines(tmp_path / "in.jsonl", rows)
        for ending in ("csv", "parquet"):
            run(source, tmp_path / f"out.{ending}", engine=LocalEngine(2))
            bad = lines(tmp_path / f"out.{ending}.errors.jsonl")
            assert [row["row"] for row in bad] == [4]
            assert "'new'" in bad[0]["reason"]
            found = read_rows(tmp_path / f"out.{ending}")
            assert [row["id"] for row in found] == ["r0", "r1", "r2", "r4", "r5"]
            assert found[-1]["label"] == '{"a": 1}'

    def test_values_of_another_type_than_the_first_ones(self, tmp_path):
        rows = [{**row, "n": "x" if place == 3 else place} for place, row in enumerate(table(4))]
        source = write_lines(tmp_path / "in.jsonl", rows)
        report = run(source, tmp_path / "out.parquet", engine=LocalEngine(2))
        assert (report.errors, report.verdicts) == (1, {"faithful": 1, "hallucination": 2})
        assert [row["n"] for row in read_rows(tmp_path / "out.parquet")] == [0, 1, 2]

    def test_texts_that_no_encoding_takes(self, tmp_path):
        rows = [{"id": "\ud800", "response": "x\ud800y is high.", "context": "x\ud800y is high."}]
        source = tmp_path / "in.jsonl"
        source.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
        run(source, tmp_path / "out.jsonl")
        assert lines(tmp_path / "out.jsonl")[0]["id"] == "\ud800"
        for ending in ("csv", "parquet"):
            run(source, tmp_path / f"out.{ending}")
            assert read_rows(tmp_path / f"out.{ending}")[0]["id"] == "\ufffd"

    @pytest.mark.parametrize("ending", ["jsonl", "parquet"])
    def test_no_rows(self, tmp_path, ending):
        source = write_lines(tmp_path / "in.jsonl", [])
        assert run(source, tmp_path / f"out.{ending}").rows == 0
        assert read_rows(tmp_path / f"out.{ending}") == []

    def test_two_runs_cannot_write_to_one_file(self, tmp_path):
        held = AppendFile(tmp_path / "out.jsonl", None)
        source = write_lines(tmp_path / "in.jsonl", table(1))
        with pytest.raises(OSError, match="another run"):
            run(source, tmp_path / "out.jsonl")
        held.close()
        run(source, tmp_path / "out.jsonl", restart=True)

    def test_memory_holds_a_few_chunks_only(self, tmp_path):
        """What is read ahead of what is written does not grow with the input."""
        source = write_lines(tmp_path / "in.jsonl", table(500))
        read = threading.Semaphore(0)
        ahead = []

        class Counted:
            columns = None

            def rows(self):
                for row in open_source(str(source)).rows():
                    read.release()
                    yield row

        def progress(now):
            ahead.append(read._value - now.rows)

        job = BatchJob(
            Counted(), str(tmp_path / "out.jsonl"), validator=fake(), engine=LocalEngine(10)
        )
        run_batch(job, progress)
        assert max(ahead) <= 40


class TestPlain:
    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=10,
        )
    )
    def test_json_is_one_line_that_reads_the_same(self, value):
        text = json_text(value)
        assert "\n" not in text
        assert json.loads(text.encode("utf-8")) == value

    @pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": -float("inf")}])
    def test_what_is_not_finite_is_null(self, value):
        assert "null" in json_text(value)
        json.loads(json_text(value), parse_constant=lambda name: pytest.fail(name))

    @given(st.text())
    def test_cells(self, text):
        cell_text(text).encode("utf-8")
        if cell_text(text) != text:
            assert "\ufffd" in cell_text(text)

    def test_cells_of_other_kinds(self):
        values = [None, True, 1, 0.1, [1], {"a": None}, decimal.Decimal("1.10"), b"\x00"]
        assert [cell_text(v) for v in values] == [
            "",
            "true",
            "1",
            "0.1",
            "[1]",
            '{"a": null}',
            "1.10",
            "AA==",
        ]

    @given(st.lists(st.integers(0, 3_000_000), max_size=30), st.integers(1, 7))
    def test_chunks_keep_all_rows_in_order_within_their_bounds(self, sizes, most):
        from caco.batch.columns import Answer

        class Sized(Answer):
            @property
            def size(self):
                return int(self.response)

        rows = [Row(n, {}, answer=Sized(str(size), ())) for n, size in enumerate(sizes)]
        groups = list(chunks(rows, most))
        assert [row for group in groups for row in group] == rows
        for group in groups:
            assert 1 <= len(group) <= most
            assert len(group) == 1 or sum(row.answer.size for row in group) <= 2_000_000


class TestWhere:
    RESULTS = {
        "cts": 0.8,
        "score": 0.4,
        "verdict": "faithful",
        "is_hallucination": False,
        "status": "CHECKED",
    }

    @pytest.mark.parametrize(
        ("text", "holds"),
        [
            ("cts > 0.7", True),
            ("cts>.9", False),
            ("cts >= 0.8", True),
            ("cts < 8e-1", False),
            ("cts <= 0.8 AND score = 0.4", True),
            ("cts > 0.9 or score < 0.5", True),
            ("cts > 0.9 or score > 0.5 and cts > 0", False),
            ("score < 0.5 or cts > 0.9 and score > 0.9", True),
            ("verdict = 'faithful'", True),
            ('verdict != "faithful"', False),
            ("is_hallucination == FALSE", True),
            ("is_hallucination <> false", False),
            ("score_before > 0", False),
            ("cts > -1", True),
            ("risk_level = 'low'", False),
        ],
    )
    def test_conditions(self, text, holds):
        assert parse_condition(text).holds(self.RESULTS) is holds

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "no condition"),
            ("cts", "no condition"),
            ("cts >", "no condition"),
            ("cts > 0.7 and", "no condition"),
            ("cts > 0.7 score > 1", "no condition"),
            ("cts > 0.7)", "no condition"),
            ("(cts > 0.7)", "no condition"),
            ("cts > 1.2.3", "no condition"),
            ("cts > 0x10", "no condition"),
            ("__import__('os').system('x') > 1", "no condition"),
            ("label > 1", "no field 'label'"),
            ("claims = 'x'", "no field 'claims'"),
            ("cts > 'high'", "a number"),
            ("verdict = faithful", "a text in quotes"),
            ("verdict > 'a'", "no order"),
            ("is_hallucination = 1", "true or false"),
            ("0.7 < cts", "no condition"),
        ],
    )
    def test_what_is_none(self, text, message):
        with pytest.raises(ValueError, match=message):
            parse_condition(text)

    @given(st.text(max_size=40))
    def test_any_text_is_a_condition_or_a_value_error(self, text):
        with contextlib.suppress(ValueError):
            parse_condition(text).holds(self.RESULTS)

    @pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "jsonl.gz"])
    def test_the_list_is_sorted_by_tension_and_complete(self, tmp_path, ending):
        source = write_lines(tmp_path / "in.jsonl", table(40))
        output, review = tmp_path / f"out.{ending}", tmp_path / f"review.{ending}"
        run(source, output)
        rows = read_rows(output)
        bound = sorted(float(row["cts"]) for row in rows)[20]
        count = write_review(str(output), str(review), parse_condition(f"cts >= {bound!r}"))
        found = read_rows(review)
        expected = [row for row in rows if float(row["cts"]) >= bound]
        assert count == len(found) == len(expected) >= 20
        assert found == sorted(expected, key=lambda row: -float(row["cts"]))
        assert not [path for path in tmp_path.iterdir() if "sorting" in path.name]

    def test_equally_tense_rows_keep_their_order(self, tmp_path):
        rows = [{"id": n, "response": FALSE, "context": LAW} for n in range(5)]
        run(write_lines(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl")
        output, review = str(tmp_path / "out.jsonl"), tmp_path / "review.jsonl"
        assert write_review(output, str(review), parse_condition("cts > 0")) == 5
        assert [row["id"] for row in lines(review)] == [0, 1, 2, 3, 4]

    def test_an_output_without_results(self, tmp_path):
        plain = write_lines(tmp_path / "in.jsonl", table(3))
        assert write_review(str(plain), str(tmp_path / "r.jsonl"), parse_condition("cts > 0")) == 0


class TestFix:
    def rows(self):
        return [
            {
                "id": "good",
                "response": "The pier is 90 m long.",
                "context": "The pier is 90 m long.",
            },
            {"id": "late", "response": "The dam is 80 m high.", "context": "Bananas are yellow."},
            {"id": "lost", "response": "The mast is 70 m high.", "context": []},
            {"id": "bare", "response": "The hall is 60 m wide.", "context": "Cats purr."},
            {"id": "bad", "response": "", "context": ""},
        ]

    def fix(self, tmp_path, rows, sources, name="new.jsonl", ending="jsonl", **settings):
        new = tmp_path / name
        if isinstance(sources, str):
            new.write_text(sources, encoding="utf-8")
        else:
            write_lines(new, sources)
        source = rows if isinstance(rows, Path) else write_lines(tmp_path / "in.jsonl", rows)
        report = run(
            source,
            tmp_path / f"fixed.{ending}",
            new_sources=read_new_sources(str(new), tmp_path),
            **settings,
        )
        (tmp_path / "sources.sqlite").unlink()
        return report, {row["id"]: row for row in read_rows(tmp_path / f"fixed.{ending}")}

    def test_by_row(self, tmp_path):
        sources = [
            {"id": "late", "context": ["The dam is 80 m high.", "Dogs bark."]},
            {"id": "lost", "context": [{"id": "m", "text": "The mast is 70 m high."}]},
            {"id": "bare", "context": "Dogs bark."},
            {"id": "other", "context": "The hall is 60 m wide."},
        ]
        report, found = self.fix(tmp_path, self.rows(), sources)
        assert (report.failed_before, report.repaired, report.repaired_rows) == (
            3,
            2,
            ("late", "lost"),
        )
        assert report.errors == 1
        assert {name: row["repaired"] for name, row in found.items()} == {
            "good": False,
            "late": True,
            "lost": True,
            "bare": False,
        }
        assert found["good"]["score_before"] is None
        assert found["late"]["score_before"] > 0.5 > found["late"]["score"]
        assert found["late"]["new_sources"] == ["new-0", "new-1"]
        assert found["lost"]["new_sources"] == ["m"]
        assert found["bare"]["verdict"] == "hallucination"
        assert [row["verdict"] for row in found.values()].count("faithful") == 3

    @pytest.mark.parametrize("name", ["new.txt", "new.jsonl"])
    def test_for_all_rows(self, tmp_path, name):
        text = "The dam is 80 m high. The hall is 60 m wide."
        sources = text if name == "new.txt" else [{"text": text}]
        report, found = self.fix(tmp_path, self.rows(), sources, name)
        assert report.repaired_rows == ("late", "bare")
        assert found["late"]["new_sources"] == ["new.txt" if name == "new.txt" else "new-0"]

    @pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
    def test_an_earlier_output_is_not_checked_again_where_it_passed(self, tmp_path, ending):
        earlier = tmp_path / f"earlier.{ending}"
        run(write_lines(tmp_path / "in.jsonl", self.rows()[:4]), earlier)
        classifier = FakeClassifier(verdict)
        validator = BatchValidator(caco.Validator(classifier=classifier))
        sources = [{"id": "late", "text": "The dam is 80 m high."}]
        report, found = self.fix(tmp_path, earlier, sources, "n.jsonl", ending, validator=validator)
        assert report.repaired_rows == ("late",)
        assert {claim for claim, _ in classifier.calls} == {"The dam is 80 m high."}
        before = {row["id"]: row for row in read_rows(earlier)}
        for name in ("good", "lost", "bare"):
            assert found[name]["claims"] == before[name]["claims"]
            assert float(found[name]["score"]) == pytest.approx(float(before[name]["score"]))

    def test_a_document_of_the_same_name_is_replaced(self, tmp_path):
        old = {"id": "d", "text": "The dam is 70 m high."}
        rows = [{"id": "late", "response": "The dam is 80 m high.", "context": [old]}]
        sources = [{"id": "late", "context": [{"id": "d", "text": "The dam is 80 m high."}]}]
        seen = []

        def look(claim, context):
            seen.append(context)
            return verdict(claim, context)

        validator = BatchValidator(caco.Validator(classifier=FakeClassifier(look)))
        report, found = self.fix(tmp_path, rows, sources, validator=validator)
        assert report.repaired == 1
        assert seen[-1] == "The dam is 80 m high."
        assert found["late"]["claims"][0]["evidence_document"] in ("d", None)

    @pytest.mark.parametrize(
        ("sources", "message"),
        [
            ([{"id": "a"}], "row 1 has no context"),
            ([{"id": "a", "text": 7}], "row 1: context must"),
            ([1], "object"),
        ],
    )
    def test_wrong_sources(self, tmp_path, sources, message):
        with pytest.raises(ValueError, match=message):
            self.fix(tmp_path, self.rows(), sources)


def command(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["batch", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


class TestCommand:
    @pytest.fixture
    def source(self, tmp_path) -> Path:
        rows = [
            {"id": "f", "response": FALSE, "context": LAW},
            {"id": "t", "response": TRUE, "context": [LAW]},
            {"id": "b"},
        ]
        return write_lines(tmp_path / "in.jsonl", rows)

    def test_a_file(self, tmp_path, capsys, source):
        code, out, err = command(
            capsys, str(source), str(tmp_path / "out.jsonl"), "--where", "cts > 0.1"
        )
        assert (code, err) == (0, "")
        assert "3 rows: 1 faithful, 1 hallucination" in out
        assert "1 bad rows: see" in out
        assert "1 rows to review" in out
        (tense,) = lines(tmp_path / "out.review.jsonl")
        assert tense["id"] == "f"

    def test_standard_streams(self, tmp_path, capsys, source, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(source.read_bytes())))
        buffer = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
        errors = tmp_path / "bad.jsonl"
        arguments = ["-", "-", "--input-format", "jsonl", "--output-format", "jsonl"]
        assert main(["batch", *arguments, "--errors", str(errors)]) == 0
        found = [json.loads(line) for line in buffer.getvalue().splitlines()]
        assert [row["verdict"] for row in found] == ["hallucination", "faithful"]
        assert len(lines(errors)) == 1
        assert "3 rows" in capsys.readouterr().err

    def test_columns_and_json(self, tmp_path, capsys):
        path = tmp_path / "in.csv"
        path.write_text(f'a,b,verdict\n{TRUE},"{LAW}",mine\n', encoding="utf-8")
        arguments = [
            "--response-column",
            "a",
            "--context-column",
            "b",
            "--prefix",
            "caco_",
            "--json",
        ]
        code, out, _ = command(capsys, str(path), str(tmp_path / "out.csv"), *arguments)
        assert code == 0
        assert json.loads(out)["verdicts"] == {"faithful": 1}
        (row,) = read_rows(tmp_path / "out.csv")
        assert (row["verdict"], row["caco_verdict"]) == ("mine", "faithful")

    def test_fix(self, tmp_path, capsys, source):
        command(capsys, str(source), str(tmp_path / "out.jsonl"))
        new = tmp_path / "new.txt"
        new.write_text(
            "The LGPD was created in 2015 during Dilma Rousseff's government.", encoding="utf-8"
        )
        code, out, _ = command(
            capsys, str(tmp_path / "out.jsonl"), str(tmp_path / "fixed.jsonl"), "--fix", str(new)
        )
        assert code == 0
        assert "1 of 1 failed rows repaired: f" in out

    def test_too_many_bad_rows(self, tmp_path, capsys, source):
        code, _, err = command(
            capsys, str(source), str(tmp_path / "out.jsonl"), "--max-errors", "0"
        )
        assert code == 2
        assert "more than the 0 to bear" in err
        assert len(lines(tmp_path / "out.jsonl")) == 2

    def test_nothing_that_could_be_checked_is_an_error(self, tmp_path, capsys):
        source = write_lines(tmp_path / "in.jsonl", [{"answr": "x"}])
        code, out, _ = command(capsys, str(source), str(tmp_path / "out.jsonl"))
        assert code == 2
        assert "none checked" in out

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["in.jsonl"], "give IN and OUT"),
            (["in.jsonl", "in.jsonl"], "same file"),
            (["in.jsonl", "./in.jsonl"], "same file"),
            (["in.jsonl", "o.jsonl", "--errors", "in.jsonl"], "same file"),
            (["in.jsonl", "o.jsonl", "--where", "cts > 0", "--review", "o.jsonl"], "same file"),
            (["in.jsonl", "o.txt"], "does not end in"),
            (["no.jsonl", "o.jsonl"], "no.jsonl: No such file"),
            (["in.jsonl", "o.jsonl", "--where", "foo > 1"], "no field 'foo'"),
            (["in.jsonl", "o.jsonl", "--review", "x"], "--review has no effect without --where"),
            (["in.jsonl", "o.jsonl", "--url", "x"], "--url has no effect"),
            (["in.jsonl", "o.jsonl", "--device", "cpu"], "--device has no effect"),
            (["in.jsonl", "o.jsonl", "--actors", "2"], "--actors has no effect"),
            (["in.jsonl", "o.jsonl", "--chunk-rows", "0"], "chunk_rows"),
            (["in.jsonl", "o.jsonl", "--max-errors", "-1"], "max_errors"),
            (["in.jsonl", "o.jsonl", "--threshold", "2"], "threshold"),
            (["in.jsonl", "o.jsonl", "--sql", "select 1"], "not both"),
            (["o.jsonl", "--sql", "select 1"], "--url"),
            (["in.jsonl", "-"], "does not end in"),
            (["in.jsonl", "-", "--output-format", "jsonl"], "file of their own"),
            (["in.jsonl", "-", "--output-format", "parquet"], "standard stream"),
            (["-", "o.jsonl", "--input-format", "jsonl", "--engine", "ray"], "standard streams"),
            (["in.jsonl", "o.jsonl", "--engine", "ray", "--gpus-per-actor", "1"], "--model"),
            (
                ["in.jsonl", "o.jsonl", "--engine", "ray", "--cpus-per-actor", "-1"],
                "cpus_per_actor",
            ),
        ],
    )
    def test_wrong_arguments(self, tmp_path, capsys, monkeypatch, source, arguments, message):
        monkeypatch.chdir(tmp_path)
        before = source.read_bytes()
        code, out, err = command(capsys, *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert source.read_bytes() == before

    @pytest.mark.slow
    def test_a_model_that_runs_with_torch(self, tmp_path, capsys, source):
        pytest.importorskip("sentence_transformers", reason="needs the extra torch")
        folder = caco.export_cross_encoder(tmp_path / "model")
        arguments = [str(source), str(tmp_path / "out.jsonl"), "--model", str(folder)]
        code, _, _ = command(capsys, *arguments, "--device", "cpu")
        assert code == 0
        found = lines(tmp_path / "out.jsonl")
        assert [row["verdict"] for row in found] == ["hallucination", "faithful"]
        code, _, err = command(capsys, *arguments[:3], str(tmp_path / "nowhere"), "--restart")
        assert code == 2
        assert "nowhere" in err

    def test_missing_extras_name_themselves(self, tmp_path, capsys, monkeypatch, source):
        for module, extra, arguments in (
            ("pyarrow", "batch", [str(source), str(tmp_path / "o.parquet")]),
            (
                "sqlalchemy",
                "batch",
                [str(tmp_path / "o.jsonl"), "--sql", "select 1", "--url", "sqlite://"],
            ),
            ("ray", "ray", [str(source), str(tmp_path / "o.jsonl"), "--engine", "ray"]),
        ):
            monkeypatch.setitem(sys.modules, module, None)
            code, _, err = command(capsys, *arguments)
            assert code == 2
            assert f'pip install "caco-guard[{extra}]"' in err
            for path in tmp_path.glob("o.*"):
                path.unlink()


class TestProgress:
    def test_the_line(self):
        from caco.batch import Progress

        line = progress_line(Progress(50, 40, 2, 0.5, 0.1), 20.0)
        assert (
            line == "[" + "#" * 15 + "-" * 15 + "]  50%  50 rows  2.0 rows/s  0:00:25 left  2 bad"
        )
        assert progress_line(Progress(5, 5, 0, None, 0.0), 2.0) == "5 rows  2.5 rows/s"
        assert line.isascii()

    def test_only_on_a_terminal(self):
        from caco.batch import Progress

        class Screen(io.StringIO):
            def __init__(self, is_terminal):
                super().__init__()
                self._is_terminal = is_terminal

            def isatty(self):
                return self._is_terminal

        for is_terminal in (True, False):
            screen = Screen(is_terminal)
            bar = ProgressBar(screen)
            bar.update(Progress(50, 50, 0, 0.5, 0.0))
            bar.close()
            assert bool(screen.getvalue()) is is_terminal
        ProgressBar(None).update(Progress(1, 1, 0, None, 0.0))
