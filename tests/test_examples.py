"""Every example runs as it is."""

import runpy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_notebook_runs(tmp_path):
    notebook = nbformat.read(FOLDER / "tyson.ipynb", as_version=4)
    shown = [printed(cell) for cell in notebook.cells]
    NotebookClient(notebook, timeout=500, resources={"metadata": {"path": tmp_path}}).execute()
    # Standard errors and timings may differ in their digits; what was found may not.
    again = [printed(cell) for cell in notebook.cells]
    assert [line for line in shown if "equals the truth" in line] == [
        line for line in again if "equals the truth" in line
    ]
    assert "equals the truth: True" in "".join(again)


def printed(cell):
    return "".join(output.get("text", "") for output in cell.get("outputs", []))
