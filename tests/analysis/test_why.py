"""Why conversations fail: named where outcomes show it, in the logs' own words, and not by words alone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.analysis.atlas.why import contrast
from support.topical import logged

pytestmark = pytest.mark.slow  # each groups the conversations anew


@pytest.fixture(scope="module")
def table():
    return logged(160)


@pytest.fixture(scope="module")
def plain(table):
    return analysis.why(table)


def test_the_ending_that_fails_is_named_with_evidence(table, plain):
    found = plain
    facts = found.attrs["promptlift"]
    assert len(found) >= 1
    assert found["n_failed"].sum() >= 0.7 * (~table["task_completed"]).sum()
    for row, sentence in zip(found.to_dict("records"), facts["sentences"], strict=True):
        words = row["name"].split(" · ")
        assert all(any(word in text.lower() for word in words) for text in row["quotations"])
        assert row["difference_points_low"] > 0.0
        assert row["p_holm"] < 0.001
        assert "(p below 0.001)" in sentence
        assert row["share_low"] < row["share"] < row["share_high"]
        assert row["turn"] == 4.0
        assert 1 <= len(row["quotations"]) == len(row["quoted"]) <= 3
        assert all("sorry" in text.lower() for text in row["quotations"])
        failed = table.set_index("conversation_id")["task_completed"].loc[row["quoted"]]
        assert not failed.any()
        assert "of the failures" in sentence
        assert "cause" not in sentence
    assert facts["summary"].endswith("conversations.")


def test_what_was_tried_against_an_ending_is_said_with_its_effect(table, plain):
    assert "tried" not in plain
    first, second = plain["name"][0].split(" · ")[:2]
    edits = pd.DataFrame(
        [
            ("add", f"It says {first} and nothing else", None, f"Before {second}, ask for a name.", 4.25, "kept"),
            ("delete", f"The {first} of the {second}", "Always apologise.", None, None, "pruned"),
            ("add", f"One says {first}", None, "Be kind.", 9.0, "kept"),
        ],
        columns=["operation", "symptom", "anchor", "text", "effect", "state"],
    )  # fmt: skip
    found = analysis.why(table, edits=edits)
    expected = [f"add “Before {second}, ask for a name.” (+4 points, kept)", "delete “Always apologise.” (not measured, pruned)"]  # fmt: skip
    assert found["tried"][0] == expected
    assert found.attrs["promptlift"]["sentences"][0].endswith(f" Tried: {'; '.join(expected)}.")
    pd.testing.assert_frame_equal(found.drop(columns="tried"), plain)
    assert "tried" not in analysis.why(table, edits=edits.tail(1))


def test_a_quotation_is_from_the_last_turn_that_says_it(table):
    def told_twice(content: str) -> str:
        messages = json.loads(content)["messages"]
        messages[1]["content"] = f"{messages[3]['content']}, let me look"
        return json.dumps({"messages": messages})

    found = analysis.why(table.assign(content=table["content"].map(told_twice)))
    assert len(found) >= 1
    assert found["turn"].eq(4.0).all()
    assert not any("let me look" in text for texts in found["quotations"] for text in texts)


@pytest.mark.slow
def test_without_a_difference_none_is_named():
    named = [len(analysis.why(logged(150, seed=seed, failures=False))) for seed in range(8)]
    assert sum(map(bool, named)) <= 1


def test_an_outcome_that_words_judged_lists_what_is_unusual():
    table = logged(120).assign(basis="words")
    found = analysis.why(table)
    facts = found.attrs["promptlift"]
    assert "n_failed" not in found
    assert "difference_points" not in found
    assert "cannot be told without outcomes, labels or a model" in facts["summary"]
    assert all("fail" not in sentence for sentence in facts["sentences"])
    for basis in ("model", "learned"):
        assert "n_failed" not in analysis.why(table.assign(basis=basis))
    assert "n_failed" not in analysis.why(table[["conversation_id", "content"]])


def test_a_proven_judge_is_named_and_labels_are_the_outcome():
    table = logged(160).assign(basis="model")
    table.attrs["promptlift"] = {"agreement": [80, 0.85, 0.6]}
    found = analysis.why(table)
    assert len(found) >= 1
    assert all("as the model sees it" in one for one in found.attrs["promptlift"]["sentences"])
    labels = pd.DataFrame(
        {"conversation_id": table["conversation_id"], "task_completed": table["task_completed"]}
    )
    wrong = table.assign(task_completed=~table["task_completed"], basis="words")
    by_labels = analysis.why(wrong, labels=labels.iloc[:130])
    assert by_labels.attrs["promptlift"]["n"] == 130
    assert by_labels.attrs["promptlift"]["basis"] == "label"
    assert "sorry" in by_labels["quotations"].iloc[0][0].lower()


def test_runs_of_one_task_count_together():
    """Forty runs of one task that fails are one failure of its ending, not forty."""
    members = np.arange(140) < 40
    failed = members | (np.arange(140) % 2 == 0)
    topics = np.zeros(140, int)
    tasks = np.where(members, 0, np.arange(140) - 39)
    alone = contrast(members, failed, topics, None)
    together = contrast(members, failed, topics, (tasks, 101))
    assert alone.points == together.points == 50.0
    assert together.p > 1000 * alone.p


@pytest.mark.parametrize("n", [0, 1, 12])
def test_too_few_conversations_name_nothing(n):
    found = analysis.why(logged(n) if n else logged(1).iloc[:0])
    assert found.empty
    assert "No ending fails clearly more often" in found.attrs["promptlift"]["summary"]
