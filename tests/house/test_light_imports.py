"""Importing the package costs nothing: what is heavy is loaded when it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import promptlift
from support.source_tree import PACKAGE

HEAVY = {
    *("alembic", "httpx", "matplotlib", "numpy", "pandas", "pyarrow", "pydantic"),
    *("scipy", "sqlalchemy", "starlette", "tqdm", "typer", "uvicorn"),
}


def loaded_by(program: str, *arguments: str) -> tuple[int, set[str]]:
    """Count our modules that a program has loaded when it ends, or says that it is ready, and name the heavy ones."""
    report = f"""
import atexit, os, sys
@atexit.register
def report():
    ours = [name for name in sys.modules if name.partition(".")[0] == "promptlift"]
    print(len(ours), *({HEAVY!r} & sys.modules.keys()), file=sys.stderr)
{program}"""
    command = [sys.executable, "-c", report, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, *heavy = done.stderr.splitlines()[-1].split()
    return int(count), set(heavy)


SERVE = """
class Output:
    def write(self, text):
        if "is ready" in text:
            report()
            os._exit(0)
    def isatty(self):
        return False
    def flush(self):
        pass
sys.stdout = Output()
sys.argv[1:] = ["serve", "--port", "0", "--data", sys.argv[1]]
from promptlift.cli import main
main()
"""


@pytest.mark.slow
def test_nothing_is_loaded_before_it_is_used(tmp_path):
    assert loaded_by("import promptlift; dir(promptlift)") == (2, set())
    count, heavy = loaded_by(
        "import promptlift.schema, promptlift.samples; promptlift.events; promptlift.errors"
    )
    assert (count <= 14, heavy) == (True, {"pydantic"})
    count, heavy = loaded_by("import promptlift; promptlift.connect('http://localhost:1', 'key')")
    assert (count <= 97, heavy) == (True, {"pydantic"})
    _, heavy = loaded_by(
        "import promptlift.analysis, promptlift.plots, promptlift.report\n"
        "from promptlift.stats import differences, intervals, planning\n"
        "differences.score_interval(40, 100, 60, 100), intervals.mean_interval(0.1, 0.4, 2_000)\n"
        "planning.findable_points_unpaired(100, 100, rate_control=0.5, alpha=0.05)"
    )
    assert not heavy & {"matplotlib", "scipy", "httpx"}
    for _ in ("first start", "later one"):
        count, heavy = loaded_by(SERVE, str(tmp_path / "data"))
        assert (count <= 240, heavy) == (
            True,
            {"numpy", "pydantic", "sqlalchemy", "starlette", "typer", "uvicorn"},
        )


# Modules that the rooms above share; nobody reaches them as attributes of the package.
GROUND_FLOOR = {"atomic_write", "file_lock", "retry"}


def sub_packages():
    """Every package and module of promptlift that is not private, found in the source tree."""
    found = {path.stem for path in PACKAGE.glob("[a-z]*.py")} - GROUND_FLOOR
    return sorted(found | {path.parent.name for path in PACKAGE.glob("[a-z]*/__init__.py")})


def test_every_sub_package_is_there_after_importing_the_package(monkeypatch):
    """Also where no import has set the attribute yet."""
    for name in sub_packages():
        monkeypatch.setitem(vars(promptlift), name, None)
    monkeypatch.setattr(importlib, "import_module", lambda name: name)
    assert [promptlift.__getattr__(name) for name in sub_packages()] == [
        f"promptlift.{name}" for name in sub_packages()
    ]


def test_every_lazy_name_can_be_loaded():
    for name in promptlift.__all__:
        assert getattr(promptlift, name) is not None
    assert set(promptlift.__all__) <= set(dir(promptlift))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = promptlift.nothing


@pytest.mark.slow
def test_what_needs_arrow_names_its_extra_and_tables_are_the_same_without(tmp_path):
    (tmp_path / "calls.parquet").write_bytes(b"PAR1")
    program = f"""
import sys
sys.modules["pyarrow"] = None
import pandas as pd, polars
import promptlift
from promptlift.frames import personas_table
rows = [dict(id="a", name="Ann", createdAt="2026-01-01T10:00:00.123Z"), dict(id="b", name=None)]
table, _ = personas_table(rows)
print(table["name"].tolist(), table["created_at"].dt.microsecond.tolist(), *map(str, table.dtypes[["name", "created_at"]]))
done = dict(task_completed=[True, False], status=["completed"] * 2)
print(promptlift.transcripts.read({str(tmp_path / "calls.parquet")!r}).problems[0].message)
print(promptlift.analysis.completion(pd.DataFrame(done))["rate"].tolist())
for call in (
    lambda: promptlift.open_snapshot({str(tmp_path)!r}),
    lambda: promptlift.connect("http://localhost:1", "key").pull({str(tmp_path)!r}),
    lambda: promptlift.analysis.completion(polars.DataFrame(done)),
):
    try:
        call()
    except promptlift.errors.MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    extra = "needs the extra 'parquet': pip install \"promptlift[parquet]\""
    assert done.stdout.splitlines() == [
        "['Ann', nan] [123000.0, nan] str datetime64[us, UTC]",
        f"the file cannot be read: MissingExtra: Reading Parquet {extra}",
        "[0.5]",
        f"A snapshot {extra}",
        f"A snapshot {extra}",
        f"Analysis of a table that is not from pandas {extra}",
    ], done.stderr
