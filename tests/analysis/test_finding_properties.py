"""True titles: for drawn conversations, the finding of each table has its direction, its numbers and its strength."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.analysis.sentences import other_difference_sentence
from promptlift.stats.differences import FEWEST
from support.segmented import segmented
from support.synthetic_tables import small
from support.synthetic_versions import simulations, variants, versions
from support.true_sentences import NUMBER, agrees, check, check_finding, claims, ends_of, value

LABELS = ("negative", "neutral", "positive")
OUTCOMES = st.tuples(st.integers(0, 60), st.integers(0, 60))
COUNTS = st.tuples(*[st.integers(0, 50)] * 3)


def told(counts, at="2026-01-01"):
    """Make conversations of each group with so many negative, neutral and positive ones."""
    rows = [(name, label) for name, of in counts.items() for label, n in zip(LABELS, of, strict=True) for _ in range(n)]  # fmt: skip
    return small(
        prompt_id=pd.Series([name for name, _ in rows], dtype="str"),
        sentiment=pd.Categorical([label for _, label in rows], categories=list(LABELS)),
        sentiment_score=np.array([LABELS.index(label) - 1.0 for _, label in rows]),
        created_at=[at] * len(rows),
        conversation_id=[str(i) for i in range(len(rows))],
    )


def done(spans):
    """Make conversations in each span of time with so many completed and not."""
    rows = [(at, yes) for at, counts in spans for yes, n in zip((True, False), counts, strict=True) for _ in range(n)]  # fmt: skip
    return small(
        prompt_id=pd.Series(["p"] * len(rows), dtype="str"),
        started_at=[at for at, _ in rows],
        task_completed=[yes for _, yes in rows],
        conversation_id=[str(i) for i in range(len(rows))],
    )


@given(COUNTS)
def test_shares_of_sentiments_are_those_of_the_table(counts):
    table = told({"a": counts})
    distribution = analysis.sentiment_distribution(table)
    trend = analysis.sentiment_trend(table, freq="D")
    said = finding(distribution)
    if not sum(counts):
        assert said == finding(trend) == "No conversations with insights"
        return
    assert finding(trend, values=("negative", "positive")) == said
    assert value(re.match(rf"Of ({NUMBER}) conversations?, ", said)[1]) == sum(counts)
    rows = distribution.set_index(distribution["sentiment"].astype("str"))
    for label in ("negative", "positive"):
        shown = re.search(rf"({NUMBER})% (?:are|is) {label} \(({NUMBER})% to ({NUMBER})%\)", said)
        for text, end in zip(shown.groups(), ("", "_low", "_high"), strict=True):
            agrees(text, 100 * rows.loc[label, f"share{end}"])
    mean = re.search(rf"is ({NUMBER})$", finding(trend, values=("score",)))
    agrees(mean[1], table["sentiment_score"].mean())


@given(COUNTS.filter(any), COUNTS.filter(any))
@pytest.mark.slow
def test_two_groups_differ_in_sentiment_only_where_their_comparison_says_so(first, second):
    table = told({"a": first, "b": second})
    row = analysis.compare(
        table.assign(negative=table["sentiment"].eq("negative")), by="prompt_id", outcome="negative", control="a"
    ).iloc[0]  # fmt: skip
    for said in (
        finding(analysis.sentiment_distribution(table, by="prompt_id")),
        finding(analysis.sentiment_trend(table, by="prompt_id", freq="D")),
    ):
        check_finding(said, *(row[f"difference_points{end}"] for end in ("", "_low", "_high")), decided=row["verdict"] != "no winner")  # fmt: skip


@given(st.lists(COUNTS.filter(any), min_size=3, max_size=4))
def test_of_more_groups_the_lowest_and_the_highest_are_said(groups):
    table = analysis.sentiment_distribution(told(dict(zip("abcd", groups, strict=False))), by="prompt_id")
    negative = table[table["sentiment"] == "negative"]
    shown = re.findall(rf"({NUMBER})% of [abcd] \(", finding(table))
    agrees(shown[0], 100 * negative["share"].min())
    agrees(shown[-1], 100 * negative["share"].max())
    assert not claims(finding(table))


@given(
    st.lists(st.sets(st.sampled_from("ABC")), min_size=1, max_size=40), st.sampled_from(["issues", "topics"])
)
def test_what_is_called_most_frequent_is_it(found, kind):
    cells = [
        [{"title": title, "severity": "low"} if kind == "issues" else title for title in sorted(one)]
        for one in found
    ]
    data = {
        "conversation_id": [str(i) for i in range(len(found))],
        kind: cells,
        "task_completed": [True] * len(found),
    }
    table = getattr(analysis, kind)(small(**data))
    said = finding(table)
    if table.empty:
        assert said.startswith(f"No {kind.removesuffix('s')} was found in {len(found)} conversation")
        return
    counts = table.set_index(table.columns[0])["n"]
    assert counts[re.match("“(.)”", said)[1]] == counts.max()
    others = re.search(r"and (\d+) others? ", said)
    assert int(others[1] if others else 0) == counts.eq(counts.max()).sum() - 1
    n, total, *shown = re.search(
        rf": ({NUMBER}) of ({NUMBER}) .*\(({NUMBER})%, ({NUMBER})% to ({NUMBER})%\)", said
    ).groups()
    assert (value(n), value(total)) == (counts.max(), len(found))
    row = table.iloc[0]
    for text, end in zip(shown, ("", "_low", "_high"), strict=True):
        agrees(text, 100 * row[f"share{end}"])


@given(
    st.integers(1, 80),
    st.integers(1, 80),
    st.lists(st.tuples(*[st.floats(0, 1)] * 2), min_size=1, max_size=3),
)
def test_a_change_is_said_only_where_the_table_has_it(before, after, shares):
    sides = [("2026-01-01", before, 0), ("2026-02-01", after, 1)]
    cells = [
        [title for title, both in zip("ABC", shares, strict=False) if i < both[side] * n]
        for _, n, side in sides
        for i in range(n)
    ]
    times = [at for at, n, _ in sides for _ in range(n)]
    table = analysis.topic_changes(
        small(conversation_id=[str(i) for i in range(len(cells))], topics=cells, started_at=times),
        at="2026-01-15",
    )
    said = finding(table)
    if table.empty:
        assert said == "No topics in either period"
        return
    row = table.set_index("topic").loc[re.search("“(.)”", said)[1]]
    ends = [row[f"difference{end}"] for end in ("", "_low", "_high")]
    changed = table["change"].ne("unclear") & ~(
        table["difference_low"].le(0) & table["difference_high"].ge(0)
    )
    check_finding(said, *ends, decided=row["change"] != "unclear")
    assert claims(said) == changed.any()
    if changed.any():
        assert abs(ends[0]) == table.loc[changed, "difference"].abs().max()
        more = re.search(r"; (\d+) more changed", said)
        assert int(more[1] if more else 0) == changed.sum() - 1


@given(st.lists(OUTCOMES, min_size=2, max_size=4))
def test_a_version_is_compared_with_the_one_before_as_the_table_does(counts):
    days = [f"2026-01-{10 * place + 1:02}" for place in range(len(counts))]
    table = analysis.prompt_timeline(
        done([(f"{day} 12:00", one) for day, one in zip(days, counts, strict=True)]), versions=versions(days)
    )
    said = finding(table)
    compared = table[table["difference"].notna()]
    if compared.empty:
        assert said.startswith("No ")
        assert not claims(said)
        return
    place = compared.index[-1]
    row, n = table.loc[place], table.loc[place - 1 : place, "n"]
    assert f"version {place + 1}" in said.lower()
    if n.min() < FEWEST:
        assert said.startswith("Too few conversations")
        assert said.endswith(f": {n.iloc[1]} and {n.iloc[0]}")
    else:
        check_finding(
            said.replace(f"ersion {place + 1}", ""),
            *(row[f"difference{end}"] for end in ("", "_low", "_high")),
        )


@given(OUTCOMES, OUTCOMES, st.floats(-40, 40))
@pytest.mark.slow
def test_what_happened_after_an_apply_is_said_as_the_table_has_it(before, after, lift):
    applied = variants([{"optimization_id": "o", "variant_id": "v", "name": "Short", "lift_points": lift, "n_pairs": 90,
                         "lift_low": lift - 5, "lift_high": lift + 5, "interval_level": 0.9}])  # fmt: skip
    table = analysis.simulated_vs_production(
        applied, done([("2026-01-05", before), ("2026-01-25", after)]), applied_at="2026-01-15"
    )
    (row,), said = table.to_dict("records"), finding(table)
    said, _, predicted = said.partition("; simulated ")
    agrees(predicted, row["predicted"])
    assert "“Short”" in said
    if not (sum(before) and sum(after)):
        assert said.startswith("Production cannot be compared yet")
    elif min(sum(before), sum(after)) < FEWEST:
        assert said == f"Too few conversations to see a change: {sum(before)} before and {sum(after)} after “Short” was applied"  # fmt: skip
    else:
        check_finding(said, *(row[f"difference{end}"] for end in ("", "_low", "_high")))


@given(st.tuples(*[st.integers(0, 40)] * 4).filter(any))
@pytest.mark.slow
def test_pairs_are_said_as_the_table_has_them(cells):
    pairs = [pair for pair, n in zip(((1, 1), (0, 1), (1, 0), (0, 0)), cells, strict=True) for _ in range(n)]
    table = simulations(len(pairs))
    table["task_completed"] = pd.array([bool(one) for pair in pairs for one in pair], "boolean")
    result = analysis.persona_scenario_heatmap(table)
    row, said = result[result["part"] == "all"].iloc[0], finding(result)
    said, _, n = said.rpartition(", ")
    assert n == ("1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs")
    check_finding(said, *(row[f"difference{end}"] for end in ("", "_low", "_high")))


@given(st.integers(0, 10_000), st.lists(st.floats(-0.03, 0.03), min_size=1, max_size=3))
@pytest.mark.slow
def test_a_trend_is_said_as_its_test_found_it(seed, slopes):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(20), 10)
    parts = [
        small(
            prompt_id=["abc"[place]] * len(day),
            started_at=pd.Timestamp("2026-01-01") + pd.to_timedelta(day, "D"),
            task_completed=list(rng.random(len(day)) < 0.5 + slope * (day - 10)),
            conversation_id=[f"{place}-{i}" for i in range(len(day))],
        )
        for place, slope in enumerate(slopes)
    ]
    by = "prompt_id" if len(slopes) > 1 else None
    table = analysis.completion_trend(pd.concat(parts), by=by, freq="D")
    trends, said = table.attrs["promptlift"]["trends"], finding(table)
    shown = re.findall(rf"(\S+) (rises|falls) by ({NUMBER}) points? a day \(({NUMBER}) to ({NUMBER})\)", said)
    found = [trend for trend in trends if trend["is_trend"]]
    more = re.search(r"; (\d+) more rise or fall", said)
    assert len(shown) + int(more[1] if more else 0) == len(found)
    for trend, (name, way, *texts) in zip(found, shown, strict=False):
        assert by is None or name == trend["group"]
        slope, low, high = (trend[key] for key in ("points_per_day", "points_low", "points_high"))
        assert not low <= 0 <= high
        assert way == ("rises" if slope > 0 else "falls")
        for text, number in zip(texts, (abs(slope), *sorted((abs(low), abs(high)))), strict=True):
            agrees(text, number)


@given(st.integers(0, 10_000), st.floats(0.3, 1), st.sampled_from([120, 600]))
@pytest.mark.slow
def test_a_segment_is_said_to_differ_only_where_the_table_says_so(seed, low, n):
    data = segmented(np.random.default_rng(seed), n, planted="metadata.returning", low=low)
    table = analysis.segments(data, by=["llm_model", "metadata.returning", "metadata.channel"])
    verdicts = {"lower": "worse", "higher": "winner", "unclear": "no winner"}
    for row, sentence in zip(table.to_dict("records"), table.attrs["promptlift"]["sentences"], strict=True):
        check(sentence, row | {"verdict": verdicts[row["verdict"]]})
    said, found = finding(table), table[table["verdict"] != "unclear"]
    assert claims(said) == bool(len(found))
    if found.empty:
        assert said.startswith(f"None of {len(table)} segments clearly differs from the rest")
        return
    row = found.iloc[0]
    assert said.startswith(f"“{row['column']}: {row['segment']}” completes ")
    check_finding(said, *(row[f"difference_points{end}"] for end in ("", "_low", "_high")), decided=True)
    others = re.search(r"; (\d+) more of (\d+) segments", said)
    assert (int(others[1]) if others else 0) == len(found) - 1


@given(
    st.sampled_from(["issue", "topic", "measure", "segment"]),
    *[st.integers(-80_000, 80_000).map(lambda n: n / 1000)] * 3,
    st.sampled_from(["clear", "unclear"]),
)
def test_what_else_differs_is_said_as_the_table_has_it(kind, difference, one, other, verdict):
    low, high = sorted((one, other))
    assume(low <= difference <= high)
    row = {
        "kind": kind, "name": "Delay", "difference": difference, "difference_low": low, "difference_high": high,
        "value": 4.0, "value_control": 4.0 - difference, "verdict": verdict, "p_holm": 0.2,
    }  # fmt: skip
    said = other_difference_sentence(row, {"variant": "b", "control": "a", "level": 0.95, "n_tests": 7})
    clear = not low <= 0 <= high
    if verdict == "unclear" and kind != "measure":
        assert said.startswith("No clear difference")
    if not clear:
        assert not claims(said)
        assert "is another" not in said
    elif verdict == "clear" and kind in ("issue", "topic"):
        check_finding(said, difference, low, high, decided=True)
    elif verdict == "clear" and kind == "measure":
        assert ("higher" in said, "lower" in said) == (difference > 0, difference < 0)


def test_the_interval_of_a_finding_can_be_read():
    assert ends_of("a completes 3 points more than b (1 to 5)") == ("3", "1", "5")
    with pytest.raises(AssertionError):
        check_finding("a completes 3 points more than b (1 to 5)", -3.0, -5.0, -1.0)
