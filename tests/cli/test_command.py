"""The command line itself: help, version, usage errors, a quick start."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import promptlift
from promptlift.cli.commands import app
from support.command_line import invoke, promptlift_command


def test_the_version_is_printed_and_help_names_every_command():
    done = promptlift_command("--version")
    assert (done.returncode, done.stdout) == (0, f"promptlift {promptlift.__version__}\n")
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


def test_wrong_usage_says_what_is_wrong():
    for said, *arguments in (
        ("No such command", "nonsense"),
        ("gold", "serve", "--plan", "gold"),
        ("--prompt", "import", "x.jsonl"),
        ("structured, plain, openai", "import", "x.jsonl", "--prompt", "A", "--format", "wrong"),
        ("Give at least one file to import", "import", "--prompt", "A"),
    ):
        code, shown = invoke(*arguments)
        assert (code, said in shown) == (2, True)


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


def test_every_command_that_takes_a_prompt_has_its_tests_for_names_and_typos():
    """``import``: test_import; ``check``: test_check; ``report``: test_demo; ``pull`` and ``export``:
    test_snapshots; ``learn``: below.
    """
    taken = {
        command.callback.__name__
        for command in app.registered_commands
        if {"prompt", "prompts", "prompt_id"} & set(inspect.signature(command.callback).parameters)
    }
    assert taken == {"check", "export", "import_files", "learn", "pull", "report"}


def test_learning_names_the_prompt_that_was_meant(run_command, lift):
    lift.create_prompt("Learning assistant", "c", llm_model="gpt-4o-mini")
    code, said = run_command("learn", "Learning asistant")
    assert (code, "Did you mean 'Learning assistant'" in said) == (1, True)
