"""The floors of the house hold."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.source_tree import PACKAGE, ROOT


@pytest.mark.slow
def test_imports_go_down_the_floors():
    """import-linter proves the floors, the service wing and the rooms of httpx."""
    linter = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_stands_on_a_floor():
    """A room that no rule names could import anything."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(rule["layers"] for rule in settings["contracts"] if rule["type"] == "layers")
    named = {room.strip() for layer in layers for room in layer.split("|")} | {"service"}
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    modules = {path.stem for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    assert not (rooms | modules) - named
