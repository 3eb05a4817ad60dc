"""Names of the room: all there, and none hidden by the module that has its name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from promptlift import analysis


def test_importing_a_module_hides_no_function():
    for module in pkgutil.iter_modules(analysis.__path__):
        importlib.import_module(f"promptlift.analysis.{module.name}")
    assert all(inspect.isfunction(getattr(analysis, name)) for name in analysis.__all__)
