"""How far a run has come, on the disk: what is to be kept when it is killed and goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = ["Journal", "State"]

VERSION = 1


@dataclass(frozen=True)
class State:
    """How far a run has come.

    Attributes:
        settings: What the results depend on; a run goes on only with the same.
        rows: Rows of the input that are done with, bad ones too.
        digest: Chains the content of those rows (see `caco.batch.rows.digest`), in hexadecimal.
        output_size: Where the output goes on; None before anything was written.
        errors_size: Where the side file of bad rows goes on; None before there was one.
        tally: Rows by what became of them.
        repaired: Names of the first repaired rows.
        columns: The columns of a CSV output, once they are known.
    """

    settings: dict[str, Any]
    rows: int = 0
    digest: str = ""
    output_size: int | None = None
    errors_size: int | None = None
    tally: dict[str, int] = field(default_factory=dict)
    repaired: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None


class Journal:
    """A run's state in a file beside the output (".progress"), replaced as a whole.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> State | None:
        """Return the state; None when there is none.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not of this form.
        """
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ValueError(f"{self.path} is not the progress of a run: {error}") from error
        if not isinstance(data, Mapping) or data.get("version") != VERSION:
            raise ValueError(f"{self.path} is not the progress of a run of this version")
        values = {key: value for key, value in data.items() if key != "version"}
        try:
            state = State(**values)
        except TypeError as error:
            raise ValueError(f"{self.path} is not the progress of a run: {error}") from error
        columns = None if state.columns is None else tuple(state.columns)
        return replace(state, repaired=tuple(state.repaired), columns=columns)

    def write(self, state: State) -> None:
        """Replace the state.

        Raises:
            OSError: It cannot be written; the one before stays.
        """
        fresh = self.path.with_name(self.path.name + ".new")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **asdict(state)}, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)

    def discard(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
