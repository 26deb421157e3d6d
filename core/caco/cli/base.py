"""What a command is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caco.cli.terminal import Terminal

__all__ = ["EXIT_ERROR", "EXIT_FAILED", "EXIT_PASSED", "Command"]

EXIT_PASSED = 0
EXIT_FAILED = 1
EXIT_ERROR = 2


@dataclass(frozen=True)
class Command:
    """One subcommand.

    Attributes:
        name: What the user types.
        help: One line for the list of commands.
        add_arguments: Declares the command's arguments.
        run: Does it; returns the exit status. What it raises is reported in one line, with
            status 2.
        hidden_names: Other names that work but are not listed.
    """

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Terminal], int]
    hidden_names: tuple[str, ...] = ()
