"""Waiting for insights: counts are asked for, never rows, of our service and of one that knows no counts."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.errors import IncompleteError
from promptlift.local import wait_for_insights
from support.foreign_service import KEY, ForeignService


@pytest.fixture
def foreign():
    with ForeignService() as running:
        yield running


@pytest.fixture
def theirs(foreign):
    with promptlift.connect(foreign.base_url, KEY, progress=False) as workspace:
        yield workspace


def test_a_service_without_counts_is_asked_for_totals_and_not_for_rows(foreign, theirs):
    foreign.fill(1_000)
    foreign.fill(3, insights=False)
    looks = 0

    def judge_one(_method, path, _count):
        nonlocal looks
        looks += path == "/conversations"
        waiting = [row for row in foreign.rows if not row["hasInsights"]]
        if waiting and looks % 2 == 0:
            waiting[0]["hasInsights"] = True

    foreign.before = judge_one
    assert wait_for_insights(theirs, ["p1"], progress=False) == 1_003
    asked = [params for _, path, params in foreign.seen if path == "/conversations"]
    assert len(asked) >= 4
    assert {params["limit"] for params in asked} == {"1"}
    assert all(params["promptId"] == "p1" for params in asked)


def test_the_wait_is_given_up_when_nothing_new_comes(foreign, theirs):
    foreign.fill(2)
    foreign.fill(1, insights=False)
    with pytest.raises(
        IncompleteError, match=r"2 of 3 conversations have insights; there was no new one"
    ) as caught:
        wait_for_insights(theirs, ["p1"], patience=0.05, progress=False)
    assert caught.value.fetched == 2
