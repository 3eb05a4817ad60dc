"""``promptlift demo``, ``report`` and ``lab``: what they write and what they leave behind."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import stat
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

import matplotlib as mpl
import nbformat
import pytest

import promptlift
from promptlift.cli.lab import copy_notebooks
from promptlift.local import DataFolder, log_samples
from support.command_line import failed_in_one_line, promptlift_command
from support.service_process import clean_environment, is_running, wait_until
from support.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


EMPTY = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def check_demo(folder: Path, output: str) -> None:
    """The check that runs on a fresh machine too."""
    spec = importlib.util.spec_from_file_location("check_demo", ROOT / ".ci" / "check_demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.check(folder, output)


def test_the_demo_shows_both_prompts_and_leaves_only_its_files(tmp_path):
    out, temporary = tmp_path / "out", tmp_path / "tmp"
    temporary.mkdir()
    (tmp_path / "file").touch()
    assert "file" in failed_in_one_line(promptlift_command("demo", "--out", tmp_path / "file"))
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "home" / "data")}
    home["MPLCONFIGDIR"] = mpl.get_cachedir()  # to list the fonts of a machine anew takes seconds
    done = promptlift_command("demo", "--out", out, env={"TMPDIR": str(temporary), **home}, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    check_demo(out, done.stdout)
    assert sorted(path.name for path in out.iterdir()) == ["overview.png", "report.html"]
    assert not [path for path in temporary.iterdir() if path.name.startswith("promptlift")]
    assert not list((tmp_path / "home").rglob("*promptlift*"))
    rows = re.findall(
        r"^Support assistant (v[12]) +(\d+) +(\d+)% \((\d+)% to (\d+)%\)", done.stdout, re.MULTILINE
    )
    assert [row[0] for row in rows] == ["v1", "v2"]
    for _, count, rate, low, high in rows:
        assert int(count) > 100
        assert int(low) < int(rate) < int(high)
    assert "Completed according to the logs' own outcomes." in done.stdout


def test_the_files_of_a_demo_are_its_owners_and_samples_that_are_there_are_not_added_again(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    with promptlift.local(data, progress=False) as lift:
        log_samples(lift)
        done = promptlift_command("demo", "--out", out, "--data", data)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(lift.prompts()) == 2
        count = int(re.search(r"(\d+) conversations are logged", done.stdout)[1])
        assert len(lift.conversations()) == count
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert not [str(path) for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077]


def test_a_demo_that_is_stopped_ends_clean(tmp_path):
    data = tmp_path / "data"
    process = subprocess.Popen(
        [sys.executable, "-m", "promptlift", "demo", "--out", tmp_path / "out", "--data", data],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
        # As a terminal does it: the signal reaches the command alone here, its service is in a session of its own.
        start_new_session=True,
    )
    assert process.stdout.readline().startswith("The service is ready")
    service_pid = DataFolder(data).read_record().pid
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    wait_until(lambda: not is_running(service_pid), what="the service ends", seconds=30)


def test_a_report_is_written_for_a_name_and_an_unknown_name_lists_the_known(tmp_path, run):
    export = ROOT / "notebooks" / "data" / "support-chat.jsonl"
    with promptlift.local(tmp_path / "data", progress=False) as lift:
        lift.import_files(export, prompt="Mine")
        options = ("--title", "Weekly", "--period", "2020-01-01..", "--redact", "--examples", "0")
        out = tmp_path / "new" / "mine.md"
        done = promptlift_command("report", "Mine", "--out", out, "--data", tmp_path / "data", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Weekly" in out.read_text(encoding="utf-8")
        for prompt, name, more, words in (
            ("Other", "x.html", (), "There are: 'Mine'"),
            ("Mine", "x.md", ("--period", "soon"), "--period 'soon' cannot be used"),
            ("Mine", "x.docx", (), ".html"),
        ):
            code, said = run("report", prompt, "--out", tmp_path / name, "--data", tmp_path / "data", *more)
            assert (code, words in said) == (1, True)


def test_notebooks_are_copied_and_never_over_an_edited_one(tmp_path):
    copied = copy_notebooks(tmp_path / "mine")
    names = {path.relative_to(tmp_path / "mine").as_posix() for path in copied}
    assert {"00-your-data.ipynb", "01-first-look.ipynb", "data/support-chat.jsonl"} <= names
    assert not any(name.startswith("docs/") or name.endswith(".py") for name in names)
    # What is stored in them is of the samples, and not of who opens them.
    cells = nbformat.read(tmp_path / "mine" / "00-your-data.ipynb", as_version=4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    edited = tmp_path / "mine" / "01-first-look.ipynb"
    edited.write_text("edited")
    (tmp_path / "mine" / "02-your-own-logs.ipynb").unlink()
    assert copy_notebooks(tmp_path / "mine") == [tmp_path / "mine" / "02-your-own-logs.ipynb"]
    assert edited.read_text() == "edited"


@pytest.mark.cold  # its JupyterLab has the umask of the command
def test_the_lab_serves_the_notebooks_and_ends_with_its_service(tmp_path):
    data, folder = tmp_path / "data", tmp_path / "mine"
    jupyter = {
        name: str(tmp_path / name)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    config = tmp_path / "JUPYTER_CONFIG_DIR" / "jupyter_server_config.json"
    config.parent.mkdir()
    settings = {
        "ServerApp": {"port": 0, "port_retries": 0},
        "IdentityProvider": {"token": "t"},
    }
    config.write_text(json.dumps(settings))
    folder.mkdir()
    folder.chmod(0o755)
    log = tmp_path / "lab.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "promptlift", "lab", "--folder", folder, "--data", data, "--no-browser"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=clean_environment(jupyter),
        )
    try:
        address = r"http://127\.0\.0\.1:\d+"
        wait_until(
            lambda: re.search(address, log.read_text()) and "/lab" in log.read_text(), what=log.read_text()
        )
        runtime = tmp_path / "JUPYTER_RUNTIME_DIR"
        wait_until(
            lambda: any(path.stat().st_size for path in runtime.glob("jpserver-*.json")),
            what="JupyterLab starts",
        )
        server = json.loads(next(runtime.glob("jpserver-*.json")).read_text())
        found = []

        def is_listed():
            # The file with the address is there a moment before the server listens.
            try:
                with urllib.request.urlopen(f"{server['url']}api/contents?token=t", timeout=30) as answer:
                    found.extend(item["name"] for item in json.load(answer)["content"])
            except OSError:
                return False
            return True

        wait_until(is_listed, what="JupyterLab answers")
        names = set(found)
        assert "01-first-look.ipynb" in names
        # It opens the notebook that begins with what is there; the address that it prints leads there too.
        wait_until(lambda: "/lab/tree/00-your-data.ipynb" in log.read_text(), what=log.read_text())
        # What is saved in JupyterLab shows conversations too.
        body = json.dumps({"type": "notebook", "content": EMPTY}).encode()
        address = f"{server['url']}api/contents/saved.ipynb?token=t"
        saved = urllib.request.Request(address, method="PUT", data=body)
        with urllib.request.urlopen(saved, timeout=30) as answer:
            assert answer.status == 201
        for path in (folder / "saved.ipynb", folder / "01-first-look.ipynb", data / "promptlift.db"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert f"may read the folder {folder} (mode 755)" in log.read_text()
        service_pid = DataFolder(data).read_record().pid
        assert is_running(service_pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    wait_until(lambda: not is_running(service_pid), what="the service ends", seconds=30)
    assert DataFolder(data).key() not in log.read_text()


def test_without_jupyterlab_the_extra_is_named(tmp_path, monkeypatch, run):
    monkeypatch.setattr("promptlift.cli.lab.importlib.util.find_spec", lambda _name: None)
    code, said = run("lab", "--folder", tmp_path / "mine")
    assert (code, "'lab'" in said) == (1, True)
