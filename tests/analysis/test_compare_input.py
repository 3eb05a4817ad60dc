"""What a comparison reads: missing outcomes, repeats, controls, kinds, engines, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift import analysis
from promptlift.errors import FrameError
from support.trials import groups, only, pairs


def test_missing_outcomes_drop_the_pair_and_are_counted():
    table = pairs(10, 5, 3, 2)
    table["task_completed"] = table["task_completed"].astype("boolean")
    table.loc[[0, 1, 20], "task_completed"] = pd.NA
    table = pd.concat([table, pairs(1, 0, 0, 0, shift=90).iloc[:1]])
    row = only(analysis.compare(table, by="run", pair="task", control="a"))
    assert (row["n_pairs"], row["n_dropped"], row["n_unmatched"], row["n11"]) == (18, 2, 1, 8)
    assert row["warnings"] == ""


def test_many_missing_outcomes_and_uneven_ones_are_warned_of():
    table = pairs(30, 5, 5, 10)
    table["task_completed"] = table["task_completed"].astype("boolean")
    table.loc[:9, "task_completed"] = pd.NA
    for pair in ("task", None):
        text = only(analysis.compare(table, by="run", pair=pair, control="a"))["warnings"]
        assert "unevenly: 10 of the variant, 0 of the control" in text
        assert ("10 of 50 pairs have no outcome, more than 10%" in text) == (pair is not None)


def test_conversations_in_progress_count_neither_way():
    table = pairs(10, 5, 3, 2).assign(status="completed")
    table.loc[0, "status"] = "in_progress"
    assert only(analysis.compare(table, by="run", pair="task", control="a"))["n_pairs"] == 19
    assert only(analysis.compare(table, by="run", control="a"))["n"] == 19
    renamed = table.rename(columns={"task_completed": "done"})
    assert only(analysis.compare(renamed, by="run", outcome="done", control="a"))["n"] == 20


def test_repeats_are_refused_and_the_message_says_what_to_do():
    table = pd.concat([pairs(10, 5, 3, 2), pairs(10, 5, 3, 2).iloc[:4]])
    with pytest.raises(
        ValueError,
        match=r"4 of 20 items have more than one outcome in run 'b' \(up to 2\).*keep one trial of each",
    ):
        analysis.compare(table, by="run", pair="task", control="a")


def test_a_lost_trial_that_was_run_again_is_no_repeat():
    table = pairs(10, 5, 3, 2)
    again = table.iloc[:1].assign(task_completed=None)
    assert (
        only(analysis.compare(pd.concat([table, again]), by="run", pair="task", control="a"))["n_pairs"] == 20
    )


def test_a_pair_can_be_made_of_several_columns():
    table = pairs(10, 5, 3, 2)
    table["persona"], table["scenario"] = table["task"] // 5, table["task"] % 5
    by_cell = analysis.compare(table, by="run", pair=["persona", "scenario"], control="a")
    by_task = analysis.compare(table, by="run", pair="task", control="a")
    pd.testing.assert_frame_equal(by_cell, by_task)
    with pytest.raises(ValueError, match="more than one outcome"):
        analysis.compare(table, by="run", pair="persona", control="a")


@pytest.mark.parametrize(
    ("names", "control"),
    [(("new", "control"), "control"), (("zeta", "Original"), "Original"), (("x", "y"), "x")],
)
def test_without_a_control_a_telling_name_is_it_else_the_largest(names, control):
    table = groups(**{name: [True, False] for name in names})
    assert only(analysis.compare(table, by="run"))["control"] == control
    larger = pd.concat([groups(x=[True, False]), groups(y=[True, False, True])])
    assert only(analysis.compare(larger, by="run"))["control"] == "y"


def test_the_kind_can_be_said():
    table = pd.DataFrame({"run": ["a", "b"] * 9, "stars": [1, 0, 1, 1, 0, 1] * 3})
    assert "mean" in analysis.compare(table, by="run", outcome="stars", kind="score")
    assert "cramers_v" in analysis.compare(table, by="run", outcome="stars", kind="label")
    stars = table.assign(stars=pd.Categorical(["good", "bad", "fair"] * 6))
    assert "cramers_v" in analysis.compare(stars, by="run", outcome="stars")
    assert analysis.compare(table, by="run", outcome="stars").attrs["promptlift"]["kind"] == "completion"


def test_rows_without_a_variant_or_an_item_are_left_out_and_counted():
    extra = pd.DataFrame({"run": [None, "a"], "task": [1, None], "task_completed": [True, True]})
    table = pd.concat([pairs(10, 5, 3, 2), extra], ignore_index=True)
    answer = analysis.compare(table, by="run", pair="task", control="a")
    assert only(answer)["n_pairs"] == 20
    facts = answer.attrs["promptlift"]
    assert (facts["n_without_variant"], facts["n_without_item"]) == (1, 1)


@pytest.mark.slow
@given(st.tuples(*[st.integers(0, 40)] * 4).filter(lambda counts: sum(counts) > 0))
def test_swapping_variant_and_control_turns_the_verdict_round(counts):
    table = pairs(*counts)
    one = only(analysis.compare(table, by="run", pair="task", control="a"))
    other = only(analysis.compare(table, by="run", pair="task", control="b"))
    turned = {"winner": "worse", "worse": "winner", "no winner": "no winner"}
    assert other["verdict"] == turned[one["verdict"]]
    assert other["difference_points"] == pytest.approx(-one["difference_points"])
    assert other["difference_points_low"] == pytest.approx(-one["difference_points_high"])
    assert other["confidence"] == pytest.approx(one["confidence_worse"])
    assert one["p"] == pytest.approx(other["p"])


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"by": "model"}, "no column model"),
        ({}, {"by": "run", "pair": "item"}, "no column item.*pair the column"),
        ({}, {"by": "run", "outcome": "done"}, "no column done"),
        ({}, {"by": "run", "control": "z"}, "control='z' is not a value of run. It has: 'a', 'b'"),
        ({}, {"by": None}, "by must be"),
        ({}, {"by": "run", "pair": "run"}, "must be different columns"),
        ({}, {"by": "run", "pair": []}, "pair must be"),
        ({}, {"by": "run", "level": 95}, "level"),
        ({}, {"by": "run", "kind": "number"}, "kind must be"),
        ({"run": "a"}, {"by": "run"}, "only one value, 'a'"),
        ({"task_completed": "yes"}, {"by": "run"}, "not true and false. Convert it to 'boolean'"),
        ({"task_completed": 2}, {"by": "run"}, "numbers other than 0 and 1"),
        ({"x": np.inf}, {"by": "run", "outcome": "x"}, "infinite"),
        ({"x": pd.Timestamp("2026-01-01")}, {"by": "run", "outcome": "x"}, "holds times"),
        ({"x": "good"}, {"by": "run", "outcome": "x", "kind": "score"}, "not numbers"),
        ({"x": "good"}, {"by": "run", "outcome": "x", "pair": "task"}, "cannot be compared in pairs"),
        ({"x": [str(i) for i in range(60)]}, {"by": "run", "outcome": "x"}, "60 different texts"),
        ({"x": [[1]] * 60}, {"by": "run", "outcome": "x"}, "lists"),
        ({"x": [[1]] * 60}, {"by": "run", "pair": "x"}, "lists"),
    ],
)  # fmt: skip
def test_bad_input_gets_an_error_that_says_what_to_do(change, arguments, message):
    table = pairs(10, 10, 5, 5).assign(**change)
    with pytest.raises(ValueError, match=message) as caught:
        analysis.compare(table, **arguments)
    if message.startswith("no column"):
        assert isinstance(caught.value, FrameError)
