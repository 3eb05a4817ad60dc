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
