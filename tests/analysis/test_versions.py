"""The texts of a prompt."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.stats.differences import score_interval
from support.synthetic_tables import small
from support.synthetic_versions import versions

JANUARY = [f"2026-01-{day:02d}" for day in range(1, 31)]
TEXTS = versions(["2026-01-05", "2026-01-11", "2026-01-21"], origins=["created", "applied", "updated"])


def production(rates=(0.5, 0.8, 0.6), a_day=10):
    """Ten conversations a day in January; the share completed changes on the 11th and the 21st."""
    at = np.repeat(pd.to_datetime(JANUARY) + pd.Timedelta(hours=9), a_day)
    rate = np.repeat(np.repeat(rates, 10), a_day)
    done = np.tile(np.arange(a_day), 30) < rate * a_day
    return small(started_at=list(at), task_completed=list(done))


def test_each_text_has_the_conversations_that_began_while_it_was_live():
    found = analysis.prompt_timeline(production(), versions=TEXTS)
    assert found["number"].tolist() == [1, 2, 3]
    assert found["n"].tolist() == [100, 100, 100]
    assert found["rate"].tolist() == pytest.approx([0.5, 0.8, 0.6])
    low, high = score_interval(80, 100, 50, 100)
    assert found.loc[1, ["difference", "difference_low", "difference_high"]].tolist() == pytest.approx(
        [30.0, 100 * float(low), 100 * float(high)]
    )
    assert np.isnan(found.loc[0, "difference"])
    assert found["live_until"].tolist()[:2] == found["live_from"].tolist()[1:]
    assert pd.isna(found["live_until"].iloc[2])


def test_logs_older_than_the_prompt_belong_to_the_text_it_was_created_with():
    found = analysis.prompt_timeline(production(), versions=TEXTS)
    assert found.attrs["promptlift"]["first_reaches_back"]
    cut = TEXTS[TEXTS["number"] > 1]
    assert analysis.prompt_timeline(production(), versions=cut)["n"].tolist() == [100, 100]


def test_conversations_of_other_prompts_are_left_out_or_asked_about():
    table = production().assign(prompt_id=["a", "b"] * 150)
    with pytest.raises(ValueError, match="of 2 prompts"):
        analysis.prompt_timeline(table, versions=TEXTS)
    known = analysis.prompt_timeline(table, versions=TEXTS.assign(prompt_id="b"))
    assert known["n"].sum() == 150
    by_attribute = TEXTS.copy()
    by_attribute.attrs["promptlift"] = {"filters": {"prompt_id": "a"}}
    assert analysis.prompt_timeline(table, versions=by_attribute)["n"].sum() == 150
