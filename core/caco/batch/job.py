"""What a run over many rows is to do, how far it has come, what it did."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from caco.batch.checker import BatchValidator
from caco.batch.columns import ColumnNames
from caco.batch.engines import Engine, LocalEngine
from caco.batch.repair import NewSources
from caco.batch.results import REPAIR_TYPES, RESULT_TYPES
from caco.batch.rows import RowSource
from caco.batch.sources import STANDARD_STREAM, format_of
from caco.errors import CacoError

__all__ = ["BatchJob", "BatchReport", "Progress", "TooManyErrorsError"]


class TooManyErrorsError(CacoError):
    """A run met more bad rows than it was to bear; what was written until then is kept."""


@dataclass(frozen=True)
class BatchJob:
    """What is to be done.

    Attributes:
        source: Where the rows come from.
        output: Path of the output, or "-" for standard output.
        output_format: "jsonl", "csv" or "parquet". None: by the file's ending.
        names: Which columns are read.
        validator: What checks the rows.
        engine: Who runs it.
        errors: Path of the side file of bad rows. None: the output's with ".errors.jsonl".
        max_errors: Bad rows to bear; one more ends the run.
        resume: Go on with an unfinished run, if there is one.
        restart: Begin anew, even if there is an unfinished run.
        new_sources: New documents; rows that failed are checked again with them. None: no repair.

    Raises:
        ValueError: A setting outside its range.
    """

    source: RowSource
    output: str
    output_format: str | None = None
    names: ColumnNames = field(default_factory=ColumnNames)
    validator: BatchValidator = field(default_factory=BatchValidator)
    engine: Engine = field(default_factory=LocalEngine)
    errors: str | None = None
    max_errors: int = 1000
    resume: bool = False
    restart: bool = False
    new_sources: NewSources | None = None

    def __post_init__(self) -> None:
        format_of(self.output, self.output_format)
        if type(self.max_errors) is not int or self.max_errors < 0:
            raise ValueError(f"max_errors must be an int of at least 0, not {self.max_errors!r}")
        if self.resume and self.restart:
            raise ValueError("a run either goes on or begins anew")
        if self.output == STANDARD_STREAM and (self.resume or self.errors is None):
            raise ValueError(
                "with standard output as the output a run cannot go on, and the bad rows need a "
                "file of their own"
            )

    @property
    def kind(self) -> str:
        """The output's format: "jsonl", "csv" or "parquet"."""
        return format_of(self.output, self.output_format)

    @property
    def errors_path(self) -> Path:
        """Where bad rows go: one JSON object a line, with ``row``, ``id`` and ``reason``."""
        return Path(self.errors if self.errors is not None else f"{self.output}.errors.jsonl")

    @property
    def added(self) -> dict[str, str]:
        """The added columns: name to type, in SQL's words."""
        types = {**RESULT_TYPES, **(REPAIR_TYPES if self.new_sources is not None else {})}
        return {self.validator.prefix + name: kind for name, kind in types.items()}


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes:
        rows: Rows done with, those of the runs before included.
        new_rows: Rows done with in this run.
        errors: Bad rows.
        share: How much of the input has been read, in [0, 1]; None when that is not known.
        first_share: The same when this run began.
    """

    rows: int
    new_rows: int
    errors: int
    share: float | None
    first_share: float


@dataclass(frozen=True)
class BatchReport:
    """What a run did, the runs before that it went on with included.

    Attributes:
        rows: Rows read, bad ones included.
        verdicts: Rows by verdict.
        errors: Bad rows.
        failed_before: With new documents: rows that failed without them.
        repaired: How many of those no longer do.
        repaired_rows: What the first of them are called (at most 100): id, or number.
        new_rows: Rows of this run alone.
        seconds: What this run took.
    """

    rows: int
    verdicts: dict[str, int]
    errors: int
    failed_before: int
    repaired: int
    repaired_rows: tuple[str, ...]
    new_rows: int
    seconds: float
