"""``caco demo``: a few answers with planted errors, checked."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from importlib import resources

from caco.cli.base import EXIT_PASSED, Command
from caco.cli.report import print_result
from caco.cli.terminal import Terminal
from caco.models import Document

__all__ = ["COMMAND", "Example", "load_examples"]


@dataclass(frozen=True)
class Example:
    """An answer and its documents, from the files in ``caco/demo``.

    Attributes:
        title: What it shows.
        language: "english" or "portuguese".
        question: What was asked; None if nothing was.
        response: The answer to check.
        documents: What to check it against.
    """

    title: str
    language: str
    question: str | None
    response: str
    documents: tuple[Document, ...]


def load_examples() -> list[Example]:
    """Read the examples that the package ships."""
    folder = resources.files("caco") / "demo"

    def text(name: str) -> str:
        return folder.joinpath(name).read_text(encoding="utf-8").strip()

    return [
        Example(
            title=entry["title"],
            language=entry["language"],
            question=entry.get("question"),
            response=text(entry["response"]),
            documents=tuple(
                Document(text(name), id=name.rpartition("/")[2]) for name in entry["documents"]
            ),
        )
        for entry in json.loads(text("examples.json"))
    ]


def _add_arguments(parser: ArgumentParser) -> None:
    """No arguments."""


def _run(_options: Namespace, terminal: Terminal) -> int:
    from caco.validator import Validator

    for example in load_examples():
        validator = Validator(language=example.language)
        result = validator.validate(example.response, example.documents, example.question)
        terminal.paragraph(example.title, first="— ", style="bold")
        if example.question:
            terminal.paragraph(example.question, indent=2, style="dim")
        terminal.line()
        print_result(result, terminal)
        terminal.line()
        terminal.flush()
    return EXIT_PASSED


COMMAND = Command(
    name="demo",
    help="check the example answers that come with the package",
    add_arguments=_add_arguments,
    run=_run,
)
