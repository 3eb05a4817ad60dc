"""What production says of a live text: right tests, rare false alarms, all failures counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import fisher_exact, mannwhitneyu

from promptlift.service.deployments.findings import (
    OTHER,
    Judged,
    count_issues,
    issue_id,
    judge,
    metric_drops,
)


def conversations(n, failed, *, issue="No answer", sentiment=0.2):
    return [
        Judged(f"c{at}", at, at >= failed, sentiment + 0.01 * (at % 5), None if at >= failed else issue)
        for at in range(n)
    ]


@pytest.mark.parametrize(
    ("n0", "failed0", "n1", "failed1"), [(200, 40, 60, 30), (30, 3, 40, 3), (1000, 0, 30, 1), (5, 5, 120, 0)]
)
def test_the_p_values_are_those_of_scipy(n0, failed0, n1, failed1):
    before = conversations(n0, failed0)
    after = conversations(n1, failed1, sentiment=0.19)
    drops = metric_drops(before, after, check=1)
    table = [[n1 - failed1, failed1], [n0 - failed0, failed0]]
    completion = fisher_exact(table, alternative="less").pvalue
    sentiment = mannwhitneyu(
        [one.sentiment for one in after], [one.sentiment for one in before], alternative="less"
    ).pvalue
    smaller, larger = sorted((completion, sentiment))
    adjusted = {smaller: min(1.0, 2 * smaller), larger: min(1.0, max(2 * smaller, larger))}
    found = {drop.name: drop.p for drop in drops}
    assert found["task completion"] == pytest.approx(adjusted[completion], rel=1e-9)
    # The two-sided test that ours is half of takes its correction for continuity on the other side.
    assert found["sentiment"] == pytest.approx(adjusted[sentiment], abs=0.02)


def test_the_level_of_each_look_spends_five_percent_in_all():
    levels = [
        metric_drops(conversations(30, 3), conversations(30, 3), check=look)[0].level for look in (1, 2, 3)
    ]
    assert levels == pytest.approx([0.0228, 0.0233, 0.0240], abs=0.001)


@pytest.mark.slow
def test_a_text_that_harms_nothing_is_rarely_taken_back():
    """Over three looks at both metrics; 5 % are allowed, with the tolerance of 2,000 runs."""
    random = np.random.default_rng(20261)
    runs, alarms = 2_000, 0

    def some(n):
        done = random.random(n) < 0.75
        scores = np.clip(random.normal(0.2 + 0.3 * done, 0.4), -1.0, 1.0)
        return [
            Judged("", at, bool(ok), float(score), None if ok else "No answer")
            for at, (ok, score) in enumerate(zip(done, scores, strict=True))
        ]

    for _ in range(runs):
        before, after = some(150), some(120)
        alarms += any(judge(before, after[:n], verified=False).harmed for n in (30, 60, 120))
    assert alarms / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_a_real_harm_is_found():
    random = np.random.default_rng(7)
    found = 0
    for _ in range(200):
        sides = [random.random(n) < rate for n, rate in ((200, 0.8), (120, 0.55))]
        before, after = (
            [
                Judged("", at, bool(ok), 0.2 + random.normal(0, 0.1), None if ok else "x")
                for at, ok in enumerate(side)
            ]
            for side in sides
        )
        found += any(judge(before, after[:n], verified=False).harmed for n in (30, 60, 120))
    assert found >= 190


def test_a_tiny_drop_of_sentiment_is_no_harm():
    before, after = conversations(1000, 0, sentiment=0.50), conversations(1000, 0, sentiment=0.44)
    drop = metric_drops(before, after, check=3)[1]
    assert drop.p < drop.level
    assert not drop.is_harm
    assert judge(before, after, verified=False).status == "pending"
    worse = conversations(1000, 0, sentiment=0.39)
    assert judge(before, worse, verified=False).harmed


def test_the_issues_are_all_failures_whatever_they_are_called():
    random = np.random.default_rng(3)
    for _ in range(50):
        before, after = (
            [
                Judged("", at, bool(random.random() < 0.5), 0.0, random.choice([None, *"abcdefghijklmnop"]))
                for at in range(random.integers(1, 80))
            ]
            for _ in range(2)
        )
        rows = count_issues(before, after)
        assert sum(row.before_fail for row in rows) == sum(not one.completed for one in before)
        assert sum(row.after_fail for row in rows) == sum(not one.completed for one in after)
        assert len({row.issue for row in rows}) == len(rows) <= 11
        for row in rows:
            assert (row.before_n, row.after_n) == (len(before), len(after))


def test_a_judge_that_says_other_failures_itself_adds_up_too():
    before = [*conversations(10, 5, issue=OTHER), *conversations(10, 5)]
    assert [(row.issue, row.before_fail) for row in count_issues(before, [])] == [
        ("No answer", 5),
        (OTHER, 5),
    ]


def test_before_the_first_check_nothing_is_said():
    assert judge(conversations(50, 20), conversations(29, 29), verified=False).status == "pending"
    assert judge([], conversations(60, 60), verified=False).status == "pending"


@pytest.mark.parametrize(
    ("after", "failed", "status"),
    [
        (30, 1, "verified"),
        (30, 9, "pending"),
        (60, 24, "not_fixed"),
        (120, 30, "not_fixed"),
        (30, 25, "regressed"),
    ],
)
def test_failures_decide_the_verdict(after, failed, status):
    finding = judge(conversations(200, 80), conversations(after, failed), verified=False)
    assert finding.status == status
    assert (finding.reason is None) == (status == "pending")
    assert finding.harmed == (status == "regressed")
    assert finding.reduction_percent == pytest.approx(100 * (1 - failed / after / 0.4))


def test_no_failures_after_a_fix_are_a_reduction_of_one_hundred_percent():
    finding = judge(conversations(100, 30), conversations(60, 0), verified=False)
    assert (finding.status, finding.reduction_percent) == ("verified", 100.0)


def test_an_issue_has_one_id_whatever_its_case():
    assert issue_id("Late delivery") == issue_id("late Delivery") != issue_id("Later delivery")
    assert issue_id("\ud800")
