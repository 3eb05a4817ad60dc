"""What production says of a live text: right tests, rare false alarms, all failures counted."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift.service.deployments.findings import all_failures, judge
from promptlift.service.store.deployments import JudgedConversation
from promptlift.stats.production import look_number


def conversations(n, failed, *, issue="No answer", sentiment=0.2):
    return [
        JudgedConversation(
            f"c{at}", at, at >= failed, sentiment + 0.01 * (at % 5), issue=None if at >= failed else issue
        )
        for at in range(n)
    ]


def test_before_the_first_check_nothing_is_said():
    assert judge(conversations(50, 20), conversations(29, 29)).status == "pending"
    assert judge([], conversations(60, 60)).status == "pending"
    # A rare failure that is not seen again is verified once enough was seen.
    before = conversations(100, 2)
    assert judge(before, conversations(120, 0)).status == "pending"
    assert judge(before, conversations(1_920, 0)).status == "verified"


@pytest.mark.parametrize(
    ("after", "failed", "status"),
    [
        (30, 1, "verified"),
        (60, 0, "verified"),
        (30, 9, "pending"),
        (60, 24, "not_fixed"),
        (120, 30, "not_fixed"),
    ],
)
def test_failures_decide_the_verdict(after, failed, status):
    finding = judge(conversations(200, 80), conversations(after, failed))
    assert finding.status == status
    assert (finding.reason is None) == (status == "pending")
    assert not finding.harmed
    assert all_failures(finding.issues).reduction_percent == pytest.approx(100 * (1 - failed / after / 0.4))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ({"sentiment": -0.4}, "sentiment fell from +0.52 to -0.40"),
        ({"quality": 60.0}, "quality fell from 80.0 to 60.0"),
        ({"abandonment": True}, "abandonment rose from 0.0% to 100.0%"),
        ({"response_time": 4.0}, "response time rose from 2.0 s to 4.0 s"),
        ({"length": 12}, "length rose from 6.0 messages to 12.0 messages"),
    ],
)
def test_any_metric_that_regresses_is_harm(harm, said):
    good = {"quality": 80.0, "response_time": 2.0, "length": 6}
    before = [one._replace(**good) for one in conversations(200, 80, sentiment=0.5)]
    after = [one._replace(**{**good, **harm}) for one in conversations(40, 10, sentiment=0.5)]
    finding = judge(before, after)
    assert len(finding.metrics) == 6
    assert len(finding.harmed) == 1
    assert said in finding.reason


def test_what_two_judges_say_is_not_compared():
    """An operator connects a stricter judge: that is no harm of the text. What no judge says is compared on."""
    before = [one._replace(analyser="lexicon", length=4) for one in conversations(200, 20)]
    after = [one._replace(analyser="lexicon", length=4) for one in conversations(60, 6)]
    stricter = [
        one._replace(analyser="llm:strict", length=4) for one in conversations(60, 50, sentiment=-0.5)
    ]
    finding = judge(before, [*after, *stricter])
    assert (finding.harmed, finding.status) == ((), "pending")
    longer = [one._replace(length=12) for one in stricter]
    assert [change.metric for change in judge(before, [*after, *longer]).harmed] == ["length"]
    same = [one._replace(analyser="lexicon") for one in stricter]
    harmed = {change.metric for change in judge(before, [*after, *same]).harmed}
    assert harmed == {"task_completion", "sentiment"}


def test_only_a_fix_that_was_verified_can_regress():
    before, after = conversations(200, 80), conversations(60, 55)
    for verification, status in (("verified", "regressed"), ("not_fixed", "not_fixed")):
        finding = judge(before, after, verification=verification, verified_at=30, last_count=30)
        assert (finding.status, bool(finding.harmed)) == (status, True)
        assert finding.reason.startswith("Worse in production than before the change: task completion fell")
    never = judge(before, after)
    assert never.harmed
    assert never.status != "regressed"


@pytest.mark.slow
def test_a_verified_fix_that_keeps_working_is_rarely_called_regressing():
    """Over 100 days after fixes that halve failures and a little more, so that verification itself was lucky."""
    random = np.random.default_rng(41)
    verified = regressed = 0
    for _ in range(80):
        before = some_with(random, 200, 0.4)
        after, status, verified_at, last = [], "pending", 0, 0
        for count in range(30, 1_501, 30):
            after += some_with(random, 30, 0.17)
            if look_number(count) == look_number(last):
                continue
            finding = judge(before, after, verification=status, verified_at=verified_at, last_count=last)
            if status == "pending" and finding.status == "verified":
                verified, verified_at = verified + 1, count
            regressed += finding.status == "regressed"
            status, last = finding.status, count
            if status in ("regressed", "not_fixed"):
                break
    assert verified >= 50
    assert regressed / verified <= 0.05


def some_with(random, count, rate):
    return [
        JudgedConversation("", at, bool(ok), 0.2 + random.normal(0, 0.1), issue=None if ok else "x")
        for at, ok in enumerate(random.random(count) >= rate)
    ]
