"""Issues and topics: counted once a conversation, ranked, with and without."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from promptlift import analysis
from support.synthetic_tables import TITLES, conversations, small


def by_hand():
    return small(
        conversation_id=["1", "2", "3", "4", "5", "6"],
        issues=[
            [{"title": "Wait", "severity": "low"}, {"title": " Wait ", "severity": "high"}],
            [{"title": "Wait", "severity": "medium"}, {"title": "Lie", "severity": "low"}],
            [],
            None,
            [{"title": "Lie", "severity": None}],
            [],
        ],
        task_completed=[False, True, True, True, None, False],
        status=["completed", "completed", "completed", "completed", "completed", "in_progress"],
        prompt_id=["a", "b", "a", "a", "b", "a"],
    )


def test_completion_with_and_without_counts_only_who_can_say():
    wait, lie = analysis.issues(by_hand()).to_dict("records")
    assert (wait["n_rated"], wait["completed"], wait["n_rated_without"], wait["completed_without"]) == (
        2,
        1,
        1,
        1,
    )
    assert (lie["n_rated"], lie["completed"], lie["n_rated_without"], lie["completed_without"]) == (
        1,
        1,
        2,
        1,
    )
    assert wait["rate"] == 0.5


@pytest.mark.parametrize("by", [None, "prompt_id"])
def test_the_counts_are_what_explode_gives(by):
    table = conversations(800)
    result = analysis.issues(table, by=by, top=None)
    long = table[table["issues"].notna()].explode("issues").dropna(subset="issues")
    long["issue"] = long["issues"].map(lambda issue: issue["title"])
    expected = long.groupby(["issue", *([by] if by else [])])["conversation_id"].nunique()
    got = result.set_index(["issue", *([by] if by else [])])["n"]
    assert got.sort_index().to_dict() == expected.sort_index().to_dict()
    low, high = proportion_confint(result["n"], result["total"], method="wilson")
    np.testing.assert_allclose(result["share_low"], low)
    np.testing.assert_allclose(result["share_high"], high)


def test_only_the_top_is_given_and_the_attributes_say_how_many_there_are():
    result = analysis.issues(conversations(300), top=2)
    assert len(result) == 2
    assert result["n"].is_monotonic_decreasing
    assert result.attrs["promptlift"]["n_titles"] == len(TITLES)


def test_an_issue_may_be_a_text_or_another_services_shape():
    cells = [
        ["Slow", {"issue": "Rude", "impact": "high"}, {"description": "x\ny"}, {"severity": "low"}, None, ""]
    ]
    result = analysis.issues(small(conversation_id=["1"], issues=cells, task_completed=[True]))
    assert result["issue"].tolist() == ["Rude", "Slow", "x y"]
    assert result["severity"].tolist()[0] == "high"


@pytest.mark.parametrize("top", [0, -1, 2.5, "ten"])
def test_a_top_that_is_no_count_is_refused(top):
    with pytest.raises(ValueError, match="top must be a whole number"):
        analysis.issues(by_hand(), top=top)


@pytest.mark.parametrize("cell", ["Wait", {"title": "Wait"}, 3])
def test_cells_that_are_no_lists_are_refused(cell):
    with pytest.raises(ValueError, match="must hold a list"):
        analysis.issues(small(conversation_id=["1"], issues=[cell], task_completed=[True]))
