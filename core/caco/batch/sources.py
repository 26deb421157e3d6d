"""Rows out of JSON lines and CSV, one at a time."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from caco.batch.parquet import ParquetSource
from caco.batch.rows import Row, RowSource

__all__ = ["FORMATS", "STANDARD_STREAM", "CsvSource", "JsonLinesSource", "format_of", "open_source"]

STANDARD_STREAM = "-"
"""The name of standard input, and of standard output."""

FORMATS = ("jsonl", "csv", "parquet")
LONGEST_LINE = 64 << 20
"""Bytes of a line, and characters of a CSV field; longer ones are bad rows."""

_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def format_of(name: str, given: str | None = None) -> str:
    """Return a file's format.

    Args:
        name: Its path; all but Parquet may end in ".gz".
        given: The format, if it is known; else it is told by the file's ending.

    Raises:
        ValueError: The ending says nothing, or Parquet is packed.
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    packed = suffixes[-1:] == [".gz"]
    last = suffixes[:-1] if packed else suffixes
    kind = given or (_SUFFIXES.get(last[-1]) if last else None)
    if kind is None:
        raise ValueError(
            f"{name!r} does not end in one of {', '.join(_SUFFIXES)}: say which format it has"
        )
    if kind not in FORMATS:
        raise ValueError(f"a format is one of {FORMATS}, not {kind!r}")
    if kind == "parquet" and (packed or name == STANDARD_STREAM):
        raise ValueError("Parquet is not read or written packed, nor on a standard stream")
    return kind


def open_source(name: str, kind: str | None = None) -> RowSource:
    """Return a file's rows.

    Args:
        name: Path of a file, or "-" for standard input.
        kind: "jsonl", "csv" or "parquet". None: by the file's ending.

    Raises:
        ValueError: The format cannot be told, or the file is not of that format.
        OSError: The file cannot be read.
        MissingExtraError: It is Parquet, and pyarrow is not installed.
    """
    kind = format_of(name, kind)
    if kind == "parquet":
        return ParquetSource(name)
    if name != STANDARD_STREAM and not Path(name).is_file():
        raise FileNotFoundError(2, os.strerror(2), name)
    return JsonLinesSource(name) if kind == "jsonl" else CsvSource(name)


@dataclass(frozen=True)
class JsonLinesSource:
    """One JSON object a line; blank lines are no rows.

    Attributes:
        name: Path of the file, also packed with gzip, or "-" for standard input.
    """

    name: str

    @property
    def columns(self) -> None:
        """None: each row has its own columns."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows.

        Raises:
            OSError: The file cannot be read.
            ValueError: It ends in the middle of what gzip packed.
        """
        with _opened(self.name) as (stream, share):
            for number, line in enumerate(_lines(stream), 1):
                if line is not None and not line.strip():
                    continue
                data, reason = _parsed(line, first=number == 1)
                yield Row(number, data, reason, share())


def _lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the lines; None for one that is too long to be held."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        yield None


def _parsed(line: bytes | None, *, first: bool) -> tuple[dict[str, Any] | None, str | None]:
    """Return an object, or why there is none; the message quotes nothing of the line."""
    if line is None:
        return None, f"the line has more than {LONGEST_LINE} bytes"
    try:
        data = json.loads(line.decode("utf-8-sig" if first else "utf-8"))
    except UnicodeDecodeError as error:
        return None, f"the line is not UTF-8 (byte {error.start})"
    except json.JSONDecodeError as error:
        return None, f"the line is not JSON: {error.msg} (character {error.pos})"
    except RecursionError:
        return None, "the line is nested too deeply"
    except ValueError as error:  # a number of too many digits
        return None, f"the line is not usable JSON: {error}"
    return (data, None) if isinstance(data, dict) else (None, "the line is not a JSON object")


@dataclass(frozen=True)
class CsvSource:
    """Comma-separated values with a header, in UTF-8.

    Attributes:
        name: Path of the file, also packed with gzip, or "-" for standard input.
    """

    name: str

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The header; None for standard input, which can be read only once."""
        if self.name == STANDARD_STREAM:
            return None
        with _opened(self.name) as (stream, _), closing(_records(stream)) as records:
            return _header(records)

    def rows(self) -> Iterator[Row]:
        """Yield the records after the header, as texts.

        Raises:
            OSError: The file cannot be read.
            ValueError: There is no header, or a name stands twice in it; or the file ends in the
                middle of what gzip packed.
        """
        with (
            _opened(self.name) as (stream, share),
            _long_fields(),
            closing(_records(stream)) as records,
        ):
            header = _header(records)
            for number, record in enumerate(records, 1):
                if isinstance(record, str):
                    yield Row(number, None, record, share())
                    continue
                reason = _wrong_record(record, len(header))
                data = None if reason else dict(zip(header, record, strict=True))
                yield Row(number, data, reason, share())


def _records(stream: IO[bytes]) -> Generator[list[str] | str, None, None]:
    """Yield the records; a str is why one cannot be read. An empty line is none."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, strict=True)
    try:
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield f"it is not CSV: {error}"
            else:
                if record:
                    yield record
    finally:
        text.detach()  # whoever opened the stream closes it


def _header(records: Iterator[list[str] | str]) -> tuple[str, ...]:
    header = next(records, None)
    if not isinstance(header, list):
        raise ValueError(f"the CSV has no header: {header or 'it is empty'}")
    if len(set(header)) < len(header):
        raise ValueError(f"a name stands twice in the CSV's header: {header}")
    return tuple(header)


def _wrong_record(record: list[str], columns: int) -> str | None:
    if len(record) != columns:
        return f"it has {len(record)} fields, the header {columns}"
    if any("\udc80" <= letter <= "\udcff" for cell in record for letter in cell):
        return "it is not UTF-8"
    return None


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let a field be as long as a document; the limit is one for the whole process."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


@contextmanager
def _opened(name: str) -> Iterator[tuple[IO[bytes], Any]]:
    """Open a file, and say how to ask what share of it has been read."""
    if name == STANDARD_STREAM:
        if sys.stdin is None or sys.stdin.closed:
            raise OSError("standard input is closed")
        yield sys.stdin.buffer, lambda: None
        return
    size = max(1, Path(name).stat().st_size)
    with Path(name).open("rb") as raw:
        stream: IO[bytes] = gzip.GzipFile(fileobj=raw) if name.lower().endswith(".gz") else raw  # type: ignore[assignment]
        try:
            yield stream, lambda: min(1.0, raw.tell() / size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{name} is not a whole gzip file: {error}") from error
