"""SIGTERM ends a command, also when what runs at that moment swallows every exception."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from promptlift.cli import termination

termination.exit_on_sigterm()
try:
    os.kill(os.getpid(), signal.{number})
except BaseException:
    pass
termination.exit_if_terminated()
sys.exit(7)
"""


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGCONT", 7)])
def test_a_swallowed_signal_is_remembered(number, code):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(number=number)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")
