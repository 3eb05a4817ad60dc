"""Rules about files: their size, their names, and what must not stand in them."""

from __future__ import annotations

import re
import tomllib

import pytest

from support.source_tree import PACKAGE, ROOT, modules, shown, tracked_files

TEXT = {
    *("", ".py", ".md", ".toml", ".cfg", ".ipynb", ".html", ".css", ".json", ".jsonl", ".csv", ".txt", ".j2")
}


@pytest.mark.slow
def test_no_file_marks_work_as_undone_or_knows_a_machine():
    """No file has a path of the machine it was written on, or the host of a package registry."""
    # Put together here, so that this file does not find itself.
    undone = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
    places = re.compile(
        r"/wo"
        r"rk/|/op"
        r"t/dev|/home/[a-z]|/Use"
        r"rs/|/tm"
        r"p/tea|py"
        r"pi\.org|pythonhost"
        r"ed|registry"
        r"\.npm"
    )
    found = []
    for path in tracked_files():
        if path.suffix in TEXT:
            marks = [places, undone] if path.suffix in {".py", ".md", ".toml", ".cfg"} else [places]
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                found += [f"{shown(path)}:{number}: {line[:80]}" for mark in marks if mark.search(line)]
    assert not found


def test_the_version_stands_in_one_place():
    """``_version.py`` is the only place, no module asks the root for it, and the change log has an entry for it."""
    import promptlift

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (PACKAGE / "py.typed").exists()
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
