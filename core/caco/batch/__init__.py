"""Many answers: a callable for tables, and files of any length in and out.

`BatchValidator` takes a dict of columns (or a pandas frame) and returns it with the verdicts;
`run_batch` is what ``caco batch`` does: rows in, rows out, bad rows aside, and no row lost or
doubled when it is killed and goes on.
"""

from caco.batch.checker import BatchValidator
from caco.batch.columns import ColumnNames
from caco.batch.distributed import RayEngine
from caco.batch.engines import LocalEngine
from caco.batch.job import BatchJob, BatchReport, Progress, TooManyErrorsError
from caco.batch.repair import NewSources, read_new_sources
from caco.batch.results import RESULT_TYPES
from caco.batch.review import write_review
from caco.batch.run import run_batch
from caco.batch.sources import open_source
from caco.batch.sql import DatabaseError, SqlQuery
from caco.batch.where import parse_condition

__all__ = [
    "RESULT_TYPES",
    "BatchJob",
    "BatchReport",
    "BatchValidator",
    "ColumnNames",
    "DatabaseError",
    "LocalEngine",
    "NewSources",
    "Progress",
    "RayEngine",
    "SqlQuery",
    "TooManyErrorsError",
    "open_source",
    "parse_condition",
    "read_new_sources",
    "run_batch",
    "write_review",
]
