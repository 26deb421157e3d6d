"""The README's section on LlamaIndex does what it says, to the letter."""

from __future__ import annotations

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_stands_below_it(capsys):
    section = README.partition("\n## LlamaIndex\n")[2].partition("\n## ")[0]
    program, output = re.search(r"```python\n(.*?)```\s+```\n(.*?)```", section, re.DOTALL).groups()
    exec(program, {})
    assert capsys.readouterr().out == output
