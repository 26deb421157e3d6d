"""The notebooks run top to bottom, offline, without a warning; they are stored without outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

# conftest's guard cannot reach into the kernel's process. Addresses of other kinds than (host, …)
# never leave the machine.
OFFLINE = """
import sys

def _block(event, details):
    if event == "socket.connect" and isinstance(details[1], tuple):
        host = details[1][0]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = details[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in (None, "", "localhost", "::1") and not host.startswith("127."):
        raise RuntimeError(f"the network is blocked: {host}")

sys.addaudithook(_block)
"""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def execute(notebook: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run a notebook in a kernel without a network.

    Returns:
        The outputs of its cells; the first cell that fails raises instead.
    """
    import nbclient
    import nbformat

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "core"), str(ROOT)]))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE))
    client = nbclient.NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=300,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_there_are_notebooks():
    assert {"01_quickstart", "02_langchain", "03_llamaindex"} <= {path.stem for path in NOTEBOOKS}


@each_notebook
def test_it_is_stored_without_outputs(path):
    code = [cell for cell in _stored(path)["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@each_notebook
def test_its_metadata_is_minimal(path):
    notebook = _stored(path)
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert all(cell["metadata"] == {} for cell in notebook["cells"])


@each_notebook
def test_it_is_told_in_short_cells(path):
    cells = _stored(path)["cells"]
    assert cells[0]["cell_type"] == "markdown"
    assert max(len(cell["source"]) for cell in cells) <= 40


@pytest.mark.slow
@each_notebook
def test_it_runs(path, monkeypatch):
    import nbformat

    outputs = execute(nbformat.read(path, as_version=4), monkeypatch)
    assert outputs
    # Warnings, and what is logged at WARNING or above.
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("import socket; socket.create_connection(('192.0.2.1', 80))", "blocked: 192.0.2.1"),
        ("import socket; socket.gethostbyname('example.org')", "blocked: example.org"),
        ("assert 1 + 1 == 3", "AssertionError"),
    ],
)
def test_a_cell_that_fails_is_noticed(program, complaint, monkeypatch):
    import nbclient
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(program)])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match=complaint):
        execute(notebook, monkeypatch)


def _stored(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))
