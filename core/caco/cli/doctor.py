"""``caco doctor``: what is installed, and whether it works."""

from __future__ import annotations

import platform
import re
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from importlib import metadata

from caco import __version__
from caco.cli.base import EXIT_ERROR, EXIT_PASSED, Command
from caco.cli.terminal import Terminal
from caco.errors import CacoError
from caco.models import Labels

__all__ = ["COMMAND"]

_DISTRIBUTION = "caco-guard"
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*\bextra\s*==\s*['\"]([\w-]+)['\"])?")
_NOT_FOR_USERS = ("all", "dev")


@dataclass(frozen=True)
class _SelfCheck:
    """An answer with a known verdict."""

    language: str
    expected: Labels
    response: str
    document: str


_ENGLISH = "The warranty lasts three years and covers the battery."
_PORTUGUESE = "A garantia dura três anos e cobre a bateria."
_SELF_CHECKS = (
    _SelfCheck("english", Labels.VALUE_ENTAILMENT, "The warranty covers the battery.", _ENGLISH),
    _SelfCheck("english", Labels.VALUE_CONTRADICTION, "The warranty lasts five years.", _ENGLISH),
    _SelfCheck("portuguese", Labels.VALUE_ENTAILMENT, "A garantia cobre a bateria.", _PORTUGUESE),
    _SelfCheck(
        "portuguese", Labels.VALUE_CONTRADICTION, "A garantia dura cinco anos.", _PORTUGUESE
    ),
)


def _add_arguments(parser: ArgumentParser) -> None:
    """No arguments."""


def _run(_options: Namespace, terminal: Terminal) -> int:
    python = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    terminal.line(f"caco {__version__}, {python}", "bold")
    _print_packages(terminal)
    # Both are reported even if the first fails.
    healthy = [_check_model(terminal), _check_verdicts(terminal)]
    return EXIT_PASSED if all(healthy) else EXIT_ERROR


def _print_packages(terminal: Terminal) -> None:
    """Print the version of each dependency, and which extras are complete."""
    try:
        requirements = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        terminal.line("? not installed as a package: its extras are unknown", "yellow")
        return
    groups: dict[str, dict[str, str | None]] = {}
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match and match[2] not in _NOT_FOR_USERS:
            groups.setdefault(match[2] or "", {})[match[1]] = _version(match[1])
    complete = [
        _print_group(extra, packages, terminal) for extra, packages in sorted(groups.items())
    ]
    if not all(complete):
        hint = f'to install an extra: pip install "{_DISTRIBUTION}[NAME]"'
        terminal.paragraph(hint, indent=2, style="dim")


def _print_group(extra: str, packages: dict[str, str | None], terminal: Terminal) -> bool:
    """Print one extra ("" is the base package); True if all of it is there."""
    complete = None not in packages.values()
    listing = ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items())
    text = f"extra {extra}: {listing}" if extra else f"base: {listing}"
    if extra and not complete:
        terminal.paragraph(text, first="- ", style="dim")
    else:
        _print_outcome(complete, text, terminal)
    return complete


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _check_model(terminal: Terminal) -> bool:
    from caco.classifier.onnx import OnnxScorer

    scorer = OnnxScorer()
    try:
        scorer.load()
    except CacoError as error:
        _print_outcome(False, f"model: {error}", terminal)
        return False
    _print_outcome(True, f"model: {scorer.name}, checksums right", terminal)
    terminal.line(f"  {scorer.folder}", "dim")
    return True


def _check_verdicts(terminal: Terminal) -> bool:
    from caco.validator import Validator

    right = True
    for check in _SELF_CHECKS:
        try:
            validator = Validator(language=check.language)
            found = validator.validate(check.response, check.document).claims[0].label
        except CacoError as error:
            _print_outcome(False, f"self-check, {check.language}: {error}", terminal)
            return False
        good = found is check.expected
        expectation = "" if good else f", expected {check.expected}"
        text = f"self-check, {check.language}: “{check.response}” → {found}{expectation}"
        _print_outcome(good, text, terminal)
        right = right and good
    return right


def _print_outcome(good: bool, text: str, terminal: Terminal) -> None:  # noqa: FBT001
    mark, style = ("✓", "green") if good else ("✗", "red")
    terminal.paragraph(text, first=f"{mark} ", style=style)


COMMAND = Command(
    name="doctor",
    help="show what is installed and check that it works",
    add_arguments=_add_arguments,
    run=_run,
)
