from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _notebook_folder(tmp_path, monkeypatch):
    """What is kept beside a notebook is kept in a folder of the test."""
    monkeypatch.chdir(tmp_path)
