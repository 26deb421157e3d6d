"""``caco receipts``: whether a file of receipts is what was written."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from caco.cli.base import EXIT_FAILED, EXIT_PASSED, Command
from caco.cli.terminal import Terminal

__all__ = ["COMMAND"]


def _add_arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    verify = actions.add_parser(
        "verify",
        help="check every line's form, and the hash chain",
        description="Check every line's form, and the hash chain if there is one.",
        epilog="exit status: 0 all in order, 1 something was changed, 2 error",
        allow_abbrev=False,
    )
    verify.add_argument("file", metavar="FILE", help="a file that a ReceiptLog wrote")
    verify.add_argument(
        "--chained", action="store_true", help="a file without a hash chain does not pass"
    )
    verify.add_argument("--json", action="store_true", help="print the findings as JSON")


def _run(options: Namespace, terminal: Terminal) -> int:
    from caco.receipts import verify_receipts

    check = verify_receipts(options.file, chained=options.chained)
    if options.json:
        plain = {"ok": check.ok, **asdict(check)}
        terminal.raw(json.dumps(plain, indent=2, ensure_ascii=not terminal.is_unicode))
        return EXIT_PASSED if check.ok else EXIT_FAILED
    chain = "hash chain intact" if check.ok else "hash chain"
    kind = chain if check.chained else "no hash chain"
    mark, style = ("✓", "green") if check.ok else ("✗", "red")
    terminal.paragraph(f"{check.lines} receipts, {kind}", first=f"{mark} ", style=style)
    if check.last_hash is not None:
        terminal.line(f"  last hash: {check.last_hash}", "dim")
    if check.torn_bytes:
        terminal.paragraph(
            f"an unfinished line of {check.torn_bytes} bytes at the end, left by a crash; "
            "the next receipt replaces it",
            first="- ",
            indent=2,
            style="yellow",
        )
    for problem in check.problems:
        terminal.paragraph(problem, first="- ", indent=2, style="red")
    return EXIT_PASSED if check.ok else EXIT_FAILED


COMMAND = Command(
    name="receipts",
    help="verify a file of receipts",
    add_arguments=_add_arguments,
    run=_run,
)
