"""Usage against limits: shares, the projection, and when there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError


def usage(
    used=(4, 9, 310, 1_000),
    limit=(5, 10, 500, None),
    resources=("prompts", "optimizations", "conversations", "tokens"),
):
    n = len(used)
    return pd.DataFrame(
        {
            "resource": pd.Series(resources[:n], dtype="str"),
            "used": pd.array(used, dtype="Int64"),
            "limit": pd.array(limit[:n], dtype="Int64"),
            "period_start": pd.to_datetime(["2026-04-01"] * n, utc=True),
            "period_end": pd.to_datetime(["2026-05-01"] * n, utc=True),
        }
    )


def test_the_projection_goes_on_at_the_pace_so_far():
    found = analysis.usage(usage(), now="2026-04-16").set_index("resource")
    assert found["elapsed"].tolist() == pytest.approx([0.5] * 4)
    assert found["projected"].tolist()[1:] == pytest.approx([18.0, 620.0, 2_000.0])
    assert found["used_share"].tolist()[:3] == pytest.approx([0.8, 0.9, 0.62])
    assert found.loc["conversations", "projected_share"] == pytest.approx(1.24)
    reached = pd.Timestamp("2026-04-01", tz="UTC") + pd.Timedelta(days=15 * 500 / 310)
    assert abs(found.loc["conversations", "full_at"] - reached) < pd.Timedelta(seconds=1)


def test_prompts_are_not_projected_and_without_a_limit_there_is_no_share():
    found = analysis.usage(usage(), now="2026-04-16").set_index("resource")
    assert np.isnan(found.loc["prompts", "projected"])
    assert found.loc["tokens", ["used_share", "projected_share"]].isna().all()
    assert pd.isna(found.loc["tokens", "full_at"])


@pytest.mark.parametrize(("now", "there"), [("2026-04-02", False), ("2026-03-01", False), ("2026-04-04", True), ("2026-06-01", True)])  # fmt: skip
def test_early_in_the_period_nothing_is_projected(now, there):
    found = analysis.usage(usage(), now=now)
    assert found["projected"].notna().any() == there
    assert found["elapsed"].between(0, 1).all()


def test_what_is_full_has_no_time_at_which_it_will_be():
    found = analysis.usage(usage(used=(1, 10)), now="2026-04-16")
    assert found["full_at"].isna().all()
    assert analysis.usage(usage(used=(0, 0, 0)), now="2026-04-16")["projected"].tolist()[1:] == [0.0, 0.0]


def test_the_time_of_reading_counts_as_now():
    table = usage()
    table.attrs["promptlift"] = {"table": "usage", "fetched_at": "2026-04-16T00:00:00+00:00"}
    assert analysis.usage(table)["elapsed"].tolist() == pytest.approx([0.5] * 4)


def test_empty_and_wrong_tables():
    assert analysis.usage(usage().iloc[:0], now="2026-04-16").empty
    with pytest.raises(FrameError, match="limit"):
        analysis.usage(pd.DataFrame({"resource": ["a"], "used": [1]}))
    with pytest.raises(ValueError, match="now must be a time"):
        analysis.usage(usage(), now="soon")
