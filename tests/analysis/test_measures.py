"""Cost, latency and other numbers of conversations: counts, means with interval, quantiles, totals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as reference

from promptlift import analysis
from promptlift.errors import FrameError


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    cost = rng.gamma(2.0, 0.01, 60)
    cost[::10] = np.nan
    return pd.DataFrame(
        {
            "prompt": ["b", "a"] * 30,
            "metadata.channel": ["web", "web", "app"] * 20,
            "cost": cost,
            "latency_ms": pd.array(rng.integers(100, 9000, 60), dtype="Int64"),
            "tokens": pd.array([None] * 60, dtype="Int64"),
            "status": "completed",
        }
    )


def test_the_numbers_are_those_of_scipy_and_numpy(table):
    found = analysis.measures(table, of=["cost", "latency_ms"], by="prompt")
    assert found[["prompt", "measure", "unit"]].to_numpy().tolist() == [
        ["a", "cost", "currency of the prices"],
        ["a", "latency_ms", "ms"],
        ["b", "cost", "currency of the prices"],
        ["b", "latency_ms", "ms"],
    ]
    for row in found.to_dict("records"):
        column = table.loc[table["prompt"] == row["prompt"], row["measure"]]
        known = column.dropna().to_numpy(float)
        assert (row["n"], row["n_missing"]) == (len(known), len(column) - len(known))
        low, high = reference.t.interval(0.95, len(known) - 1, known.mean(), reference.sem(known))
        expected = (known.mean(), low, high, np.median(known), np.percentile(known, 95), known.sum())
        names = ("mean", "mean_low", "mean_high", "median", "p95", "total")
        assert [row[name] for name in names] == pytest.approx(expected)
        assert row["mean_low"] <= row["mean"] <= row["mean_high"]


def test_without_names_every_measure_with_a_value_is_there(table):
    assert list(analysis.measures(table)["measure"]) == ["cost", "latency_ms"]
    assert list(analysis.measures(table, of="tokens")["n"]) == [0]
    assert analysis.measures(table, of="tokens").iloc[0][["mean", "p95"]].isna().all()
    several = analysis.measures(table, of="cost", by=["prompt", "metadata.channel"])
    assert list(several["prompt · metadata.channel"]) == ["a · app", "a · web", "b · app", "b · web"]


def test_what_cannot_be_measured_is_refused(table):
    with pytest.raises(FrameError, match="no column price"):
        analysis.measures(table, of="price")
    with pytest.raises(ValueError, match="status holds String, not numbers"):
        analysis.measures(table, of="status")
    with pytest.raises(ValueError, match="also a column of the result"):
        analysis.measures(table.rename(columns={"prompt": "unit"}), by="unit")
