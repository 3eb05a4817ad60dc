"""What mending issues could give: the arithmetic, its interval, and the comparison with what a test can find."""

from __future__ import annotations

import re

import numpy as np
import pytest

from promptlift import analysis
from promptlift.analysis.mentions import ANY_ISSUE
from promptlift.stats import smallest_findable_points
from support.synthetic_tables import small


def table_of(*kinds):
    """Conversations by kind: issues, completed, how many."""
    rows = [(titles, completed) for titles, completed, count in kinds for _ in range(count)]
    return small(
        conversation_id=[str(number) for number in range(len(rows))],
        issues=[None if titles is None else [{"title": title} for title in titles] for titles, _ in rows],
        task_completed=[completed for _, completed in rows],
    )


def shop():
    """100 judged conversations: 60 of 80 without an issue completed, 5 of 15 that wait, 0 of 5 that also lie."""
    return table_of(
        ([], True, 60), ([], False, 20), (["Wait"], True, 5), (["Wait"], False, 10), (["Wait", "Lie"], False, 5),
        (None, None, 7),
    )  # fmt: skip


def test_without_an_issue_conversations_complete_like_those_that_do_not_have_it():
    result = analysis.headroom(shop())
    assert result["issue"].tolist() == [ANY_ISSUE, "Wait", "Lie"]
    assert result["n"].tolist() == [20, 20, 5]
    assert result["total"].tolist() == [100, 100, 100]
    assert result["share"].tolist() == [0.20, 0.20, 0.05]
    assert result["rate"].tolist() == [0.25, 0.25, 0.0]
    # All complete in 65%; those without an issue in 75%; those without a lie in 65 of 95.
    assert result["points"].tolist() == pytest.approx([10.0, 10.0, 100 * (65 / 95 - 0.65)])
    assert (result["points_low"] < result["points"]).all()
    assert (result["points"] < result["points_high"]).all()


def test_the_gain_is_compared_with_what_the_pairs_can_find():
    result = analysis.headroom(shop())
    found = smallest_findable_points(120, e_threshold=9.0, theta=0.67)
    assert result["points_findable"].tolist() == [found] * 3
    # The upper bound of 90% is 13.8 points, and 13.7 are found.
    assert result["enough"].tolist() == [True, True, False]
    # That of 95% on both sides reaches 15.8: what is only just possible is no reason to spend.
    fewer = analysis.headroom(shop(), pairs=110)
    assert fewer["points_findable"][0] < fewer["points_high"][0]
    assert not fewer["enough"].any()
    assert analysis.headroom(shop(), pairs=8_000)["enough"].all()


def test_where_all_have_an_issue_nothing_is_known():
    result = analysis.headroom(table_of((["Wait"], True, 3), (["Wait"], False, 5)))
    assert result["points"].isna().all()
    assert result["enough"].isna().all()


def world(rng, *, n=1_200, causes, confounded):
    """Conversations about two topics: an issue that makes them fail, or only comes with the harder topic."""
    hard = rng.random(n) < 0.5
    late = rng.random(n) < (np.where(hard, 0.6, 0.1) if confounded else 0.3)
    fails = (0.1 + 0.5 * hard if confounded else 0.2) + (0.4 * late if causes else 0.0)
    table = small(
        conversation_id=[str(number) for number in range(n)],
        issues=[[{"title": "Late"}] if one else [] for one in late],
        task_completed=list(rng.random(n) >= fails),
    )
    return table.assign(topics=[["refund"] if one else ["hours"] for one in hard], basis="outcome")


@pytest.mark.slow
def test_an_issue_that_causes_failures_has_a_contrast_of_its_size_and_a_hard_topic_explains_another():
    """Of 20 intervals of 95%, fewer than 17 hold the truth with a chance of 0.003."""
    held = {"difference_points": 0, "adjusted_points": 0, "confounded": 0}
    for seed in range(20):
        cause, confounded = (
            analysis.headroom(world(np.random.default_rng(seed), causes=causes, confounded=not causes))
            for causes in (True, False)
        )
        row, other = (result[result["issue"] == "Late"].iloc[0] for result in (cause, confounded))
        for name in ("difference_points", "adjusted_points"):
            assert row[f"{name}_high"] < -25
            held[name] += row[f"{name}_low"] <= -40 <= row[f"{name}_high"]
        assert other["difference_points_high"] < -10
        held["confounded"] += other["adjusted_points_low"] <= 0 <= other["adjusted_points_high"]
    assert min(held.values()) >= 17
    assert re.fullmatch(
        r"Conversations with “Late” fail (\d+) points more often than those without \(\d+ to \d+\); among those of the same "
        r"topic they fail \d+ points more often \(\d+ to \d+\)\.",
        cause.attrs["promptlift"]["sentences"][1],
    )
    assert confounded.attrs["promptlift"]["adjusted_for"] == ["topics"]
    sentence = confounded.attrs["promptlift"]["sentences"][1]
    assert "among those of the same topic they fail neither clearly more nor less often" in sentence


def test_an_issue_that_is_a_word_of_the_verdict_has_no_contrast():
    table = world(np.random.default_rng(1), causes=True, confounded=False).assign(basis="words")
    result = analysis.headroom(table)
    assert result[["difference_points", "adjusted_points", "points"]].isna().all(axis=None)
    assert (
        "whoever found it also said which conversations failed" in result.attrs["promptlift"]["sentences"][1]
    )
