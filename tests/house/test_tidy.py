"""Rules about files: their size, their names, and what must not stand in them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from support.source_tree import PACKAGE, ROOT, modules, shown, tracked_files

if TYPE_CHECKING:
    from pathlib import Path

ROOT_NAMES = {
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "notebooks",
    "pyproject.toml",
    "src",
    "tests",
}
ROOMS = {
    "analysis",
    "cli",
    "client",
    "display",
    "frames",
    "local",
    "plots",
    "report",
    "samples",
    "schema",
    "service",
    "snapshot",
    "stats",
    "transcripts",
    "widgets",
    "words",
    "workspace",
}
SINGLE_MODULES = {
    "__init__.py",
    "__main__.py",
    "_version.py",
    "atomic_write.py",
    "errors.py",
    "events.py",
    "file_lock.py",
    "retry.py",
}
CATCH_ALLS = {"base", "common", "helper", "helpers", "misc", "util", "utils"}
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".cfg",
    ".ipynb",
    ".html",
    ".css",
    ".json",
    ".jsonl",
    ".csv",
    ".txt",
    "",
    ".j2",
}


def texts() -> list[tuple[Path, str]]:
    """Text files of the project."""
    return [(path, path.read_text(encoding="utf-8")) for path in tracked_files() if path.suffix in TEXT]


@pytest.mark.slow
def test_nothing_is_left_for_later():
    """No file marks work as undone."""
    # Put together here, so that this file does not find itself.
    marks = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
    found = [
        f"{shown(path)}:{number}"
        for path, text in texts()
        if path.suffix in {".py", ".md", ".toml", ".cfg"}
        for number, line in enumerate(text.splitlines(), 1)
        if marks.search(line)
    ]
    assert not found


@pytest.mark.slow
def test_no_file_knows_a_machine():
    """No file has a path of the machine it was written on, or the host of a package registry."""
    places = re.compile(
        "|".join(
            (
                "/wo" + "rk/",
                "/op" + r"t/dev",
                "/home/[a-z]",
                "/Use" + "rs/",
                "/tm" + "p/tea",
                "py" + r"pi\.org",
            )
        )
        + "|"
        + "|".join(("pythonhost" + "ed", "registry" + r"\.npm"))
    )
    found = [
        f"{shown(path)}:{number}: {line.strip()[:80]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if places.search(line)
    ]
    assert not found


@pytest.mark.slow
def test_the_top_of_the_project_has_only_known_names():
    """A new file at the top needs a reason, and a place in this list."""
    found = {path.relative_to(ROOT).parts[0] for path in tracked_files()}
    assert not found - ROOT_NAMES


def test_the_rooms_of_the_package_are_those_of_the_design():
    """A room is added on purpose: here, and in the floors of the import rules."""
    found = {path.relative_to(PACKAGE).parts[0] for path in modules()}
    assert not found - ROOMS - SINGLE_MODULES


def test_no_module_is_a_catch_all():
    """A module is named by its idea."""
    assert not [shown(path) for path in modules() if path.stem.strip("_") in CATCH_ALLS]


def test_a_class_of_the_api_shares_its_name_with_no_other_and_with_none_of_the_statistics():
    """One meaning a name: ``schema`` and ``stats`` are the ground that everything stands on."""
    rooms = [path for path in modules() if path.relative_to(PACKAGE).parts[0] in ("schema", "stats")]
    names = Counter(
        name
        for path in rooms
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert not [name for name, count in names.items() if count > 1]


def test_the_version_stands_in_one_place():
    """``_version.py`` is the only place, no module asks the root for it, and the change log has an entry for it."""
    import promptlift

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    marked = [
        shown(path) for path in modules() if re.search(r"^__version__\s*=", path.read_text(), re.MULTILINE)
    ]
    assert marked == ["src/promptlift/_version.py"]
    through_the_root = re.compile(r"from promptlift import .*__version__|promptlift\.__version__")
    assert not [
        shown(path) for path in modules() if through_the_root.search(path.read_text(encoding="utf-8"))
    ]
    assert f"## [{promptlift.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_package_says_that_it_is_typed():
    """``py.typed`` makes the annotations count for users."""
    assert (PACKAGE / "py.typed").exists()
