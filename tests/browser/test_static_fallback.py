"""The static fallback where nothing runs: exported pages read with JavaScript off, and notebooks that a person saved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.jupyter_lab import take_picture
from support.service_process import clean_environment

pytestmark = pytest.mark.timeout(240)

TESTS = Path(__file__).parents[1]
CODE = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from support.conversation_tables import browsable
from promptlift import widgets
import pandas as pd
labels = pd.DataFrame({{"conversation_id": ["c4"], "task_completed": [True], "sentiment": ["negative"]}})
browser = widgets.ConversationBrowser(browsable(60, analyser="lexicon"), labels=labels)
browser
"""

PLOT = """
from support.synthetic_tables import conversations
from promptlift import plots
widgets.InteractivePlot(plots.issues(conversations(200)))
"""


@pytest.fixture
def without_scripts(chromium):
    """A page of a browser whose JavaScript is off, and which has no network."""
    context = chromium.new_context(
        java_script_enabled=False, offline=True, viewport={"width": 1100, "height": 1300}
    )
    yield context.new_page()
    context.close()


def test_a_notebook_that_a_person_saved_is_read_without_scripts(lab, without_scripts):
    """Run in JupyterLab, saved, exported: what was a live view is the static fallback."""
    notebook = lab.open([CODE, PLOT], name="saved.ipynb")
    notebook.run_all()
    notebook.page.locator(".plw-browser .plw-row").first.wait_for()
    notebook.page.locator(".plw-plot .plw-mark").first.click(force=True)
    notebook.page.locator(".plw-plot .plw-browser .plw-row").first.wait_for()
    notebook.page.locator(".jp-Cell").first.click()
    notebook.save()
    command = [sys.executable, "-m", "nbconvert", "--to", "html", str(notebook.path)]
    folders = {"JUPYTER_CONFIG_DIR": str(lab.folder), "IPYTHONDIR": str(lab.folder / "ipython")}
    environment = clean_environment(folders)
    subprocess.run(command, check=True, capture_output=True, cwd=lab.folder, env=environment, timeout=180)
    without_scripts.goto(notebook.path.with_suffix(".html").as_uri())
    words = " ".join(without_scripts.locator("body").inner_text().split())
    for part in (
        "60 conversations, 1 labelled",
        "Where is parcel 3?",
        "On its way.",
        "1 label",
        "Judged by a word list",
    ):
        assert part in words
    take_picture(without_scripts, "fallback-saved")
    picture = without_scripts.locator(".jp-OutputArea-output img")
    assert picture.count() == 1
    assert picture.evaluate("one => one.naturalWidth") == 2 * int(picture.get_attribute("width"))
