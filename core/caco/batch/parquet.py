"""Parquet: rows out of a file, and rows into one that a kill cannot leave half written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caco.batch.append import AppendFile
from caco.batch.plain import json_text, without_surrogates
from caco.batch.rows import Row
from caco.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

    import pyarrow

__all__ = ["ParquetSource", "ParquetWriter"]

BATCH_ROWS = 256
BUFFER = 1 << 20
"""Bytes read at a time from each column."""
GROUP_BYTES = 8 << 20
"""Bytes of a row group before it is packed."""
GROUP_ROWS = 65_536


def _pyarrow() -> ModuleType:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", "batch") from error
    module: ModuleType = pyarrow
    return module


@dataclass(frozen=True)
class ParquetSource:
    """The rows of a Parquet file, read in pieces.

    Attributes:
        name: Path of the file.
    """

    name: str

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and their types; one that is stored as a dictionary has its values' type.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not Parquet.
            MissingExtraError: pyarrow is not installed.
        """
        arrow = _pyarrow()
        with self._opened() as file:
            schema = file.schema_arrow
        plain = [
            field.with_type(field.type.value_type)
            if arrow.types.is_dictionary(field.type)
            else field
            for field in schema
        ]
        return arrow.schema(plain, metadata=schema.metadata)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema.names)

    def rows(self) -> Iterator[Row]:
        """Yield the rows; what is missing is None.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not Parquet.
        """
        arrow = _pyarrow()
        with self._opened() as file:
            total = max(1, file.metadata.num_rows)
            number = 0
            try:
                for batch in file.iter_batches(batch_size=BATCH_ROWS):
                    for data in batch.to_pylist():
                        number += 1
                        yield Row(number, data, share=number / total)
            except arrow.ArrowInvalid as error:
                raise ValueError(f"{self.name} is damaged: {error}") from error

    def _opened(self) -> pyarrow.parquet.ParquetFile:
        arrow = _pyarrow()
        try:
            return arrow.parquet.ParquetFile(self.name, buffer_size=BUFFER)
        except arrow.ArrowInvalid as error:
            raise ValueError(f"{self.name} is not Parquet: {error}") from error


