"""``caco serve`` as a process: its options, its signals, its logs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi", reason="needs the extra service")
import httpx

import caco
from caco.cli import main
from caco.receipts import verify_receipts

CORE = os.path.dirname(os.path.dirname(caco.__file__))  # noqa: PTH120


@contextmanager
def process(*arguments, **environment):
    path = os.pathsep.join(filter(None, [CORE, os.environ.get("PYTHONPATH")]))
    running = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "caco", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    try:
        running.address = running.stdout.readline().rpartition(" ")[2].strip()
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(tmp_path, stop):
    token = tmp_path / "token"
    token.write_text("s3cret\n", encoding="utf-8")
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"abstain_if": ["contradiction"]}), encoding="utf-8")
    receipts = tmp_path / "receipts.jsonl"
    options = [
        "--token-file",
        str(token),
        "--policy",
        str(policy),
        "--receipts",
        str(receipts),
        "--hash-chain",
        "--timeout",
        "60",
    ]
    with process(*options) as running:
        assert running.address.startswith("http://127.0.0.1:")
        body = {"response": "It opened in 1990.", "context": "The zebra house opened in 1991."}
        with httpx.Client(base_url=running.address, trust_env=False, timeout=30) as client:
            assert client.post("/validate", json=body).status_code == 401
            client.headers["Authorization"] = "Bearer s3cret"
            answer = client.post("/validate", json=body).json()
        assert answer["gate"]["reason"] == "contradiction"
        running.send_signal(stop)
        output, log = running.communicate(timeout=30)
    assert output == ""
    assert f"request_id={answer['receipt']['request_id']} method=POST path=/validate" in log
    assert "zebra" not in log
    assert "s3cret" not in log
    assert "Traceback" not in log
    check = verify_receipts(receipts, chained=True)
    assert check.ok
    assert check.lines == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hash-chain"], "--receipts"),
        (["--port", "70000"], "--port"),
        (["--policy", "policy.txt"], "policy.txt"),
        (["--policy", "missing.json"], "missing.json"),
        (["--token-file", "missing"], "missing"),
        (["--timeout", "0"], "timeout_s"),
        (["--max-waiting", "0"], "max_waiting"),
    ],
)
def test_wrong_options(arguments, message, capsys):
    assert main(["serve", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_empty_token_is_refused(monkeypatch, capsys):
    monkeypatch.setenv("CACO_SERVICE_TOKEN", " ")
    assert main(["serve"]) == 2
    assert "token" in capsys.readouterr().err


def test_a_port_that_is_taken(fake_port, capsys):
    assert main(["serve", "--port", str(fake_port)]) == 2
    assert "in use" in capsys.readouterr().err


@pytest.fixture
def fake_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_without_the_extra_it_says_what_to_install(capsys):
    program = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *r: None if n == 'fastapi' else find(n, *r)\n"
        "from caco.cli import main\n"
        "sys.exit(main(['serve']))"
    )
    path = os.pathsep.join(filter(None, [CORE, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=60,
    )
    assert done.returncode == 2
    assert 'pip install "caco-guard[service]"' in done.stderr
