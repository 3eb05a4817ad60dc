"""The embedded service as notebooks use it: real processes, real locks, real kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import promptlift
from promptlift.errors import ConfigError, ServiceStartError
from promptlift.local import DataFolder
from promptlift.service.administration import revoke_key
from promptlift.service.settings import ServiceSettings
from support.service_process import ServiceProcess, clean_environment, is_running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1]


class Notebook:
    """A process that holds a workspace on the embedded service, as a kernel does."""

    def __init__(self, data: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.local_user", str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment({"PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}),
        )

    def base_url(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> str:
        """End it as a kernel ends, and return what it complained of."""
        return self.process.communicate(timeout=60)[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data folder; whatever service is left in it is a failure, and is ended."""
    folder = tmp_path / "data"
    yield folder
    record = DataFolder(folder).read_record()
    if record is not None and is_running(record.pid):
        wait_until(lambda: not is_running(record.pid), what="the service ends with its users", seconds=20)


def pid_of(data: Path) -> int:
    record = DataFolder(data).read_record()
    assert record is not None
    return record.pid


@pytest.mark.cold
def test_a_workspace_works_and_its_end_ends_the_service(data):
    with promptlift.local(data, progress=False) as lift:
        pid = pid_of(data)
        assert is_running(pid)
        assert list(lift.prompts()["name"]) == []
        made = lift.client.prompts.create(name="A", content="Be kind.", llm_model="gpt-4o-mini")
    assert not is_running(pid)
    with promptlift.local(data, progress=False) as lift:
        assert list(lift.prompts()["prompt_id"]) == [made.id]


def test_two_notebooks_share_one_service(data):
    notebooks = [Notebook(data) for _ in range(3)]
    addresses = {notebook.base_url() for notebook in notebooks}
    assert len(addresses) == 1
    pid = pid_of(data)
    notebooks[0].end()
    notebooks[1].kill()
    assert is_running(pid)
    with promptlift.local(data, progress=False) as lift:
        assert pid_of(data) == pid
        assert len(lift.prompts()) == 0
    assert is_running(pid)
    notebooks[2].kill()
    wait_until(lambda: not is_running(pid), what="the service ends with its last user", seconds=30)
    assert DataFolder(data).read_record() is None


def test_workspaces_of_a_folder_that_was_removed_close_quietly(data):
    """Twice, as a context manager, in two notebooks, and at the end of the interpreter."""
    notebook = Notebook(data)
    assert notebook.base_url()
    with promptlift.local(data, progress=False) as lift:
        pid = pid_of(data)
        shutil.rmtree(data)
        lift.close()
    lift.close()
    wait_until(lambda: not is_running(pid), what="the service ends with its folder", seconds=30)
    assert notebook.end() == ""
    assert not data.exists()


def test_a_key_that_could_not_be_written_is_made_at_the_next_start(data):
    key = DataFolder(data).path / "local.key"
    key.touch()
    key.chmod(0o644)
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.prompts()) == 0
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_killed_service_is_started_again(data):
    first = promptlift.local(data, progress=False)
    killed = pid_of(data)
    os.kill(killed, signal.SIGKILL)
    with promptlift.local(data, progress=False) as lift:
        assert pid_of(data) != killed
        assert len(lift.prompts()) == 0
    first.close()


def test_a_record_of_a_service_long_gone_is_not_believed(data):
    folder = DataFolder(data)
    record = folder.path / "service.json"
    for text in ("", "[]", '{"pid": 1}'):
        record.write_text(text)
        assert folder.read_record() is None
    stale = {
        "pid": os.getpid(),
        "base_url": "http://127.0.0.1:9/api/v1",
        "started": "2026-01-01T00:00:00+00:00",
    }
    record.write_text(json.dumps({**stale, "plan": "enterprise", "embedded": True}))
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.prompts()) == 0
        assert pid_of(data) != os.getpid()


def test_threads_that_start_at_once_share_one_service(data):
    with ThreadPoolExecutor(4) as pool:
        workspaces = list(pool.map(lambda _: promptlift.local(data, progress=False), range(4)))
    assert len({lift.client.config.base_url for lift in workspaces}) == 1
    pid = pid_of(data)
    for lift in workspaces:
        lift.close()
    assert not is_running(pid)


