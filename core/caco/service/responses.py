"""What the service answers: problems, and the descriptions of answers for OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from caco.service.schemas import answer_schema, receipt_schema
from caco.signals import detect_signals
from caco.tension import cts, fit_weights

__all__ = [
    "COMPUTE",
    "HEALTH",
    "METRICS",
    "SIGNALS",
    "TRAIN",
    "VALIDATE",
    "describe",
    "field_problem",
    "validation_problem",
]

_Responses = dict[int | str, dict[str, Any]]

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_SHARES = {"type": "object", "additionalProperties": _SHARE}
_PROBLEM = {
    "type": "object",
    "required": ["detail"],
    "properties": {"detail": {"type": "string"}},
}
_FIELD_PROBLEM = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "loc", "msg", "type"],
                "properties": {
                    "field": {"type": "string"},
                    "loc": {"type": "array", "items": {"type": ["string", "integer"]}},
                    "msg": {"type": "string"},
                    "type": {"type": "string"},
                },
            },
        }
    },
}


def field_problem(field: str, message: str) -> JSONResponse:
    """Answer that a field is wrong; "" is the body as a whole."""
    return _invalid([_entry(("body", field) if field else ("body",), message, "value_error")])


def validation_problem(error: RequestValidationError) -> JSONResponse:
    """Answer which fields are wrong and why; nothing of what was sent is repeated."""
    return _invalid(
        [
            # Where JSON ends to be JSON is no field.
            _entry(
                ("body",) if item["type"] == "json_invalid" else tuple(item["loc"]),
                item["msg"],
                item["type"],
            )
            for item in error.errors()
        ]
    )


def _invalid(entries: list[dict[str, Any]]) -> JSONResponse:
    return JSONResponse({"detail": entries}, 422)


def _entry(location: tuple[str | int, ...], message: str, kind: str) -> dict[str, Any]:
    # What a client sent as a field's name comes back: it may hold what no encoding takes.
    parts = [
        part.encode("utf-8", "replace").decode("utf-8") if isinstance(part, str) else part
        for part in location
    ]
    field = ".".join(map(str, parts[1:])) or "body"
    text = message.removeprefix("Value error, ").encode("utf-8", "replace").decode("utf-8")
    return {"field": field, "loc": parts, "msg": text, "type": kind}


def _problem(description: str, **headers: str) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": description,
        "content": {"application/json": {"schema": _PROBLEM}},
    }
    if headers:
        answer["headers"] = {
            name.replace("_", "-"): {"description": text, "schema": {"type": "string"}}
            for name, text in headers.items()
        }
    return answer


def _json(description: str, schema: dict[str, Any], example: Any = None) -> dict[str, Any]:  # noqa: ANN401
    content: dict[str, Any] = {"schema": schema}
    if example is not None:
        content["example"] = example
    return {"description": description, "content": {"application/json": content}}


_POST: _Responses = {
    408: _problem("The body did not come in time."),
    413: _problem("The body is too large."),
    422: {
        "description": "The body or a field of it is wrong; each entry names its field.",
        "content": {"application/json": {"schema": _FIELD_PROBLEM}},
    },
    503: _problem("Too many requests wait.", Retry_After="Seconds until the next try."),
    504: _problem("It was not done in time."),
}

_RECEIPT_EXAMPLE: dict[str, Any] = {
    "request_id": "0b0f7d1c-5a52-4f0e-9f3e-2d3c6f1f8a55",
    "timestamp": "2026-01-31T12:00:00.000Z",
    "user_role": "user",
    "sites": [{"name": "generate", "S": 0.5, "C": 0.5, "CTS": 0.25, "provenance": ["lgpd.txt"]}],
    "path_scores": {"S": 0.5, "C": 0.5, "CTS": 0.25},
    "decision": {"abstained": True, "reason": "no_entailment", "tau_star": 0.7},
    "redaction": {"raw_text_logged": False, "token_count": 6},
}


def _validate_example() -> dict[str, Any]:
    evidence = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
    quote = {"document": "lgpd.txt", "text": evidence, "start": 0, "end": 67, "score": 0.97}
    claim = {
        "text": "The LGPD was created in 2015.",
        "evidence": evidence,
        "label": "contradiction",
        "score": 0.97,
        "reason": "response 2015, source 2018",
        "start": 0,
        "end": 29,
        "probabilities": {"entailment": 0.01, "neutral": 0.02, "contradiction": 0.97},
        "evidence_document": "lgpd.txt",
        "evidence_start": 0,
        "evidence_end": 67,
        "supporting": [],
        "conflicting": [quote],
        "checkworthy": True,
    }
    actions = ["ask_for_source", "increase_retrieval_weight", "lower_temperature"]
    return {
        "score": 0.99,
        "is_hallucination": True,
        "claims": [claim],
        "summary": "1 of 1 claims not supported (risk 0.99).",
        "status": "CHECKED",
        "coverage": {
            "claims_total": 1,
            "claims_checked": 1,
            "documents": 1,
            "windows": 1,
            "pairs_scored": 1,
            "truncated": False,
        },
        "signals": [],
        "gate": {"abstained": True, "reason": "no_entailment", "tau_star": 0.7, "actions": actions},
        "threshold": 0.5,
        "model": "caco-nli",
        "language": "english",
        "response": claim["text"],
        "attempts": [],
        "schema_version": 1,
        "receipt": _RECEIPT_EXAMPLE,
    }


def _compute_schema() -> dict[str, Any]:
    properties: dict[str, Any] = {
        **dict.fromkeys(("S", "C", "CTS"), _SHARE),
        **dict.fromkeys(("strain", "contradiction", "weights"), _SHARES),
        "mode": {"enum": ["heuristic", "model"]},
        "exact": {"type": "boolean"},
        "receipt": receipt_schema(),
    }
    return {"type": "object", "required": [*properties], "properties": properties}


def _compute_example() -> dict[str, Any]:
    plain = cts("A is B. A is not B.", ["doc a", "doc b"]).to_dict()
    return {**plain, "CTS": plain.pop("value"), "receipt": _RECEIPT_EXAMPLE}


def _train_schema() -> dict[str, Any]:
    properties: dict[str, Any] = {
        "weights": _SHARES,
        "error": {"type": "number", "minimum": 0},
        "held_out_error": {"type": "number", "minimum": 0},
        "rows": {"type": "integer"},
    }
    return {"type": "object", "required": [*properties], "properties": properties}


def _signals_schema() -> dict[str, Any]:
    issue = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["overconfident_language", "unsupported_claims"]},
            "value": {"type": "string"},
            "count": {"type": "integer", "minimum": 1},
        },
    }
    return {
        "type": "object",
        "required": ["hallucination_score", "risk_level", "issues"],
        "properties": {
            "hallucination_score": _SHARE,
            "risk_level": {"enum": ["low", "medium", "high"]},
            "issues": {"type": "array", "items": issue},
            "compared": {"const": False},
        },
    }


def _health_schema() -> dict[str, Any]:
    properties: dict[str, Any] = {
        "status": {"const": "ok"},
        "version": {"type": "string"},
        "model": {"type": "string"},
        "waiting": {"type": "integer", "minimum": 0},
    }
    return {"type": "object", "required": [*properties], "properties": properties}


VALIDATE: _Responses = {
    200: _json("The verdict and its receipt.", answer_schema(), _validate_example()),
    **_POST,
}
VALIDATE[200]["content"]["text/html"] = {"schema": {"type": "string"}}
COMPUTE: _Responses = {
    200: _json("The tension and its receipt.", _compute_schema(), _compute_example()),
    **_POST,
}
TRAIN: _Responses = {
    200: _json(
        "The weights, and what they miss the targets by.",
        _train_schema(),
        fit_weights(
            [[0.1, 0.9], [0.4, 0.2], [0.8, 0.5], [0.3, 0.7]], [0.5, 0.3, 0.65, 0.5]
        ).to_dict(),
    ),
    **_POST,
}
SIGNALS: _Responses = {
    200: _json(
        "What was found.",
        _signals_schema(),
        detect_signals(
            "This is absolutely guaranteed to work.", "The product improves efficiency."
        ).to_dict(),
    ),
    **_POST,
}
HEALTH: _Responses = {
    200: _json(
        "It runs.",
        _health_schema(),
        {"status": "ok", "version": "0.1.0", "model": "caco-nli", "waiting": 0},
    )
}
METRICS: _Responses = {
    200: {
        "description": "Prometheus' text format.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


def describe(plain: dict[str, Any], *, needs_token: bool) -> dict[str, Any]:
    """Complete an OpenAPI description: the token, and nothing of what FastAPI adds unasked."""
    components = plain.setdefault("components", {})
    for name in ("HTTPValidationError", "ValidationError"):
        components.get("schemas", {}).pop(name, None)
    if not needs_token:
        return plain
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in plain["paths"].items():
        if path == "/health":
            continue
        for operation in methods.values():
            operation["security"] = [{"token": []}]
            operation["responses"]["401"] = _problem("The token is missing or wrong.")
    return plain
