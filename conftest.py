"""Run notebooks as tests, and compare what they print with what is stored in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_OPTIONS = {
    "nbval": True,
    "nbval_lax": False,
    "nbval_sanitize_with": str(Path(__file__).with_name("tests") / "notebooks" / "sanitize.cfg"),
    "nbval_current_env": True,
    "nbval_kernel_name": None,
    "nbval_cell_timeout": 2000,
    "nbval_kernel_startup_timeout": 60,
    "nbdime": False,
    "sanitize_with": None,
    "current_env": False,
}


def pytest_configure(config: pytest.Config) -> None:
    """Import the plugin where slow tests run, and not for the others: every worker takes seconds for it."""
    if config.getoption("markexpr") != "not slow":
        vars(config.option).update(_OPTIONS)
        config.pluginmanager.import_plugin("nbval.plugin")
