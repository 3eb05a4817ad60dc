"""The numbers of the views of prompts and agents, by hand."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.settings import BusinessSettings
from promptlift.service import clock
from promptlift.service.actions.views import prompt_insights
from promptlift.service.actions.views.agent_insights import fleet_view, impact_view
from promptlift.service.actions.views.issues import (
    Example,
    costliest,
    effect,
    find_examples,
    find_issues,
    gain,
    issue_view,
)
from promptlift.service.actions.views.prompt_insights import recommendations
from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.insights.organization import Organization
from promptlift.service.store.aggregates import IssueSet, Totals
from promptlift.stats.differences import score_interval, stratified_difference

NONE = read_exclusions(None)
NOBODY = Organization()
DATED = (0, 10 * clock.DAY)


def totals(judged=100, done=60, **changes):
    values = {
        "total": judged, "completed": judged, "abandoned": 0, "judged": judged, "task_completed": done,
        "by_outcome": changes.get("judged", judged), "by_learned": 0, "by_words": 0,
        "positive": judged, "neutral": 0, "negative": 0, "scored_by_words": 0, "sentiment": 0.5, "sentiment_sd": 0.2,
        "response_seconds": 1.0, "message_count": 4.0,
    }  # fmt: skip
    return Totals(**(values | changes))


def together(n, failed, *titles, prompt="prm_1", model="small", topic="orders"):
    return IssueSet((prompt, model, topic), titles, n, n, failed)


def issues_of(*sets, judged=100, done=60):
    """The issues, where the rest of so many conversations have none."""
    n, failed = sum(one.judged for one in sets), sum(one.failed for one in sets)
    return find_issues([*sets, together(judged - n, judged - done - failed)], {}, NONE)


def test_a_conversation_with_two_wordings_of_an_issue_counts_once():
    sets = [
        together(6, 5, "Late delivery", "Slow shipping"),
        together(4, 3, "Delayed delivery"),
        together(2, 0, "Rude", "Late delivery"),
    ]
    late, rude = find_issues(sets, {}, NONE)
    assert (late.name, late.frequency, late.judged, late.failed) == ("Late delivery", 12, 12, 8)
    assert set(late.titles) == {"Late delivery", "Slow shipping", "Delayed delivery"}
    assert (rude.frequency, rude.failed) == (2, 0)


def test_impact_is_the_difference_of_completion_with_and_without():
    (issue,) = issues_of(together(20, 16, "Late delivery"))
    found = effect(issue, totals())
    # 4 of 20 with it, 56 of 80 without.
    assert (found.with_it, found.without, found.change) == pytest.approx((20.0, 70.0, -50.0))
    alone = stratified_difference([4], [20], [56], [80])
    assert (found.low, found.high) == pytest.approx((100 * alone.low, 100 * alone.high))
    assert found.impact == "high"
    # A fifth of the conversations, 50 points each.
    points, ends_low, ends_high = gain(issue, totals())
    assert points == pytest.approx(10.0)
    assert (ends_low, ends_high) == pytest.approx((-0.2 * found.high, -0.2 * found.low))


def test_an_issue_that_only_comes_with_a_weaker_model_or_a_harder_topic_has_no_impact():
    """Greetings are missed where more fails anyway, by the weak model and in refunds; of those who wait half as many complete."""
    rates = {
        ("weak", "refunds"): 20,
        ("weak", "orders"): 40,
        ("strong", "refunds"): 60,
        ("strong", "orders"): 80,
    }
    sets = []
    for place, ((model, topic), rate) in enumerate(rates.items()):
        for titles, share in (((), 1), (("Long wait",), 2)):
            for n, more in ((100, ()), (100 * (4 - place), ("No greeting",))):
                failed = n - n * rate // (100 * share)
                sets.append(together(n, failed, *titles, *more, model=model, topic=topic))
    judged = sum(one.judged for one in sets)
    figures = totals(judged, judged - sum(one.failed for one in sets))
    issues = {issue.name: issue for issue in find_issues(sets, {}, NONE)}
    greeting = issue_view(issues["No greeting"], figures, ())
    assert greeting.completion_with < greeting.completion_without - 5
    assert greeting.impact_points == pytest.approx(0.0)
    assert greeting.impact == "low"
    wait = issue_view(issues["Long wait"], figures, ())
    assert wait.impact == "high"
    assert wait.impact_points_low < wait.impact_points < wait.impact_points_high < 0.0
    assert [issue.name for issue, _ in costliest(issues.values(), figures)] == ["Long wait"]
    assert "with the same model and topic" in recommendations(figures, list(issues.values()), {}, NOBODY)[0]


def test_an_issue_of_every_conversation_has_the_impact_of_its_severity():
    # Nor has one whose conversations are all of a model that no other has.
    alone = find_issues([together(20, 16, "Slow", model="new"), together(80, 24)], {}, NONE)[0]
    assert effect(alone, totals()) is None
    issue = find_issues([together(100, 40, "Late delivery")], {}, NONE)[0]
    some = [
        Example(f"cnv_{place}", True, severity, None) for place, severity in enumerate(("low", "high", "low"))
    ]
    view = issue_view(issue, totals(), some)
    assert view.impact == "low"
    assert issue_view(issue, totals(), ()).impact == "medium"
    assert view.impact_points is view.completion_without is None


def test_recommendations_name_evidence_and_next_step_the_most_to_gain_first():
    figures = totals()
    issues = issues_of(
        together(40, 12, "Chatty"), together(20, 16, "Late delivery"), together(10, 9, "Wrong price")
    )
    document = json.dumps(
        {"issues": [{"title": "Late delivery", "severity": "low", "evidence": "three weeks!"}]}
    )
    examples = find_examples(
        issues, [("cnv_1", True, document), ("cnv_2", False, document)], read_exclusions(None)
    )
    said = recommendations(figures, issues, examples, NOBODY)
    assert [line.split('"')[1] for line in said] == ["Late delivery", "Wrong price"]
    first = said[0]
    for part in (
        "20 of 100 conversations had it",
        "20% of those that ended completed their task against 70% of the others",
        "-50 points",
        "They go together",
        "“three weeks!”",
        "Next: read cnv_2, cnv_1, then start an optimization",
    ):
        assert part in first


@pytest.mark.parametrize("by", ["words", "model"])
def test_who_found_the_issues_and_the_failures_too_weighs_nothing(by):
    figures = totals(by_outcome=0, by_words=100 if by == "words" else 0)
    issues = issues_of(together(30, 28, "Late delivery"), together(10, 8, "Wrong invoice"))
    assert costliest(issues, figures) == []
    example = Example("cnv_1", True, "low", None)
    view = issue_view(issues[0], figures, [example])
    assert (view.impact, view.impact_points, view.completion_without) == ("low", None, None)
    *looks, last = recommendations(figures, issues, {}, NOBODY)
    assert [said.split(":")[0] for said in looks] == ['Look at "Late delivery"', 'Look at "Wrong invoice"']
    assert "Their cost is unknown" in last
    assert "points" not in " ".join([*looks, last])
    impact = impact_view(
        figures, [], days=7, dated=DATED, business=BusinessSettings(value_per_conversation=2.0)
    )
    assert (impact.failed_conversations, impact.first_issue) == (40, None)
    # What a language model counts as failed has a price, what a word list counts has none.
    assert impact.cost == (None if by == "words" else 80.0)


def test_a_word_list_ranks_no_agents_and_knows_no_trend():
    counts = {"a": (10, 9), "b": (50, 10), "c": (20, 15)}
    view = fleet_view("a", counts, [], {}, ranked=False)
    assert (view.rank, view.rank_low, view.rank_high) == (None, None, None)
    assert [one.id for one in view.ranking] == ["b", "c", "a"]
    now, before = totals(done=80), totals(done=40, by_outcome=0, by_words=100)
    assert prompt_insights._task_completion(now, before).trend_points is None
    assert prompt_insights._task_completion(now, totals(done=40)).trend_points == pytest.approx(40.0)


def test_the_sentiment_of_a_word_list_has_no_trend():
    now, words = totals(sentiment=0.6), totals(sentiment=0.2, scored_by_words=1)
    assert (now.analyser, words.analyser, totals(scored_by_words=100).analyser) == ("llm", "mixed", "lexicon")
    for one, other in ((now, words), (words, now)):
        view = prompt_insights._sentiment(one, other)
        assert (view.trend, view.trend_score, view.previous_average) == ("+0.00", None, None)
        assert view.average == one.sentiment
    assert prompt_insights._sentiment(now, totals(sentiment=0.2)).trend == "+0.40"


def test_excluded_data_is_not_quoted_in_examples():
    issues = find_issues([together(1, 1, "Late delivery")], {}, NONE)
    issue = {"title": "Late delivery", "severity": "low", "evidence": "my name is Anna"}
    rows = [("cnv_1", False, json.dumps({"issues": [issue]}))]
    found = find_examples(issues, rows, read_exclusions("Anna"))
    assert found["Late delivery"][0].quote == "my name is [excluded]"


def test_an_agent_is_ranked_among_all_with_what_the_data_allow():
    counts = {"a": (100, 90), "b": (100, 85), "c": (50, 10)}
    shared = find_issues([together(5, 5, "Late", prompt="a"), together(7, 1, "Late", prompt="c")], {}, NONE)
    view = fleet_view("a", counts, shared, {"a": "Anna", "b": "Ben", "c": "Cleo"})
    assert (view.agents, view.rank, view.rank_low, view.rank_high) == (3, 1, 1, 2)
    assert view.conversation_share == pytest.approx(40.0)
    assert view.failure_share == pytest.approx(100 * 10 / 65)
    assert [one.name for one in view.ranking] == ["Anna", "Ben", "Cleo"]
    (late,) = view.shared_issues
    assert late.to_wire() == {
        "issue": "Late", "agents": 2, "agentNames": ["Cleo", "Anna"], "conversations": 12, "ownConversations": 5,
    }  # fmt: skip
    assert fleet_view("b", counts, shared, {}).shared_issues == []
    nobody = fleet_view("d", counts, shared, {})
    assert nobody.rank is None
    assert nobody.conversation_share == 0.0


def test_failures_cost_what_the_owner_says_they_are_worth():
    figures = totals(abandoned=3)
    costs = costliest(issues_of(together(20, 16, "Late delivery")), figures)
    view = impact_view(
        figures,
        costs,
        days=14,
        dated=DATED,
        business=BusinessSettings(value_per_conversation=5.0, currency="EUR"),
    )
    assert (view.failed_conversations, view.failures_per_week, view.abandoned_conversations) == (
        40,
        20.0,
        3,
    )
    assert (view.cost_per_week, view.cost, view.currency) == (100.0, 200.0, "EUR")
    first = view.first_issue
    assert first.issue == "Late delivery"
    assert (first.points, first.completion_without) == pytest.approx((10.0, 70.0))
    assert (first.excess_failures_per_week, first.excess_cost_per_week) == pytest.approx((5.0, 25.0))
    # Imported at one moment without dates: what it costs in all is known, what it costs a week is not.
    business = BusinessSettings(value_per_conversation=5.0)
    moment = impact_view(figures, costs, days=1, dated=(0, clock.DAY - 1), business=business)
    assert (moment.cost, moment.failures_per_week, moment.cost_per_week) == (200.0, None, None)
    assert moment.first_issue.excess_failures_per_week is moment.first_issue.excess_cost_per_week is None
    assert "no weekly figures" in moment.undated
    assert view.undated is None
    unknown = impact_view(figures, [], days=14, dated=DATED, business=BusinessSettings())
    assert unknown.cost is unknown.cost_per_week is unknown.first_issue is None


def test_a_trend_is_points_with_an_interval_and_zero_without_an_earlier_period():
    trend = prompt_insights._task_completion(totals(100, 60), totals(50, 25))
    assert trend.trend == "+10.0%"
    low, high = score_interval(60, 100, 25, 50)
    assert (trend.trend_points, trend.previous_rate) == pytest.approx((10.0, 50.0))
    assert (trend.trend_points_low, trend.trend_points_high) == pytest.approx((100 * low, 100 * high))
    for before in (None, totals(0, 0)):
        nothing = prompt_insights._task_completion(totals(), before)
        assert nothing.trend == "+0.0%"
        assert nothing.previous_rate is nothing.trend_points is None
        assert nothing.trend_points_low is nothing.trend_points_high is None
    # What rounds to zero has no minus.
    assert prompt_insights._task_completion(totals(3000, 1499), totals(3000, 1500)).trend == "+0.0%"


def test_the_trend_of_sentiment_has_welchs_interval():
    now, before = (
        totals(100, sentiment=0.4, sentiment_sd=0.3),
        totals(40, 20, sentiment=0.5, sentiment_sd=0.1),
    )
    trend = prompt_insights._sentiment(now, before)
    assert trend.trend == "-0.10"
    # The half width is 1.9776…, of 135.16 degrees of freedom, times the root of 0.3²/100 + 0.1²/40.
    assert trend.trend_score_high + 0.1 == pytest.approx(0.067066070522, abs=1e-9)
    assert trend.trend_score_high + trend.trend_score_low == pytest.approx(-0.2)
    assert prompt_insights._sentiment(now, None).trend == "+0.00"
    # Two equal scores each say nothing of the spread.
    few = prompt_insights._sentiment(
        totals(2, 1, sentiment_sd=0.0), totals(2, 1, sentiment=0.1, sentiment_sd=5e-9)
    )
    assert (few.trend, few.trend_score_low, few.trend_score_high) == ("+0.40", None, None)
