"""Rows out of files, each with the place it stands in; one that cannot be read is an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from caco.batch.sources import STANDARD_STREAM, open_source

__all__ = ["Record", "read_records"]

Record = Mapping[str, Any]


def read_records(path: str | Path) -> Iterator[tuple[str, Record]]:
    """Read the rows of a file of JSON lines, CSV or Parquet.

    Args:
        path: Its name tells the format, as for `caco.batch.open_source`; "-" is standard input,
            which holds JSON lines.

    Yields:
        Where a row stands ("data.jsonl row 3"; from 1, of JSON lines the line), and its cells that
        are not null.

    Raises:
        OSError: The file cannot be read.
        ValueError: The format cannot be told, or the file or a row is not of that format.
        MissingExtraError: A Parquet file, and pyarrow is not installed.
    """
    name = str(path)
    source = open_source(name, "jsonl" if name == STANDARD_STREAM else None)
    shown = "standard input" if name == STANDARD_STREAM else Path(path).name
    for row in source.rows():
        place = f"{shown} row {row.number}"
        if row.data is None:
            raise ValueError(f"{place}: {row.reason}")
        yield place, {key: value for key, value in row.data.items() if value is not None}
