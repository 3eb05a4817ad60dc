"""What the rules of the house look at: the files of the project and the parts of its modules."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "promptlift"


@cache
def tracked_files() -> tuple[Path, ...]:
    """Files of the project: what git knows, or all of an unpacked archive."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = listed.stdout.splitlines() if listed.returncode == 0 else None
    if names is None:
        return tuple(path for path in sorted(ROOT.rglob("*")) if path.is_file())
    return tuple(ROOT / name for name in names if (ROOT / name).is_file())


@cache
def modules() -> tuple[Path, ...]:
    """Modules of the package."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    """Parsed source of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path) -> str:
    """Path as the project says it."""
    return path.relative_to(ROOT).as_posix()
