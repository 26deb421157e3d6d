"""The rows of an output that a person should look at, the tensest first."""

from __future__ import annotations

import pickle
import sqlite3
import tempfile
from contextlib import closing
from itertools import islice
from pathlib import Path

from caco.batch.results import REPAIR_TYPES, RESULT_TYPES, read_results
from caco.batch.sources import format_of, open_source
from caco.batch.where import Condition
from caco.batch.writers import open_writer

__all__ = ["write_review"]

WRITTEN_AT_ONCE = 256


def write_review(
    output: str,
    review: str,
    condition: Condition,
    *,
    output_format: str | None = None,
    prefix: str = "",
) -> int:
    """Write the rows for which a condition holds, by falling tension.

    They are sorted on the disk: the memory needed does not depend on how many there are.

    Args:
        output: What `caco.batch.run_batch` has written.
        review: Path of the list; of the same format.
        condition: Which rows to take.
        output_format: "jsonl", "csv" or "parquet". None: by the file's ending.
        prefix: What stands before the names of the added columns.

    Returns:
        How many rows there are.

    Raises:
        OSError: A file cannot be read or written.
        ValueError: The output has not the columns of a check.
    """
    kind = format_of(output, output_format)
    source = open_source(output, kind)
    fresh = Path(review).with_name(f"sorting-{Path(review).name}")
    with (
        tempfile.TemporaryDirectory(prefix="caco-review-") as folder,
        closing(sqlite3.connect(Path(folder) / "rows.sqlite")) as database,
    ):
        database.execute("create table chosen (cts real, place integer, data blob)")
        for row in source.rows():
            if row.data is None:
                raise ValueError(f"row {row.number} of {output} cannot be read: {row.reason}")
            results = read_results(row.data, prefix, {**RESULT_TYPES, **REPAIR_TYPES})
            if condition.holds(results):
                stored = (results["cts"], row.number, pickle.dumps(row.data))
                database.execute("insert into chosen values (?, ?, ?)", stored)
        writer = open_writer(str(fresh), kind, None, source=source, added={})
        ordered = database.execute("select data from chosen order by cts desc, place")
        count = 0
        while part := [pickle.loads(data) for (data,) in islice(ordered, WRITTEN_AT_ONCE)]:
            writer.write(part)
            count += len(part)
        writer.finish()
        writer.discard()
    fresh.replace(review)
    return count
