"""Usage against limits: shares, the projection, and when there is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError

RESOURCES = ("prompts", "optimizations", "conversations", "tokens")


def usage(used=(4, 9, 310, 1_000), limit=(5, 10, 500, None)):
    table = pd.DataFrame({"resource": RESOURCES, "used": used, "limit": pd.array(limit, "Int64")})
    return table.assign(
        period_start=pd.Timestamp("2026-04-01", tz="UTC"), period_end=pd.Timestamp("2026-05-01", tz="UTC")
    )


def test_the_projection_continues_the_pace_so_far():
    table = usage()
    table.attrs["promptlift"] = {"table": "usage", "fetched_at": "2026-04-16T00:00:00+00:00"}
    pd.testing.assert_frame_equal(analysis.usage(table), analysis.usage(usage(), now="2026-04-16"))
    found = analysis.usage(table).set_index("resource")
    assert found["elapsed"].tolist() == pytest.approx([0.5] * 4)
    # Prompts are a current count and no sum.
    assert found["projected"].tolist() == pytest.approx([np.nan, 18.0, 620.0, 2_000.0], nan_ok=True)
    assert found["used_share"].tolist() == pytest.approx([0.8, 0.9, 0.62, np.nan], nan_ok=True)
    assert found.loc["conversations", "projected_share"] == pytest.approx(1.24)
    reached = pd.Timestamp("2026-04-01", tz="UTC") + pd.Timedelta(days=15 * 500 / 310)
    assert abs(found.loc["conversations", "full_at"] - reached) < pd.Timedelta(seconds=1)
    assert pd.isna(found.loc["tokens", "full_at"])


@pytest.mark.parametrize(("now", "there"), [("2026-04-02", False), ("2026-03-01", False), ("2026-04-04", True), ("2026-06-01", True)])  # fmt: skip
def test_early_in_the_period_nothing_is_projected(now, there):
    found = analysis.usage(usage(), now=now)
    assert found["projected"].notna().any() == there
    assert found["elapsed"].between(0, 1).all()


def test_what_is_full_has_no_time_at_which_it_will_be():
    found = analysis.usage(usage(used=(1, 10, 0, 0)), now="2026-04-16")
    assert found["full_at"].isna().all()
    assert found["projected"].tolist()[2:] == [0.0, 0.0]


def test_what_cannot_be_read_is_refused():
    with pytest.raises(FrameError, match="limit"):
        analysis.usage(pd.DataFrame({"resource": ["a"], "used": [1]}))
    with pytest.raises(ValueError, match="now must be a time"):
        analysis.usage(usage(), now="soon")
