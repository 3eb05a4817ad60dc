"""The browser and JupyterLab for the tests of this folder, and an account beside the shared service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.jupyter_lab import OPENED, chromium, lab
from support.reviewed_world import ReviewedWorld

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["chromium", "lab"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """Close the browser behind the last test of this folder."""
    yield
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        OPENED.close()


@pytest.fixture
def world(service):
    made = ReviewedWorld.beside(service.data)
    yield made
    made.database.close()


@pytest.fixture
def shown(lab, service, world):
    """Open a notebook that shows a widget of the account, and return it with the widget's box."""

    def open_it(name, code):
        cell = f"lift = promptlift.connect({service.base_url!r}, {world.key!r}, progress=False)\nwidget = {code}\nwidget"
        notebook = lab.open(
            [f"import promptlift\nfrom promptlift import widgets\n{cell}"], name=f"{name}.ipynb"
        )
        notebook.run_all()
        box = notebook.page.locator(".plw").first
        box.scroll_into_view_if_needed()
        return notebook, box

    return open_it
