"""The command ``promptlift`` as a user runs it: a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

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
