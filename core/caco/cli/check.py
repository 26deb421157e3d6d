"""``caco check``: one answer against its documents."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from caco.cli.base import EXIT_ERROR, EXIT_FAILED, EXIT_PASSED, Command
from caco.cli.inputs import add_text_arguments, argument_text, read_inputs
from caco.cli.report import print_result
from caco.cli.terminal import Terminal
from caco.models import Status, ValidationResult

__all__ = ["COMMAND"]


def _add_arguments(parser: ArgumentParser) -> None:
    add_text_arguments(parser)
    parser.add_argument(
        "--prompt", metavar="TEXT", type=argument_text, help="the question that was answered"
    )
    parser.add_argument(
        "--language", default="english", help="english or portuguese (default: %(default)s)"
    )
    parser.add_argument(
        "--threshold", type=float, default=0.5, help="highest risk that passes (default: 0.5)"
    )
    parser.add_argument(
        "--max-claims",
        type=int,
        metavar="N",
        help="check no more claims; the rest fails the answer",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--html", metavar="FILE", help="also write the result there, as a page of its own"
    )


def _run(options: Namespace, terminal: Terminal) -> int:
    from caco.render import render_html
    from caco.validator import Validator

    if not options.context and not options.context_file:
        raise ValueError("give at least one --context or --context-file")
    validator = Validator(
        threshold=options.threshold, language=options.language, max_claims=options.max_claims
    )
    response, documents = read_inputs(options)
    result = validator.validate(response, documents, options.prompt)
    if options.html:
        Path(options.html).write_text(render_html(result, documents), encoding="utf-8")
    if options.json:
        terminal.raw(result.to_json(indent=2, ensure_ascii=not terminal.is_unicode))
    else:
        print_result(result, terminal)
    return _exit_status(result)


def _exit_status(result: ValidationResult) -> int:
    if result.status is Status.ERROR:
        return EXIT_ERROR
    return EXIT_FAILED if result.is_hallucination else EXIT_PASSED


COMMAND = Command(
    name="check",
    help="check an answer against its documents",
    add_arguments=_add_arguments,
    run=_run,
    hidden_names=("validate",),  # cavaquinho's name for it
)
