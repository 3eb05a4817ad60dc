"""What plots say in words: names, counts, verdicts, what is left out, and why nothing is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

from promptlift import analysis, plots
from promptlift.errors import FrameError
from promptlift.frames import production_metrics_table, targets_table
from promptlift.plots.palette import SENTIMENT_COLORS
from support.drawn import points, said, words
from support.segmented import segmented
from support.sentences import PLOTS
from support.synthetic_tables import conversations, small

SLOW = {"title": "Slow", "severity": "high"}
JUDGED = small(conversation_id=["1"], started_at=["2026-01-01"], issues=[[]], task_completed=[True])
UNJUDGED = small(started_at=["2026-01-01"], sentiment=[None])


@pytest.mark.parametrize(
    ("name", "table", "options", "said"),
    [
        ("issues", conversations(0), {}, "No conversations with insights"),
        ("issues", JUDGED, {}, "No issues"),
        (
            "topics",
            JUDGED.assign(topics=[[]]),
            {},
            "No topics: too few conversations, or they share their words by chance only",
        ),
        ("changes", conversations(0), {"at": "2026-02-10"}, "No conversations with insights"),
        ("changes", JUDGED, {"at": "2026-02-10"}, "No issues"),
        ("changes", conversations(50), {"at": "2020-01-01"}, PLOTS["nothing to compare"]),
        ("sentiment_distribution", conversations(0), {}, "No conversations"),
        ("sentiment_distribution", UNJUDGED, {}, "No conversations with insights"),
        ("sentiment_trend", conversations(0), {}, "No conversations"),
        ("sentiment_trend", UNJUDGED, {}, "No conversations with insights"),
        ("completion_trend", conversations(0), {"by": "prompt_id"}, "No conversations"),
    ],
)
def test_with_nothing_to_draw_a_plot_says_why(name, table, options, said):
    ax = getattr(plots, name)(table, **options)
    assert said in words(ax)
    assert not points(ax) or said == PLOTS["nothing to compare"]


def test_changes_have_both_shares_and_the_periods_compared():
    table = small(
        conversation_id=[str(i) for i in range(100)],
        started_at=["2026-01-01"] * 50 + ["2026-01-20"] * 50,
        issues=[[SLOW] if i % 50 < (5 if i < 50 else 30) else [] for i in range(100)],
    )
    texts = words(plots.changes(table, at="2026-01-10"))
    assert {"Slow: more", "10.0% (5 of 50) to 60.0% (30 of 50)"} <= set(texts)
    compared = "Compared: until 10 Jan 2026 (n = 50) with from 10 Jan 2026 (n = 50), UTC. Observational"
    assert any(compared in text for text in texts)


def test_sentiments_have_counts_and_the_colours_of_their_labels():
    table = small(sentiment=["positive"] * 6 + ["negative"] * 2 + [None])
    ax = plots.sentiment_distribution(table, color={"positive": "black"})
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["negative\n2 of 8", "neutral\n0 of 8", "positive\n6 of 8"]
    assert ax.get_xlabel() == "Share of conversations (n = 8)"
    low, high = ax.get_xlim()
    assert low < 0  # room for a marker at 0 and 100%
    assert high > 1
    drawn = [line.get_color() for line in ax.lines]
    wanted = [SENTIMENT_COLORS["negative"], SENTIMENT_COLORS["neutral"], "black"]
    assert all(map(same_color, drawn, wanted))
    assert "1 without a sentiment" in said(ax)
    dated = table.assign(started_at=pd.to_datetime(["2026-01-01"] * 8 + [None], utc=True))
    trend = plots.sentiment_trend(dated.assign(sentiment=["positive"] * 7 + [None] * 2))
    assert "Not counted: 1 without a sentiment, 1 without a time." in said(trend)


def test_a_word_list_is_drawn_by_its_scores_around_the_usual_one_and_its_labels_nowhere():
    table = conversations(300, analyser="lexicon")
    spread = plots.sentiment_distribution(table, title="auto")
    expected = analysis.sentiment_distribution(table)
    assert [x for x, _ in points(spread)] == pytest.approx(expected["share"].tolist())
    assert all(same_color(line.get_color(), SENTIMENT_COLORS["neutral"]) for line in spread.lines)
    names = [label.get_text().partition("\n")[0] for label in spread.get_yticklabels()]
    assert names == ["far below", "below", "usual", "above", "far above"]
    usual = expected.attrs["promptlift"]["usual"]
    assert f"relative to the usual score of {usual:+.2f}" in said(spread)
    assert f"The usual score is the median, {usual:+.2f}." in said(spread)
    assert len(spread.conversations("far below usual")) == expected["n"].iloc[0]
    trend = plots.sentiment_trend(table, freq="W", title="auto")
    means = analysis.sentiment_trend(table, freq="W")["sentiment_mean"]
    assert [y for _, y in points(trend)] == pytest.approx(means.tolist())
    assert trend.get_ylabel() == f"Mean score, relative to the usual {usual:+.2f}"
    low, high = trend.get_ylim()
    assert low < -1 - usual < 1 - usual < high
    for ax in (spread, trend):
        assert "positive" not in said(ax)
        assert "negative" not in said(ax)


def test_segments_have_verdict_rule_and_what_may_be_missed():
    text = said(plots.segments(segmented(np.random.default_rng(0), planted="metadata.returning")))
    for part in (
        "returning yes · lower",
        "1 of 37 segments clearly differs: p of the score test below 0.05, adjusted for 37 comparisons",
        "not a cause", "Drops of less than 13 points may be missed.", "Only the 12 surest are shown.",
    ):  # fmt: skip
        assert part in text
    assert "llama · " not in text


def target(name, points=None, *, change="unclear", n=120):
    variant, low, high = (None,) * 3 if points is None else (50.0 + points, points - 5.0, points + 5.0)
    return {
        "optimizationId": "opt_1", "target": name, "change": change, "original": None if points is None else 50.0,
        "variant": variant, "points": points, "pointsLow": low, "pointsHigh": high, "intervalLevel": 0.95, "n": n,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("held", "by", "said"),
    [
        (None, "targets", "Whether the hypothesis held is open: “It helps.”"),
        (True, "taskCompletion", "The hypothesis held, measured by task completion: “It helps.”"),
        (False, "taskCompletion", "The hypothesis did not hold, measured by task completion: “It helps.”"),
    ],
)
def test_targets_have_what_changed_and_whether_the_hypothesis_held(held, by, said):
    rows = [
        target("Be polite", -2.0),
        target("Name the day", 15.0, change="improved"),
        target("<b>$x$</b>", n=0),
    ]
    for shown in (rows, []):
        table = targets_table(shown)[0]
        about = {"text": "It helps.", "held": held, "measuredBy": by}
        table.attrs["promptlift"] = {"table": "targets", "hypothesis": about}
        ax = plots.targets(table)
        assert sorted(points(ax)) == ([(-2.0, 1.0), (15.0, 2.0)] if shown else [])
        assert any(said in text for text in words(ax))
        rows_said = {
            "Name the day: improved",
            "50.0% → 65.0% · 120 pairs",
            "Be polite: unclear",
            "no pairs",
        }
        assert rows_said <= set(words(ax)) if shown else "This optimization has no targets" in words(ax)


def test_every_metric_is_on_its_own_scale_with_its_test():
    values = {"task_completion": (60.0, 40.0), "sentiment": (0.2, 0.1), "quality": (None, None)}
    rows = [
        {"metric": name, "before": before, "after": after, "conversationsBefore": 200, "conversations": 60,
         "p": 0.001 if name == "task_completion" else 1.0, "level": 0.008, "regressed": name == "task_completion"}
        for name, (before, after) in values.items()
    ]  # fmt: skip
    ax = plots.production_metrics(production_metrics_table(rows)[0])
    # Completion from 60 to 40 of 100 percent, sentiment from 0.2 to 0.1 between -1 and 1.
    assert points(ax, "|") == [pytest.approx((0.6, 2.0)), pytest.approx((0.6, 1.0))]
    assert points(ax, "o") == [pytest.approx((0.4, 2.0)), pytest.approx((0.55, 1.0))]
    assert {
        "Task completion: regressed",
        "60.0% → 40.0% · 200 and 60 conversations · p = 0.001 < 0.008",
        "Sentiment: no harm seen",
        "+0.20 → +0.10 · 200 and 60 conversations · p = 1 ≥ 0.008",
        "Quality: nothing to compare",
    } <= set(words(ax))
    nothing = words(plots.production_metrics(production_metrics_table([])[0]))
    assert "No look yet: the first is at 30 judged conversations" in nothing


def test_columns_that_are_missing_are_named():
    with pytest.raises(FrameError, match="points"):
        plots.targets(pd.DataFrame({"target": ["a"]}))
    with pytest.raises(FrameError, match="before"):
        plots.production_metrics(pd.DataFrame({"metric": ["length"]}))
