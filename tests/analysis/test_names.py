"""Names of the room: all there, and none hidden by the module that has its name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from promptlift import analysis


@pytest.mark.parametrize("module", [part.name for part in pkgutil.iter_modules(analysis.__path__)])
def test_importing_a_module_hides_no_function(module):
    importlib.import_module(f"promptlift.analysis.{module}")
    assert all(inspect.isfunction(getattr(analysis, name)) for name in analysis.__all__)
