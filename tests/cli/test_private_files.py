"""What is written holds conversations: other users of the machine may not read it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

import promptlift
from promptlift.local.privacy import OpenFolderWarning
from support.command_line import promptlift_command
from support.source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPORT = ROOT / "notebooks" / "data" / "support-chat.jsonl"


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    """Most machines let everybody read new files."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_files(folder: Path) -> dict[str, str]:
    """What others may read or write in a folder, by its mode."""
    return {str(path): oct(mode_of(path)) for path in folder.rglob("*") if mode_of(path) & 0o077}


def test_the_files_of_serve_are_its_owners_and_an_open_folder_is_named(start_service, tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    service = start_service(data=tmp_path / "open")
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        lift.client.prompts.create(name="A", content="Be kind.", llm_model="gpt-4o-mini")
        service.log.chmod(0o600)  # this test made it
        assert "promptlift.db-wal" in {path.name for path in service.data.iterdir()}
        assert not open_files(service.data)
    assert service.stop() == 0
    log = service.log.read_text()
    assert f"may read the folder {service.data} (mode 755)" in log
    assert f"chmod 700 {service.data}" in log
    service.data.chmod(0o700)
    service.log.unlink()
    service.start()
    assert "may read the folder" not in service.log.read_text()


def test_a_database_elsewhere_that_others_may_read_is_named(start_service, tmp_path):
    file = tmp_path / "mine.sqlite"
    service = start_service(database=f"sqlite:///{file}")
    assert mode_of(file) == 0o600
    service.stop()
    file.chmod(0o644)
    service.start()
    assert f"chmod 600 {file}" in service.log.read_text()


def test_the_files_of_an_import_and_a_report_are_their_owners(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir(mode=0o755)
    env = {"PROMPTLIFT_DATA": str(data)}
    done = promptlift_command("import", EXPORT, "--prompt", "Mine", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(
        f"promptlift: Other users of this machine may read the folder {data} (mode 755)"
    )
    assert {"promptlift.db", "service.log"} <= {path.name for path in data.iterdir()}
    assert not open_files(data)
    data.chmod(0o700)
    report = out / "report.html"
    done = promptlift_command("report", "Mine", "--out", report, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert mode_of(report) == 0o600
    assert mode_of(out) == 0o700


def test_a_notebook_keeps_its_umask_and_is_warned_of_an_open_folder(tmp_path):
    (tmp_path / "data").mkdir(mode=0o755)
    said = f"Other users of this machine may read the folder {tmp_path / 'data'}"
    with (
        pytest.warns(OpenFolderWarning, match=said),
        promptlift.local(tmp_path / "data", progress=False) as lift,
    ):
        lift.create_prompt("A", "Be kind.", llm_model="gpt-4o-mini")
    (tmp_path / "own").touch()
    assert mode_of(tmp_path / "own") == 0o644
    assert not open_files(tmp_path / "data")
