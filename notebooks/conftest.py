"""Notebooks that are tested run on data folders of their own, never on that of whoever runs the tests."""

# ruff: noqa: INP001  no package
from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


_BEYOND = "06-beyond-one-machine.ipynb"
_TESTS = Path(__file__).parents[1] / "tests"


# How notebooks are run as tests: what they print is compared with what is stored in them.
_OPTIONS = {
    "nbval": True,
    "nbval_lax": False,
    "nbval_sanitize_with": str(_TESTS / "notebooks" / "sanitize.cfg"),
    "nbval_current_env": True,
    "nbval_kernel_name": None,
    "nbval_cell_timeout": 2000,
    "nbval_kernel_startup_timeout": 60,
    "nbdime": False,
    "sanitize_with": None,
    "current_env": False,
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the notebook that starts Spark where Spark, Java or DuckDB is not installed."""
    there = all(map(importlib.util.find_spec, ("duckdb", "pyspark"))) and shutil.which("java") is not None
    return True if collection_path.name == _BEYOND and not there else None


def pytest_configure(config: pytest.Config) -> None:
    """Import the plugin that runs them where slow tests run, as every worker takes seconds for it, and make a folder for them."""
    if config.getoption("markexpr") != "not slow":
        vars(config.option).update(_OPTIONS)
        config.pluginmanager.import_plugin("nbval.plugin")
    config.stash[_FOLDER] = tempfile.TemporaryDirectory(prefix="promptlift-notebooks-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder."""
    config.stash[_FOLDER].cleanup()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Start kernels, which takes place here, without the settings of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PROMPTLIFT_")]:
            patch.delenv(name)
        patch.setenv("SPARK_CONF_DIR", str(_TESTS / "support" / "spark"))
        patch.setenv("PROMPTLIFT_DATA", str(Path(item.config.stash[_FOLDER].name, item.path.stem)))
        return (yield)
