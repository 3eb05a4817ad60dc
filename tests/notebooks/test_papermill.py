"""The weekly report runs by itself with other parameters, as a crontab runs it."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import papermill
import pytest
from papermill.exceptions import PapermillExecutionError

import promptlift
from promptlift.local import log_samples, wait_for_insights
from support.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NOTEBOOK = ROOT / "notebooks" / "05-weekly-report.ipynb"


def run(tmp_path: Path, **parameters: object) -> str:
    """Run the notebook as papermill does, and give everything that it printed."""
    done = papermill.execute_notebook(
        NOTEBOOK,
        tmp_path / "as-it-was-run.ipynb",
        parameters={"out": str(tmp_path / "reports"), **parameters},
        kernel_name="python3",
        progress_bar=False,
        cwd=tmp_path,
    )
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    return "".join(output.get("text") or output["data"].get("text/plain", "") for output in outputs)


@pytest.fixture(scope="module")
def own_data(tmp_path_factory):
    """A data folder with conversations up to yesterday, as somebody's own."""
    folder = tmp_path_factory.mktemp("own-data")
    with promptlift.local(folder, progress=False) as lift:
        prompts = log_samples(lift)
        wait_for_insights(lift, prompts.values(), progress=False)
        counts = {name: len(lift.conversations(prompt_id)) for name, prompt_id in prompts.items()}
    return folder, counts


@pytest.fixture
def at_home(own_data, monkeypatch):
    monkeypatch.setenv("PROMPTLIFT_DATA", os.fspath(own_data[0]))
    return own_data[1]


def test_it_reports_the_last_whole_days_of_ones_own_data(tmp_path, at_home):
    printed = run(tmp_path, source="local", prompt="Support assistant v1", period=90, redact=True)
    assert "Asked:" not in printed
    last = datetime.now(UTC).date() - timedelta(days=1)
    # A run that begins just before midnight may see the next day.
    days = {f"{day - timedelta(days=89)} to {day}" for day in (last, last + timedelta(days=1))}
    assert re.search("|".join(days), printed)
    files = sorted((tmp_path / "reports").iterdir(), key=lambda file: file.suffix)
    assert [file.suffix for file in files] == [".html", ".md", ".xlsx"]
    # Its numbers are those of its files.
    page = files[1].read_text(encoding="utf-8")
    assert f"{at_home['Support assistant v1']} conversations" in page
    assert "Asked:" not in page


def test_an_empty_period_is_a_report_too(tmp_path, at_home):
    printed = run(
        tmp_path,
        source="local",
        prompt="Support assistant v1",
        period=["2020-01-06", "2020-01-12"],
        formats=["html"],
    )
    assert "cannot be compared: there are no conversations of 2019-12-30" in printed
    assert (tmp_path / "reports" / "weekly-2020-01-12.html").exists()


@pytest.mark.usefixtures("at_home")
def test_a_wrong_parameter_is_said_in_words(tmp_path):
    with pytest.raises(PapermillExecutionError, match=r"no prompt 'Nobody'.*Support assistant v1"):
        run(tmp_path, source="local", prompt="Nobody")
    assert not (tmp_path / "reports").exists()
