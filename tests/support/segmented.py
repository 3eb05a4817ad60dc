"""Conversations with many columns to split by, and an effect in one of them, or in none."""

from __future__ import annotations

import numpy as np
import pandas as pd

MODELS = ("gpt-4o", "gpt-4o-mini", "claude", "llama", "mistral")
TOPICS = ("refund", "delivery", "login", "invoice", "return", "warranty", "discount", "address")
COUNTRIES = ("DE", "FR", "IT", "ES", "PL", "NL", "AT")


def segmented(rng, n=600, *, planted=None, rate=0.9, low=0.75):
    """Make a table with about 40 segments.

    With ``planted`` half of the conversations have true in that column of true and false, and complete their task with
    the probability ``low``; all others, and all without ``planted``, with ``rate``.
    """
    table = pd.DataFrame(
        {
            "conversation_id": [f"c{i}" for i in range(n)],
            "status": "completed",
            "started_at": pd.Timestamp("2026-01-01", tz="UTC")
            + pd.to_timedelta(rng.integers(0, 90 * 1440, n), "min"),
            "llm_model": rng.choice(MODELS, n),
            "n_turns": rng.integers(2, 30, n),
            "tokens": rng.integers(100, 9000, n),
            "tool_errors": rng.poisson(0.2, n),
            "topics": [list(rng.choice(TOPICS, rng.integers(1, 3), replace=False)) for _ in range(n)],
            "metadata.country": rng.choice(COUNTRIES, n),
            "metadata.channel": rng.choice(["web", "chat", "phone"], n),
            "metadata.returning": rng.permutation(np.arange(n) % 2 == 0),
        }
    )
    chance = np.full(n, rate)
    if planted is not None:
        chance[table[planted].to_numpy(bool)] = low
    table["task_completed"] = pd.array(rng.random(n) < chance, dtype="boolean")
    return table
