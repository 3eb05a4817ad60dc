"""Files that the tools' own libraries write in this run: from the file to the table and the prompt's text."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

from promptlift import transcripts
from support import writing_libraries
from support.service_process import clean_environment

pytestmark = pytest.mark.slow

PHOENIX_SYSTEM = 'You are kind.\n\tAlways "so".  '


@pytest.mark.parametrize(
    ("module", "file", "system", "count", "model_calls", "tokens", "tools"),
    [
        ("mlflow", "written.jsonl", writing_libraries.SYSTEM, 1, 2, 22, 2),
        ("inspect_ai", "written.eval", writing_libraries.SYSTEM, 2, 0, 22, 1),
        ("phoenix.client", "written.json", PHOENIX_SYSTEM, 1, 3, 33, 1),
    ],
)
def test_from_the_library_to_the_table(
    run_command, lift, tmp_path, module, file, system, count, model_calls, tokens, tools
):
    library = module.partition(".")[0].partition("_")[0]
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"needs the package of {library}, which the extra test brings")
    program = [sys.executable, writing_libraries.__file__, library, str(tmp_path)]
    subprocess.run(
        program, env=clean_environment(), capture_output=True, timeout=240, check=True, cwd=tmp_path
    )
    path, prompt = tmp_path / file, f"Written {library} {file}"
    code, said = run_command("import", path, "--prompt", prompt)
    assert code == 0, said
    calls = f", {model_calls} model calls" if model_calls else ""
    assert re.search(rf"{count} conversations?{calls}; logged {count}", said), said
    # What is dropped is named, each field with its count.
    dropped = transcripts.read(path).dropped
    assert all(f"{name} ({number:,})" in said for name, number in dropped.items())
    # The table that follows the import has the prompt, with every conversation judged.
    assert re.search(rf"^{re.escape(prompt)}  {count} ", said, re.MULTILINE), said

    table = lift.conversations(prompt)
    assert len(table) == count
    assert table.iloc[0][["tokens", "metadata.channel", "tool_calls"]].tolist() == [tokens, "web", tools]
    # Byte for byte the text that the library was given.
    assert list(lift.versions(prompt)["content"]) == [system]
