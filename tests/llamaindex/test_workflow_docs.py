"""The workflow in the documentation runs as it stands and says what the page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "llamaindex_workflow.md"


def test_the_workflow_on_the_page(capsys, tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    script = tmp_path / "workflow.py"
    script.write_text(code, encoding="utf-8")
    scope = runpy.run_path(str(script))
    assert scope["result"] == {"answer": "The LGPD was enacted in 2018.", "retries": 1}
    printed = capsys.readouterr().out
    (promised,) = re.findall(r"and then `(.+)`\.", text)
    assert printed.splitlines()[-1] == promised
    assert "not backed by the documents" in printed
    assert "2015 (contradicted)" in printed.replace("2015. (", "2015 (")
