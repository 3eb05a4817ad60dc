"""The browser and JupyterLab for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.jupyter_lab import OPENED, chromium, lab

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["chromium", "lab"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """Close the browser behind the last test of this folder."""
    yield
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        OPENED.close()