class ParquetWriter:
    """Writes rows to a Parquet file.

    A Parquet file can be read only once it is finished. So rows are first appended to a stream of
    Arrow batches beside it (".partial"), which can be cut off after any batch and gone on with;
    `finish` packs that into the file, which is there as a whole or not at all.

    Args:
        path: The file.
        size: Bytes of the partial file to go on after. None: begin anew.
        schema: The columns and types of the input's rows, where they are known; else those of the
            first rows.
        added: The added columns: name to type, in SQL's words.

    Raises:
        OSError: A file cannot be written.
        ValueError: There is no partial file to go on with, or it is a shorter one.
        MissingExtraError: pyarrow is not installed.
    """

    def __init__(
        self,
        path: Path,
        size: int | None,
        *,
        schema: pyarrow.Schema | None,
        added: Mapping[str, str],
    ) -> None:
        self._arrow = _pyarrow()
        self._path = path
        self._partial = path.with_name(path.name + ".partial")
        self._added = dict(added)
        self._schema: pyarrow.Schema | None = None
        self._file = AppendFile(self._partial, size)
        if size:
            with self._arrow.OSFile(str(self._partial)) as file:
                self._schema = self._arrow.ipc.open_stream(file).schema
        elif schema is not None:
            self._start(schema)

    def write(self, rows: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        """Append rows.

        Args:
            rows: Cells by column.

        Returns:
            For each row that does not fit the columns and their types, by place: why.
        """
        if not rows:
            return {}
        if self._schema is None:
            self._start(self._inferred(rows))
        wrong: dict[int, str] = {}
        try:
            batches = [self._batch(rows)]
        except (self._arrow.ArrowException, OverflowError, TypeError, ValueError):
            batches = []
            for place, row in enumerate(rows):
                try:
                    batches.append(self._batch([row]))
                except (self._arrow.ArrowException, OverflowError, TypeError, ValueError) as error:
                    wrong[place] = f"it does not fit the output's columns: {error}"
        for batch in batches:
            self._file.write(batch.serialize())
        return wrong

    def commit(self) -> int:
        """Put what was written on the disk; return the partial file's size."""
        return self._file.commit()

    def finish(self) -> None:
        """Pack what was written into the file; the partial file stays until `discard`."""
        self._file.close()
        arrow = self._arrow
        if self._schema is None:
            self._schema = self._full(arrow.schema([]))
        packed = self._path.with_name(self._path.name + ".packing")
        with arrow.parquet.ParquetWriter(str(packed), self._schema) as writer:
            for table in self._tables():
                writer.write_table(table, row_group_size=GROUP_ROWS)
        with packed.open("rb+") as file:
            os.fsync(file.fileno())
        packed.replace(self._path)

    def discard(self) -> None:
        """Remove what `finish` no longer needs."""
        self._partial.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the partial file, as it is."""
        self._file.close()

    def _tables(self) -> Iterator[pyarrow.Table]:
        """Yield what was written, in pieces of a row group's size."""
        arrow = self._arrow
        if not self._partial.stat().st_size:
            return
        group: list[pyarrow.RecordBatch] = []
        size = rows = 0
        with arrow.OSFile(str(self._partial)) as file:
            for batch in arrow.ipc.open_stream(file):
                group.append(batch)
                size += batch.nbytes
                rows += batch.num_rows
                if size >= GROUP_BYTES or rows >= GROUP_ROWS:
                    yield arrow.Table.from_batches(group)
                    group, size, rows = [], 0, 0
        if group:
            yield arrow.Table.from_batches(group)

    def _start(self, schema: pyarrow.Schema) -> None:
        self._schema = self._full(schema)
        self._file.write(self._schema.serialize())

    def _full(self, schema: pyarrow.Schema) -> pyarrow.Schema:
        arrow = self._arrow
        types = {"string": arrow.string(), "boolean": arrow.bool_(), "double": arrow.float64()}
        kept = [field for field in schema if field.name not in self._added]
        new = [arrow.field(name, types[kind]) for name, kind in self._added.items()]
        return arrow.schema([*kept, *new], metadata=schema.metadata)

    def _inferred(self, rows: Sequence[Mapping[str, Any]]) -> pyarrow.Schema:
        """Return the types of the first rows; a column that says nothing yet is text."""
        arrow = self._arrow
        names = dict.fromkeys(name for row in rows for name in row if name not in self._added)
        kinds = []
        for name in names:
            values = [row.get(name) for row in rows]
            try:
                kind = arrow.array(values).type
            except (arrow.ArrowException, OverflowError, TypeError, ValueError):
                kind = arrow.string()
            kinds.append((name, arrow.string() if _is_empty(arrow, kind) else kind))
        return arrow.schema(kinds)

    def _batch(self, rows: Sequence[Mapping[str, Any]]) -> pyarrow.RecordBatch:
        assert self._schema is not None
        unknown = {name for row in rows for name in row} - set(self._schema.names)
        if unknown:
            raise ValueError(f"{sorted(unknown)} are not among them")
        columns = []
        for field in self._schema:
            values = [row.get(field.name) for row in rows]
            if self._arrow.types.is_string(field.type):
                values = [_text(value) for value in values]
            columns.append(self._arrow.array(values, type=field.type))
        return self._arrow.RecordBatch.from_arrays(columns, schema=self._schema)


def _is_empty(arrow: ModuleType, kind: pyarrow.DataType) -> bool:
    """Whether a type is that of nothing: of missing values, or of lists and objects of them."""
    if arrow.types.is_null(kind):
        return True
    return any(_is_empty(arrow, kind.field(place).type) for place in range(kind.num_fields))


def _text(value: Any) -> Any:  # noqa: ANN401 (cells of a column of texts)
    """Return what a column of texts takes: lists and objects as JSON."""
    if isinstance(value, (dict, list, tuple)):
        return json_text(value)
    return without_surrogates(value) if isinstance(value, str) else value
