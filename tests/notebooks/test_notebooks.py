"""Rules about the notebooks. That they print what is stored in them is checked by running them (nbval)."""

from __future__ import annotations

import re
import subprocess
import sys

import nbformat
import pytest

from support.source_tree import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


def outputs_of(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_the_notebooks_are_numbered_in_the_order_of_the_walk():
    names = [path.stem for path in NOTEBOOKS]
    assert names == [
        "00-your-data",
        "01-first-look",
        "02-your-own-logs",
        "03-variant-review",
        "04-compare-prompts",
        "05-weekly-report",
        "06-beyond-one-machine",
        "07-can-i-trust-the-judge",
    ]


def test_a_notebook_was_run_from_top_to_bottom(notebook):
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert not [output for output in outputs_of(notebook) if output.output_type == "error"]
    assert not [output for output in outputs_of(notebook) if output.get("name") == "stderr"]


def test_a_notebook_explains_itself(notebook):
    kinds = [cell.cell_type for cell in notebook.cells]
    assert kinds[0] == "markdown"
    assert kinds.count("markdown") >= kinds.count("code") / 2


def test_a_notebook_shows_pictures_and_stays_small(notebook):
    pictures = [output for output in outputs_of(notebook) if "image/png" in output.get("data", {})]
    assert pictures
    assert len(nbformat.writes(notebook)) < 600_000


def test_a_notebook_that_a_program_ran_shows_no_live_view(notebook):
    assert not [
        one
        for one in outputs_of(notebook)
        if "application/vnd.jupyter.widget-view+json" in one.get("data", {})
    ]


def test_a_notebook_shows_no_key_and_no_place(notebook):
    shown = "".join(
        "".join(str(value) for kind, value in output.get("data", {}).items() if kind != "image/png")
        + output.get("text", "")
        for output in outputs_of(notebook)
    )
    assert not re.search(r"plk_|127\.0\.0\.1|/tmp|/home|/root", shown)


def test_a_notebook_with_a_wrong_number_fails(tmp_path):
    """The comparison of outputs finds what it is for."""
    code = nbformat.v4.new_code_cell("print(41 + 1)", execution_count=1)
    code.outputs = [nbformat.v4.new_output("stream", name="stdout", text="41\n")]
    spoiled = nbformat.v4.new_notebook(cells=[code])
    nbformat.write(spoiled, tmp_path / "spoiled.ipynb")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            ROOT / "pyproject.toml",
            "--confcutdir",
            ROOT,
            ROOT / "notebooks" / "conftest.py",
            tmp_path,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
