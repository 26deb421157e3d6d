"""What an evaluation is made on: answers with their documents, or pairs of sentences, labelled."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from caco.batch.columns import unpacked
from caco.evaluation.records import Record, read_records
from caco.evidence import Context, as_documents
from caco.models import Labels
from caco.text import resolve_language

__all__ = ["NOT_ENTAILED", "Dataset", "Row", "read_dataset", "take"]

NOT_ENTAILED = "not_entailment"
"""The label of a pair that is neutral or a contradiction, in sets that do not tell which."""

_CLASSES = (*(label.value for label in Labels), NOT_ENTAILED)
_TRUE = ("1", "1.0", "true", "yes")
_FALSE = ("0", "0.0", "false", "no")
_CLAIM_LABELS = {
    "supported": False,
    "faithful": False,
    Labels.VALUE_ENTAILMENT.value: False,
    "unsupported": True,
    "not_supported": True,
    "hallucinated": True,
    Labels.VALUE_NEUTRAL.value: True,
    Labels.VALUE_CONTRADICTION.value: True,
    NOT_ENTAILED: True,
}


@dataclass(frozen=True)
class Row:
    """A labelled answer, or a labelled pair of premise and hypothesis.

    Attributes:
        response: The answer; of a pair, the hypothesis.
        context: The documents, in any form that `caco.Validator.validate` takes; of a pair, the
            premise.
        label: True when something in the response is not supported; of a pair, when it is not
            entailed.
        prompt: The question that was answered, or None.
        language: "english", "portuguese" or None (not said).
        claims: The claims of the answer that the data label, each with its own ``label``.
        gold: Of a pair, its class: "entailment", "neutral", "contradiction" or `NOT_ENTAILED`; of
            an answer, None.
    """

    response: str
    context: Context
    label: bool
    prompt: str | None = None
    language: str | None = None
    claims: tuple[tuple[str, bool], ...] = ()
    gold: str | None = None

    @property
    def text(self) -> str:
        """All documents as one text, for what only counts words."""
        return "\n".join(document.text for document in as_documents(self.context))


@dataclass(frozen=True)
class Dataset:
    """Rows that are measured together.

    Attributes:
        name: What it is called in the tables.
        rows: The rows; at least one.
        kind: "answers" or "pairs".
        of_claims: True when the rows are the labelled claims of another set's answers.
    """

    name: str
    rows: tuple[Row, ...]
    kind: Literal["answers", "pairs"] = "answers"
    of_claims: bool = False

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError(f"{self.name} has no rows")
        if any((row.gold is not None) != (self.kind == "pairs") for row in self.rows):
            raise ValueError(f"{self.name} mixes answers and pairs, or is not of its kind")

    def with_claims(self) -> tuple[Dataset, ...]:
        """Return this set, and, where rows label claims, the set of those claims."""
        claims = tuple(
            Row(text, row.context, label, row.prompt, row.language)
            for row in self.rows
            for text, label in row.claims
        )
        if not claims:
            return (self,)
        return (self, Dataset(f"{self.name}:claims", claims, of_claims=True))


def read_dataset(
    source: str | Path | Iterable[tuple[str, Record]],
    name: str | None = None,
    *,
    with_prompt: bool = True,
) -> Dataset:
    """Read labelled rows.

    A row has ``context`` (a text or a list), ``response`` and ``label`` (1 or true: something in
    the response is not supported; 0 or false: faithful), perhaps ``prompt`` or ``question``,
    ``language`` or ``lang``, and ``claims`` (a list of ``{"text", "label"}``). Or it has
    ``premise``, ``hypothesis`` and ``label`` ("entailment", "neutral", "contradiction" or
    "not_entailment"). In CSV, a ``context`` or ``claims`` that is a list is written as JSON.

    Args:
        source: A file of JSON lines, CSV or Parquet, told by its ending (all but Parquet may be
            packed with gzip); "-", standard input, for JSON lines; or places and rows.
        name: What the set is called. None: the file's name without its endings.
        with_prompt: False: questions in the data are not used.

    Returns:
        The rows in order.

    Raises:
        OSError: The file cannot be read.
        ValueError: It has no rows, or a row is not of that form; the message says where.
        MissingExtraError: A Parquet file, and pyarrow is not installed.
    """
    if isinstance(source, (str, Path)):
        name = name or ("data" if source == "-" else Path(source).name.split(".")[0])
        source = read_records(source)
    rows = [_row(place, data, with_prompt=with_prompt) for place, data in source]
    pairs = bool(rows) and rows[0].gold is not None
    return Dataset(name or "data", tuple(rows), "pairs" if pairs else "answers")


def take(dataset: Dataset, limit: int | None, seed: int = 0) -> Dataset:
    """Return the first rows after a shuffle; all of them, in order, without a limit.

    Args:
        dataset: The rows.
        limit: How many at most, at least 1; None: all.
        seed: Of the shuffle.

    Raises:
        ValueError: The limit is less than 1.
    """
    if limit is None:
        return dataset
    if limit < 1:
        raise ValueError(f"limit must be at least 1 or None, not {limit!r}")
    rows = list(dataset.rows)
    random.Random(seed).shuffle(rows)
    return replace(dataset, rows=tuple(rows[:limit]))


def _row(place: str, data: Record, *, with_prompt: bool) -> Row:
    if "label" not in data:
        raise ValueError(f'{place} has no "label"')
    # Where a table has no value, CSV has an empty text.
    language = data.get("language") or data.get("lang") or None
    try:
        language = None if language is None else resolve_language(language)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    if "premise" in data and "hypothesis" in data:
        gold = str(data["label"]).strip().lower().replace("-", "_")
        if gold not in _CLASSES:
            raise ValueError(f"{place}: label must be one of {_CLASSES}, not {data['label']!r}")
        label = gold != Labels.VALUE_ENTAILMENT.value
        premise, hypothesis = (_text(place, data, key) for key in ("premise", "hypothesis"))
        return Row(hypothesis, premise, label, language=language, gold=gold)
    if "context" not in data and "response" in data:
        raise ValueError(f'{place} has no "context"')
    if "response" not in data:
        raise ValueError(f'{place} has neither "context" and "response" nor "premise" and so on')
    prompt = (data.get("prompt") or data.get("question") or None) if with_prompt else None
    if prompt is not None and not isinstance(prompt, str):
        raise ValueError(f"{place}: the question must be a text, not {prompt!r}")
    return Row(
        _text(place, data, "response"),
        _context(place, data["context"]),
        _label(place, data["label"]),
        prompt,
        language,
        _claims(place, data.get("claims") or None),
    )


def _text(place: str, data: Record, key: str) -> str:
    if not isinstance(data[key], str):
        raise ValueError(f'{place}: "{key}" must be a text, not {data[key]!r}')
    return str(data[key])


def _context(place: str, value: Any) -> Context:  # noqa: ANN401 (checked here)
    value = unpacked(value)
    try:
        as_documents(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from error
    return value  # type: ignore[no-any-return]


def _label(place: str, value: object) -> bool:
    plain = str(value).strip().lower()
    if plain in _TRUE:
        return True
    if plain in _FALSE:
        return False
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"{place} has no label")
    raise ValueError(f"{place}: label must be 0, 1, true or false, not {value!r}")


def _claims(place: str, value: object) -> tuple[tuple[str, bool], ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{place}: claims must be a list, not {value!r}") from error
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ValueError(f"{place}: claims must be a list, not {value!r}")
    found = []
    for claim in value:
        if not isinstance(claim, Mapping) or not isinstance(claim.get("text"), str):
            raise ValueError(f'{place}: a claim must be {{"text", "label"}}, not {claim!r}')
        if "label" not in claim:
            raise ValueError(f"{place}: a claim has no label: {claim['text']!r}")
        named = _CLAIM_LABELS.get(str(claim["label"]).strip().lower().replace("-", "_"))
        found.append((claim["text"], _label(place, claim["label"]) if named is None else named))
    return tuple(found)
