"""Rules about the notebooks. That they print what is stored in them is checked by running them (nbval)."""

from __future__ import annotations

import re
import subprocess
import sys

import nbformat
import pytest

from support.source_tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_run_from_top_to_bottom_and_shows_no_key_no_place_and_no_live_view(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert len(notebook.cells) - len(cells) >= len(cells) / 2, "it explains itself"
    shown, kinds = "", set()
    for output in (output for cell in cells for output in cell.outputs):
        assert output.output_type != "error"
        assert output.get("name") != "stderr"
        data = output.get("data", {})
        kinds |= set(data)
        shown += output.get("text", "") + "".join(str(data[kind]) for kind in data if kind != "image/png")
    assert "image/png" in kinds
    assert "application/vnd.jupyter.widget-view+json" not in kinds
    assert not re.search(r"plk_|127\.0\.0\.1|/tmp|/home|/root", shown)
    assert len(nbformat.writes(notebook)) < 600_000


def test_a_notebook_with_a_wrong_number_fails(tmp_path):
    """The comparison of outputs finds what it is for."""
    code = nbformat.v4.new_code_cell("print(41 + 1)", execution_count=1)
    code.outputs = [nbformat.v4.new_output("stream", name="stdout", text="41\n")]
    spoiled = nbformat.v4.new_notebook(cells=[code])
    nbformat.write(spoiled, tmp_path / "spoiled.ipynb")
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
    files = ["--confcutdir", ROOT, ROOT / "notebooks" / "conftest.py", tmp_path]
    done = subprocess.run(
        [*program, *files], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
