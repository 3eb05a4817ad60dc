"""Trials of variants: pairs and groups with known outcomes, and made-up runs of four variants."""

from __future__ import annotations

import numpy as np
import pandas as pd


def pairs(n11, n10, n01, n00, *, variant="b", control="a", shift=0):
    """Rows of two variants with this pair table."""
    table = [(True, True)] * n11 + [(True, False)] * n10 + [(False, True)] * n01 + [(False, False)] * n00
    rows = [(variant, shift + item, one) for item, (one, _) in enumerate(table)]
    rows += [(control, shift + item, other) for item, (_, other) in enumerate(table)]
    return pd.DataFrame(rows, columns=["run", "task", "task_completed"])


def groups(**outcomes):
    """Rows of independent groups."""
    rows = [(name, value) for name, values in outcomes.items() for value in values]
    return pd.DataFrame(rows, columns=["run", "task_completed"])


def several(seed=0, n=120, rates=(0.5, 0.55, 0.75, 0.3)):
    """Made-up runs of four variants on the same tasks, with scores and sentiments."""
    rng = np.random.default_rng(seed)
    parts = []
    for name, rate in zip("abcd", rates, strict=True):
        done = rng.random(n) < rate
        parts.append(
            pd.DataFrame(
                {
                    "run": name,
                    "task": np.arange(n),
                    "task_completed": pd.array(done, dtype="boolean"),
                    "quality": np.round(60 + 20 * done + rng.normal(0, 10, n), 1),
                    "sentiment": rng.choice(
                        ["negative", "neutral", "positive"], n, p=[0.3, 1 - 0.3 - rate / 2, rate / 2]
                    ),
                }
            )
        )
    table = pd.concat(parts, ignore_index=True)
    table.loc[table.index[::29], "task_completed"] = pd.NA
    table.loc[table.index[::31], "quality"] = np.nan
    table.loc[table.index[::37], "sentiment"] = None
    return table


def only(table):
    assert len(table) == 1
    return table.iloc[0]
