"""Nobody's console: nothing is in that of the browser after a notebook has run, also of widgets that nobody sees."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from support.source_tree import ROOT

pytestmark = pytest.mark.timeout(280)

# Outputs that are wider than the place that they have, so that their last columns are off-screen.
WIDE = """() => [...document.querySelectorAll('.jp-OutputArea-output')]
    .filter(output => output.scrollWidth > output.clientWidth + 1)
    .map(output => output.innerText.slice(0, 80))"""


def put_into(lab, path, *, outputs):
    """Put a notebook into the folder of JupyterLab, trusted like one that was run there."""
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code" and not outputs:
            cell.outputs, cell.execution_count = [], None
    NotebookNotary(data_dir=str(lab.folder.parent / "data")).sign(book)
    nbformat.write(book, lab.folder / path.name)
    return len([cell for cell in book.cells if cell.cell_type == "code" and cell.outputs])


def test_what_a_notebook_shows_is_not_off_screen(lab):
    """It shows what is stored in it, as nbval finds when it runs the notebooks."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        shown = put_into(lab, path, outputs=True)
        notebook = lab.open(name=path.name)
        outputs = notebook.page.locator(".jp-CodeCell:has(.jp-OutputArea-output)")
        outputs.nth(shown - 1).wait_for(state="attached")
        assert outputs.count() == shown
        assert notebook.page.evaluate(WIDE) == []
        assert notebook.problems() == []


def test_nothing_is_in_the_console_or_off_screen_after_a_run_from_top_to_bottom(lab):
    """Of the notebook with live widgets; how a plot's is used, another test shows."""
    put_into(lab, ROOT / "notebooks" / "03-variant-review.ipynb", outputs=False)
    notebook = lab.open(name="03-variant-review.ipynb", anew=True)
    assert notebook.page.viewport_size["width"] == 1300
    notebook.run_all()
    for kind in ("monitor", "review"):
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
