"""Rows into JSON lines and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from caco.batch.append import AppendFile, ByteSink, StandardOutput
from caco.batch.parquet import ParquetSource, ParquetWriter
from caco.batch.plain import cell_text, json_text
from caco.batch.rows import RowSource
from caco.batch.sources import STANDARD_STREAM, format_of

__all__ = ["CsvWriter", "JsonLinesWriter", "Writer", "open_writer"]


class Writer(Protocol):
    """What takes rows for good at each commit."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        """Append rows; return, by place, why one could not be written."""

    def commit(self) -> int:
        """Make sure that what was written stays; return where to go on."""

    def finish(self) -> None:
        """Make the file whole."""

    def discard(self) -> None:
        """Remove what only the way to the file needed."""

    def close(self) -> None:
        """Let go of the files, as they are."""


def open_writer(
    name: str,
    kind: str | None,
    size: int | None,
    *,
    source: RowSource,
    added: Mapping[str, str],
    columns: Sequence[str] | None = None,
) -> Writer:
    """Open the output.

    Args:
        name: Path of a file, or "-" for standard output.
        kind: "jsonl", "csv" or "parquet"; None: by the file's ending.
        size: Where to go on, as `Writer.commit` said; None: begin anew.
        source: Where the rows are from; tells the columns, where it knows them.
        added: The added columns: name to type, in SQL's words.
        columns: The columns of a CSV file that is gone on with.

    Raises:
        ValueError: The format cannot be told, or there is not what is to be gone on with.
        OSError: The file cannot be written.
        MissingExtraError: It is Parquet, and pyarrow is not installed.
    """
    kind = format_of(name, kind)
    path = Path(name)
    if kind == "parquet":
        schema = source.schema if isinstance(source, ParquetSource) else None
        return ParquetWriter(path, size, schema=schema, added=added)
    sink: ByteSink = (
        StandardOutput()
        if name == STANDARD_STREAM
        else AppendFile(path, size, packed=name.lower().endswith(".gz"))
    )
    if kind == "jsonl":
        return JsonLinesWriter(sink)
    known = columns if columns is not None else source.columns
    return CsvWriter(sink, known, list(added), with_header=not size)


class _TextWriter:
    """A file that is whole after each commit."""

    def __init__(self, sink: ByteSink) -> None:
        self._sink = sink

    def commit(self) -> int:
        """Put what was written on the disk; return the file's size."""
        return self._sink.commit()

    def finish(self) -> None:
        """Close the file."""
        self._sink.commit()
        self._sink.close()

    def discard(self) -> None:
        """Do nothing: there is only the file."""

    def close(self) -> None:
        """Close the file."""
        self._sink.close()


class JsonLinesWriter(_TextWriter):
    """One JSON object a line.

    Args:
        sink: Where the lines go.
    """

    def write(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        """Append rows; all fit."""
        for row in rows:
            self._sink.write(json_text(row).encode("utf-8") + b"\n")
        return {}


class CsvWriter(_TextWriter):
    """Comma-separated values with a header.

    Args:
        sink: Where the records go.
        columns: The input's columns. None: those of the first rows.
        added: The added columns.
        with_header: Whether the header is still to be written.
    """

    def __init__(
        self,
        sink: ByteSink,
        columns: Sequence[str] | None,
        added: Sequence[str],
        *,
        with_header: bool,
    ) -> None:
        super().__init__(sink)
        self._added = list(added)
        self.columns = None if columns is None else [c for c in columns if c not in added]
        self._with_header = with_header
        if columns is not None:
            self._start()

    def write(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        """Append rows; one that has other columns than the first ones does not fit."""
        if self.columns is None:
            names = dict.fromkeys(name for row in rows for name in row)
            self.columns = [name for name in names if name not in self._added]
            self._start()
        header = [*self.columns, *self._added]
        wrong: dict[int, str] = {}
        for place, row in enumerate(rows):
            unknown = sorted(set(row) - set(header))
            if unknown:
                wrong[place] = f"{unknown} are not among the output's columns"
            else:
                self._record([cell_text(row.get(name)) for name in header])
        return wrong

    def _start(self) -> None:
        if self._with_header:
            self._record([*(self.columns or ()), *self._added])
            self._with_header = False

    def _record(self, cells: Sequence[str]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        self._sink.write(text.getvalue().encode("utf-8"))
