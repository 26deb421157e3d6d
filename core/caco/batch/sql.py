"""Rows out of a database, by a query."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from caco.batch.rows import Row
from caco.errors import CacoError, MissingExtraError

__all__ = ["DatabaseError", "SqlQuery"]

FETCHED_ROWS = 256
"""Rows that are asked for at a time."""

_PASSWORDS = (re.compile(r"^[^/]*//[^/]*?:(.*)@"), re.compile(r"[?&]password=([^&]*)"))
_NAMED_PARAMETER = re.compile(r"(?<!:):(?=\w)")


class DatabaseError(CacoError):
    """A database could not be read; the message holds no password."""


@dataclass(frozen=True)
class SqlQuery:
    """The rows of a query, read a few at a time; whatever it changes is rolled back.

    Attributes:
        sql: The query; a colon in it is a colon. One that is to be gone on with after a kill needs
            an ORDER BY that leaves no choice.
        url: SQLAlchemy's URL of the database. Not shown in the object's `repr`.
    """

    sql: str
    url: str = field(repr=False)

    @property
    def columns(self) -> None:
        """None: the columns are known when the query runs."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows.

        Raises:
            DatabaseError: There is no such database or driver, the query fails, or two of its
                columns have the same name.
            MissingExtraError: SQLAlchemy is not installed.
        """
        try:
            import sqlalchemy
            from sqlalchemy import exc
        except ImportError as error:
            raise MissingExtraError("Reading a database", "batch") from error
        query = sqlalchemy.text(_NAMED_PARAMETER.sub(r"\\:", self.sql))
        with self._plainly(exc.SQLAlchemyError):
            engine = sqlalchemy.create_engine(self.url, poolclass=sqlalchemy.NullPool)
            streamed = {"stream_results": True, "max_row_buffer": FETCHED_ROWS}
            with (
                engine.connect().execution_options(**streamed) as connection,
                closing(connection.execute(query)) as result,
            ):
                names = list(result.keys())
                if len(set(names)) < len(names):
                    raise DatabaseError(f"two columns of the query have the same name: {names}")
                for number, record in enumerate(result, 1):
                    yield Row(number, dict(zip(names, record, strict=True)))

    @contextmanager
    def _plainly(self, failure: type[Exception]) -> Iterator[None]:
        """Say what failed in one line, without the URL's password."""
        try:
            yield
        except (failure, ModuleNotFoundError, ValueError) as error:
            cause = getattr(error, "orig", None) or error
            text = " ".join(str(cause).split())
            for secret in self._secrets():
                text = text.replace(secret, "***")
            # Not chained: the cause's own message may hold the URL.
            raise DatabaseError(f"the database: {type(cause).__name__}: {text}") from None

    def _secrets(self) -> list[str]:
        """Return what must not be said: the URL, and its password as it is written and as meant."""
        found = [part for pattern in _PASSWORDS for part in pattern.findall(self.url)]
        return [self.url, *(part for part in {*found, *map(unquote, found)} if part)]
