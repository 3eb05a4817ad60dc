"""The findings in words agree with the tables: direction, number, strength, and nothing found."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import analysis
from promptlift.analysis.findings import finding
from support.every_plot import LONG, benchmark
from support.synthetic_tables import conversations, small, usage
from support.synthetic_versions import simulations, variants, versions

NUMBER = r"−?[\d,]*\.?\d+"


def numbers(text):
    return [float(found.replace("−", "-").replace(",", "")) for found in re.findall(NUMBER, text)]


def outcomes(**counts):
    """Make conversations of prompts, each with its completed and all of them."""
    rows = [(name, i < done) for name, (done, n) in counts.items() for i in range(n)]
    return small(
        prompt_id=[name for name, _ in rows],
        task_completed=[done for _, done in rows],
        created_at=["2026-01-01"] * len(rows),
        conversation_id=[str(i) for i in range(len(rows))],
    )


@given(
    st.tuples(st.integers(0, 40), st.integers(1, 40)),
    st.tuples(st.integers(0, 400), st.integers(1, 400)),
)
@pytest.mark.slow
def test_a_comparison_agrees_with_its_row(one, other):
    control, variant = ((min(part), max(part)) for part in (one, other))
    table = analysis.compare(outcomes(v1=control, v2=variant), by="prompt_id", control="v1")
    said, row = finding(table), table.iloc[0]
    column = "difference_points" if "difference_points" in table else "difference"
    value, low, high = (row[column + end] for end in ("", "_low", "_high"))
    claimed = " more than " in said or " less than " in said
    assert claimed == (row["verdict"] in ("winner", "worse") and not low <= 0 <= high)
    if claimed:
        assert (" more than " in said) == (value > 0)
        shown = numbers(said.replace("v1", "").replace("v2", ""))
        assert shown == pytest.approx(sorted(map(abs, (low, value, high)), key=lambda end: end != abs(value))[:1] + sorted(map(abs, (low, high))), abs=0.5)  # fmt: skip
        assert min(shown) > 0
    elif row["verdict"] == "no winner":
        assert said.startswith("No difference was found")
        # What contradicts its interval says why: too few.
        assert ("too few" in said) == (not low <= 0 <= high)
        assert ("higher" in said) <= (value > 0)
        assert ("lower" in said) <= (value < 0)


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)).map(sorted).map(tuple), min_size=1, max_size=4)
)
def test_the_trend_of_a_day_says_the_shares_of_its_table(groups):
    names = [f"p{chr(97 + place)}" for place in range(len(groups))]
    by = "prompt_id" if len(groups) > 1 else None
    table = analysis.completion_trend(outcomes(**dict(zip(names, groups, strict=True))), by=by, freq="D")
    said = finding(table)
    if by is None:
        row = table.iloc[0]
        shown = numbers(said)
        assert shown[0] == pytest.approx(100 * row["rate"], abs=0.51)
        assert shown[1] == row["n"]
        assert shown[2:] == pytest.approx([100 * row["rate_low"], 100 * row["rate_high"]], abs=0.51)
    elif len(groups) == 2:
        compared = finding(
            analysis.compare(outcomes(**dict(zip(names, groups, strict=True))), by=by, control=names[0])
        )
        assert said.startswith("No difference") == compared.startswith("No difference")
    else:
        rates = table["rate"].tolist()
        ends = numbers(re.sub(r"\(.*?\)", "", said))
        assert [ends[0], ends[-1]] == pytest.approx([100 * min(rates), 100 * max(rates)], abs=0.51)


def test_a_trend_is_said_with_its_slope_and_no_trend_too():
    rng = np.random.default_rng(1)
    days = np.repeat(pd.date_range("2026-01-01", periods=30), 40)
    for slope in (0.02, -0.02, 0.0):
        rate = 0.5 + slope * (np.repeat(np.arange(30), 40) - 15)
        table = small(
            started_at=list(days),
            task_completed=list(rng.random(1_200) < rate),
            conversation_id=["c"] * 1_200,
        )
        result = analysis.completion_trend(table, freq="D")
        (trend,) = result.attrs["promptlift"]["trends"]
        said = finding(result)
        word = {0.02: "rises", -0.02: "falls", 0.0: "No trend was found"}[slope]
        assert word in said
        shown = (
            f"{abs(trend['points_per_day']):.1f}"
            if slope
            else f"{100 * result['completed'].sum() / 1200:.0f}%"
        )
        assert shown in said


@pytest.mark.parametrize(("name", "label"), [("issues", "issue"), ("topics", "topic")])
def test_the_most_frequent_title_is_named_with_its_share(name, label):
    table = getattr(analysis, name)(conversations(400, seed=1))
    row = table.iloc[0]
    assert finding(table).startswith(
        f"“{row[label]}” is the most frequent {label}: {row['n']:,} of {row['total']:,} conversations "
    )
    assert f"({100 * row['share']:.0f}%, " in finding(table)


def test_one_group_is_not_said_to_be_between_itself_and_itself():
    several = conversations(400, seed=1)
    table = several[several["prompt_id"] == "a"].reset_index(drop=True)
    trend = analysis.sentiment_trend(table, by="prompt_id")
    n, mean = int(trend["sentiment_n"].sum()), table["sentiment_score"].mean()
    said = finding(trend, values=("score",))
    assert re.fullmatch(rf"The mean sentiment of {n:,} conversations of a is [+−]\d\.\d\d", said)
    assert float(said.rpartition(" ")[2].replace("−", "-")) == pytest.approx(mean, abs=0.006)


def test_one_conversation_is_said_in_the_singular():
    table = small(
        conversation_id=["1"],
        task_completed=[True],
        sentiment=["positive"],
        sentiment_score=[0.5],
        topics=[["A"]],
        created_at=["2026-01-01"],
    )
    assert finding(analysis.completion_trend(table)).startswith("100% of 1 conversation completed its task (")
    assert finding(analysis.sentiment_distribution(table)).startswith("Of 1 conversation, 0% is negative (")
    trend = analysis.sentiment_trend(table)
    assert finding(trend, values=("score",)) == "The mean sentiment of 1 conversation is +0.50"
    assert "1 of 1 conversation (" in finding(analysis.topics(table))


def test_titles_that_are_equally_frequent_are_not_ranked():
    cells = [[{"title": "A", "severity": "low"}, {"title": "B", "severity": "low"}]]
    table = small(conversation_id=["1"], issues=cells, task_completed=[True])
    assert finding(analysis.issues(table)).startswith("“A” and 1 other are the most frequent issues: 1 of 1")


def test_changes_are_said_only_where_the_table_has_one():
    for share in (0.1, 0.9):
        cells = [
            [{"title": "Slow", "severity": "low"}] if i % 10 < 1 + 9 * share * (i >= 100) else []
            for i in range(200)
        ]
        times = ["2026-01-01"] * 100 + ["2026-02-01"] * 100
        table = small(conversation_id=[str(i) for i in range(200)], issues=cells, started_at=times)
        result = analysis.issue_changes(table, at="2026-01-15")
        assert finding(result).startswith("“Slow” is more frequent") == (result["change"].iloc[0] == "more")
        assert finding(result).startswith("No change was found") == (result["change"].iloc[0] == "unclear")


EMPTY = conversations(0)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (analysis.completion_trend(EMPTY), "No ended conversations with insights"),
        (analysis.sentiment_distribution(EMPTY), "No conversations with insights"),
        (analysis.sentiment_trend(EMPTY), "No conversations with insights"),
        (analysis.issues(EMPTY), "No conversations with insights"),
        (analysis.issues(small(conversation_id=["1"], issues=[[]], task_completed=[True])), "No issue was found in 1 conversation with insights"),
        (analysis.persona_scenario_heatmap(simulations(0)), "No pairs of simulated conversations"),
        (analysis.benchmark(benchmark((), 0)), "Nothing is measured yet"),
        (analysis.usage(usage(0, ()), now="2026-04-16"), "No usage is reported"),
        (analysis.usage(usage(9, (None,) * 4), now="2026-04-16"), "No resource has a limit"),
        (analysis.usage(usage(9, (99, 999, 99, None)), now="2026-04-16"), "No limit is reached in this period at this rate"),
    ],
)  # fmt: skip
def test_where_there_is_nothing_the_sentence_says_so(table, said):
    assert finding(table) == said


def test_pairs_say_the_difference_of_all_of_them():
    for lift in (0.4, 0.0):
        table = analysis.persona_scenario_heatmap(simulations(200, lift=lift))
        row = table.iloc[0]
        sure = row["difference_low"] > 0
        assert finding(table).startswith("The variant completes ") == sure
        assert finding(table).startswith("No difference was found") == (not sure)
        assert f"{abs(row['difference']):.0f} point" in finding(table) or not row["difference"]
        assert finding(table).endswith("200 pairs")


def test_the_last_version_is_compared_with_the_one_before():
    texts = versions(["2026-01-20", "2026-02-01", "2026-02-12", "2026-03-01"])
    table = analysis.prompt_timeline(conversations(2_000, prompts=("a",)), versions=texts)
    row = table.iloc[-1]
    sure = not row["difference_low"] <= 0 <= row["difference_high"]
    assert ("No difference was found" in finding(table)) == (not sure)
    assert "ersion 4" in finding(table)


def test_a_winner_whose_interval_holds_0_is_not_said_to_be_higher():
    for low, claimed in ((2.0, True), (-2.0, False)):
        table = variants(
            [{"optimization_id": "o1", "variant_id": "v1", "name": "Short", "is_winner": True, "stage": "confirm", "lift": 9.0,
              "lift_low": low, "lift_high": 20.0, "interval_level": 0.9, "confidence": 0.93}]
        )  # fmt: skip
        table["uncertainty_source"] = "service"
        said = finding(analysis.variant_lift(table))
        assert ("completes 9% more than the original (2 to 20)" in said) == claimed
        assert ("is the winner" in said) != claimed
        assert "confidence 0.93" in said


def test_long_names_in_one_sentence_are_told_apart():
    said = finding(analysis.compare(conversations(2_000, prompts=LONG[:2]), by="prompt_id"))
    assert "Amsterdam" in said
    assert "Berlin" in said


def test_other_tables_have_no_finding():
    with pytest.raises(ValueError, match="result of an analysis that has a plot"):
        finding(pd.DataFrame({"a": [1]}))


def test_a_sentence_about_tone_says_which_share_was_compared():
    rows = [("v1", "negative", 10), ("v1", "positive", 90), ("v2", "negative", 12), ("v2", "positive", 88)]
    df = pd.DataFrame(
        [(prompt, label) for prompt, label, n in rows for _ in range(n)], columns=["prompt", "sentiment"]
    )
    said = finding(analysis.sentiment_distribution(df, by="prompt"))
    assert said.startswith(
        "No difference was found in the share of negative conversations: v2 2 points higher than v1 ("
    )
