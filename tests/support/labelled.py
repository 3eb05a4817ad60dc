"""Conversations of two prompts, of which the judge turns the difference round, and labels that turn it back."""

from __future__ import annotations

import numpy as np
import pandas as pd


def judged(n=2_000, seed=0, rates=(0.7, 0.5)):
    """Conversations and their truth: the judge is strict with the old prompt and lenient with the new one."""
    rng = np.random.default_rng(seed)
    new = np.arange(n) % 2 == 1
    truth = rng.random(n) < np.where(new, rates[1], rates[0])
    right_yes, right_no = np.where(new, 0.95, 0.6), np.where(new, 0.6, 0.95)
    said = rng.random(n) < np.where(truth, right_yes, 1 - right_no)
    table = pd.DataFrame(
        {
            "conversation_id": [f"c{place}" for place in range(n)],
            "prompt": np.where(new, "new", "old"),
            "channel": np.where(np.arange(n) % 3 == 0, "web", "app"),
            "status": "completed",
            "started_at": pd.date_range("2026-10-01", periods=n, freq="30min", tz="UTC"),
            "task_completed": pd.array(said, dtype="boolean"),
            "sentiment": "neutral",
            "sentiment_score": 0.0,
        }
    )
    return table, pd.Series(truth, index=table["conversation_id"])


def label(plan, truth):
    """Labels of a person who is right, on the conversations of a plan."""
    return plan.assign(
        value=plan["conversation_id"].map(truth),
        labeller="ada",
        labelled_at=pd.Timestamp("2026-11-01", tz="UTC"),
    )
