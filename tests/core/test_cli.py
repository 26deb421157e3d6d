"""The ``caco`` command, as a user meets it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import caco
from caco.cli import COMMANDS, main
from caco.cli.demo import load_examples
from caco.cli.report import print_result
from caco.cli.terminal import Terminal
from caco.models import ClaimResult, Evidence, Labels, Status, ValidationResult

CORE = Path(caco.__file__).parent.parent
LAW = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
FALSE = "The LGPD was created in 2015 during Dilma Rousseff's government."
TRUE = "President Michel Temer enacted the LGPD in 2018."


def run(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess:
    """Run the command in a process of its own; output as bytes."""
    return subprocess.run(
        [sys.executable, "-m", "caco", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(CORE), **environment},
        timeout=60,
    )


def shell(command: str) -> subprocess.CompletedProcess:
    """Run the command in a shell, which can close its streams."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$0" -m caco {command}', sys.executable],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(CORE)},
        timeout=60,
    )


def output_of(monkeypatch, encoding: str, *arguments: str) -> tuple[int, bytes]:
    """Run the command in this process with a standard output of the given encoding."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding=encoding))
    code = main(arguments)
    return code, buffer.getvalue()


def usage_error(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert not printed.out
    return printed.err


class TestCheck:
    def test_a_supported_answer_exits_0(self, capsys):
        assert main(["check", "--response", TRUE, "--context", LAW]) == 0
        assert "Faithful to the documents" in capsys.readouterr().out

    def test_a_contradicted_answer_exits_1_and_shows_what_speaks_against_it(self, capsys):
        assert main(["check", "--response", FALSE, "--context", LAW]) == 1
        printed = capsys.readouterr().out
        flat = " ".join(printed.split())
        assert "Not faithful to the documents" in flat
        assert FALSE in flat
        assert f"against: {LAW}" in flat
        assert f"0, characters 0-{len(LAW)}" in flat

    def test_cavaquinho_calls_it_validate(self, capsys):
        assert main(["validate", "--response", FALSE, "--context", LAW]) == 1
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main(["--help"])
        assert "validate" not in capsys.readouterr().out

    def test_json_is_the_whole_result(self, capsys):
        assert main(["check", "--json", "--response", FALSE, "--context", LAW]) == 1
        result = ValidationResult.from_dict(json.loads(capsys.readouterr().out))
        assert result.is_hallucination
        assert result.response == FALSE
        assert result.claims[0].evidence == LAW

    def test_files_name_the_documents_and_keep_their_offsets(self, tmp_path, capsys):
        law, other = tmp_path / "law.txt", tmp_path / "other.txt"
        law.write_bytes(f"Title\r\n\r\n{LAW}\r\n".encode())
        other.write_text("Bananas are rich in potassium.", encoding="utf-8")
        answer = tmp_path / "answer.txt"
        answer.write_text(TRUE, encoding="utf-8")
        arguments = ["check", "--json", "--response-file", str(answer)]
        arguments += ["--context-file", str(other), "--context-file", str(law)]
        assert main(arguments) == 0
        (claim,) = json.loads(capsys.readouterr().out)["claims"]
        assert claim["evidence_document"] == str(law)
        content = law.read_bytes().decode()
        assert content[claim["evidence_start"] : claim["evidence_end"]] == claim["evidence"]

    def test_a_byte_order_mark_is_no_part_of_the_text(self, tmp_path, capsys):
        law = tmp_path / "law.txt"
        law.write_text(LAW, encoding="utf-8-sig")
        main(["check", "--json", "--response", TRUE, "--context-file", str(law)])
        (claim,) = json.loads(capsys.readouterr().out)["claims"]
        assert (claim["evidence_start"], claim["evidence"]) == (0, LAW)

    def test_texts_and_files_can_be_combined(self, tmp_path, capsys):
        law = tmp_path / "law.txt"
        law.write_text(LAW, encoding="utf-8")
        arguments = ["check", "--json", "--response", TRUE, "--context", "Bananas are yellow."]
        assert main([*arguments, "--context-file", str(law)]) == 0
        assert json.loads(capsys.readouterr().out)["coverage"]["documents"] == 2

    def test_the_answer_from_standard_input(self):
        done = run("check", "--response-file", "-", "--context", LAW, stdin=FALSE.encode())
        assert done.returncode == 1
        assert FALSE.encode() in done.stdout

    def test_a_document_from_standard_input(self, capsys, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LAW.encode())))
        assert main(["check", "--response", TRUE, "--context-file", "-"]) == 0
        assert "standard input, characters 0-" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("command", "code"), [("check", 1), ("signals", 0)], ids=["check", "signals"]
    )
    def test_a_lone_dash_is_standard_input(self, capsys, monkeypatch, command, code):
        stdin = io.TextIOWrapper(io.BytesIO(FALSE.encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main([command, "--json", "--response", "-", "--context", LAW]) == code
        printed = capsys.readouterr().out
        if command == "check":
            assert json.loads(printed)["response"] == FALSE
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LAW.encode())))
        assert main([command, "--response", TRUE, "--context", "-"]) == 0

    def test_the_same_file_twice_is_one_document(self, tmp_path, capsys):
        path = tmp_path / "law.txt"
        path.write_text(LAW, encoding="utf-8")
        twice = ("--context-file", str(path), "--context-file", str(path))
        assert main(["check", "--json", "--response", TRUE, *twice]) == 0
        assert json.loads(capsys.readouterr().out)["coverage"]["documents"] == 1

    def test_a_file_may_be_called_like_a_position(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("0").write_text(LAW, encoding="utf-8")
        arguments = ["check", "--json", "--response", TRUE, "--context", "Bananas are yellow."]
        assert main([*arguments, "--context-file", "0", "--context-file", "./0"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["coverage"]["documents"] == 3
        assert result["claims"][0]["evidence_document"] in ("./0", "././0")

    def test_threshold_language_and_prompt_reach_the_validator(self, capsys):
        arguments = ["check", "--json", "--response", TRUE, "--context", LAW]
        arguments += ["--threshold", "0.25", "--language", "pt-br", "--prompt", "Who enacted it?"]
        main(arguments)
        result = json.loads(capsys.readouterr().out)
        assert (result["threshold"], result["language"]) == (0.25, "portuguese")

    def test_more_claims_than_asked_for_is_no_pass(self, capsys):
        response = f"{TRUE} It was enacted on August 14."
        arguments = ["check", "--json", "--response", response, "--context", LAW]
        assert main([*arguments, "--max-claims", "1"]) == 1
        assert json.loads(capsys.readouterr().out)["coverage"]["truncated"] is True

    def test_no_context_is_no_pass(self, capsys):
        assert main(["check", "--response", TRUE, "--context", " "]) == 1
        assert capsys.readouterr().out


class TestErrors:
    """Status 2, one line on standard error, nothing on standard output."""

    def check(self, capsys, *arguments: str) -> str:
        assert main(["check", *arguments]) == 2
        printed = capsys.readouterr()
        assert not printed.out
        assert printed.err.startswith("caco: error: ")
        assert printed.err.count("\n") == 1
        return printed.err

    def test_a_missing_file(self, capsys, tmp_path):
        missing = str(tmp_path / "missing.txt")
        message = self.check(capsys, "--response-file", missing, "--context", LAW)
        assert f"{missing}: No such file" in message

    def test_a_folder(self, capsys, tmp_path):
        message = self.check(capsys, "--response", TRUE, "--context-file", str(tmp_path))
        assert str(tmp_path) in message

    def test_a_file_in_another_encoding(self, capsys, tmp_path):
        path = tmp_path / "latin1.txt"
        path.write_bytes("A proteção".encode("latin-1"))
        message = self.check(capsys, "--response", TRUE, "--context-file", str(path))
        assert f"{path} is not UTF-8 text: byte 0xe7 at offset 7" in message

    def test_the_offset_of_a_bad_byte_counts_a_byte_order_mark(self, capsys, tmp_path):
        path = tmp_path / "bom.txt"
        path.write_bytes(b"\xef\xbb\xbfab\xff")
        assert "offset 5" in self.check(capsys, "--response", "x", "--context-file", str(path))

    @pytest.mark.parametrize("blank", ["", " \n\t"])
    def test_an_empty_response(self, capsys, blank):
        assert "response" in self.check(capsys, "--response", blank, "--context", LAW)

    def test_an_unknown_language(self, capsys):
        arguments = ("--response", TRUE, "--context", LAW, "--language", "klingon")
        message = self.check(capsys, *arguments)
        assert "klingon" in message
        assert "english" in message

    @pytest.mark.parametrize("threshold", ["1.5", "-0.1", "nan"])
    def test_a_threshold_out_of_range(self, capsys, threshold):
        arguments = ("--response", TRUE, "--context", LAW, f"--threshold={threshold}")
        assert "threshold" in self.check(capsys, *arguments)

    def test_standard_input_twice(self, capsys):
        message = self.check(capsys, "--response-file", "-", "--context-file", "-")
        assert "only once" in message

    def test_no_context_at_all(self, capsys):
        assert "--context" in self.check(capsys, "--response", TRUE)

    @pytest.mark.parametrize(
        "error",
        [RuntimeError("the runtime\nbroke"), ImportError("No module named 'onnxruntime'"),
         AttributeError(), KeyError("x"), RecursionError(), AssertionError("no"), MemoryError()],
        ids=lambda error: type(error).__name__,
    )  # fmt: skip
    def test_what_nobody_expected(self, capsys, monkeypatch, error):
        """Exit status 1 would say that the answer is wrong."""

        def fail(*_arguments, **_options):
            raise error

        monkeypatch.setattr("caco.validator.Validator.validate", fail)
        message = self.check(capsys, "--response", TRUE, "--context", LAW)
        assert type(error).__name__ in message

    @pytest.mark.parametrize("source", ["--context-file", "--context"])
    def test_standard_input_is_closed(self, source):
        done = shell(f"check --response x {source} - <&-")
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr == b"caco: error: standard input is closed\n"

    @pytest.mark.parametrize("command", ["check --response x --context y", "doctor", "demo"])
    def test_standard_output_is_closed(self, command):
        done = shell(f"{command} >&-")
        assert done.returncode == 2
        assert done.stderr == b"caco: error: standard output is closed\n"

    @pytest.mark.parametrize(
        "command", ["check --response x --context-file /nowhere", "check --respons x", "check"]
    )
    def test_standard_error_is_closed(self, command):
        done = shell(f"{command} 2>&-")
        assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("chek",),
            ("check",),
            ("check", "--response", "a", "--response-file", "b", "--context", "c"),
            ("check", "--response", "a", "--context", "c", "--threshold", "high"),
            ("check", "--response", "a", "--context", "c", "--treshold", "0.5"),
            ("check", "--resp", "a", "--context", "c"),
        ],
    )
    def test_wrong_usage(self, capsys, arguments):
        assert "error: " in usage_error(capsys, *arguments)

    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_a_full_disk(self, unbuffered):
        if not Path("/dev/full").exists():
            pytest.skip("this system has no /dev/full")
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "caco", "check", "--response", TRUE, "--context", LAW],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
                env={**os.environ, "PYTHONPATH": str(CORE), "PYTHONUNBUFFERED": unbuffered},
            )
        assert done.returncode == 2
        assert done.stderr.startswith(b"caco: error: ")
        assert done.stderr.count(b"\n") == 1


class TestOutput:
    def test_plain_where_it_is_not_a_terminal(self, capsys):
        main(["check", "--response", FALSE, "--context", LAW])
        assert "\x1b" not in capsys.readouterr().out

    def test_eighty_columns(self, capsys):
        document = " ".join([LAW] * 20)
        main(["check", "--response", f"{FALSE} {TRUE}", "--context", document])
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80

    @pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437"])
    def test_a_stream_without_unicode(self, monkeypatch, encoding):
        answer = "A LGPD é de 2015 — “já”… 😀"
        arguments = ("--language", "portuguese", "--response", answer, "--context", "É de 2018.")
        code, output = output_of(monkeypatch, encoding, "check", *arguments)
        assert code == 1
        printed = output.decode(encoding)
        assert "2015" in printed
        assert "\\x" not in printed
        assert "\\u" not in printed

    def test_ascii_keeps_words_readable(self, monkeypatch):
        arguments = ("--language", "pt", "--response", "É de 2015.", "--context", "É de 2018.")
        _, output = output_of(monkeypatch, "ascii", "check", *arguments)
        assert output.startswith(b"x Nao e fiel aos documentos")

    def test_json_is_valid_on_a_stream_without_unicode(self, monkeypatch):
        arguments = ("--json", "--response", "É de 2015 😀.", "--context", "É de 2018.")
        _, output = output_of(monkeypatch, "latin-1", "check", *arguments)
        assert json.loads(output.decode("ascii"))["response"] == "É de 2015 😀."

    def test_json_holds_a_byte_that_is_no_text(self, monkeypatch):
        """An undecodable argument arrives as a lone surrogate, which UTF-8 cannot carry."""
        response = os.fsdecode(b"The caf\xe9 opens at nine.")
        arguments = ("check", "--json", "--response", response, "--context", LAW)
        _, output = output_of(monkeypatch, "utf-8", *arguments)
        assert json.loads(output.decode("utf-8"))["response"] == response

    def test_a_locale_that_is_not_utf8(self, tmp_path):
        """Files are UTF-8 whatever the locale, and the output is what the locale can show."""
        path = tmp_path / "lei.txt"
        path.write_text("A proteção começou em 2018.", encoding="utf-8")
        arguments = ["--response", "A proteção começou em 2015.", "--context-file", str(path)]
        done = run("check", *arguments, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        assert done.returncode == 1
        assert not done.stderr
        assert b"A protecao comecou em 2015." in done.stdout
        assert b"against: A protecao comecou em 2018." in done.stdout

    def test_a_reader_that_goes_away(self):
        process = subprocess.Popen(
            [sys.executable, "-m", "caco", "check", "--response", FALSE, "--context", LAW],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(CORE), "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout
        assert process.stderr
        process.stdout.read(10)
        process.stdout.close()
        with process.stderr as stream:
            assert stream.read() == b""
        assert process.wait() == 1, "the verdict stands, whoever reads it"

    def test_text_cannot_steer_the_terminal(self, capsys):
        response = f"{FALSE}\x1b[2J\x1b]0;owned\x07 \u202edetrevni"
        main(["check", "--response", response, "--context", LAW])
        printed = capsys.readouterr().out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", printed)


class FakeScreen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class TestColour:
    @pytest.fixture
    def screen(self, monkeypatch):
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        return FakeScreen()

    def test_on_a_terminal(self, screen):
        Terminal(screen).line("wrong", "red")
        assert screen.getvalue() == "\x1b[31mwrong\x1b[0m\n"

    @pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
    def test_not_where_it_is_unwanted(self, screen, monkeypatch, name, value):
        monkeypatch.setenv(name, value)
        Terminal(screen).line("wrong", "red")
        assert screen.getvalue() == "wrong\n"

    def test_an_empty_no_color_counts_as_unset(self, screen, monkeypatch):
        monkeypatch.setenv("NO_COLOR", "")
        Terminal(screen).line("wrong", "red")
        assert "\x1b" in screen.getvalue()

    @pytest.mark.parametrize(("columns", "width"), [("200", 80), ("60", 60), ("10", 40)])
    def test_the_width_follows_the_terminal_within_reason(
        self, screen, monkeypatch, columns, width
    ):
        monkeypatch.setenv("COLUMNS", columns)
        assert Terminal(screen).width == width


class TestReport:
    """Results that the demo does not produce."""

    def printed(self, **changes) -> str:
        values = {"score": 0.0, "is_hallucination": False, "claims": (), "summary": "Summary."}
        stream = io.StringIO()
        print_result(ValidationResult(**{**values, **changes}), Terminal(stream))
        return stream.getvalue()

    @pytest.mark.parametrize(
        ("status", "language", "words"),
        [
            (Status.NO_CLAIMS, "english", "? Nothing to check"),
            (Status.ABSTAINED, "english", "? Not judged"),
            (Status.ERROR, "english", "✗ Could not be checked"),
            (Status.NO_CLAIMS, "portuguese", "? Nada a conferir"),
            (Status.ABSTAINED, "portuguese", "? Não julgada"),
            (Status.ERROR, "portuguese", "✗ Não foi possível conferir"),
        ],
    )
    def test_every_status_has_words(self, status, language, words):
        failed = status is Status.ERROR
        text = self.printed(status=status, language=language, is_hallucination=failed)
        assert text.startswith(words)

    def test_sources_that_disagree_are_both_shown(self):
        against = Evidence("news", "It opened in 2019.", 0, 18, 0.9)
        claim = ClaimResult(
            "It opened in 2018.",
            "It opened in 2018.",
            Labels.VALUE_ENTAILMENT,
            0.9,
            conflicting=(against,),
        )
        assert "but against: news: It opened in 2019." in self.printed(claims=(claim,))

    def test_a_reason_does_not_repeat_the_evidence_above_it(self):
        evidence = "It opened in 2019."
        claim = ClaimResult(
            "It opened in 2018.",
            evidence,
            Labels.VALUE_CONTRADICTION,
            0.9,
            reason=f"response 2018, source 2019: {evidence}",
        )
        text = self.printed(claims=(claim,), is_hallucination=True)
        assert "→ response 2018, source 2019\n" in text
        assert text.count(evidence) == 1

    def test_what_is_not_checkworthy_is_not_listed(self):
        claim = ClaimResult("Hello!", "", Labels.VALUE_NEUTRAL, 0.5, checkworthy=False)
        assert "Hello!" not in self.printed(claims=(claim,))

    def test_a_very_long_claim_is_cut(self):
        claim = ClaimResult("word " * 2000, "", Labels.VALUE_NEUTRAL, 0.5)
        text = self.printed(claims=(claim,))
        assert len(text.splitlines()) < 12
        assert "…" in text


class TestDemo:
    def test_it_ships_both_languages_and_a_realistic_answer(self):
        examples = load_examples()
        assert {example.language for example in examples} == {"english", "portuguese"}
        largest = max(examples, key=lambda example: len(example.documents))
        assert len(largest.documents) >= 4
        assert largest.response.count(". ") >= 5

    def test_every_shipped_file_is_used(self):
        folder = Path(caco.__file__).parent / "demo"
        entries = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
        used = {entry["response"] for entry in entries}
        used.update(name for entry in entries for name in entry["documents"])
        texts = {path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")}
        assert used == texts

    def test_it_prints_verdicts_evidence_documents_and_offsets(self, capsys):
        assert main(["demo"]) == 0
        output = capsys.readouterr().out
        assert "✓ supported" in output
        assert "✗ contradicted" in output
        assert "✗ contradita" in output
        assert re.search(r"→ law_en\.txt, characters 0-\d+", output)
        assert max(map(len, output.splitlines())) <= 80

    def test_the_planted_errors_are_caught_and_the_rest_passes(self):
        """The documents are ours, so the right verdicts are known."""
        example = load_examples()[-1]
        validator = caco.Validator(language=example.language)
        result = validator.validate(example.response, example.documents, example.question)
        wrong = [claim.text for claim in result.failing]
        assert len(wrong) == 3
        assert all(any(word in text for text in wrong) for word in ("180", "lounge", "receipts"))


class TestDoctor:
    def test_a_sound_installation(self, capsys):
        assert main(["doctor"]) == 0
        printed = capsys.readouterr().out
        assert f"caco {caco.__version__}" in printed
        assert "checksums right" in printed
        assert printed.count("✓ self-check") == 4

    def test_a_damaged_model_is_named_and_exits_2(self, capsys, monkeypatch, tmp_path):
        from caco.classifier import onnx

        monkeypatch.setattr(onnx, "MODEL_FOLDER", tmp_path)
        assert main(["doctor"]) == 2
        printed = capsys.readouterr().out
        assert "✗ model:" in printed
        assert "config.json" in printed

    def test_a_wrong_verdict_exits_2(self, capsys, monkeypatch):
        from caco.testing import FakeClassifier
        from caco.validator import Validator

        def validator(**options):
            return Validator(classifier=FakeClassifier(default=Labels.VALUE_NEUTRAL), **options)

        monkeypatch.setattr("caco.validator.Validator", validator)
        assert main(["doctor"]) == 2
        assert "expected contradiction" in " ".join(capsys.readouterr().out.split())

    def test_it_works_where_the_package_is_not_installed(self, capsys, monkeypatch):
        from importlib import metadata

        def nothing(name):
            raise metadata.PackageNotFoundError(name)

        monkeypatch.setattr(metadata, "requires", nothing)
        assert main(["doctor"]) == 0
        assert "extras are unknown" in capsys.readouterr().out

    def test_extras_are_told_apart_by_what_is_installed(self, capsys, monkeypatch):
        from importlib import metadata

        requirements = ["numpy>=1.26", 'pytest>=8; extra == "dev"']
        requirements += ['Nowhere-To_be.found[x]>=2; extra == "search"', 'numpy; extra == "sat"']
        monkeypatch.setattr(metadata, "requires", lambda _name: requirements)
        assert main(["doctor"]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert re.search(r"✓ base: numpy \d", printed)
        assert re.search(r"✓ extra sat: numpy \d", printed)
        assert "- extra search: Nowhere-To_be.found missing" in printed
        assert 'pip install "caco-guard[NAME]"' in printed
        assert "pytest" not in printed


class TestEntryPoints:
    def test_version(self, capsys):
        with pytest.raises(SystemExit) as caught:
            main(["--version"])
        assert caught.value.code == 0
        assert capsys.readouterr().out == f"caco {caco.__version__}\n"

    def test_help_lists_every_command(self, capsys):
        with pytest.raises(SystemExit) as caught:
            main(["--help"])
        assert caught.value.code == 0
        printed = capsys.readouterr().out
        assert all(re.search(rf"^ +{command.name} ", printed, re.M) for command in COMMANDS)

    def test_arguments_come_from_the_command_line_by_default(self, capsys, monkeypatch):
        monkeypatch.setattr(sys, "argv", ["caco", "check", "--response", TRUE, "--context", LAW])
        assert main() == 0
