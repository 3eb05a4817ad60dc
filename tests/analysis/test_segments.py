"""Segments: what goes with failure, found when it is there and not when it is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from support.hostile import PAYLOADS
from support.segmented import segmented

TABLES = 40


def conversations(n=200, **columns):
    done = np.arange(n) % 4 != 0
    return pd.DataFrame({"status": "completed", "task_completed": pd.array(done, "boolean"), **columns})


def only(table, column):
    return table[table["column"] == column].set_index("segment")


@pytest.mark.slow
def test_a_planted_segment_is_found_and_nothing_where_there_is_nothing():
    """0.75 against 0.90 with 300 a side among some 40 segments; tests/benchmarks has 2,000 tables.

    40 tables with a true power of 0.9 find fewer than 30 with a probability of 0.002; more than 7 false alarms of a true
    rate of 0.05 have 0.0004.
    """
    rng = np.random.default_rng(10)
    found = alarms = 0
    for _ in range(TABLES):
        table = analysis.segments(segmented(rng, planted="metadata.returning"))
        assert 35 <= len(table) <= 45
        found += only(table, "metadata.returning").loc["yes", "verdict"] == "lower"
        alarms += analysis.segments(segmented(rng, rate=0.825))["verdict"].ne("unclear").any()
    assert found >= 30
    assert alarms <= 7


def test_each_row_is_the_segment_against_its_rest():
    rng = np.random.default_rng(1)
    table = segmented(rng, planted="metadata.returning")
    result = analysis.segments(table)
    for topic in ("refund", "login"):
        inside = table["topics"].map(lambda topics, topic=topic: topic in topics).to_numpy()
        assert only(result, "topics").loc[topic, "n"] == inside.sum()
    compared = analysis.compare(
        table.assign(run=table["llm_model"].eq("llama").map({True: "llama", False: "rest"})),
        by="run",
        control="rest",
    ).iloc[0]
    row = only(result, "llm_model").loc["llama"]
    for name in (
        "n",
        "completed",
        "difference_points",
        "difference_points_low",
        "difference_points_high",
        "p",
        "rate_low",
    ):
        assert row[name] == pytest.approx(compared[name])


def test_of_a_segment_and_its_rest_the_one_that_fails_more_often_is_shown():
    table = conversations(flag=np.arange(200) % 2 == 0, model=np.repeat(["a", "b", "c", "d"], 50))
    for failing, shown in ((True, "yes"), (False, "no")):
        failed = (table["flag"] == failing) & (np.arange(200) % 5 < 3)
        result = analysis.segments(table.assign(task_completed=pd.array(~failed, "boolean")))
        assert list(only(result, "flag").index) == [shown]
        assert len(result) == result.attrs["promptlift"]["n_tests"] == 5


def test_the_smallest_values_are_merged_and_named():
    names = [f"shop {i}" for i in range(30)]
    shop = ["big"] * 100 + ["middle"] * 40 + names * 2
    result = analysis.segments(conversations(shop=shop))
    rows = only(result, "shop")
    assert list(rows.sort_values("n").index) == ["middle", "other (30 values)", "big"]
    assert rows.loc["other (30 values)", ["n", "n_merged"]].tolist() == [60, 30]
    assert sorted(result.attrs["promptlift"]["merged"]["shop"]) == sorted(names)


def test_what_cannot_be_split_is_named_with_the_reason():
    table = conversations(
        empty=pd.Series([None] * 200, dtype=object),
        same="x",
        user_name=[f"user {i}" for i in range(200)],
        odd=[{"a": 1}] * 200,
        nearly=["a"] * 195 + ["b"] * 5,
        metadata=[["x"]] * 200,
    )
    result = analysis.segments(table)
    assert result.empty
    assert list(result.columns[:3]) == ["column", "segment", "verdict"]
    assert result.attrs["promptlift"]["left_out"] == {
        "empty": "no conversation has a value",
        "same": "all conversations have the same value",
        "user_name": "no value has 20 conversations, with as many in the rest",
        "odd": "it holds lists or other values that cannot name a segment",
        "nearly": "no value has 20 conversations, with as many in the rest",
        "metadata": "it holds lists or other values that cannot name a segment",
    }
    assert "No column has two segments" in result.attrs["promptlift"]["summary"]


def test_columns_that_say_the_same_are_one_and_the_plainest_is_named():
    rng = np.random.default_rng(8)
    turns = rng.integers(2, 40, 200)
    model = rng.choice(["gpt", "llama"], 200)
    columns = {
        "metadata.run": np.where(model == "gpt", "a", "b"),
        "tokens": turns * 80 + rng.integers(0, 200, 200),
        "metadata.elapsed": turns * 1.5 + rng.random(200),
        "n_turns": turns,
        "llm_model": model,
        "latency_ms": rng.integers(1, 1_000, 200),
    }
    table = conversations(**columns)
    result = analysis.segments(table)
    assert set(result["column"]) == {"n_turns", "llm_model", "latency_ms"}
    said = {
        "tokens": "it says the same as n_turns",
        "metadata.elapsed": "it says the same as n_turns",
        "metadata.run": "it says the same as llm_model",
    }
    assert result.attrs["promptlift"]["left_out"] == said
    again = analysis.segments(pl.from_pandas(table).lazy())
    pd.testing.assert_frame_equal(again, result, check_dtype=False)
    asked = analysis.segments(table, by=["tokens", "n_turns", "metadata.run", "llm_model"])
    assert set(asked["column"]) == {"tokens", "n_turns", "metadata.run", "llm_model"}


def test_conversations_of_one_task_count_together():
    """A task that is played ten times shows the difficulty of one task; two models that play the same tasks are pairs."""
    rng = np.random.default_rng(5)
    task = np.repeat(np.arange(40), 10)
    hard = rng.random(40) < 0.5
    done = rng.random(400) < np.where(hard[task], 0.05, 0.95)
    # What goes with the tasks only by chance, and a model that does worse on each.
    kind = np.where(np.argsort(np.argsort(hard + rng.random(40)))[task] < 20, "easy", "hard")
    model = np.where(np.arange(400) % 2, "x", "y")
    done &= ~((model == "x") & (rng.random(400) < 0.25))
    table = conversations(400, topic=kind, llm_model=model).assign(task_completed=pd.array(done, "boolean"))
    apart = analysis.segments(table)
    alone = only(apart, "llm_model")
    tasks = table.assign(**{"metadata.taskId": task})
    found = analysis.segments(tasks)
    assert found.attrs["promptlift"]["task"] == "metadata.taskId"
    assert set(found["column"]) == {"topic", "llm_model"}
    model = only(found, "llm_model")
    assert model.loc["x", "difference_points"] == alone.loc["x", "difference_points"]
    assert model.loc["x", "p"] < alone.loc["x", "p"] / 2

    def width(table):
        (row,) = only(table, "topic").to_dict("records")
        return row["difference_points_high"] - row["difference_points_low"]

    assert width(found) > 2 * width(apart)
    pd.testing.assert_frame_equal(analysis.segments(pl.from_pandas(tasks).lazy()), found, check_dtype=False)
    few = tasks.assign(**{"metadata.taskId": np.where(kind == "hard", task % 4, task)})
    assert only(analysis.segments(few), "topic")["verdict"].tolist() == ["unclear"]


@pytest.mark.parametrize("basis", ["model", "words"])
def test_no_segment_is_named_by_a_judge_that_nothing_proves(basis):
    table = conversations(channel=["a"] * 100 + ["b"] * 100, basis=basis)
    table["task_completed"] = pd.array([True] * 100 + [False] * 60 + [True] * 40, "boolean")
    found = analysis.segments(table)
    assert set(found["verdict"]) <= {"unclear"}
    if basis != "words":
        assert found.attrs["promptlift"]["summary"].startswith(
            "The only segment of 200 conversations is not named: nothing shows that the judge is right."
        )
    assert analysis.segments(table.assign(basis="outcome"))["verdict"].tolist() == ["lower"]


def test_numbers_are_cut_at_quantiles_and_ties_stay_together():
    errors = np.where(np.arange(200) < 150, 0, 1 + np.arange(200) % 3)
    table = conversations(
        n_turns=np.arange(200), tool_errors=errors, cost=np.append([np.inf], np.linspace(0, 1, 199))
    )
    result = analysis.segments(table, by=["n_turns", "tool_errors", "cost"])
    turns = only(result, "n_turns")
    assert sorted(turns["n"]) == [50, 50, 50, 50]
    assert set(turns.index) == {
        "shortest quarter (0 to 49)", "50 to 99", "100 to 149", "longest quarter (150 to 199)",
    }  # fmt: skip
    assert only(result, "tool_errors").loc["0", "n"] == 150
    assert only(result, "cost")["n"].sum() == 200


def test_the_hour_is_that_of_the_clock_of_the_zone():
    at = pd.Timestamp("2026-07-01T22:30:00Z")
    earlier = [at - pd.Timedelta("6h")] * 60 + [at - pd.Timedelta("12h")] * 70
    table = conversations(started_at=[at] * 70 + earlier)
    utc = {"06:00 to 11:59", "12:00 to 17:59", "18:00 to 23:59"}
    assert set(only(analysis.segments(table), "hour").index) == utc
    berlin = analysis.segments(table, by="hour", tz="Europe/Berlin")
    assert set(berlin["segment"]) == {"00:00 to 05:59", "12:00 to 17:59", "18:00 to 23:59"}


def test_pairs_of_columns_on_request():
    rng = np.random.default_rng(3)
    table = segmented(rng)
    # Only the two together fail: neither the model nor the channel alone.
    bad = (table["llm_model"].isin(["llama", "claude"]) & table["metadata.channel"].eq("web")).to_numpy()
    table["task_completed"] = pd.array(rng.random(len(table)) < np.where(bad, 0.35, 0.9), "boolean")
    pair = "llm_model × metadata.channel"
    assert pair not in set(analysis.segments(table)["column"])
    found = analysis.segments(table, by=[], pairs=[("llm_model", "metadata.channel")])
    assert set(found["column"]) == {pair}
    assert set(found.loc[found["verdict"] == "lower", "segment"]) == {"llama × web", "claude × web"}
    everything = analysis.segments(table, by=["llm_model", "metadata.channel"], pairs=True)
    assert set(everything["column"]) == {"llm_model", "metadata.channel", pair}


def test_hostile_values_are_one_line():
    texts = [text for text in PAYLOADS for _ in range(20)]
    table = conversations(len(texts), channel=pd.Series(texts, dtype=object))
    result = analysis.segments(table)
    assert len(result) > 0.8 * len(PAYLOADS)
    assert result["segment"].is_unique
    for text in [*result["segment"], *result.attrs["promptlift"]["sentences"]]:
        assert not set("\n\r\x00\x1b\u202e\u2028") & set(text)
        text.encode()
    assert result["segment"].str.len().max() <= 120


def test_what_is_not_over_does_not_count_and_any_true_or_false_can_be_the_outcome():
    table = conversations(channel=["a"] * 100 + ["b"] * 100, escalated=[True] * 60 + [False] * 140)
    running = table.assign(status=["in_progress"] * 20 + ["completed"] * 180)
    running.loc[20:29, "task_completed"] = pd.NA
    assert analysis.segments(running).attrs["promptlift"]["n_judged"] == 170
    rows = only(analysis.segments(table, outcome="escalated", by="channel"), "channel")
    assert rows["verdict"].to_dict() == {"b": "lower"}
    with pytest.raises(ValueError, match="not true and false"):
        analysis.segments(table.assign(score=1.5), outcome="score")


def test_what_the_analyser_finds_with_the_outcome_is_no_segment():
    table = segmented(np.random.default_rng(0), 100).assign(sentiment="negative", quality=3.0, summary="…")
    found = analysis.segments(table)
    named = {*found["column"], *found.attrs["promptlift"]["left_out"]}
    assert not {"sentiment", "quality", "summary", "conversation_id", "status"} & named


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(FrameError, match=r"metadata\.shop"):
        analysis.segments(conversations(), by="metadata.shop")
    with pytest.raises(ValueError, match="is the outcome"):
        analysis.segments(conversations(), by="task_completed")
