"""From a number of an analysis to the conversations that it counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations, small


def table(n=1200):
    found = conversations(n, prompts=("v1", "v2", "v3"), seed=5)
    found["metadata.channel"] = np.where(np.arange(n) % 3 == 0, "web", "phone")
    return found


DATA = table()


def test_of_pairs_only_the_rows_of_items_with_both_outcomes_are_given():
    data = small(
        conversation_id=[f"c{i}" for i in range(9)],
        prompt=["old"] * 4 + ["new"] * 5,
        task=["a", "b", "c", "d", "a", "b", "c", "e", None],
        task_completed=[True, False, None, True, True, True, True, False, True],
    )
    result = analysis.compare(data, by="prompt", pair="task", control="old")
    assert result["n_pairs"].tolist() == [2]
    assert analysis.conversations_of(result, data, "new")["conversation_id"].tolist() == ["c4", "c5"]
    assert analysis.conversations_of(result, data, "old")["conversation_id"].tolist() == ["c0", "c1"]


def test_rows_without_a_value_are_a_group_that_can_be_named():
    result = analysis.issues(DATA, by="llm_model")
    missing = result[result["llm_model"].isna()].iloc[0]
    for nothing in (None, float("nan"), pd.NA):
        found = analysis.conversations_of(result, DATA, missing["issue"], nothing)
        assert len(found) == missing["n"] > 0
        assert found["llm_model"].isna().all()


def test_an_engine_gives_its_own_rows():
    native = pl.from_pandas(DATA.drop(columns="topics")).lazy()
    for result, mark in (
        (analysis.issues(native, by="prompt_id"), ("Long wait", "v2")),
        (analysis.completion_trend(native, freq="W"), ("2026-02-04",)),
        (analysis.segments(native, by=["metadata.channel"]), ("metadata.channel", "web")),
        (analysis.compare(native, by="prompt_id", control="v1"), ("v2",)),
        (analysis.completion(native, by=["prompt_id", "metadata.channel"]), ("v1 · web",)),
    ):
        found = analysis.conversations_of(result, native, *mark)
        assert type(found) is type(native)
        frame = found.collect().to_pandas()
        same = analysis.conversations_of(result, DATA, *mark)
        assert sorted(frame["conversation_id"]) == sorted(same["conversation_id"])


def test_a_mark_that_matches_nothing_is_refused_with_near_names():
    result = analysis.issues(DATA, by="prompt_id")
    with pytest.raises(ValueError, match=r"no issue 'Refund refused'\. It has: 'Refund was refused'"):
        analysis.conversations_of(result, DATA, "Refund refused")
    with pytest.raises(ValueError, match=r"no group 'v4'\. It has: 'v"):
        analysis.conversations_of(result, DATA, "Long wait", "v4")
    with pytest.raises(ValueError, match="named by title, group, in this order"):
        analysis.conversations_of(result, DATA)
    trend = analysis.completion_trend(DATA, freq="D")
    with pytest.raises(ValueError, match="run from 2026-01-10 to 2026-03-1"):
        analysis.conversations_of(trend, DATA, "2025-12-31")
    with pytest.raises(ValueError, match="period must be a time"):
        analysis.conversations_of(trend, DATA, "v1")
    with pytest.raises(ValueError, match=r"such as analysis\.issues"):
        analysis.conversations_of(DATA, DATA, "Long wait")
    with pytest.raises(ValueError, match="no segment of llm_model 'gpt-5'"):
        analysis.conversations_of(analysis.segments(DATA), DATA, "llm_model", "gpt-5")
    bare = pl.from_pandas(DATA[["status", "task_completed"]])
    result = analysis.completion(bare)
    with pytest.raises(FrameError, match="conversation_id"):
        analysis.conversations_of(result, bare)
