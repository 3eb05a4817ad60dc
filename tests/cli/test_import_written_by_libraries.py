"""Files that the tools' own libraries write in this run: from the file to the table and the prompt's text."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

from support import writing_libraries
from support.service_process import clean_environment

pytestmark = pytest.mark.slow

PHOENIX_SYSTEM = 'You are kind.\n\tAlways "so".  '


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder with what a library has written; each runs once, in a process of its own."""
    folders = {}

    def write(library, module):
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            pytest.skip(f"needs the package of {library}, which the extra test brings")
        if library not in folders:
            folders[library] = tmp_path_factory.mktemp(library)
            program = [sys.executable, writing_libraries.__file__, library, str(folders[library])]
            done = subprocess.run(
                program,
                env=clean_environment(),
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
                cwd=folders[library],
            )
            assert done.returncode == 0, done.stderr
        return folders[library]

    return write


@pytest.mark.parametrize(
    ("library", "module", "file", "system", "expected"),
    [
        (
            "mlflow",
            "mlflow",
            "written.jsonl",
            writing_libraries.SYSTEM,
            {"conversations": 1, "calls": 2, "tokens": 22, "metadata.channel": "web", "tools": 2},
        ),
        (
            "mlflow",
            "mlflow",
            "written-table.jsonl",
            writing_libraries.SYSTEM,
            {"conversations": 1, "calls": 2, "tokens": 22, "metadata.channel": "web", "tools": 2},
        ),
        (
            "inspect",
            "inspect_ai",
            "written.json",
            writing_libraries.SYSTEM,
            {"conversations": 2, "calls": 0, "tokens": 22, "metadata.channel": "web", "tools": 1},
        ),
        (
            "inspect",
            "inspect_ai",
            "written.eval",
            writing_libraries.SYSTEM,
            {"conversations": 2, "calls": 0, "tokens": 22, "metadata.channel": "web", "tools": 1},
        ),
        (
            "phoenix",
            "phoenix.client",
            "written.json",
            PHOENIX_SYSTEM,
            {"conversations": 1, "calls": 3, "tokens": 33, "metadata.channel": "web", "tools": 1},
        ),
    ],
)
def test_from_the_library_to_the_table(run_command, lift, written, library, module, file, system, expected):
    path, prompt = written(library, module) / file, f"Written {library} {file}"
    code, said = run_command("import", path, "--prompt", prompt, "--verbose")
    assert code == 0, said
    count = expected["conversations"]
    calls = f", {expected['calls']} model calls" if expected["calls"] else ""
    assert re.search(rf"{count} conversations?{calls}; logged {count}", said), said
    # What is dropped is named, each field with its count.
    left_out = re.search(r"(\d+) fields? left out", said)
    named = re.findall(r"^  left out .+ \([\d,]+ records?\)$", said, re.MULTILINE)
    assert len(named) == (int(left_out[1]) if left_out else 0)
    # The table that follows the import has the prompt, with every conversation judged.
    assert re.search(rf"^{re.escape(prompt)}  {count} ", said, re.MULTILINE), said

    table = lift.conversations(prompt)
    assert len(table) == count
    row = table.iloc[0]
    assert row["tokens"] == expected["tokens"]
    assert row["metadata.channel"] == expected["metadata.channel"]
    assert row["tool_calls"] == expected["tools"]
    # Byte for byte the text that the library was given.
    assert list(lift.versions(prompt)["content"]) == [system]
