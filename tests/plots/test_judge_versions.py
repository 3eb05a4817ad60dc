"""The mark where the version of a judge changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import plots
from support.drawn import said


def verdicts(versions, models=None):
    """Three conversations a day, by the version and the model of each day."""
    days = np.repeat(np.arange(len(versions)), 3)
    table = pd.DataFrame(
        {
            "conversation_id": [f"c{n}" for n in range(len(days))],
            "status": "completed",
            "judge": "<b>refund</b>",
            "judge_version": pd.array(np.repeat(versions, 3), dtype="Int64"),
            "verdict": pd.array([True, True, False] * len(versions), dtype="boolean"),
            "started_at": pd.Timestamp("2026-10-01", tz="UTC") + pd.to_timedelta(days, unit="D"),
        }
    )
    return table if models is None else table.assign(analyser=np.repeat(models, 3))


TWO_MODELS = verdicts([1] * 10, ["llm:small"] * 5 + ["llm:<i>large</i>"] * 5)
MIXED = pd.concat([verdicts([1] * 4), verdicts([2] * 4)])


@pytest.mark.parametrize(
    ("table", "mark", "note"),
    [
        (verdicts([1] * 5 + [2] * 5), "v1 → v2", "versions 1 and 2. Dashed: another version begins"),
        (verdicts([3] * 6), None, "version 3."),
        (MIXED, None, "mixed in every period"),
        (TWO_MODELS, "v1 (small)\n→ v1 (<i>large</i>)", "version 1, by <i>large</i> and small. Dashed: another model"),
    ],
)  # fmt: skip
def test_a_dashed_line_is_drawn_where_the_version_or_the_model_changes(table, mark, note):
    ax = plots.completion_trend(table, freq="D")
    assert "refund" in ax.get_ylabel()
    assert note in said(ax)
    marks = [line for line in ax.lines if line.get_gid() == "judge-version"]
    assert len(marks) == (mark is not None)
    for line in marks:
        day = (pd.Timestamp("2026-10-06") - pd.Timestamp("1970-01-01")).days
        assert (list(line.get_xdata()), line.get_linestyle()) == ([day, day], "--")
        assert mark in [text.get_text() for text in ax.texts]


def test_a_comparison_of_verdicts_names_the_judge():
    table = pd.concat([verdicts([1] * 20), verdicts([2] * 20)], ignore_index=True)
    table["prompt"] = ["a", "b"] * (len(table) // 2)
    for ax in (plots.compare(table, by="prompt"), plots.segments(table, by="prompt")):
        assert "refund" in ax.get_xlabel()
        assert "versions 1 and 2. Their verdicts are mixed here" in said(ax)
