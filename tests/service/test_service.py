"""The service as a client sees it, over a real socket."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import jsonschema
import pytest

import caco
from caco.receipts import ReceiptLog, receipt_from_dict
from caco.service import ServiceSettings
from caco.testing import FakeClassifier

LGPD = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
WRONG = "The LGPD was created in 2015."


@pytest.fixture
def fake(serve):
    with serve(classifier=FakeClassifier()) as service:
        yield service


class Held:
    """A classifier that waits until it is let go."""

    def __init__(self):
        self.go = threading.Event()
        self.go.set()
        self.entered = threading.Semaphore(0)

    def classifier(self):
        def verdict(_claim, _context):
            self.entered.release()
            assert self.go.wait(30)
            return caco.Labels.VALUE_ENTAILMENT

        return FakeClassifier(verdict)

    def hold(self):
        self.go.clear()
        while self.entered.acquire(blocking=False):
            pass


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("response", "context", "language"),
    [
        (WRONG, LGPD, "english"),
        ("The LGPD was enacted in 2018.", [{"id": "a", "text": LGPD}], "english"),
        ("A LGPD foi criada em 2015.", ["A LGPD foi sancionada em 2018.", "Outro."], "portuguese"),
        ("Hello! How can I help?", LGPD, "english"),
        ("I don't know.", LGPD, "english"),
        (WRONG, "", "english"),
        (WRONG, [], "english"),
    ],
)
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_validate_gives_what_the_engine_gives(
    engine_service, response, context, language, threshold
):
    answer = engine_service.post(
        "/validate", response=response, context=context, language=language, threshold=threshold
    )
    assert answer.status_code == 200
    given = answer.json()
    receipt = receipt_from_dict(given.pop("receipt"))
    gate = given.pop("gate")
    expected = caco.Validator(language=language, threshold=threshold).validate(response, context)
    plain = expected.to_dict()
    del plain["gate"]
    assert given == plain
    assert gate["abstained"] is receipt.decision.abstained
    assert answer.headers["x-request-id"] == receipt.request_id


def test_a_result_can_be_rebuilt_from_the_answer(engine_service):
    answer = engine_service.post("/validate", response=WRONG, context=LGPD).json()
    result = caco.ValidationResult.from_dict(answer)
    assert result.is_hallucination
    assert result.contradicted[0].evidence == LGPD


def test_many_at_once_are_checked_together_and_not_mixed_up(engine_service):
    def ask(year):
        answer = engine_service.post(
            "/validate",
            response=f"The bridge was opened in {year}.",
            context=[{"id": str(year), "text": f"The bridge was opened in {year + year % 2}."}],
        )
        return year, answer

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(ask, range(1900, 1932)))
    for year, answer in answers:
        assert answer.status_code == 200
        assert answer.json()["is_hallucination"] is bool(year % 2)
        assert answer.json()["receipt"]["sites"][0]["provenance"] == [str(year)]
    sizes = re.findall(
        r'caco_batch_size_bucket\{le="1.0"\} (\S+)|caco_batch_size_count (\S+)',
        engine_service.client.get("/metrics").text,
    )
    alone, batches = float(sizes[0][0]), float(sizes[1][1])
    assert batches > alone, "no batch had two answers"


def test_one_bad_answer_fails_alone(serve):
    held = Held()

    def verdict(claim, _context):
        held.entered.release()
        assert held.go.wait(30)
        if "poison" in claim:
            raise RuntimeError(f"cannot read {claim}")
        return caco.Labels.VALUE_ENTAILMENT

    with serve(classifier=FakeClassifier(verdict)) as service, ThreadPoolExecutor(8) as pool:
        held.hold()
        first = pool.submit(service.post, "/validate", response="It is one.", context="x")
        assert held.entered.acquire(timeout=10)
        words = ["good", "poison", "fine"]
        rest = [
            pool.submit(service.post, "/validate", response=f"It is {word}.", context="x")
            for word in words
        ]
        time.sleep(0.2)
        held.go.set()
        assert first.result().status_code == 200
        assert [future.result().status_code for future in rest] == [200, 500, 200]


# ---------------------------------------------------------------- the other endpoints


def test_compute_gives_the_golden_value(fake):
    text = "Paris is the capital of France. Paris is not the capital of France."
    answer = fake.post("/compute", text=text, sources=["france gov site"]).json()
    assert answer["S"] == pytest.approx(0.1941483060886046, abs=1e-9)
    assert answer["C"] == pytest.approx(0.7222222222222222, abs=1e-9)
    assert answer["CTS"] == pytest.approx(0.1402182210639922, abs=1e-9)
    site = answer["receipt"]["sites"][0]
    assert (site["S"], site["CTS"]) == (answer["S"], answer["CTS"])


def test_compute_with_the_model(fake):
    answer = fake.post("/compute", text=WRONG, sources=[LGPD], mode="model").json()
    assert answer["mode"] == "model"
    assert 0 <= answer["CTS"] <= 1


def test_compute_withholds_what_is_too_tense(serve):
    settings = ServiceSettings(policy=caco.GatingPolicy(tau_star=0.05))
    with serve(settings, classifier=FakeClassifier()) as service:
        answer = service.post("/compute", text="A is B. A is not B.", sources=["doc a", "doc b"])
    decision = answer.json()["receipt"]["decision"]
    assert decision == {"abstained": True, "reason": "CTS > tau_star", "tau_star": 0.05}


def test_train_learns_weights(fake):
    rows = [[0.1, 0.9], [0.4, 0.2], [0.8, 0.5], [0.3, 0.7], [0.9, 0.1]]
    targets = [0.25 * first + 0.75 * second for first, second in rows]
    answer = fake.post("/train/cac", features=rows, target_cts=targets).json()
    assert answer["weights"] == pytest.approx({"0": 0.25, "1": 0.75})
    assert answer["error"] < 1e-9


def test_signals_gives_the_example_of_the_contract(fake):
    answer = fake.post(
        "/signals",
        model_output="This is absolutely guaranteed to work.",
        context="The product improves efficiency.",
    )
    assert answer.json() == {
        "hallucination_score": 0.75,
        "risk_level": "high",
        "issues": [
            {"type": "overconfident_language", "value": "absolutely"},
            {"type": "overconfident_language", "value": "guaranteed"},
            {"type": "unsupported_claims", "count": 1},
        ],
    }


def test_health_and_metrics(fake):
    assert fake.client.get("/health").json()["status"] == "ok"
    fake.post("/validate", response=WRONG, context=LGPD)
    text = fake.client.get("/metrics").text
    assert 'caco_requests_total{path="/validate",status="200"} 1.0' in text
    assert (
        'caco_answers_total{abstained="false",hallucination="false",status="CHECKED"} 1.0' in text
    )


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/validate", {"context": "x"}, "response"),
        ("/validate", {"response": "x"}, "context"),
        ("/validate", {"response": " \n", "context": "x"}, "response"),
        ("/validate", {"response": 3, "context": "x"}, "response"),
        ("/validate", {"response": "x", "context": 3}, "context"),
        ("/validate", {"response": "x", "context": [{"id": "a"}]}, "context"),
        ("/validate", {"response": "x", "context": [{"text": None}]}, "context"),
        ("/validate", {"response": "x", "context": [{"id": "a" * 300, "text": ""}]}, "context"),
        ("/validate", {"response": "x", "context": [{"id": "a", "text": "b"}] * 2}, "context"),
        ("/validate", {"response": "x", "context": "x", "threshold": 1.5}, "threshold"),
        ("/validate", {"response": "x", "context": "x", "threshold": "0.5"}, "threshold"),
        ("/validate", {"response": "x", "context": "x", "threshold": True}, "threshold"),
        ("/validate", {"response": "x", "context": "x", "language": "klingon"}, "language"),
        ("/validate", {"response": "x", "context": "x", "user_role": "a b"}, "user_role"),
        ("/validate", {"response": "x", "context": "x", "treshold": 0.5}, "treshold"),
        ("/compute", {"text": "x"}, "sources"),
        ("/compute", {"text": "x", "sources": [], "constraints": [[0]]}, "constraints"),
        ("/compute", {"text": "x", "sources": [], "constraints": [[]]}, "constraints"),
        ("/compute", {"text": "x", "sources": [], "mode": "magic"}, "mode"),
        ("/compute", {"text": "x", "sources": [], "constraints": [["a"]]}, "constraints.0.0"),
        ("/train/cac", {"features": [[1, 2]], "target_cts": [0.5]}, "features"),
        ("/train/cac", {"features": [], "target_cts": []}, "features"),
        ("/train/cac", {"features": [[1, 2]] * 4, "target_cts": [2] * 4}, "target_cts.0"),
        ("/signals", {"context": "x"}, "model_output"),
    ],
)
def test_a_wrong_field_is_named(fake, path, body, field):
    answer = fake.client.post(path, json=body)
    assert answer.status_code == 422
    assert field in [entry["field"] for entry in answer.json()["detail"]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b'"text"',
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"response": ' + b"1" * 5000 + b"}",
        b'{"response": NaN, "context": "x"}',
        b'{"response": "\\ud800", "context": "x"}',
        b'{"response": "x", "context": ["\\udfff"]}',
        b'{"response": "x", "context": "x", "\\ud800": 1}',
    ],
)
def test_malformed_json_is_a_422(fake, content):
    answer = fake.client.post(
        "/validate", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["field"]


def test_what_was_sent_is_not_repeated(fake):
    answer = fake.post("/validate", response="x", context=["secret-document", 3])
    assert answer.status_code == 422
    assert "secret" not in answer.text


@pytest.mark.parametrize("excess", [1, 1_500_000, 20_000_000])
def test_a_body_over_a_megabyte(fake, excess):
    body = json.dumps({"response": "It is so.", "context": ""}).encode()
    largest = body[:-2] + b"x" * (1_000_000 - len(body)) + body[-2:]
    headers = {"Content-Type": "application/json"}
    assert len(largest) == 1_000_000
    assert fake.client.post("/validate", content=largest, headers=headers).status_code == 200
    if excess < 10_000_000:  # a larger one is refused by its header: the client may see a reset
        larger = largest + b" " * excess
        assert fake.client.post("/validate", content=larger, headers=headers).status_code == 413
        chunks = iter([larger[:500_000], larger[500_000:]])
        assert fake.client.post("/validate", content=chunks, headers=headers).status_code == 413
        return
    port = int(fake.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (10**6 + excess)
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


def test_a_body_that_does_not_come(serve):
    settings = ServiceSettings(timeout_s=0.3)
    with serve(settings, classifier=FakeClassifier()) as service:
        port = int(service.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
            assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_full_queue_says_when_to_come_back(serve):
    held = Held()
    settings = ServiceSettings(max_waiting=2)
    with serve(settings, classifier=held.classifier()) as service, ThreadPoolExecutor(8) as pool:
        held.hold()
        first = pool.submit(service.post, "/validate", response="It is one.", context="x")
        assert held.entered.acquire(timeout=10)
        rest = [
            pool.submit(service.post, "/validate", response="It is more.", context="x")
            for _ in range(5)
        ]
        refused = []
        deadline = time.monotonic() + 10
        while len(refused) < 3 and time.monotonic() < deadline:
            refused = [f.result() for f in rest if f.done()]
            time.sleep(0.01)
        assert [answer.status_code for answer in refused] == [503] * 3
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
        assert service.client.get("/health").json()["waiting"] == 2
        held.go.set()
        codes = sorted(future.result().status_code for future in (first, *rest))
        assert codes == [200, 200, 200, 503, 503, 503]


def test_a_check_that_takes_too_long(serve):
    held = Held()
    settings = ServiceSettings(timeout_s=0.3, shutdown_s=2)
    with serve(settings, classifier=held.classifier()) as service:
        held.hold()
        answer = service.post("/validate", response="It is one.", context="x")
        assert answer.status_code == 504
        held.go.set()
        answer = service.post("/validate", response="It is two.", context="x")
        assert answer.status_code == 200


def test_a_large_check_does_not_keep_small_ones_waiting(serve):
    held = Held()
    with serve(classifier=held.classifier()) as service, ThreadPoolExecutor(1) as pool:
        held.hold()
        large = pool.submit(
            service.post, "/validate", response="It is one. " * 30, context="x " * 10_000
        )
        assert held.entered.acquire(timeout=10)
        # Nothing to verify, so that the held classifier is not asked.
        assert service.post("/validate", response="Hello!", context="x").status_code == 200
        assert service.post("/signals", model_output="It is so.").status_code == 200
        assert not large.done()
        held.go.set()
        assert large.result().status_code == 200


def test_claims_beyond_the_limit_are_never_a_pass(serve):
    settings = ServiceSettings(max_claims=2)
    with serve(settings, classifier=FakeClassifier()) as service:
        answer = service.post("/validate", response="It is one. " * 3, context="x").json()
    assert answer["coverage"]["truncated"] is True
    assert answer["is_hallucination"] is True


def test_requests_under_way_are_answered_when_the_service_stops(serve):
    held = Held()
    with ThreadPoolExecutor(1) as pool, serve(classifier=held.classifier()) as service:
        held.hold()
        request = {"response": "It is one.", "context": "x"}
        under_way = pool.submit(
            httpx.post, f"{service.address}/validate", json=request, timeout=20, trust_env=False
        )
        assert held.entered.acquire(timeout=10)
        service.server.should_exit = True
        time.sleep(0.3)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{service.address}/health", trust_env=False)
        held.go.set()
        assert under_way.result().status_code == 200


# ---------------------------------------------------------------- the token


def test_the_token(serve):
    settings = ServiceSettings(token="s3cret-é")
    with serve(settings, classifier=FakeClassifier()) as service:
        body = {"response": "It is so.", "context": "x"}

        def ask(header):
            headers = {} if header is None else {"Authorization": header}
            return service.client.post("/validate", json=body, headers=headers)

        for header in (
            None,
            "",
            "s3cret-é".encode(),
            "Bearer",
            "Bearer wrong",
            b"Basic s3cret-\xc3\xa9",
        ):
            refused = ask(header)
            assert refused.status_code == 401, header
            assert refused.headers["WWW-Authenticate"] == "Bearer"
        assert ask("Bearer s3cret-é".encode()).status_code == 200
        assert service.client.get("/metrics").status_code == 401
        for path in ("/", "/health", "/openapi.json", "/assets/view.js"):
            assert service.client.get(path).status_code == 200
        description = service.client.get("/openapi.json").json()
        assert description["paths"]["/validate"]["post"]["security"] == [{"token": []}]
    assert "s3cret" not in repr(settings)


# ---------------------------------------------------------------- receipts and logs


def test_the_receipt_that_was_logged_is_the_one_given(serve, tmp_path):
    log = ReceiptLog(tmp_path / "receipts.jsonl", hash_chain=True)
    settings = ServiceSettings(receipts=log)
    with serve(settings, classifier=FakeClassifier()) as service:
        given = [
            service.post("/validate", response=WRONG, context=LGPD, user_role="auditor").json(),
            service.post("/compute", text=WRONG, sources=[LGPD]).json(),
        ]
    written = [json.loads(line) for line in log.path.read_text().splitlines()]
    for line in written:
        del line["chain"]
    assert written == [answer["receipt"] for answer in given]
    assert written[0]["user_role"] == "auditor"
    assert log.verify().ok


def test_no_answer_without_its_receipt(serve, tmp_path):
    settings = ServiceSettings(receipts=ReceiptLog(tmp_path / "missing" / "receipts.jsonl"))
    with serve(settings, classifier=FakeClassifier()) as service:
        for path, body in (
            ("/validate", {"response": WRONG, "context": LGPD}),
            ("/compute", {"text": WRONG, "sources": [LGPD]}),
        ):
            answer = service.client.post(path, json=body)
            assert answer.status_code == 500
            assert "score" not in answer.json()


def test_logs_hold_ids_and_no_text(serve, caplog):
    def verdict(claim, context):
        if "kumquat" in claim:
            raise RuntimeError(f"zebrafish {claim} {context}")
        return caco.Labels.VALUE_NEUTRAL

    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    own = "2f1f3f0e-5d0c-4a4e-9d7e-5a1f6f1f9a10"
    with serve(classifier=FakeClassifier(verdict)) as service:
        answers = [
            service.post("/validate", response="It is zebrafish.", context="zebrafish"),
            service.post("/validate", response="It is kumquat.", context="zebrafish"),
            service.post("/validate", response=3, context="zebrafish"),
            service.client.get("/zebrafish?zebrafish=1"),
            service.client.get("/health?zebrafish=1", headers={"X-Request-ID": own}),
            service.client.get("/health", headers={"X-Request-ID": "zebrafish"}),
        ]
    assert [answer.status_code for answer in answers] == [200, 500, 422, 404, 200, 200]
    assert answers[4].headers["x-request-id"] == own
    text = caplog.text
    assert "zebrafish" not in text
    assert "kumquat" not in text
    assert "error=RuntimeError" in text
    for answer in answers:
        assert f"request_id={answer.headers['x-request-id']} method=" in text


# ---------------------------------------------------------------- the description


def test_every_example_of_the_description_holds(engine_service):
    description = engine_service.client.get("/openapi.json").json()
    posts = [path for path, methods in description["paths"].items() if "post" in methods]
    assert sorted(posts) == ["/compute", "/signals", "/train/cac", "/validate"]
    for path in posts:
        operation = description["paths"][path]["post"]
        reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        body = description["components"]["schemas"][reference.rpartition("/")[2]]
        content = operation["responses"]["200"]["content"]["application/json"]
        jsonschema.validate(content["example"], content["schema"])
        assert body["examples"]
        for example in body["examples"]:
            answer = engine_service.client.post(path, json=example)
            assert answer.status_code == 200, answer.text
            jsonschema.validate(answer.json(), content["schema"])
        assert set(operation["responses"]) >= {"200", "413", "422", "503", "504"}
    health = description["paths"]["/health"]["get"]["responses"]["200"]["content"]
    jsonschema.validate(
        engine_service.client.get("/health").json(), health["application/json"]["schema"]
    )


# ---------------------------------------------------------------- the page


def test_the_page_needs_nothing_from_outside(fake):
    page = fake.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert sorted(assets) == [
        "/assets/page.css",
        "/assets/page.js",
        "/assets/view.css",
        "/assets/view.js",
    ]
    for name in assets:
        asset = fake.client.get(name)
        assert asset.status_code == 200
        assert "//" not in asset.text.replace("// ", ""), f"{name} names an address"
    assert " on" not in " ".join(re.findall(r"<[^>]*>", page.text)), "an inline handler"
    assert fake.client.get("/assets/page.html").status_code == 404


def test_the_rendering_is_that_of_the_package(fake):
    from caco.render import render_fragment

    body = {"response": "<b>It</b> is so.", "context": [{"id": "<i>", "text": "<script>1"}]}
    answer = fake.client.post("/validate", json=body, headers={"Accept": "text/html"})
    plain = fake.client.post("/validate", json=body).json()
    plain.pop("receipt")
    result = caco.ValidationResult.from_dict(plain)
    assert answer.text == render_fragment(result, body["context"])
    assert "<script" not in answer.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"token": " "},
        {"max_waiting": 0},
        {"timeout_s": -1},
        {"max_batch": 0},
        {"max_claims": 0},
        {"max_body_bytes": 0},
        {"shutdown_s": 0},
    ],
)
def test_wrong_settings(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ServiceSettings(**wrong)
    with pytest.raises(TypeError):
        ServiceSettings(policy=3)
    with pytest.raises(TypeError):
        ServiceSettings(receipts=3)
