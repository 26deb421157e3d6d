"""The README's example does what it says, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_first_example_prints_what_stands_below_it(capsys):
    program, output = re.search(r"```python\n(.*?)```\s+```\n(.*?)```", README, re.DOTALL).groups()
    exec(program, {})
    assert capsys.readouterr().out == output


def test_every_python_example_compiles():
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(examples) >= 2
    for example in examples:
        compile(example, "README.md", "exec")


def test_every_command_exists():
    from caco.cli import COMMANDS

    names = {name for command in COMMANDS for name in (command.name, *command.hidden_names)}
    used = set(re.findall(r"^caco (\w+)", README, re.M)) | set(re.findall(r"`caco (\w+)", README))
    assert used
    assert used <= names


def test_every_file_it_points_to_exists():
    root = Path(__file__).parent.parent
    paths = set(re.findall(r"\]\((?!http)([^)#]+)\)", README))
    paths |= set(re.findall(r"\b(?:benchmarks|training|notebooks)/[\w./-]+\w", README))
    assert paths
    assert not [path for path in paths if not (root / path).exists()]
