"""Groups by several columns: the same numbers as by a column that joins them, on every engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError

BY = ["prompt", "metadata.channel"]
JOINED = "prompt · metadata.channel"


def conversations(n=120):
    random = np.random.default_rng(5)
    prompt = random.choice(["Sales", "Support"], n)
    channel = pd.array(random.choice(["app", "web", ""], n), dtype="str")
    channel[np.asarray(channel == "")] = None
    return pd.DataFrame(
        {
            "conversation_id": [f"c{number}" for number in range(n)],
            "prompt": pd.array(prompt, dtype="str"),
            "metadata.channel": channel,
            "metadata.seats": pd.array(random.integers(1, 3, n), dtype="Int64"),
            "status": "completed",
            "task_completed": pd.array(random.random(n) < 0.5, dtype="boolean"),
            "sentiment": random.choice(["negative", "neutral", "positive"], n),
            "sentiment_score": random.uniform(-1, 1, n),
            "started_at": pd.date_range("2026-01-01", periods=n, freq="h", tz="UTC"),
            "issues": [[{"title": "Late", "severity": "low"}]] * n,
            "topics": [["order"]] * n,
        }
    )


CALLS = {
    "completion": analysis.completion,
    "completion_trend": analysis.completion_trend,
    "sentiment_distribution": analysis.sentiment_distribution,
    "sentiment_trend": analysis.sentiment_trend,
    "issues": analysis.issues,
    "topics": analysis.topics,
    "prompt_overview": analysis.prompt_overview,
    "compare": analysis.compare,
}


@pytest.mark.parametrize("call", CALLS)
def test_several_columns_group_as_one_that_joins_them(call):
    table = conversations()
    whole = table["prompt"] + " · " + table["metadata.channel"].fillna("(none)")
    control = {"control": "Sales · app"} if call == "compare" else {}
    found = CALLS[call](table, by=BY, **control)
    expected = CALLS[call](table.assign(**{JOINED: whole}), by=JOINED, **control)
    pd.testing.assert_frame_equal(found, expected)
    assert found.attrs["promptlift"]["by"] == JOINED
    assert {"Sales · web", "Support · (none)"} <= set(found["variant" if call == "compare" else JOINED])


def test_one_column_in_a_list_is_that_column_and_numbers_are_written():
    table = conversations()
    pd.testing.assert_frame_equal(
        analysis.completion(table, by=["prompt"]), analysis.completion(table, by="prompt")
    )
    seats = analysis.completion(table, by=["prompt", "metadata.seats"])
    assert list(seats.iloc[:, 0]) == ["Sales · 1", "Sales · 2", "Support · 1", "Support · 2"]


@pytest.mark.parametrize(
    ("by", "error", "said"),
    [
        (["prompt", "channel"], FrameError, "no column channel"),
        ([], ValueError, "list of different ones"),
        (["prompt", "prompt"], ValueError, "list of different ones"),
        (["prompt", 5], ValueError, "list of different ones"),
        (5, ValueError, "list of different ones"),
        (["prompt", "issues"], ValueError, "cannot name a group"),
    ],
)
def test_what_cannot_group_is_refused(by, error, said):
    with pytest.raises(error, match=said):
        analysis.completion(conversations(), by=by)
