"""Completion: who counts, the interval, groups, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from promptlift.errors import FrameError
from support.synthetic_tables import conversations, small


def test_unfinished_and_unjudged_conversations_are_no_failures():
    table = small(
        status=["completed", "abandoned", "in_progress", "in_progress", "completed", None],
        task_completed=[True, False, True, None, None, True],
    )
    row = analysis.completion(table).iloc[0]
    assert row[["n", "completed", "n_missing", "n_in_progress"]].tolist() == [3, 2, 1, 2]
    assert row["rate"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("by", [None, "prompt_id", "llm_model"])
def test_completion_is_what_a_plain_groupby_gives(by):
    table = conversations(2_000)
    ended = table[(table["status"] != "in_progress") & table["task_completed"].notna()]
    keys = ended[by] if by else pd.Series("all", index=ended.index)
    expected = ended["task_completed"].astype(float).groupby(keys, dropna=False).agg(["size", "sum"])
    result = analysis.completion(table, by=by)
    assert result["n"].tolist() == expected["size"].tolist()
    assert result["completed"].tolist() == expected["sum"].tolist()
    low, high = proportion_confint(expected["sum"], expected["size"], method="wilson")
    np.testing.assert_allclose(result["rate_low"], low)
    np.testing.assert_allclose(result["rate_high"], high)
    assert int(result[["n", "n_missing", "n_in_progress"]].to_numpy().sum()) == 2_000


def test_missing_columns_are_named_with_the_way_out():
    with pytest.raises(
        FrameError, match=r"no column task_completed.*It has: status.*insights=True"
    ) as caught:
        analysis.completion(pd.DataFrame({"status": ["completed"]}))
    assert caught.value.missing == ("task_completed",)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"by": "model"}, FrameError, "no column model"),
        ({"by": "n"}, FrameError, "no column n"),
        ({"by": ["prompt_id", "model"]}, FrameError, "no column model"),
        ({"by": "issues"}, ValueError, "cannot name a group"),
        ({"level": 95}, ValueError, "between 0 and 1"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        analysis.completion(conversations(20), **options)


@pytest.mark.parametrize(
    ("analysers", "said"),
    [
        (["lexicon", "lexicon"], "lexicon"),
        (["llm:gpt-4o", "llm:qwen"], "llm"),
        (["lexicon", "llm:x"], "mixed"),
        ([None, "lexicon"], "lexicon"),
        ([None, None], None),
    ],
)
def test_the_analyser_is_carried_from_the_column(analysers, said):
    table = small(task_completed=[True, False], analyser=analysers)
    assert analysis.completion(table).attrs["promptlift"]["analyser"] == said
