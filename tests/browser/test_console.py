"""Nobody's console: nothing is in that of the browser after a notebook has run, also of widgets that nobody sees."""

from __future__ import annotations

import shutil

import nbformat
import pytest

from support.source_tree import ROOT

pytestmark = pytest.mark.timeout(280)

NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
WIDGETS = {"03-variant-review": ("monitor", "review")}
# Outputs that are wider than the place that they have, so that their last columns are off-screen.
WIDE = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
    .filter(output => output.scrollWidth > output.clientWidth + 1)
    .map(output => output.innerText.slice(0, 80))"""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_nothing_is_in_the_console_or_off_screen_after_a_run_from_top_to_bottom(lab, name):
    if name == "06-beyond-one-machine":
        for module in ("duckdb", "pyspark"):
            pytest.importorskip(module)
        if shutil.which("java") is None:
            pytest.skip("Spark needs Java")
    book = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(book, lab.folder / f"{name}.ipynb")
    shutil.copytree(ROOT / "notebooks" / "data", lab.folder / "data", dirs_exist_ok=True)
    notebook = lab.open(name=f"{name}.ipynb", anew=True)
    assert notebook.page.viewport_size["width"] == 1300
    notebook.run_all()
    for kind in WIDGETS.get(name, ()):
        notebook.page.locator(f".plw-{kind}").wait_for(state="attached")
    # A front end says two seconds later that it could not load a model.
    notebook.page.wait_for_timeout(2_500)
    assert notebook.problems() == []
    assert notebook.page.evaluate(WIDE) == []
    notebook.evaluate("lift.close()")


def test_nothing_is_in_the_console_of_a_widget_that_nobody_sees(lab):
    """A front end would load a model for it, and say two seconds later that it could not."""
    cell = """
import pandas as pd
from promptlift import widgets
df = pd.DataFrame({"conversation_id": ["a"], "content": ["User: hello"]})
for _ in range(3):
    widgets.ConversationBrowser(df).close()
unseen = widgets.ConversationBrowser(df)
"""
    notebook = lab.open([cell, "unseen"], name="unseen.ipynb")
    notebook.run_all()
    notebook.page.locator(".plw-browser .plw-row").wait_for()
    notebook.page.wait_for_timeout(2_500)
    assert notebook.problems() == []
