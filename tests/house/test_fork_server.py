"""A forked ``python -m promptlift`` is a process like one that was started from nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from support import fork_server

COMMAND = [sys.executable, "-m", "promptlift"]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--version"], ["verify", "here"]])
def test_output_and_exit_code_are_the_same(tmp_path, arguments):
    def run():
        done = subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        return done.returncode, done.stdout, done.stderr

    forked = run()
    with fork_server.cold_starts():
        assert run() == forked


@pytest.mark.slow
def test_folder_environment_streams_and_signals_are_its_own(tmp_path):
    def start(**options):
        return subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--data", "data"],
            cwd=tmp_path,
            env=os.environ | {"PROMPTLIFT_API_KEY": "k" * 32},
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )

    with start() as first:
        assert first.stdout.readline().startswith("promptlift is ready")
        assert (tmp_path / "data" / "promptlift.db").exists()
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(timeout=30) == -signal.SIGKILL
    with start(start_new_session=True) as second:
        assert second.stdout.readline().startswith("promptlift is ready")
        assert os.getsid(second.pid) == second.pid
        second.terminate()
        assert second.wait(timeout=30) == 0


def test_a_quick_test_starts_no_process():
    refused = pytest.raises(AssertionError, match="marked slow")
    with refused:
        subprocess.run([*COMMAND, "--help"], check=False)
    with refused:
        os.fork()
    with refused:
        multiprocessing.Process(target=print).start()
