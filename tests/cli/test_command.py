"""The command line itself: help, version, usage errors, a quick start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import promptlift
from support.command_line import promptlift_command


def test_the_version_is_printed():
    done = promptlift_command("--version")
    assert (done.returncode, done.stdout) == (0, f"promptlift {promptlift.__version__}\n")


def test_help_names_every_command():
    done = promptlift_command("--help")
    assert done.returncode == 0
    for name in ("serve", "keys", "accounts", "demo", "lab", "import", "report"):
        assert f"  {name} " in done.stdout


def test_help_loads_no_big_library():
    code = (
        "import sys; sys.argv = ['promptlift', '--help']\n"
        "from promptlift.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('pandas', 'numpy', 'httpx', 'matplotlib', 'sqlalchemy', 'starlette', 'pydantic')"
        " if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command"),
        (["serve", "--port", "70000"], "65535"),
        (["serve", "--plan", "gold"], "gold"),
        (["import"], "FILE"),
        (["import", "x.jsonl"], "--prompt"),
        (["import", "x.jsonl", "--prompt", "A", "--format", "wrong"], "structured, plain, openai"),
        (["report", "A"], "--out"),
        (["keys", "revoke"], "key"),
    ],
)
def test_wrong_usage_says_what_is_wrong(arguments, said):
    done = promptlift_command(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "promptlift", "--help"],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(write)
    assert "Traceback" not in done.stderr
