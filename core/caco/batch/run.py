"""`run_batch`: rows in, rows out, bad rows aside; killed at any moment, it can go on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from caco import __version__
from caco.batch.append import AppendFile
from caco.batch.columns import ColumnNames
from caco.batch.engines import check_rows
from caco.batch.job import BatchJob, BatchReport, Progress, TooManyErrorsError
from caco.batch.journal import Journal, State
from caco.batch.plain import json_text
from caco.batch.repair import NewSources, check_repairs, rows_with_new_sources
from caco.batch.rows import Outcome, Row, RowSource, digest, ready_rows
from caco.batch.sources import STANDARD_STREAM
from caco.batch.writers import CsvWriter, Writer, open_writer

__all__ = ["run_batch"]

COMMIT_SECONDS = 1.0
"""Seconds of work that a kill may cost, besides the chunk at hand."""
NAMED_REPAIRS = 100
ERRORS = "errors"
REPAIRED = "repaired"
FAILED_BEFORE = "failed_before"


def run_batch(
    job: BatchJob, on_progress: Callable[[Progress], None] = lambda progress: None
) -> BatchReport:
    """Check the rows of a table.

    Output rows have the input's columns and the added ones (see `BatchValidator`), in the input's
    order. JSON lines and CSV grow with the run; Parquet is there at the end. How far the run has
    come is noted beside the output (".progress") once a second; a run that goes on reads the rows
    that are done with again and makes sure that they are the same.

    Args:
        job: What is to be done.
        on_progress: Told after each chunk.

    Raises:
        TooManyErrorsError: More rows were bad than ``max_errors``; the output holds what was
            written until then, and a run with a higher limit can go on.
        ValueError: A column is missing; there is an unfinished run that was not spoken of; or one
            that cannot be gone on with, since its settings or its rows were others.
        OSError: A file cannot be read or written.
        ModelNotAvailableError: The model could not be loaded.
    """
    run = _Run(job, on_progress)
    try:
        return run.run()
    finally:
        run.close()


class _Run:
    """One run of a job."""

    def __init__(self, job: BatchJob, on_progress: Callable[[Progress], None]) -> None:
        self._job = job
        self._on_progress = on_progress
        self._kind = job.kind
        self._journal = (
            None if job.output == STANDARD_STREAM else Journal(Path(f"{job.output}.progress"))
        )
        self._state = self._begin()
        self._before = self._state.rows
        self._tally = Counter(self._state.tally)
        self._digest = bytes.fromhex(self._state.digest)
        self._repaired = list(self._state.repaired)
        self._errors: AppendFile | None = None
        self._writer: Writer | None = None
        self._rows: Generator[Row, None, None] | None = None
        self._started = self._committed = time.monotonic()
        self._first_share = 0.0
        self._last_reason = ""

    def run(self) -> BatchReport:
        job = self._job
        rows = partial(
            job_rows, job.source, job.names, tuple(job.added), new_sources=job.new_sources
        )
        self._rows = rows()
        remaining = self._after_done(self._rows)
        self._writer = open_writer(
            job.output,
            job.output_format,
            self._state.output_size,
            source=job.source,
            added=job.added,
            columns=self._state.columns,
        )
        if self._state.errors_size is None:
            job.errors_path.unlink(missing_ok=True)
        else:
            self._errors = AppendFile(job.errors_path, self._state.errors_size)
        self._commit(self._writer)
        check = check_rows if job.new_sources is None else check_repairs
        skipped = partial(rows_after, rows, self._before)
        for outcomes in job.engine.run(skipped, remaining, job.validator, check):
            self._take(outcomes, self._writer)
        self._commit(self._writer)
        self._finish(self._writer)
        return self._report()

    def close(self) -> None:
        """Let go of the input and of the files."""
        for opened in (self._rows, self._writer, self._errors):
            if opened is not None:
                opened.close()

    def _begin(self) -> State:
        """Return the state to go on from."""
        job = self._job
        settings = {
            "caco": __version__,
            **job.validator.settings,
            "columns": [job.names.response, job.names.context, job.names.prompt, job.names.id],
            "output": job.kind,
            "errors": str(job.errors_path),
            "new_sources": job.new_sources.digest if job.new_sources is not None else None,
        }
        before = self._journal.read() if self._journal is not None and not job.restart else None
        if before is None:
            return State(settings)
        if not job.resume:
            raise ValueError(
                f"{job.output} is of a run that did not finish ({before.rows} rows are done): "
                "resume it, or restart from the first row"
            )
        other = [name for name, value in settings.items() if before.settings.get(name) != value]
        if other:
            changed = "; ".join(
                f"{name} was {before.settings.get(name)!r} and is {settings[name]!r}"
                for name in other
            )
            raise ValueError(f"the unfinished run had other settings: {changed}")
        return before

    def _after_done(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take the rows that are done with, and make sure that they are the same."""
        found = b""
        taken = 0
        while taken < self._before and (row := next(rows, None)) is not None:
            found = digest(found, [row])
            taken += 1
            self._first_share = row.share or 0.0
        if taken < self._before or found != self._digest:
            raise ValueError(
                f"the first {self._before} rows are not those that the unfinished run has read: "
                "the input was changed, or comes in another order (a query needs ORDER BY)"
            )
        # What is wrong with the input as a whole shows now, before there is an output.
        first = next(rows, None)
        return rows if first is None else chain([first], rows)

    def _take(self, outcomes: list[Outcome], writer: Writer) -> None:
        """Write a chunk."""
        done = [outcome for outcome in outcomes if outcome.results is not None]
        records = [self._record(outcome) for outcome in done]
        unwritten = {id(done[place]): why for place, why in writer.write(records).items()}
        for outcome in outcomes:
            reason = outcome.reason or unwritten.get(id(outcome))
            if reason is not None:
                self._set_aside(outcome.row, reason)
            elif outcome.results is not None:
                self._count(outcome.row, outcome.results)
        rows = [outcome.row for outcome in outcomes]
        self._digest = digest(self._digest, rows)
        self._state = replace(self._state, rows=self._state.rows + len(rows))
        if time.monotonic() - self._committed >= COMMIT_SECONDS:
            self._commit(writer)
        self._on_progress(
            Progress(
                rows=self._state.rows,
                new_rows=self._state.rows - self._before,
                errors=self._tally[ERRORS],
                share=rows[-1].share,
                first_share=self._first_share,
            )
        )
        if self._tally[ERRORS] > self._job.max_errors:
            self._give_up(writer)

    def _record(self, outcome: Outcome) -> dict[str, Any]:
        results = outcome.results or {}
        as_text = self._kind != "jsonl"
        prefix = self._job.validator.prefix
        return {
            **{k: v for k, v in (outcome.row.data or {}).items() if k not in self._job.added},
            **{
                prefix + name: json_text(value) if as_text and isinstance(value, list) else value
                for name, value in results.items()
            },
        }

    def _set_aside(self, row: Row, reason: str) -> None:
        if self._errors is None:
            self._errors = AppendFile(self._job.errors_path, None)
        self._last_reason = f"row {row.number}: {reason}"
        line = json_text({"row": row.number, "id": row.name, "reason": reason})
        self._errors.write(line.encode("utf-8") + b"\n")
        self._tally[ERRORS] += 1

    def _count(self, row: Row, results: dict[str, Any]) -> None:
        self._tally[f"verdict {results['verdict']}"] += 1
        if results.get("score_before") is not None:
            self._tally[FAILED_BEFORE] += 1
        if results.get("repaired"):
            self._tally[REPAIRED] += 1
            if len(self._repaired) < NAMED_REPAIRS:
                self._repaired.append(row.name if row.name is not None else str(row.number))

    def _commit(self, writer: Writer) -> None:
        output_size = writer.commit()
        errors_size = self._errors.commit() if self._errors is not None else None
        columns = writer.columns if isinstance(writer, CsvWriter) else None
        self._state = replace(
            self._state,
            digest=self._digest.hex(),
            output_size=output_size,
            errors_size=errors_size,
            tally=dict(self._tally),
            repaired=tuple(self._repaired),
            columns=None if columns is None else tuple(columns),
        )
        if self._journal is not None:
            self._journal.write(self._state)
        self._committed = time.monotonic()

    def _give_up(self, writer: Writer) -> None:
        self._commit(writer)
        writer.finish()
        raise TooManyErrorsError(
            f"{self._tally[ERRORS]} rows are bad, more than the {self._job.max_errors} to bear; "
            f"see {self._job.errors_path}; the last is {self._last_reason}"
        )

    def _finish(self, writer: Writer) -> None:
        writer.finish()
        # In this order: without a journal nothing is gone on with, so what it speaks of may go.
        if self._journal is not None:
            self._journal.discard()
        writer.discard()

    def _report(self) -> BatchReport:
        verdict = "verdict "
        return BatchReport(
            rows=self._state.rows,
            verdicts={
                name.removeprefix(verdict): count
                for name, count in sorted(self._tally.items())
                if name.startswith(verdict)
            },
            errors=self._tally[ERRORS],
            failed_before=self._tally[FAILED_BEFORE],
            repaired=self._tally[REPAIRED],
            repaired_rows=tuple(self._repaired),
            new_rows=self._state.rows - self._before,
            seconds=time.monotonic() - self._started,
        )


def job_rows(
    source: RowSource,
    names: ColumnNames,
    added: Iterable[str],
    *,
    new_sources: NewSources | None,
) -> Generator[Row, None, None]:
    """Return the rows of a job, each with its answer or the reason why it has none.

    Args:
        source: Where they come from.
        names: Which columns are read.
        added: The columns that will be added; the input may have them only where rows are repaired.
        new_sources: New documents to try, or None.
    """
    if new_sources is None:
        return ready_rows(source, names, added)
    return rows_with_new_sources(ready_rows(source, names, ()), new_sources)


def rows_after(rows: Callable[[], Iterator[Row]], done: int) -> Iterator[Row]:
    """Yield the rows after the first ``done`` ones."""
    iterator = rows()
    for _ in range(done):
        next(iterator)
    yield from iterator
