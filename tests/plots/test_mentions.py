"""Issues and topics by their artists."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from promptlift import analysis, plots
from promptlift.plots.theme import MARKERS
from support.drawn import words
from support.synthetic_tables import conversations, small


@pytest.mark.parametrize(
    ("draw", "count"), [(plots.issues, analysis.issues), (plots.topics, analysis.topics)]
)
def test_points_and_whiskers_are_the_numbers_of_the_analysis(draw, count):
    table = conversations(300)
    ax, expected = draw(table), count(table)
    (points,) = (line for line in ax.lines if line.get_marker() in MARKERS)
    assert points.get_xdata().tolist() == pytest.approx(expected["share"].tolist())
    assert points.get_ydata().tolist() == list(range(len(expected)))[::-1]
    ends = np.concatenate([c.get_segments() for c in ax.collections if isinstance(c, LineCollection)])[
        :, :, 0
    ]
    np.testing.assert_allclose(ends, expected[["share_low", "share_high"]])
    assert ax.get_xlim()[1] >= expected["share_high"].max()


def test_each_row_says_title_counts_severity_and_how_tasks_fared():
    cells = [[{"title": "Slow", "severity": "high"}], [], [{"title": "Slow", "severity": "low"}]]
    table = small(conversation_id=["1", "2", "3"], issues=cells, task_completed=[False, True, True])
    texts = words(plots.issues(table))
    assert {"Slow", "2 of 3 · high in 1 of 2", "task completed: 1 of 2 with it, 1 of 1 without"} <= set(texts)


@pytest.mark.parametrize(
    ("table", "said"),
    [(conversations(0), "No conversations with insights"), (small(conversation_id=["1"], issues=[[]], task_completed=[True]), "No issues")],
)  # fmt: skip
def test_without_issues_the_picture_says_why(table, said):
    assert said in words(plots.issues(table))


def test_hostile_titles_are_drawn_as_they_are():
    title = "$\\frac{1}{0}$ <script>\n\x00 costs $5 and $6 \u202egnp.exe" + "x" * 500
    table = small(
        conversation_id=["1"], issues=[[{"title": title, "severity": "low"}]], task_completed=[True]
    )
    (drawn,) = (text for text in words(plots.issues(table)) if "frac" in text)
    assert drawn.startswith("\\$\\frac{1}{0}\\$ <script> costs \\$5")
    assert drawn.endswith("…")
    assert not {"\n", "\x00", "\u202e"} & set(drawn)
