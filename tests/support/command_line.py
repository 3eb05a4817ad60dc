"""The command ``promptlift``: in a process of its own as a user runs it, or in this one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import typer.testing

from promptlift.errors import PromptliftError
from support.service_process import clean_environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def promptlift_command(
    *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end; no test may ask the user's terminal anything."""
    return subprocess.run(
        [sys.executable, "-m", "promptlift", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=clean_environment(env),
        cwd=cwd,
        timeout=seconds,
        check=False,
    )


def failed_in_one_line(done: subprocess.CompletedProcess[str]) -> str:
    """Check that a command failed as users should see it; gives the line."""
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith("promptlift: "), done.stderr
    return lines[0]


def invoke(*arguments: object) -> tuple[int, str]:
    """Run a command in this process, and return its exit code and what it printed, with the line about a failure."""
    from promptlift.cli.commands import app

    done = typer.testing.CliRunner().invoke(app, [str(one) for one in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit | PromptliftError):
        raise done.exception
    failure = f"promptlift: {done.exception}\n" if isinstance(done.exception, PromptliftError) else ""
    return done.exit_code, done.stdout + failure if done.exit_code != 2 else done.stderr
