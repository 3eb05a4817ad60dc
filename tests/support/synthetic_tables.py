"""Tables of made-up conversations in the shape that the frames have, for the tests of analysis and plots."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

TITLES = ("Had to repeat the question", "Refund was refused", "Wrong account", "Long wait")
STATUSES = ["completed", "abandoned", "in_progress"]
LABELS = ["positive", "neutral", "negative"]


def conversations(n, **options):
    """Make ``n`` conversations with insights over ``days`` days, some in progress, some without insights."""
    if "prompts" in options:
        options["prompts"] = tuple(options["prompts"])
    return _conversations(n, **options).copy()


@cache
def _conversations(
    n, *, seed=0, days=60, start="2026-01-10", prompts=("a", "b"), analyser=None, undated=0.05
):
    rng = np.random.default_rng(seed)
    first = np.datetime64(start, "us")

    def times():
        return pd.Series(first + (rng.random(n) * days * 86_400e6).astype("m8[us]")).dt.tz_localize("UTC")

    completed = rng.random(n) < 0.7
    judged = rng.random(n) < 0.9
    task = pd.array(completed, dtype="boolean")
    task[~judged] = pd.NA
    labels = np.where(judged, rng.choice(LABELS, n, p=[0.4, 0.35, 0.25]), None)
    found = [
        [{"title": title, "severity": str(rng.choice(["low", "medium", "high"]))} for title in TITLES if rng.random() < 0.3]
        for _ in range(n)
    ]  # fmt: skip
    table = pd.DataFrame(
        {
            "conversation_id": pd.Series([f"c{i}" for i in range(n)], dtype="str"),
            "prompt_id": pd.Series(rng.choice(list(prompts), n) if n else [], dtype="str"),
            "status": pd.Categorical(rng.choice(STATUSES, n, p=[0.6, 0.3, 0.1]), categories=STATUSES),
            "has_insights": pd.array(judged, dtype="boolean"),
            "created_at": times(),
            "started_at": times().mask(rng.random(n) < undated),
            "llm_model": pd.Series(rng.choice(["gpt-4o", "claude", None], n), dtype="str"),
            "sentiment": pd.Categorical(labels, categories=LABELS),
            "sentiment_score": np.where(judged, rng.normal(0.1, 0.4, n).clip(-1, 1), np.nan),
            "task_completed": task,
            "topics": pd.Series([["billing", "refund"][: 1 + i % 2] for i in range(n)], dtype=object),
            "issues": pd.Series([f if j else None for f, j in zip(found, judged, strict=True)], dtype=object),
        }
    )
    table.attrs["promptlift"] = {"table": "conversations", "analyser": analyser}
    return table


def small(**columns):
    """Make a table by hand: ended conversations, unless columns say otherwise."""
    n = len(next(iter(columns.values())))
    table = pd.DataFrame(columns)
    if "task_completed" in table:
        table["task_completed"] = table["task_completed"].astype("boolean")
    for name in ("started_at", "created_at"):
        if name in table:
            table[name] = pd.to_datetime(table[name], utc=True).astype("datetime64[us, UTC]")
    if "status" not in table:
        table["status"] = pd.Categorical(["completed"] * n, categories=STATUSES)
    return table
