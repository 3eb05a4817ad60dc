"""The floors of the house hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.source_tree import ROOT


@pytest.mark.slow
def test_imports_go_down_the_floors():
    """import-linter proves the floors, the service wing and the rooms of httpx."""
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
