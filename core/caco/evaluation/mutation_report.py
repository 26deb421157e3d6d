"""How many wrong claims are caught, and how many right ones flagged, on a user's own documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caco.batch.columns import unpacked
from caco.evaluation.judging import Judgement, Progress, Validators, judge
from caco.evaluation.measures import wilson_interval
from caco.evaluation.mutation import KINDS, SUPPORTED_KINDS, Mutant, mutants
from caco.evaluation.records import Record, read_records
from caco.evaluation.report import Table, share_with_interval
from caco.evaluation.rows import Dataset, Row
from caco.evidence import as_documents, joined_text
from caco.models import Document
from caco.validator import Validator

__all__ = ["KindReport", "MutationReport", "mutation_report", "read_corpus"]

_TABLES = (".jsonl", ".ndjson", ".csv", ".parquet")
_TEXT_COLUMNS = ("text", "page_content", "content", "context")


@dataclass(frozen=True)
class KindReport:
    """How the engine does on the claims of one kind.

    Attributes:
        kind: What was done to the sentences.
        claims: The claims.
        judgements: What the engine says about each.
    """

    kind: str
    claims: tuple[Mutant, ...]
    judgements: tuple[Judgement, ...]

    @property
    def flagged(self) -> int:
        """How many are called a hallucination; one that was not judged is not."""
        return sum(judgement.judged and judgement.flagged for judgement in self.judgements)

    @property
    def unjudged(self) -> int:
        """How many have no verdict."""
        return sum(not judgement.judged for judgement in self.judgements)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share that is flagged (Wilson)."""
        return wilson_interval(self.flagged, len(self.claims))

    @property
    def wrong(self) -> list[tuple[Mutant, Judgement]]:
        """The claims without the right verdict: wrong ones not flagged, right ones not passed."""
        pairs = zip(self.claims, self.judgements, strict=True)
        return [
            (claim, judgement)
            for claim, judgement in pairs
            if not judgement.judged or judgement.flagged == claim.supported
        ]


@dataclass(frozen=True)
class MutationReport:
    """What share of each kind is caught.

    Attributes:
        kinds: One for each kind that the documents allow.
        documents: How many documents there were.
        missing: Kinds for which no sentence was found.
        model: The model's name.
        threshold: The risk over which a claim is flagged.
    """

    kinds: tuple[KindReport, ...]
    documents: int
    missing: tuple[str, ...]
    model: str
    threshold: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that ``json.dumps`` takes, with the texts of what went wrong."""
        return {
            "model": self.model,
            "threshold": self.threshold,
            "documents": self.documents,
            "missing_kinds": list(self.missing),
            "kinds": [
                {
                    "kind": report.kind,
                    "supported": report.kind in SUPPORTED_KINDS,
                    "claims": len(report.claims),
                    "flagged": report.flagged,
                    "unjudged": report.unjudged,
                    "interval": list(report.interval),
                    "wrong": [
                        {
                            "claim": claim.claim,
                            "sentence": claim.sentence,
                            "document": claim.document.id,
                            "status": str(judgement.status),
                            "risk": judgement.risk,
                        }
                        for claim, judgement in report.wrong
                    ],
                }
                for report in self.kinds
            ],
        }

    def table(self) -> Table:
        """Return the shares as a table."""
        rows = [
            (
                report.kind,
                "false alarms" if report.kind in SUPPORTED_KINDS else "caught",
                str(len(report.claims)),
                share_with_interval(report.flagged, len(report.claims), report.interval),
                str(report.unjudged),
            )
            for report in self.kinds
        ]
        for name, supported in (("all wrong claims", False), ("all supported claims", True)):
            part = [one for one in self.kinds if (one.kind in SUPPORTED_KINDS) is supported]
            flagged, total = sum(one.flagged for one in part), sum(len(o.claims) for o in part)
            share = share_with_interval(flagged, total, wilson_interval(flagged, total))
            unjudged = str(sum(one.unjudged for one in part))
            rows.append(
                (name, "false alarms" if supported else "caught", str(total), share, unjudged)
            )
        notes = [
            f"{self.documents} documents, model {self.model}, threshold {self.threshold:g}; 95 % "
            "intervals (Wilson). A claim that was not judged counts as not flagged."
        ]
        if self.missing:
            notes.append(f"No sentence allows: {', '.join(self.missing)}.")
        columns = ("change", "measured", "claims", "share", "not judged")
        return Table("Claims made from your documents", columns, tuple(rows), tuple(notes))


def mutation_report(
    documents: Sequence[Document],
    validator: Validator | None = None,
    *,
    language: str = "english",
    limit: int | None = 50,
    seed: int = 0,
    progress: Progress | None = None,
) -> MutationReport:
    """Make claims from documents and see which the engine flags.

    Args:
        documents: The documents; each claim is checked against the one it was made from.
        validator: The engine. None: the default one for ``language``.
        language: The documents' language, "english" or "portuguese" (or an alias).
        limit: The most claims of a kind; None: all that can be made.
        seed: The same seed and documents give the same claims.
        progress: Is told how far it is.

    Returns:
        What share of each kind is flagged, and the claims without the right verdict.

    Raises:
        ValueError: An unsupported language, or no sentence a claim can be made from.
    """
    engine = validator if validator is not None else Validator(language=language)
    made = mutants(documents, language, limit=limit, seed=seed)
    if not made:
        raise ValueError(
            f"no claim can be made from {len(documents)} documents: there is no sentence of 5 to "
            "45 words that ends in a full stop"
        )
    rows = tuple(Row(claim.claim, claim.document, not claim.supported) for claim in made)
    judgements, _ = judge(Dataset("claims", rows), Validators.of(engine), progress)
    reports = []
    for kind in dict.fromkeys(claim.kind for claim in made):
        own = [pair for pair in zip(made, judgements, strict=True) if pair[0].kind == kind]
        claims, judged = zip(*own, strict=True)
        reports.append(KindReport(kind, claims, judged))
    present = {report.kind for report in reports}
    return MutationReport(
        tuple(reports),
        len(documents),
        tuple(kind for kind in KINDS if kind not in present),
        str(getattr(engine.classifier, "name", type(engine.classifier).__name__)),
        engine.threshold,
    )


def read_corpus(paths: Iterable[str | Path]) -> list[Document]:
    """Read documents: each text file is one, each row of a table is one.

    Args:
        paths: Files. JSON lines, CSV and Parquet hold a document in each row, in ``text``,
            ``page_content``, ``content`` or ``context``; anything else is UTF-8 text.

    Returns:
        The documents that say something, with where they come from as ids; the same text only once.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is not UTF-8, a row has no text, or there is no document at all.
        MissingExtraError: A Parquet file, and pyarrow is not installed.
    """
    texts: dict[str, str] = {}
    for path in paths:
        for place, text in _texts(Path(path)):
            if text.strip():
                texts.setdefault(text, place)
    if not texts:
        raise ValueError("there is no document to make claims from")
    return [Document(text, place) for text, place in texts.items()]


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    if file.name.lower().removesuffix(".gz").endswith(_TABLES):
        for place, data in read_records(file):
            yield place, _text_of(place, data)
        return
    try:
        yield file.name, file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name} is not UTF-8 text: offset {error.start}") from error


def _text_of(place: str, data: Record) -> str:
    for column in _TEXT_COLUMNS:
        if column in data:
            try:
                return joined_text(as_documents(unpacked(data[column])))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{place}: {error}") from error
    raise ValueError(f"{place} has none of {', '.join(_TEXT_COLUMNS)}")
