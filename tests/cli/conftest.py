"""Commands against the shared service, without a process of their own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.command_line import invoke

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def run() -> Callable[..., tuple[int, str]]:
    """Run a command on what its options name."""
    return invoke


@pytest.fixture
def run_command(service, tmp_path, monkeypatch) -> Callable[..., tuple[int, str]]:
    """Run a command on the shared service."""
    monkeypatch.setenv("PROMPTLIFT_BASE_URL", service.base_url)
    monkeypatch.setenv("PROMPTLIFT_API_KEY", service.key)
    monkeypatch.setenv("PROMPTLIFT_DATA", os.fspath(tmp_path / "user-data"))
    return invoke
