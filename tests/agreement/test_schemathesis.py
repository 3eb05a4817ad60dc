"""Schemathesis against ``/openapi.json``: no server error, and no answer that the description does not know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.source_tree import ROOT

CASES = Path(__file__).with_name("described_answers.py")


@pytest.mark.timeout(900)
def test_every_answer_is_described(service, wire):
    program = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "schemathesis.pytest.plugin",
    ]
    done = subprocess.run(
        [*program, CASES],
        cwd=ROOT,
        env={**os.environ, "DESCRIBED_URL": wire.base_url, "DESCRIBED_KEY": wire.key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    # Nothing that was accepted makes a list, a view or the judge stumble.
    for prompt in wire.get("/prompts?limit=100")["data"]:
        wire.wait_for_insights(prompt["id"])
        wire.get(f"/agents/{prompt['id']}/insights?days=all")
    for listed in (
        "conversations?includeInsights=true&includeContent=true&",
        "personas?",
        "actions?",
        "optimizations?",
    ):
        wire.get(f"/{listed}limit=100")
    assert "Traceback" not in service.log.read_text()
