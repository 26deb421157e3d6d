"""``caco serve``: the engine behind HTTP."""

from __future__ import annotations

import logging
import os
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from caco.cli.base import EXIT_PASSED, Command
from caco.cli.inputs import read_text
from caco.cli.terminal import Terminal

if TYPE_CHECKING:
    from caco.gate import GatingPolicy

__all__ = ["COMMAND"]

TOKEN_VARIABLE = "CACO_SERVICE_TOKEN"
_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to bind (default: %(default)s)"
    )
    parser.add_argument(
        "--port", type=int, default=8000, help="port; 0 is any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"a file with the bearer token that requests need; or set {TOKEN_VARIABLE}",
    )
    parser.add_argument("--policy", metavar="FILE", help="a gating policy: .json, .yaml or .yml")
    parser.add_argument(
        "--receipts", metavar="FILE", help="append receipts here (default: they are logged)"
    )
    parser.add_argument(
        "--hash-chain", action="store_true", help="chain the receipts in the file by hashes"
    )
    parser.add_argument(
        "--max-waiting",
        type=int,
        metavar="N",
        help="requests that may wait; more are turned away (default: 128)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        dest="timeout_s",
        help="time until a request is given up (default: 30)",
    )


def _run(options: Namespace, terminal: Terminal) -> int:
    from caco.receipts import ReceiptLog
    from caco.service import ServiceSettings, serve

    if options.hash_chain and not options.receipts:
        raise ValueError("--hash-chain needs --receipts FILE")
    if not 0 <= options.port <= 65535:
        raise ValueError(f"--port must be from 0 to 65535, not {options.port}")
    given: dict[str, Any] = {
        name: getattr(options, name)
        for name in ("max_waiting", "timeout_s")
        if getattr(options, name) is not None
    }
    if options.policy:
        given["policy"] = _policy(options.policy)
    if options.receipts:
        given["receipts"] = ReceiptLog(options.receipts, options.hash_chain)
    settings = ServiceSettings(token=_token(options.token_file), **given)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=_LOG_FORMAT)

    def announce(address: str) -> None:
        terminal.line(f"caco serves at {address}")
        terminal.flush()

    serve(settings, options.host, options.port, on_ready=announce)
    return EXIT_PASSED


def _token(file: str | None) -> str | None:
    """Return the token; never from an argument, which every user of the machine could see."""
    if file:
        return read_text(file).strip()
    return os.environ.get(TOKEN_VARIABLE)


def _policy(file: str) -> GatingPolicy:
    from caco.gate import GatingPolicy

    if file.endswith((".yaml", ".yml")):
        return GatingPolicy.from_yaml(file)
    if file.endswith(".json"):
        return GatingPolicy.from_json(file)
    raise ValueError(f"a policy's file ends in .json, .yaml or .yml, not {file!r}")


COMMAND = Command(
    name="serve",
    help="serve checks over HTTP, with a page; needs the extra service",
    add_arguments=_add_arguments,
    run=_run,
)
