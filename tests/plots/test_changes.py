"""Changes of issues and topics by their artists."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from promptlift import analysis, plots
from support.drawn import words
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small


def points(ax):
    return [line for line in ax.lines if line.get_marker() == "o"]


@pytest.mark.parametrize("of", ["issues", "topics"])
def test_points_and_whiskers_are_the_numbers_of_the_analysis(of):
    table = conversations(600)
    ax = plots.changes(table, of=of, at="2026-02-10")
    expected = analysis.changes(table, of=of, at="2026-02-10").sort_values("difference")
    (dots,) = points(ax)
    assert dots.get_xdata().tolist() == pytest.approx(expected["difference"].tolist())
    ends = np.concatenate([c.get_segments() for c in ax.collections if isinstance(c, LineCollection)])[
        :, :, 0
    ]
    np.testing.assert_allclose(ends, expected[["difference_low", "difference_high"]])
    low, high = ax.get_xlim()
    assert low < expected["difference_low"].min()
    assert high > expected["difference_high"].max()


def test_each_row_says_both_shares_and_whether_it_changed():
    cells = [
        [{"title": "Slow", "severity": "high"}] if i % 50 < (5 if i < 50 else 30) else [] for i in range(100)
    ]
    table = small(
        conversation_id=[str(i) for i in range(100)],
        started_at=["2026-01-01"] * 50 + ["2026-01-20"] * 50,
        issues=cells,
    )
    texts = words(plots.changes(table, at="2026-01-10"))
    assert {"Slow: more", "10.0% (5 of 50) to 60.0% (30 of 50)"} <= set(texts)
    assert any("Compared: until 10 Jan 2026 (n = 50) with from 10 Jan 2026 (n = 50), UTC. Observational" in text for text in texts)  # fmt: skip


@pytest.mark.parametrize(
    ("table", "at", "said"),
    [
        (conversations(0), "2026-02-10", "No conversations with insights"),
        (small(conversation_id=["1"], started_at=["2026-01-01"], issues=[[]]), "2026-02-10", "No issues"),
        (
            conversations(50),
            "2020-01-01",
            PLOTS["nothing to compare"],
        ),
    ],
)
def test_with_nothing_to_compare_the_picture_says_so(table, at, said):
    assert said in words(plots.changes(table, at=at))
