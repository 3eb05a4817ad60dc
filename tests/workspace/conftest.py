from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

# The foreign service of the client's tests serves here too; test folders are not packages.
if "foreign_service" not in sys.modules:
    file = Path(__file__).parents[1] / "client" / "foreign_service.py"
    spec = importlib.util.spec_from_file_location("foreign_service", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["foreign_service"] = module
    spec.loader.exec_module(module)


@pytest.fixture(autouse=True)
def _notebook_folder(tmp_path, monkeypatch):
    """What is kept beside a notebook is kept in a folder of the test."""
    monkeypatch.chdir(tmp_path)
