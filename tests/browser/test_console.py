"""Nobody's console: nothing is in that of the browser after a notebook has run, also of widgets that nobody sees."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.timeout(280)

NAME = "03-variant-review.ipynb"


def test_nothing_is_in_the_console_after_a_run_from_top_to_bottom(lab):
    book = nbformat.read(Path(__file__).parents[2] / "notebooks" / NAME, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(book, lab.folder / NAME)
    notebook = lab.open(name=NAME, anew=True)
    notebook.run_all()
    for kind in ("monitor", "review"):
        notebook.page.locator(f".plw-{kind}").wait_for(state="attached")
    # A front end says two seconds later that it could not load a model.
    notebook.page.wait_for_timeout(2_500)
    assert notebook.problems() == []
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
