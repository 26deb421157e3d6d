"""The ``caco`` command.

Exit status: 0 the answer passed (or the command did what it was asked), 1 it did not, 2 an error,
a wrong argument included.

To add a command: a module here with a `Command` called ``COMMAND``, and its name in `COMMANDS`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from caco import __version__
from caco.cli import batch, check, demo, doctor, receipts, serve, signals, tune
from caco.cli import eval as evaluation
from caco.cli.base import EXIT_ERROR, Command
from caco.cli.terminal import Terminal
from caco.errors import CacoError

__all__ = ["COMMANDS", "main"]

COMMANDS: tuple[Command, ...] = (
    check.COMMAND,
    batch.COMMAND,
    signals.COMMAND,
    evaluation.COMMAND,
    tune.COMMAND,
    receipts.COMMAND,
    serve.COMMAND,
    demo.COMMAND,
    doctor.COMMAND,
)

_EXIT_INTERRUPTED = 130
_EPILOG = "exit status: 0 passed, 1 not supported by the documents, 2 error"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: What follows the program's name; None: ``sys.argv[1:]``.

    Returns:
        The exit status.

    Raises:
        SystemExit: For ``--help``, ``--version`` and wrong arguments.
    """
    terminal: Terminal | None = None
    try:
        options = _build_parser().parse_args(arguments)
        terminal = _standard_output()
        code: int = options.run(options, terminal)
        terminal.flush()
    except KeyboardInterrupt:
        code = _EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 (a traceback would exit with 1: "not supported")
        code = _report(error)
    else:
        return code
    if terminal is not None:
        terminal.abandon()
    return code


def _standard_output() -> Terminal:
    # What the interpreter finds closed when it starts is None.
    if sys.stdout is None or sys.stdout.closed:
        raise OSError("standard output is closed")
    return Terminal(sys.stdout)


class _Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_ERROR, f"{self.prog}: error: {message}\nTry '{self.prog} --help'.\n")


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="caco",
        description="Check an answer against its documents, claim by claim.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"caco {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in COMMANDS:
        for name in (command.name, *command.hidden_names):
            # Without `help` a name works but is not listed.
            shown: dict[str, Any] = {"help": command.help} if name == command.name else {}
            subparser = commands.add_parser(
                name, description=command.help, epilog=_EPILOG, allow_abbrev=False, **shown
            )
            command.add_arguments(subparser)
            subparser.set_defaults(run=command.run)
    return parser


def _report(error: Exception) -> int:
    kind = type(error).__name__
    message = " ".join(str(error).splitlines())
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename is not None else ""
        message = f"{place}{error.strerror}"
    elif not isinstance(error, (CacoError, OSError, TypeError, ValueError)):
        message = f"{kind}: {message}".rstrip(": ")  # not meant for users: its kind says more
    # Without a place to say it, the exit status has to do.
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            Terminal(sys.stderr).line(f"caco: error: {message or kind}")
    return EXIT_ERROR
