"""Texts given on the command line, in files and on standard input."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from caco.models import Document

__all__ = ["STANDARD_INPUT", "add_text_arguments", "argument_text", "read_inputs", "read_text"]

STANDARD_INPUT = "-"


def add_text_arguments(parser: ArgumentParser) -> None:
    """Add the arguments that name an answer and its documents, as texts or as files."""
    response = parser.add_mutually_exclusive_group(required=True)
    response.add_argument(
        "--response",
        metavar="TEXT",
        type=argument_text,
        help="the answer to check; - is standard input",
    )
    response.add_argument(
        "--response-file", metavar="FILE", help="a file with the answer; - is standard input"
    )
    parser.add_argument(
        "--context",
        metavar="TEXT",
        type=argument_text,
        action="append",
        default=[],
        help="a document, with its place (from 0) as id; may be repeated; - is standard input",
    )
    parser.add_argument(
        "--context-file",
        metavar="FILE",
        action="append",
        default=[],
        help="a file with a document, with its name as id; may be repeated; - is standard input",
    )


def argument_text(argument: str) -> str:
    """Read an argument as UTF-8 where the locale has no letters beyond ASCII (``LC_ALL=C``)."""
    if argument.isascii() or sys.getfilesystemencoding() != "ascii":
        return argument
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def read_text(name: str) -> str:
    """Read a UTF-8 text; a byte-order mark is dropped, line ends are kept.

    Args:
        name: Path of a file, or "-" for standard input.

    Raises:
        OSError: The file cannot be read, or standard input is closed.
        ValueError: It is not UTF-8; the message gives the offset of the first wrong byte.
    """
    data = _standard_input() if name == STANDARD_INPUT else Path(name).read_bytes()
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise ValueError(
            f"{_shown(name)} is not UTF-8 text: byte 0x{byte:02x} at offset {error.start}"
        ) from error


def read_inputs(options: Namespace) -> tuple[str, list[Document]]:
    """Read the answer and its documents from where the options say.

    Args:
        options: With ``response`` or ``response_file``, ``context`` and ``context_file``; a text or
            a file that is "-" is standard input.

    Returns:
        The answer; the texts (named by position), then the files (named as they were given). A
        file that was given twice is one document.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is not UTF-8, or standard input was asked for twice.
    """
    files = list(dict.fromkeys(options.context_file))
    given = [options.response, options.response_file, *options.context, *files]
    if given.count(STANDARD_INPUT) > 1:
        raise ValueError("standard input can be read only once")
    if options.response is None:
        response = read_text(options.response_file)
    else:
        response = _text(options.response)
    documents = [Document(_text(text)) for text in options.context]
    names = _names(files, len(documents))
    documents += [
        Document(read_text(file), id=name) for file, name in zip(files, names, strict=True)
    ]
    return response, documents


def _text(argument: str) -> str:
    return read_text(STANDARD_INPUT) if argument == STANDARD_INPUT else argument


def _standard_input() -> bytes:
    # What the interpreter finds closed when it starts is None.
    if sys.stdin is None or sys.stdin.closed:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def _names(files: Sequence[str], texts: int) -> list[str]:
    """Return a name for each file; one that is called like a text's position gets "./"."""
    taken = {str(position) for position in range(texts)}
    names = []
    for file in files:
        name = _shown(file)
        while name in taken:
            name = f"./{name}"
        taken.add(name)
        names.append(name)
    return names


def _shown(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else name
