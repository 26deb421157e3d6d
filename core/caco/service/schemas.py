"""The bodies that the service takes, and the descriptions of what it answers."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    WithJsonSchema,
)

from caco.evidence import as_documents
from caco.models import Document, ValidationResult
from caco.receipts import SCHEMA_FILE
from caco.text import resolve_language

__all__ = [
    "ComputeBody",
    "SignalsBody",
    "TrainBody",
    "ValidateBody",
    "answer_schema",
    "receipt_schema",
]

_MAX_ID = 256
_MAX_COLUMNS = 32

_LGPD = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
_DOCUMENT_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "page_content": {"type": "string", "description": "The same, as LangChain calls it."},
        "id": {"type": ["string", "integer", "null"]},
    },
    "anyOf": [{"required": ["text"]}, {"required": ["page_content"]}],
}
_CONTEXT_SCHEMA = {
    "description": "The documents. One without an id has its position as id. None of them, or only "
    "blank ones, is never a pass.",
    "anyOf": [
        {"type": "string"},
        _DOCUMENT_SCHEMA,
        {"type": "array", "items": {"anyOf": [{"type": "string"}, _DOCUMENT_SCHEMA]}},
        {"type": "null"},
    ],
}


def _documents(value: object) -> tuple[Document, ...]:
    """Read the documents of a request; everything wrong is a ``ValueError``."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    for position, item in enumerate(items):
        if not isinstance(item, (str, Mapping)):
            raise ValueError(f"document {position} must be a text or an object with a text")
        if isinstance(item, Mapping):
            _check_document(item, position)
    found = as_documents(items)
    for document in found:
        _encodable(document.text)
        _encodable(document.id or "")
    return tuple(Document(document.text, document.id) for document in found)


def _check_document(item: Mapping[str, object], position: int) -> None:
    text = item.get("text", item.get("page_content"))
    if not isinstance(text, str):
        raise ValueError(f"document {position} needs a 'text' or 'page_content' that is a string")
    identity = item.get("id")
    if isinstance(identity, bool) or not isinstance(identity, (str, int, type(None))):
        raise ValueError(f"the id of document {position} must be a string or an integer")
    if len(str(identity)) > _MAX_ID:
        raise ValueError(f"the id of document {position} is longer than {_MAX_ID} characters")


def _encodable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"lone surrogate at character {error.start}: no Unicode text") from error
    return text


def _not_blank(text: str) -> str:
    if all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in text):
        raise ValueError("response is empty: there is nothing to check")
    return text


_Text = Annotated[str, Field(strict=True), AfterValidator(_encodable)]
_Answer = Annotated[_Text, Field(min_length=1), AfterValidator(_not_blank)]
_Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
_Context = Annotated[Any, PlainValidator(_documents), WithJsonSchema(_CONTEXT_SCHEMA)]
_Language = Annotated[
    str,
    Field(strict=True),
    AfterValidator(resolve_language),
    WithJsonSchema({"type": "string", "enum": ["english", "portuguese", "en", "pt", "pt-br"]}),
]
_Role = Annotated[
    str,
    Field(
        strict=True,
        pattern="^[A-Za-z0-9_.:/-]{1,64}$",
        description="Who asks, by role; goes into the receipt.",
    ),
]


class _Body(BaseModel):
    # Unknown fields are refused: a misspelt "treshold" must not be a silent default.
    model_config = ConfigDict(extra="forbid", frozen=True)


class ValidateBody(_Body):
    """An answer and its documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "response": "The LGPD was created in 2015.",
                    "context": [{"id": "lgpd.txt", "text": _LGPD}],
                    "threshold": 0.5,
                },
                {
                    "response": "A LGPD foi criada em 2015.",
                    "context": "A LGPD foi sancionada em 14 de agosto de 2018.",
                    "language": "portuguese",
                },
            ]
        }
    )

    response: _Answer
    context: _Context
    prompt: _Text | None = None
    language: _Language = "english"
    threshold: _Share = 0.5
    user_role: _Role = "user"


class ComputeBody(_Body):
    """A text whose tension is wanted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "Paris is the capital of France. Paris is not the capital of France.",
                    "sources": ["france gov site"],
                    "constraints": [[1, 2], [-1]],
                }
            ]
        }
    )

    text: _Text
    sources: _Context
    constraints: tuple[tuple[Annotated[int, Field(strict=True)], ...], ...] = Field(
        default=(),
        description="A formula in conjunctive normal form: clauses of signed integers, not 0.",
    )
    mode: Literal["heuristic", "model"] = Field(
        default="heuristic",
        description="heuristic: words and characters; model: claims verified by the engine.",
    )
    language: _Language = "english"
    user_role: _Role = "user"


class TrainBody(_Body):
    """Examples to learn a tension's weights from."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "features": [[0.1, 0.9], [0.4, 0.2], [0.8, 0.5], [0.3, 0.7]],
                    "target_cts": [0.5, 0.3, 0.65, 0.5],
                }
            ]
        }
    )

    features: (
        list[Annotated[list[float], Field(max_length=_MAX_COLUMNS)]]
        | list[Annotated[dict[str, float], Field(max_length=_MAX_COLUMNS)]]
    ) = Field(description="One row of numbers for each example, or of numbers by name.")
    target_cts: list[_Share] = Field(description="The tension that each example should have.")


class SignalsBody(_Body):
    """An answer to look at, and perhaps its documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "model_output": "This is absolutely guaranteed to work.",
                    "context": "The product improves efficiency.",
                }
            ]
        }
    )

    model_output: _Text
    context: _Context = ()
    language: _Language | None = None


def receipt_schema() -> dict[str, Any]:
    """Return the JSON Schema of a receipt, without references."""
    schema: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    definitions = schema.pop("$defs", {})
    plain = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
    inlined: dict[str, Any] = _inlined(plain, definitions)
    return inlined


def answer_schema() -> dict[str, Any]:
    """Return the JSON Schema of an answer of ``POST /validate``, without references."""
    adapter = TypeAdapter(ValidationResult)
    schema = adapter.json_schema(mode="serialization")
    schema["properties"]["receipt"] = receipt_schema()
    schema["required"] = [*schema["properties"]]
    inlined: dict[str, Any] = _inlined(schema, schema.pop("$defs", {}))
    return inlined


def _inlined(part: Any, definitions: Mapping[str, Any]) -> Any:  # noqa: ANN401 (any JSON)
    """Replace references by what they stand for."""
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    name = str(part.get("$ref", "")).removeprefix("#/$defs/")
    if name in definitions:
        return _inlined(definitions[name], definitions)
    return {key: _inlined(value, definitions) for key, value in part.items()}
