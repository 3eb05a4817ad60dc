"""Commands against the shared service, without a process of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import typer.testing

from promptlift.cli.commands import app

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def run_command(service, tmp_path, monkeypatch) -> Callable[..., tuple[int, str]]:
    """Run a command and give its exit code and what it printed."""
    monkeypatch.setenv("PROMPTLIFT_BASE_URL", service.base_url)
    monkeypatch.setenv("PROMPTLIFT_API_KEY", service.key)
    monkeypatch.setenv("PROMPTLIFT_DATA", str(tmp_path / "user-data"))

    def run(*arguments: object) -> tuple[int, str]:
        done = typer.testing.CliRunner().invoke(app, [str(one) for one in arguments])
        return done.exit_code, done.stdout

    return run
