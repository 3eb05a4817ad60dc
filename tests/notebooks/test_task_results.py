"""The made-up test run of notebook 04 is what its script writes, and says what the notebook tells about it."""

from __future__ import annotations

import io
import runpy
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from promptlift import analysis

WRITER = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("make_task_results.py"))))


def test_the_file_is_what_the_script_writes():
    assert WRITER.TARGET.read_text(encoding="utf-8") == WRITER.file_text()


def test_the_truth_is_as_the_notebook_says():
    """Over many test runs: one version is better by about 15 points, the other changes nothing."""
    rows = pd.DataFrame([row for seed in range(60) for row in WRITER.task_results(seed)])
    rates = 100 * rows.groupby("version")["task_completed"].mean()
    assert 13 < rates["shorter"] - rates["current"] < 17
    assert abs(rates["friendlier"] - rates["current"]) < 1.5


def test_the_method_finds_the_truth_in_the_file():
    results = pd.read_csv(io.StringIO(WRITER.file_text()))
    table = analysis.compare(results, by="version", pair="task", control="current").set_index("variant")
    assert table["verdict"].to_dict() == {"friendlier": "no winner", "shorter": "winner"}
