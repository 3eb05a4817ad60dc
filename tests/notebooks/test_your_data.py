"""The notebook that JupyterLab opens begins with what is there: nothing, logged conversations, or an import."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

from promptlift.local import local
from support.command_line import promptlift_command
from support.source_tree import ROOT

NOTEBOOK = ROOT / "notebooks" / "00-your-data.ipynb"
EXPORT = ROOT / "notebooks" / "data" / "support-chat.jsonl"
STANDS_IN = "this goes on with the sample conversations"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the notebook on a data folder, and give what it printed and showed as text, cell by cell."""

    def run(folder, *, cells=None):
        monkeypatch.setenv("PROMPTLIFT_DATA", str(folder))
        monkeypatch.chdir(tmp_path)
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        if cells is not None:
            code = [cell for cell in notebook.cells if cell.cell_type == "code"]
            notebook.cells = [*code[:cells], code[-1]]  # the last one closes the workspace
        NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
        return [
            "\n".join(one.get("text") or one["data"].get("text/plain", "") for one in cell.outputs)
            for cell in notebook.cells
            if cell.cell_type == "code"
        ]

    return run


def test_with_an_import_it_shows_what_was_imported(tmp_path, run):
    data = tmp_path / "data"
    done = promptlift_command("import", EXPORT, "--prompt", "Help desk", "--no-wait", "--data", data)
    assert done.returncode == 0, done.stderr
    first, second, table, *_ = run(data, cells=3)
    assert "Help desk  " in first
    assert "60  " in first
    assert STANDS_IN not in second
    assert "have no insights" not in second
    assert "% (" in second
    assert "60 conversations, 60 of them with 'Help desk'" in table


def test_with_logged_conversations_it_shows_the_prompt_that_has_the_most(tmp_path, run):
    data = tmp_path / "data"
    with local(data, progress=False) as lift:
        for name, count in (("Rare", 1), ("Often $E=mc^2$ <b>", 3)):
            lift.create_prompt(name, "You help.", llm_model="gpt-4o")
            # Without times, cost or metadata, and one that has not ended.
            records = [
                {"content": f"User: Where is parcel {n}?\nAssistant: Here.\nUser: Thanks!"}
                for n in range(count)
            ]
            lift.log([*records, {"content": "User: Hello?", "status": "in_progress"}], prompt_id=name)
    first, second, table, *rest = run(data)
    assert "Often $E=mc^2$ <b>" in first
    assert STANDS_IN not in second
    assert "6 conversations, 4 of them with 'Often $E=mc^2$ <b>'" in table
    assert "user: Hello?" in "\n".join(rest)


def test_without_data_the_samples_stand_in_and_the_folder_stays_empty(tmp_path, run):
    data = tmp_path / "data"
    with local(data, progress=False) as lift:
        lift.create_prompt("Empty", "You help.", llm_model="gpt-4o")  # a prompt alone is no data
    # That the others print what is stored in them is checked with a folder in which nothing is (nbval).
    first, second, table, *_ = run(data, cells=3)
    assert "Empty  " in first
    assert STANDS_IN in second
    assert "298 conversations" in table
    with local(data, progress=False) as lift:
        assert list(lift.prompts()["name"]) == ["Empty"]
        assert lift.plan().rows == 0
