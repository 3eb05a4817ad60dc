"""Rules about the docstrings."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from support.source_tree import PACKAGE, modules, shown, tree_of

if TYPE_CHECKING:
    from pathlib import Path

# They read every module.
pytestmark = pytest.mark.slow

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# Rooms whose public functions an analyst calls: there every parameter is explained.
ANALYST_ROOMS = (
    *(
        "analysis",
        "plots",
        "report",
        "transcripts",
        "samples",
        "local",
        "widgets",
        "workspace",
        "__init__.py",
    ),
)


def public_parts(path: Path) -> list[tuple[str, Documented]]:
    """Public functions and classes of a module, and the public methods of these classes."""
    found = []
    for node in tree_of(path).body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            found.append((node.name, node))
            if isinstance(node, ast.ClassDef):
                found += [
                    (f"{node.name}.{part.name}", part)
                    for part in node.body
                    if isinstance(part, Documented) and not part.name.startswith("_")
                ]
    return found


def exported(path: Path) -> set[str] | None:
    """Names in ``__all__`` of a module; ``None`` when it has none."""
    for node in tree_of(path).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if (
            isinstance(target, ast.Name)
            and target.id == "__all__"
            and isinstance(node.value, ast.List | ast.Tuple)
        ):
            return {element.value for element in node.value.elts if isinstance(element, ast.Constant)}
    return None


def test_every_parameter_that_an_analyst_gives_is_explained():
    """In the rooms that analysts call, a function in the ``__all__`` of the room explains every parameter."""
    unexplained = []
    for path in modules():
        room = PACKAGE / path.relative_to(PACKAGE).parts[0]
        if room.name not in ANALYST_ROOMS:
            continue
        names = exported(room / "__init__.py" if room.is_dir() else room)
        for name, node in public_parts(path):
            if isinstance(node, ast.ClassDef) or names is None or name.partition(".")[0] not in names:
                continue
            document = ast.get_docstring(node) or ""
            arguments = node.args
            wanted = [
                argument.arg
                for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                if argument.arg not in {"self", "cls"} and not argument.arg.startswith("_")
            ]
            section = re.search(
                r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", document, re.MULTILINE | re.DOTALL
            )
            explained = set()
            for line in (section[1] if section else "").splitlines():
                if line and not line[0].isspace():
                    explained |= {part.strip(" *") for part in line.partition(":")[0].split(",")}
            missing = [argument for argument in wanted if argument not in explained]
            if missing:
                unexplained.append(f"{shown(path)}: {name}: {', '.join(missing)}")
    assert not unexplained
