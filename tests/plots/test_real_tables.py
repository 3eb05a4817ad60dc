"""The tables of the frames, as the workspace gives them, go through every analysis and plot."""

from __future__ import annotations

import pytest

from promptlift import analysis, plots
from promptlift.frames import conversations_table

pytestmark = pytest.mark.slow

INSIGHTS = {
    "sentiment": "positive",
    "sentimentScore": 0.5,
    "taskCompleted": True,
    "topics": ["billing"],
    "summary": "Paid.",
    "issues": [{"title": "Long wait", "severity": "low"}],
    "createdAt": "2026-01-01T00:00:00Z",
    "analyser": "lexicon",
}


def record(number, **fields):
    return {
        "id": f"c{number}",
        "promptId": "p",
        "status": "completed",
        "hasInsights": "insights" in fields,
        "createdAt": f"2026-01-0{number}T10:00:00.000Z",
        **fields,
    }


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 3])
def test_a_real_table_goes_through_everything(n):
    records = [record(1, insights=INSIGHTS), record(2), record(3, insights=INSIGHTS, status="in_progress")][
        :n
    ]
    table, _ = conversations_table(records, insights=True)
    row = analysis.prompt_overview(table).iloc[0]
    assert row[["conversations", "with_insights", "n", "n_missing"]].tolist() == [
        n,
        *([2, 1, 1] if n else [0, 0, 0]),
    ]
    assert analysis.completion_trend(table, freq="D")["n"].tolist() == ([1, 0, 0] if n else [])
    assert analysis.issues(table)["n"].tolist() == ([2] if n else [])
    assert analysis.issues(table)["total"].tolist() == ([2] if n else [])
    for draw in (plots.completion_trend, plots.sentiment_distribution, plots.issues, plots.topics):
        draw(table).figure.canvas.draw()
    plots.prompt_overview(table).canvas.draw()
