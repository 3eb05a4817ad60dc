"""Names of the room: loaded on first use, all there, none twice."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_rates_and_deciding_what_runs_next_need_no_scipy():
    code = (
        "import sys, promptlift.stats as s; s.Experiment(3).next_pass(); s.wilson(1, 2); "
        "print({'scipy', 'pandas', 'sqlalchemy', 'httpx'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
