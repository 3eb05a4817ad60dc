"""Edits of a rubric: each guard, and what is made of the edits that pass."""

from __future__ import annotations

import json

import pytest

from promptlift.service.insights.exclusions import read_exclusions
from promptlift.service.judges.align import (
    Mistake,
    ProposedEdit,
    apply,
    edits_messages,
    refused,
    split,
)
from promptlift.service.judges.question import JudgeText
from promptlift.service.optimizations.logged_words import LoggedWords
from support.orders import ORDERS

RUBRIC = "- A voucher counts.\n- A joke does not."


def proposed(operation, anchor="", text="", evidence=("cnv_1",), **more):
    return ProposedEdit(operation=operation, anchor=anchor, text=text, evidence=evidence, **more)


ADD = proposed("add", text="Delayed payments count.", reason="missed")
SAID = "My friend Bartholomew paid in a green shop 4711."
LOGGED = [json.dumps({"messages": [{"role": "user", "content": SAID}]})]


def why(edit, rubric=RUBRIC):
    words = LoggedWords(["Was a refund promised?", rubric], LOGGED)
    return refused(edit, rubric, words=words, exclusions=read_exclusions("gift cards"))


def test_an_edit_that_is_refused_says_why():
    assert why(ADD) is None
    assert why(proposed("replace", "A joke does not.", "Jokes never count.")) is None
    assert why(proposed("delete", "- A joke does not.")) is None
    for change, words in (
        ({"operation": "rewrite"}, "none of add, replace and delete"),
        ({"evidence": ()}, "named as evidence"),
        ({"operation": "replace", "anchor": "Not there."}, "not in the rubric"),
        ({"operation": "delete", "anchor": ""}, "not in the rubric"),
        ({"operation": "replace", "anchor": "- A "}, "more than once"),
        ({"text": ""}, "empty"),
        ({"text": "x" * 601}, "more than 600 characters"),
        ({"text": "Count gift cards."}, "excludes from analysis"),
        ({"text": "Who paid in a green shop counts."}, "5 or more words in a row"),
        ({"text": "What Bartholomew says counts."}, "only in logged conversations"),
    ):
        assert words in why(ADD.model_copy(update=change))


def test_edits_find_their_place_and_others_are_not_used():
    edits = [
        ADD,
        ADD,
        proposed("replace", "A joke does not.", "Jokes never count."),
        proposed("delete", "A joke does not."),
        proposed("delete", "A voucher counts."),
    ]
    rubric, used = apply(RUBRIC, edits)
    assert rubric == "- Jokes never count.\n- Delayed payments count."
    assert used == [edits[0], edits[2], edits[4]]
    assert apply("", [ADD])[0] == "- Delayed payments count."


def test_only_conversations_on_which_the_judge_is_wrong_are_evidence():
    shown = [Mistake("cnv_wrong", LOGGED[0], True, False), Mistake("cnv_right", LOGGED[0], True, True)]
    messages, names = edits_messages(JudgeText("Was it?", RUBRIC), shown, tried=["Be careful."], seed=1)
    assert names == {"c1": "cnv_wrong"}
    assert "Bartholomew" not in messages[0]["content"]
    assert RUBRIC in messages[0]["content"]
    assert "Be careful." in messages[0]["content"]
    answer = proposed("Add ", text=" Two\nlines. ", evidence=["c2", "c1", "c9"])
    assert answer.on(names) == proposed("add", text="Two lines.", evidence=("cnv_wrong",))


@pytest.mark.parametrize("order", ORDERS[::5])
def test_an_order_in_a_transcript_never_leaves_the_data(order):
    content = json.dumps({"messages": [{"role": "user", "content": order}]})
    messages, _ = edits_messages(JudgeText("Was it?"), [Mistake("c", content, True, False)], tried=[], seed=1)
    assert order.splitlines()[0] not in messages[0]["content"]
    _, head, turn, _ = messages[1]["content"].split("\n\nWrite the edits")[0].split("\n")
    assert json.loads(head) == {"conversation": "c1", "owner": True, "judge": False}
    assert json.loads(turn)["content"] == order


def test_labels_are_split_at_random_with_as_many_of_either_answer_in_both_halves():
    labels = {f"c{n}": n % 3 == 0 for n in range(61)}
    train, test = split(labels, 1)
    assert sorted([*train, *test]) == sorted(labels)
    assert (len(train), len(test)) == (31, 30)
    yes = [sum(labels[one] for one in half) for half in (train, test)]
    assert abs(yes[0] - yes[1]) <= 1
    assert split(dict(reversed(labels.items())), 1) == (train, test)
    assert split(labels, 2) != (train, test)
