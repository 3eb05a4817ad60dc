"""``promptlift pull``, ``verify`` and ``export`` as a user runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pandas as pd
import pytest

import promptlift
from promptlift.errors import ConfigError
from promptlift.local import wait_for_insights
from support.command_line import failed_in_one_line, promptlift_command
from support.service_process import ServiceProcess, clean_environment, wait_until


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    made = ServiceProcess(tmp_path_factory.mktemp("service")).start()
    with promptlift.connect(made.base_url, made.key, progress=False) as lift:
        lift.create_prompt("Support", "You help.", llm_model="gpt-4o")
        lift.create_prompt("Sales", "You sell.", llm_model="gpt-4o")
        lift.update_prompt("Sales", content="You sell well.")
        for name in ("Support", "Sales"):
            lift.log(
                [{"content": f"User: {name} {number}?\nAssistant: Done."} for number in range(20)],
                prompt_id=name,
            )
        wait_for_insights(lift, ["Support", "Sales"])
    yield made
    made.kill()


@pytest.fixture
def env(running):
    return {"PROMPTLIFT_BASE_URL": running.base_url, "PROMPTLIFT_API_KEY": running.key}


def test_pull_then_verify_then_harm(env, tmp_path):
    done = promptlift_command("pull", tmp_path / "january", env=env)
    assert done.returncode == 0, done.stderr
    assert "40 conversations, 80 messages, 2 prompts" in done.stdout
    assert env["PROMPTLIFT_API_KEY"] not in (tmp_path / "january" / "manifest.json").read_text()
    assert "20 conv" in promptlift_command("pull", tmp_path / "sales", "--prompt", "Sales", env=env).stdout
    proven = promptlift_command("verify", tmp_path / "january")
    assert proven.returncode == 0
    assert "the 40 conversations that the service had" in proven.stdout
    assert proven.stdout.endswith("signed; not checked, no key.\n")
    assert promptlift_command("verify", tmp_path / "january", env=env).stdout.endswith(
        "signed with this key.\n"
    )
    harmed = next((tmp_path / "january").rglob("part-*.parquet"))
    harmed.write_bytes(harmed.read_bytes()[:100])
    found = promptlift_command("verify", tmp_path / "january")
    assert failed_in_one_line(found).startswith("promptlift: 1 file is not as written")
    assert f"{harmed.relative_to(tmp_path / 'january').as_posix()}: cut" in found.stdout


@pytest.mark.parametrize("command", ["pull", "export"])
def test_a_typo_in_a_prompt_makes_no_snapshot(running, env, tmp_path, command):
    where = ["--data", running.data] if command == "export" else []
    done = promptlift_command(command, *where, tmp_path / "new", "--prompt", "Suport", env=env)
    assert "There is no prompt 'Suport'" in failed_in_one_line(done)
    assert "'Support'" in failed_in_one_line(done)
    assert not (tmp_path / "new").exists()


def test_watch_pulls_again_until_ctrl_c(running, env, tmp_path):
    watching = subprocess.Popen(
        [sys.executable, "-m", "promptlift", "pull", str(tmp_path), "--watch", "--every", "1"],
        env=clean_environment(env),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        # On a busy machine a progress bar comes first.
        first = next(line for line in watching.stdout if " conversations, " in line)
        with promptlift.connect(running.base_url, running.key, progress=False) as lift:
            lift.log([{"content": "User: One more?\nAssistant: Yes."}], prompt_id="Sales")
        count = int(first.split()[1].replace(",", ""))
        wait_until(lambda: f"{count + 1} conversations" in watching.stdout.readline(), what="the new one")
    finally:
        os.kill(watching.pid, signal.SIGINT)
        watching.wait(60)
        watching.stdout.close()
    assert watching.returncode == 130


def test_export_writes_the_same_without_the_service(running, env, tmp_path):
    promptlift_command("pull", tmp_path / "pulled", env=env)
    done = promptlift_command("export", tmp_path / "exported", "--data", running.data)
    assert done.returncode == 0, done.stderr
    pulled, exported = (promptlift.open_snapshot(tmp_path / name) for name in ("pulled", "exported"))
    for read in (
        lambda lift: lift.conversations(insights=True, content=True),
        lambda lift: lift.messages(),
        lambda lift: lift.prompts(),
        lambda lift: lift.versions("Sales"),
    ):
        pd.testing.assert_frame_equal(read(exported), read(pulled))
    assert promptlift_command("export", tmp_path / "exported", "--data", running.data).returncode == 0
    # A pull from the running service goes on with what was exported.
    again = promptlift_command("pull", tmp_path / "exported", env=env)
    assert again.returncode == 0, again.stderr


def test_refresh_connects_to_the_service_of_the_snapshot(running, env, tmp_path, monkeypatch):
    promptlift_command("pull", tmp_path, env=env)
    opened = promptlift.open_snapshot(tmp_path)
    before = len(opened.conversations())
    with pytest.raises(ConfigError, match="No API key"):
        opened.pull()
    with promptlift.connect(running.base_url, running.key, progress=False) as lift:
        lift.log([{"content": "User: And now?\nAssistant: Yes."}], prompt_id="Sales")
        with pytest.raises(ConfigError, match=r"lift\.pull"):
            lift.pull()
    monkeypatch.setenv("PROMPTLIFT_API_KEY", running.key)
    opened.pull()
    assert len(opened.conversations()) == before + 1
