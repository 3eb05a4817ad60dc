"""True titles: the findings of optimizations, benchmarks, usage and the service's views, for drawn tables."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import analysis
from promptlift.analysis.findings import finding
from promptlift.frames import (
    fleet_table,
    production_metrics_table,
    step_failures_table,
    targets_table,
    top_issues_table,
)
from promptlift.schema.benchmarks import Benchmark
from support.synthetic_tables import usage
from support.synthetic_versions import variants
from support.true_sentences import NUMBER, agrees, check_finding, claims, value

NAMES = ("Ada", "Bea", "Cid", "Dan")
# A difference in points and half of its interval; some have none.
ESTIMATE = st.tuples(st.floats(-60, 60), st.floats(0.1, 40))
ESTIMATES = st.lists(ESTIMATE, min_size=1, max_size=4)
SHARE = st.tuples(st.integers(0, 200), st.integers(1, 200)).map(sorted).map(tuple)


def ends(row, column):
    return tuple(row[f"{column}{end}"] for end in ("", "_low", "_high"))


@given(ESTIMATES)
def test_targets(drawn):
    rows = [
        {"optimizationId": "o", "target": name, "original": 50.0, "variant": 50.0 + points, "points": points,
         "pointsLow": points - half, "pointsHigh": points + half, "intervalLevel": 0.95, "n": 90,
         "change": "improved" if points > half else "worse" if -points > half else "unclear"}
        for name, (points, half) in zip(NAMES, drawn, strict=False)
    ]  # fmt: skip
    table = analysis.targets(targets_table(rows)[0])
    said = finding(table)
    changed = {change: table[table["change"].eq(change)] for change in ("improved", "worse")}
    row = table.set_index("target").loc[re.search("“(.*?)”", said)[1]]
    check_finding(said, *ends(row, "difference"), decided=row["change"] != "unclear")
    assert claims(said) == any(map(len, changed.values()))
    if claims(said):
        improved, worse = (rows["difference"] for rows in changed.values())
        assert row["difference"] == (improved.max() if len(improved) else worse.min())
    if claims(said) and len(table) > 1:
        for word, change in (("improved", "improved"), ("became worse", "worse")):
            shown = re.search(rf"(\d+) {word}", said.partition(";")[2])
            assert int(shown[1] if shown else 0) == len(changed[change])


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(0, 100), st.floats(0, 1) | st.none()), min_size=6, max_size=6
    ),
    st.sets(st.integers(0, 5)),
)
def test_production_metrics(drawn, unknown):
    metrics = ("task_completion", "sentiment", "quality", "abandonment", "response_time", "length")
    rows = [
        {"metric": metric, "before": None if place in unknown else before, "after": after, "conversationsBefore": 90,
         "conversations": 60, "p": p, "level": 0.01, "regressed": place not in unknown and p is not None and p < 0.01}
        for place, (metric, (before, after, p)) in enumerate(zip(metrics, drawn, strict=True))
    ]  # fmt: skip
    table = analysis.production_metrics(production_metrics_table(rows)[0])
    said, harmed = finding(table), table[table["regressed"]]
    assert ("regressed" in said) == bool(len(harmed))
    if len(unknown) == 6:
        assert said == "Nothing to compare before and after yet"
    elif harmed.empty:
        assert re.match(rf"No harm was found in {6 - len(unknown)} metrics?", said)
    else:
        row = harmed.iloc[0]
        assert said.lower().startswith(row["metric"].replace("_", " "))
        before, after = re.search(rf"from ({NUMBER}).* to ({NUMBER}).*below 0.01\)", said).groups()
        agrees(before, row["before"])
        agrees(after, row["after"])
        assert all(metric.replace("_", " ") in said.lower() for metric in harmed["metric"])


@given(ESTIMATES)
def test_top_issues(drawn):
    rows = [
        {"issue": name, "frequency": 19, "impact": "low", "share": 10.0, "completionWith": 50.0, "completionWithout": 50.0,
         "impactPoints": points, "impactPointsLow": points - half, "impactPointsHigh": points + half}
        for name, (points, half) in zip(NAMES, drawn, strict=False)
    ]  # fmt: skip
    table = analysis.top_issues(top_issues_table(rows, prompt_id="p")[0])
    said, lower = finding(table), table[table["impact_points_high"] < 0]
    if lower.empty:
        assert said == "No issue goes clearly with lower task completion"
        return
    row = lower.iloc[0]
    assert f"“{row['issue']}”" in said
    check_finding(said, *ends(row, "impact_points"))
    more = re.search(r"; (\d+) more issues? goe?s? with", said)
    assert int(more[1] if more else 0) == len(lower) - 1


@given(st.lists(st.tuples(SHARE, st.floats(0, 0.5)), min_size=1, max_size=4))
def test_step_failures(drawn):
    rows = [
        {"step": name, "reached": n, "failures": failed, "failureRate": 100 * failed / n,
         "failureRateLow": 100 * failed / n * (1 - half), "failureRateHigh": 100 * failed / n + half * (100 - 100 * failed / n),
         "kinds": {}, "medianTurn": 4.0, "quotes": []}
        for name, ((failed, n), half) in zip(NAMES, drawn, strict=False)
    ]  # fmt: skip
    table = analysis.step_failures(step_failures_table(rows, prompt_id="p")[0])
    said, most = finding(table), table["failed"].max()
    if not most:
        assert said == "No step failed"
        return
    row = table.set_index("step").loc[re.match("“(.*?)”", said)[1]]
    assert row["failed"] == most
    also = re.search(r"and (\d+) more steps? fail most often", said)
    assert int(also[1] if also else 0) == table["failed"].eq(most).sum() - 1
    failed, n, *shares = re.search(
        rf": ({NUMBER}) of ({NUMBER}) .*\(({NUMBER})%, ({NUMBER})% to ({NUMBER})%\)", said
    ).groups()
    assert (value(failed), value(n)) == (row["failed"], row["n"])
    for text, number in zip(shares, ends(row, "failure_pct"), strict=True):
        agrees(text, number)


@given(st.lists(st.tuples(st.floats(5, 95), st.floats(0.1, 5)), min_size=1, max_size=4))
def test_the_fleet(drawn):
    drawn = sorted(drawn, reverse=True)
    rows = [
        {"id": name, "name": name, "rank": place, "taskCompletionRate": rate, "taskCompletionLow": rate - half,
         "taskCompletionHigh": rate + half, "conversations": 90, "failed": 9,
         "rankLow": 1 + sum(other - wide > rate + half for other, wide in drawn),
         "rankHigh": sum(other + wide >= rate - half for other, wide in drawn)}
        for place, (name, (rate, half)) in enumerate(zip(NAMES, drawn, strict=False), 1)
    ]  # fmt: skip
    table = analysis.fleet(fleet_table(rows)[0])
    said, best = finding(table), int(table["may_be_best"].sum())
    row = table.set_index("name").loc[re.search("“(.*?)”", said)[1]]
    assert row["completion_pct"] == table["completion_pct"].max()
    for text, number in zip(
        re.search(rf"({NUMBER})% \(({NUMBER})% to ({NUMBER})%\)", said).groups(),
        ends(row, "completion_pct"),
        strict=True,
    ):
        agrees(text, number)
    assert ("completes the most tasks" in said) == (best == 1 < len(table) and row["rank_high"] == 1)
    if best > 1:
        assert said.startswith(f"Any of {best} prompts may be the best")


def test_the_first_of_the_fleet_that_may_be_second_does_not_complete_the_most():
    rows = [
        {"id": name, "name": name, "rank": place, "rankLow": place, "rankHigh": 2, "taskCompletionRate": 90.0 - place,
         "conversations": 90, "failed": 9}
        for place, name in enumerate(("Ada", "Bea"), 1)
    ]  # fmt: skip
    assert finding(analysis.fleet(fleet_table(rows)[0])) == "“Ada” is measured highest, not clearly: 89%"


def test_a_fleet_without_ranks_has_no_best_prompt():
    rows = [
        {"id": name, "name": name, "rank": None, "rankLow": None, "rankHigh": None, "taskCompletionRate": rate,
         "conversations": 90, "failed": 9}
        for name, rate in (("Ada", 90.0), ("Bea", 40.0))
    ]  # fmt: skip
    assert finding(analysis.fleet(fleet_table(rows)[0])) == (
        "Which of 2 prompts completes the most cannot be told without outcomes, labels or a model"
    )


def test_no_step_fails_most_often_on_a_word_list():
    rows = [{"step": "answer", "reached": 90, "failures": 30, "kinds": {}}]
    table, _ = step_failures_table(rows, prompt_id="p")
    table.attrs["promptlift"] = {"analyser": "lexicon", "basis": "words"}
    assert finding(analysis.step_failures(table)) == (
        "Which step fails most often cannot be told without outcomes, labels or a model"
    )


@given(st.tuples(*[st.none() | st.integers(1, 5_000)] * 4))
def test_usage(limits):
    table = analysis.usage(usage(300, limits), now="2026-04-16")
    said = finding(table)
    limited = table[table["limit"].notna()]
    full = limited[limited["used"] >= limited["limit"]]
    soon = limited[limited["full_at"].notna()].sort_values("full_at")
    assert ("No resource has a limit" in said) == limited.empty
    assert said.startswith("Limit reached: ") == bool(len(full))
    if len(full):
        assert said.removeprefix("Limit reached: ").split(", ") == full["resource"].tolist()
    elif len(soon):
        assert said.lower().startswith(soon["resource"].iloc[0])
        assert f"around {soon['full_at'].iloc[0]:%d %b}" in said
        assert all(name in said for name in soon["resource"].iloc[1:])
    else:
        assert said.startswith("No ")


@given(ESTIMATES, st.booleans())
@pytest.mark.slow
def test_a_benchmark(drawn, cheap):
    arms = [
        {"number": place, "name": name, "llmModel": "m", "n": 90, "dropped": 0, "taskCompletion": 50.0,
         "taskCompletionLow": 40.0, "taskCompletionHigh": 60.0, "sentiment": 0.2, "quality": 70.0, "turns": 2.5,
         "inputTokens": 9, "outputTokens": 9, "tokensEstimated": False}
        for place, name in enumerate(("Zoe", *NAMES[: len(drawn)]))
    ]  # fmt: skip
    pairs = [
        {"number": place, "reference": 0, "n": 90, "n11": 90, "n10": 0, "n01": 0, "n00": 0, "points": points,
         "pointsLow": points - half, "pointsHigh": points + half, "p": 0.01, "pHolm": 0.04,
         "verdict": "better" if points > half else "worse" if -points > half else "unclear",
         "notWorse": points - half > -5, "notWorseP": 0.01}
        for place, (points, half) in enumerate(drawn, 1)
    ]  # fmt: skip
    results = {
        "arms": arms, "comparisons": pairs, "reference": 0, "margin": 5.0, "level": 0.95, "acceptable": [0],
        "cheapest": {"number": 0, "name": "Zoe", "basis": "price"} if cheap else None, "final": True,
        "warnings": [], "rehearsal": False,
    }  # fmt: skip
    table = analysis.benchmark(
        Benchmark.from_wire(
            {"id": "b", "name": "B", "status": "completed", "rehearsal": False, "results": results}
        )
    )
    said = finding(table)
    others = table[~table["is_reference"].astype(bool)].set_index("name")
    better = others[others["verdict"].eq("better")]
    named = others.loc[next(name for name in re.findall(r"\b(Ada|Bea|Cid|Dan)\b", said))]
    assert cheap or "cheapest" not in said
    said = (
        said.partition(";")[0] if claims(said) else said.removesuffix("; Zoe is the cheapest acceptable one")
    )
    if len(better):
        assert named["difference"] == better["difference"].max()
        check_finding(said, *ends(named, "difference"))
    elif others["not_worse"].any():
        assert said.startswith("No arm is better than Zoe; ")
        assert named["not_worse"]
        assert "a loss of 5 points is excluded" in said
    elif others["verdict"].eq("worse").all():
        assert named["difference"] == others["difference"].max()
        check_finding(said, *ends(named, "difference"))
    else:
        assert named["difference"] == others["difference"].max()
        check_finding(said, *ends(named, "difference"), decided=False)


@given(ESTIMATES, st.sampled_from([None, 0, 1]), st.floats(0.5, 1))
@pytest.mark.slow
def test_the_lift_of_variants(drawn, winner, confidence):
    table = variants(
        [
            {"optimization_id": "o", "variant_id": name, "name": name, "is_winner": place == winner, "stage": "confirm",
             "lift": lift, "lift_low": lift - half, "lift_high": lift + half, "interval_level": 0.9, "confidence": confidence}
            for place, (name, (lift, half)) in enumerate(zip(NAMES, drawn, strict=False))
        ]
    )  # fmt: skip
    table["uncertainty_source"] = "service"
    shown = analysis.variant_lift(table)
    said = finding(shown)
    row = shown.set_index("name").loc[re.search("“(.*?)”", said)[1]]
    won = shown["is_winner"].astype(bool).any()
    assert said.startswith("No winner was found") == (not won)
    assert bool(row["is_winner"]) == won
    if not won:
        assert row["lift"] == shown["lift"].max()
    assert (" more than the original" in said) == (won and row["lift_low"] > 0)
    texts = re.search(rf"({NUMBER})% .*?\(({NUMBER}) to ({NUMBER})\)", said).groups()
    for text, number in zip(texts, ends(row, "lift"), strict=True):
        agrees(text, number)
    if won:
        agrees(re.search(r"confidence (\d\.\d+)", said)[1], confidence)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.floats(0.5, 0.999))
@pytest.mark.slow
def test_the_confidence_in_a_winner(trace, threshold):
    table = variants([{"optimization_id": "o", "variant_id": "v", "name": "Ada"}])
    table.attrs["promptlift"] = {"optimization_id": "o", "trace": trace, "threshold": threshold}
    said = finding(analysis.variant_confidence(table))
    last, needed = re.search(rf"^Confidence ({NUMBER}).* the ({NUMBER}) that", said).groups()
    agrees(last, trace[-1])
    agrees(needed, threshold)
    assert f"after pass {len(trace)}" in said
    assert ("reaches" in said) == (trace[-1] >= threshold)
    assert ("below" in said) == (trace[-1] < threshold)


def test_two_confidences_that_look_alike_get_more_digits():
    table = variants([{"optimization_id": "o", "variant_id": "v", "name": "Ada"}])
    table.attrs["promptlift"] = {"optimization_id": "o", "trace": [0.8999], "threshold": 0.9}
    said = finding(analysis.variant_confidence(table))
    assert said == "Confidence 0.8999 after pass 1, below the 0.9000 that a winner needs"


def test_where_an_interval_is_missing_the_sentence_says_so():
    row = {"target": "Ada", "change": "unclear", "original_met": 1.0, "variant_met": 2.0, "points": 1.0,
           "points_low": None, "points_high": None, "interval_level": None, "n_pairs": 1}  # fmt: skip
    said = finding(analysis.targets(pd.DataFrame([row])))
    assert said.endswith("most for “Ada”, +1 point, without an interval")
