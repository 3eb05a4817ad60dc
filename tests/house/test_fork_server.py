"""A forked ``python -m promptlift`` is a process like one that was started from nothing."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "promptlift"]


def test_a_quick_test_starts_no_process():
    refused = pytest.raises(AssertionError, match="marked slow")
    with refused:
        subprocess.run([*COMMAND, "--help"], check=False)
    with refused:
        os.fork()
    with refused:
        multiprocessing.Process(target=print).start()
