"""Tables of conversations with transcripts, for the tests of the widgets."""

from __future__ import annotations

import json
from functools import cache

import pandas as pd

SENTIMENTS = ["positive", "neutral", "negative"]


def content(number, *, extra=()):
    """A transcript with roles, times and tokens."""
    messages = [
        {"role": "system", "content": "You help with orders."},
        {"role": "user", "content": f"Where is parcel {number}?", "timestamp": "2026-03-01T10:00:00Z"},
        {
            "role": "assistant",
            "content": "On its way.",
            "timestamp": "2026-03-01T10:00:07Z",
            "tokens": 1234,
            "model": "gpt-4o",
        },
        *({"role": "user", "content": text} for text in extra),
    ]
    return json.dumps({"messages": messages})


def browsable(n, *, extra=None, analyser=None):
    """Conversations c0, c1, …: every third has an issue, every second is completed, sentiments take turns."""
    table = _browsable(n).copy()
    for place, texts in (extra or {}).items():
        table.loc[place, "content"] = content(place, extra=texts)
    table.attrs["promptlift"] = {"table": "conversations", "analyser": analyser}
    return table


@cache
def _browsable(n):
    return pd.DataFrame(
        {
            "conversation_id": pd.Series([f"c{i}" for i in range(n)], dtype="str"),
            "status": pd.Categorical(["completed"] * n),
            "started_at": pd.date_range("2026-03-01", periods=n, freq="7min", tz="UTC", unit="us"),
            "llm_model": pd.Series(["gpt-4o"] * n, dtype="str"),
            "sentiment": pd.Categorical([SENTIMENTS[i % 3] for i in range(n)], categories=SENTIMENTS),
            "sentiment_score": [(0.5, 0.0, -0.5)[i % 3] for i in range(n)],
            "task_completed": pd.array([i % 2 == 0 for i in range(n)], dtype="boolean"),
            "summary": pd.Series(["Asks for a parcel."] * n, dtype="str"),
            "issues": pd.Series(
                [[{"title": "Asked twice", "severity": "low"}] if i % 3 == 0 else [] for i in range(n)],
                dtype=object,
            ),
            "topics": pd.Series([["delivery"]] * n, dtype=object),
            "content": pd.Series([content(i) for i in range(n)], dtype="str"),
        }
    )