@pytest.mark.cold
def test_the_key_is_readable_by_its_owner_only_and_never_shown(data, capfd):
    with promptlift.local(data, progress=False) as lift:
        path = data / "local.key"
        key = path.read_text().strip()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert len(key) >= 43
        assert key not in repr(lift)
        command_line = Path(f"/proc/{pid_of(data)}/cmdline").read_text()
        assert key not in command_line
    assert key not in (data / "service.log").read_text()
    assert key not in "".join(capfd.readouterr())
    database = b"".join(path.read_bytes() for path in data.glob("promptlift.db*"))
    assert key.encode() not in database


def test_a_service_started_by_hand_is_not_taken_over(data):
    running = ServiceProcess(data).start()
    try:
        with pytest.raises(ServiceStartError, match=r"started by hand.*promptlift\.connect"):
            promptlift.local(data)
        assert running.process.poll() is None
    finally:
        running.stop()


def test_a_service_started_by_hand_that_knows_the_key_is_joined_and_left_running(data):
    running = ServiceProcess(data, key=DataFolder(data).key()).start()
    try:
        with promptlift.local(data, progress=False) as lift:
            assert lift.client.config.base_url == running.base_url
        assert running.process.poll() is None
    finally:
        assert running.stop() == 0


def test_a_plan_is_kept_and_another_one_is_refused(data):
    with promptlift.local(data, plan="free", progress=False) as lift:
        assert lift.client.account.get().plan.name.lower() == "free"
        with pytest.raises(ServiceStartError, match="plan free"):
            promptlift.local(data, plan="pro")
    with pytest.raises(ConfigError, match="free, pro, enterprise"):
        promptlift.local(data, plan="gold")


def test_a_database_elsewhere_is_not_used(data, monkeypatch):
    monkeypatch.setenv("PROMPTLIFT_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/nothing")
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.prompts()) == 0
    assert (data / "promptlift.db").exists()


def test_files_of_the_notebooks_folder_do_not_stand_in_for_modules(data, tmp_path, monkeypatch):
    (tmp_path / "uvicorn.py").write_text("raise SystemExit('the wrong uvicorn')")
    monkeypatch.chdir(tmp_path)
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.prompts()) == 0


def test_a_folder_that_is_a_file_is_a_clear_error(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    with pytest.raises(ServiceStartError, match="PROMPTLIFT_DATA"):
        promptlift.local(taken)


def test_a_damaged_database_is_a_clear_error_with_the_log(data):
    folder = DataFolder(data)
    (folder.path / "promptlift.db").write_bytes(b"this is no database" * 1000)
    with pytest.raises(ServiceStartError, match="damaged") as caught:
        promptlift.local(data)
    assert str(folder.log) in str(caught.value)
    assert not folder.service_lives()


def test_a_revoked_key_is_a_clear_error_with_what_to_remove(data):
    settings = ServiceSettings(data=data, port=0)
    with promptlift.local(data, progress=False):
        key = DataFolder(data).key()
    revoke_key(settings, key)
    with pytest.raises(ServiceStartError, match=r"was revoked.*remove that file"):
        promptlift.local(data)
    (data / "local.key").unlink()
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.prompts()) == 0


def test_what_the_service_said_is_passed_on_whatever_it_is(data):
    """Nothing is looked for in the log, so a reason that nobody thought of is shown as well."""
    with promptlift.local(data, progress=False):
        pass
    with sqlite3.connect(data / "promptlift.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '0009'")
    database.close()
    with pytest.raises(ServiceStartError, match=r"another version of promptlift: .* version 0009"):
        promptlift.local(data)


def test_a_full_disk_is_a_clear_error(data):
    # A limit on the size of files stands in for a full disk: the database cannot grow.
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "import promptlift\n"
        "promptlift.local(sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(data)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=clean_environment(),
    )
    assert "ServiceStartError" in done.stderr
    assert "disk is full" in done.stderr
    assert not DataFolder(data).service_lives()


def test_a_notebook_killed_and_run_again_at_once_works(data):
    for _ in range(3):
        notebook = Notebook(data)
        assert notebook.base_url()
        notebook.kill()
    with promptlift.local(data, progress=False) as lift:
        assert len(lift.prompts()) == 0
