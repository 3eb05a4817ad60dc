"""The mark where the version of a judge changes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from promptlift import plots
from support.drawn import words


def verdicts(versions):
    """Three conversations a day, by the version of each day."""
    days = np.repeat(np.arange(len(versions)), 3)
    return pd.DataFrame(
        {
            "conversation_id": [f"c{n}" for n in range(len(days))],
            "status": "completed",
            "judge": "<b>refund</b>",
            "judge_version": pd.array(np.repeat(versions, 3), dtype="Int64"),
            "verdict": pd.array([True, True, False] * len(versions), dtype="boolean"),
            "started_at": pd.Timestamp("2026-10-01", tz="UTC") + pd.to_timedelta(days, unit="D"),
        }
    )


def marks(ax):
    return [line for line in ax.lines if line.get_gid() == "judge-version"]


def test_a_dashed_line_stands_where_the_version_changes():
    ax = plots.completion_trend(verdicts([1] * 5 + [2] * 5), freq="D")
    [line] = marks(ax)
    assert line.get_linestyle() == "--"
    place = (pd.Timestamp("2026-10-06") - pd.Timestamp("1970-01-01")).days
    assert list(line.get_xdata()) == [place, place]
    assert "v1 → v2" in [text.get_text() for text in ax.texts]
    assert "refund" in ax.get_ylabel()
    assert "versions 1 and 2. Dashed: another version begins" in " ".join(words(ax))


def test_one_version_needs_no_mark():
    ax = plots.completion_trend(verdicts([3] * 6), freq="D")
    assert marks(ax) == []
    assert "version 3." in " ".join(words(ax))


def test_versions_that_are_mixed_everywhere_say_so():
    both = pd.concat([verdicts([1] * 4), verdicts([2] * 4)])
    assert "mixed in every period" in " ".join(words(plots.completion_trend(both, freq="D")))


def test_a_dashed_line_stands_where_another_model_answers():
    table = verdicts([1] * 10)
    table["analyser"] = ["llm:small"] * 15 + ["llm:<i>large</i>"] * 15
    ax = plots.completion_trend(table, freq="D")
    assert len(marks(ax)) == 1
    assert "v1 (small)\n→ v1 (<i>large</i>)" in [text.get_text() for text in ax.texts]
    said = " ".join(" ".join(words(ax)).split())
    assert "version 1, by <i>large</i> and small. Dashed: another model begins" in said


def test_a_comparison_of_verdicts_says_whose_they_are():
    table = pd.concat([verdicts([1] * 10), verdicts([2] * 10)], ignore_index=True)
    table["prompt"] = ["a", "b"] * (len(table) // 2)
    for ax in (plots.compare(table, by="prompt"), plots.segments(table, by="prompt", smallest=2)):
        said = " ".join(" ".join(words(ax)).split())
        assert "refund" in ax.get_xlabel()
        assert "versions 1 and 2. Their verdicts are mixed here" in said
