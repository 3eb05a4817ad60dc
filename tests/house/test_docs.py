"""Rules about the documentation: it names what there is, and what it names is there."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys

import pytest

from support.source_tree import PACKAGE, ROOT, modules

DOCS = ROOT / "notebooks" / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
README = ROOT / "README.md"
# Rooms that no analyst imports from.
INNER_ROOMS = {
    "cli",
    "clustering",
    "display",
    "service",
    "words",
    "_version",
    "atomic_write",
    "file_lock",
    "retry",
}


def load(name: str):
    """A script of the documentation, as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def text_of(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_room_has_a_page_in_the_reference():
    """A new room of the package is in the reference, or said to be an inner one."""
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {
        path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")
    }
    assert rooms - INNER_ROOMS == {room.module for room in load("reference").ROOMS if room.module}


@pytest.mark.slow
def test_every_public_name_is_in_the_reference():
    """Every name in the ``__all__`` of a room has an entry, under the room or under the package itself."""
    reference = load("reference")
    listed = {id(resolved(name)) for name in reference.every_public_name()}
    names = {room.name for room in reference.ROOMS}
    missing = []
    for room in reference.ROOMS:
        module = importlib.import_module(room.name)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            is_page = getattr(value, "__name__", None) in names or name in ("events", "__version__")
            if not is_page and id(value) not in listed:
                missing.append(f"{room.name}.{name}")
    assert not missing


def resolved(name: str) -> object:
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def test_every_setting_and_import_format_is_documented():
    """Every environment variable that the package reads is in the table of settings, and no other."""
    from promptlift import transcripts

    formats = set(re.findall(r"^\| `([a-z-]+)` \|", text_of("importing"), re.MULTILINE))
    assert formats == set(transcripts.FORMATS)
    read = {
        name
        for path in modules()
        for name in re.findall(r"PROMPTLIFT_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8"))
        if name != "PROMPTLIFT_LLM"
    }
    told = set(re.findall(r"^\| `(PROMPTLIFT_[A-Z_]+)`", text_of("running"), re.MULTILINE))
    assert told == read


def test_the_page_of_columns_has_every_column_with_its_unit():
    """Every column of every table has its line, and every table the call that returns it."""
    from promptlift import frames
    from promptlift.frames import describe_columns
    from promptlift.frames.layouts import call_of
    from promptlift.workspace import BenchmarkRun, Judges, OptimizationRun, Webhooks, Workspace

    owners = {
        "frames": frames,
        "lift": Workspace,
        "lift.optimizations[optimization_id]": OptimizationRun,
        "lift.benchmarks[benchmark_id]": BenchmarkRun,
        "lift.judges": Judges,
        "lift.webhooks": Webhooks,
    }
    page = load("reference").columns_page()
    for table, rows in describe_columns().groupby("table", sort=False):
        call = call_of(str(table))
        assert f"``{call}``" in page
        owner, _, method = call.partition("(")[0].rpartition(".")
        assert hasattr(owners[owner], method)
        for row in rows.itertuples():
            assert (
                f" - ``{row.column}``\n     - ``{row.dtype}``\n     - {row.unit}\n     - {row.meaning}"
                in page
            )


def test_the_python_of_a_page_compiles():
    """Every Python block compiles."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```python$(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        assert len(blocks) == text.count("```python"), f"a block of {page.name} is indented or never ends"
        for block in blocks:
            compile(block, page.name, "exec")


def calls_in(text: str) -> set[tuple[str, str]]:
    code = " ".join(re.findall(r"^```python$.*?^```$|`[^`\n]+`", text, re.MULTILINE | re.DOTALL))
    code = re.sub(r"[\w/]+\.py\b", "", code)  # files
    return set(re.findall(r"\b(lift|analysis|plots|widgets|report|stats|transcripts)\.([A-Za-z_]\w*)", code))


def test_pages_name_only_calls_that_there_are():
    """What a reader types is there: methods of the workspace, functions of the rooms."""
    import promptlift

    # An instance has the client, which the class does not.
    lift = promptlift.connect("http://127.0.0.1:1", "not-a-real-key")
    unknown = [
        f"{page.name}: {room}.{name}"
        for page in (*PAGES, README)
        for room, name in sorted(calls_in(page.read_text(encoding="utf-8")))
        if not hasattr(lift if room == "lift" else importlib.import_module(f"promptlift.{room}"), name)
        # A module has its name in the room only once it was imported.
        and (room == "lift" or importlib.util.find_spec(f"promptlift.{room}.{name}") is None)
        and not (room == "report" and name in ("html", "pdf", "xlsx", "md", "csv", "parquet"))
    ]
    assert not unknown


def test_every_plot_and_widget_has_a_question_and_every_plot_is_in_the_gallery_and_explained():
    """A picture that no question leads to is never found."""
    from promptlift import plots, widgets

    asked = text_of("questions")
    assert not [name for name in plots.__all__ if f"plots.{name}(" not in asked]
    assert not [name for name in widgets.__all__ if f"widgets.{name}(" not in asked]
    assert not [name for name in plots.__all__ if f"plots.{name}(" not in text_of("gallery")]
    assert not [name for name in plots.__all__ if f"`{name}`" not in text_of("gallery")]


def test_the_contributors_page_names_files_that_there_are_and_every_room():
    """A question leads to a file; the map has the rooms of the package and of the service."""
    rows = re.findall(r"^\| [^|]+\? \| (.+) \|$", text_of("contributing"), re.MULTILINE)
    assert len(rows) == 10
    named = [name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)]
    assert len(named) == 10
    assert not [name for name in named if not (PACKAGE / name).exists()]
    page = text_of("contributing")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"service"}
    rooms |= {path.parent.name for path in (PACKAGE / "service").glob("*/__init__.py")}
    cells = " ".join(re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE))
    assert not [room for room in rooms if f"`{room}`" not in cells]


def test_pictures_are_small_made_by_the_script_and_used():
    """Each lies where it is shown, has a name that the script knows, and is below 150 kB."""
    made = {path.stem: path.stat().st_size for path in (DOCS / "pictures").glob("*.png")}
    assert made
    assert not {name: size for name, size in made.items() if size >= 150_000}
    script = (DOCS / "make_pictures.py").read_text(encoding="utf-8")
    assert not [name for name in made if f'"{name}":' not in script]
    shown = {
        name
        for page in PAGES
        for name in re.findall(r"pictures/([\w-]+)\.png", page.read_text(encoding="utf-8"))
    }
    assert shown <= set(made)
