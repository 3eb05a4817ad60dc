"""Conversations that have grown since they were logged: one row each, the newest text, and its insights."""

from __future__ import annotations

import json
import sqlite3

import pytest

from support.service_process import wait_until

ASKED = [{"role": "user", "content": "How do I reset my password?"}]
SOLVED = [
    *ASKED,
    {"role": "assistant", "content": "Click on Forgot password."},
    {"role": "user", "content": "Great, that worked, thank you!"},
]


def talk(*texts):
    return [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(texts)]


def record(source_id, messages, **fields):
    return {"source_id": source_id, "messages": messages, **fields}


@pytest.fixture
def prompt_id(lift):
    return lift.client.prompts.create(name="Grown", content="Help.", llm_model="gpt-4o").id


def judged(lift, prompt_id):
    """The table, when all of it has insights."""
    path = lift.client.conversations
    wait_until(
        lambda: path.list(prompt_id=prompt_id, has_insights=False, limit=1).pagination.total == 0,
        what="all are judged",
    )
    return lift.conversations(prompt_id, insights=True, content=True).set_index("source_id", drop=False)


def texts_of(lift, prompt_id):
    contents = lift.conversations(prompt_id, content=True)["content"]
    return sorted([message["content"] for message in json.loads(content)["messages"]] for content in contents)


WEEK_1 = [
    record("grows", ASKED, status="in_progress"),
    record("stays", SOLVED, status="completed"),
    record("ends", talk("Is it open?"), status="in_progress"),
]
WEEK_2 = [
    record("new", talk("Hello", "Hi")),
    record("grows", SOLVED, status="completed"),
    record("stays", SOLVED, status="completed"),
    record("ends", talk("Is it open?"), status="abandoned"),
]


def test_the_next_week_has_grown_new_and_unchanged_conversations(lift, prompt_id):
    first = lift.log(WEEK_1, prompt_id=prompt_id)
    assert str(first) == "3 logged, 0 already there, 0 failed"
    before = judged(lift, prompt_id)
    assert not before.loc["grows", "task_completed"]
    second = lift.log(WEEK_2, prompt_id=prompt_id)
    assert str(second) == "1 logged, 2 updated, 1 already there, 0 failed"
    assert second.complete
    after = judged(lift, prompt_id)
    assert sorted(after.index) == ["ends", "grows", "new", "stays"]
    assert after.loc["grows", "conversation_id"] == before.loc["grows", "conversation_id"]
    assert after.loc["grows", "task_completed"]
    assert "Great, that worked" in after.loc["grows", "content"]
    assert list(after["status"][["grows", "stays", "ends"]]) == ["completed", "completed", "abandoned"]
    unchanged = ["insights_at", "summary", "created_at"]
    assert (after.loc["stays", unchanged] == before.loc["stays", unchanged]).all()
    # An edited one is replaced, and an older export brings no former text back.
    edited = record("new", talk("Hello", "[REMOVED]"))
    assert str(lift.log([edited], prompt_id=prompt_id)) == "0 logged, 1 updated, 0 already there, 0 failed"
    third = lift.log(WEEK_2, prompt_id=prompt_id)
    assert str(third) == "0 logged, 4 already there, 0 failed"
    assert ["Hello", "[REMOVED]"] in texts_of(lift, prompt_id)


def test_two_conversations_with_one_source_id_both_stay(lift, prompt_id):
    records = [record("ticket 7", talk("Where is it?", "Here.")), record("ticket 7", talk("When?", "Now."))]
    assert lift.log(records, prompt_id=prompt_id).logged == 2
    assert lift.log(records, prompt_id=prompt_id).already_there == 2
    grown = record("ticket 7", talk("When?", "Now.", "Thanks."))
    assert lift.log([records[0], grown], prompt_id=prompt_id).updated == 1
    assert texts_of(lift, prompt_id) == [["When?", "Now.", "Thanks."], ["Where is it?", "Here."]]


def test_without_their_keys_conversations_are_known_by_their_source_ids(service, lift, prompt_id):
    lift.log(WEEK_1, prompt_id=prompt_id)
    other = lift.client.prompts.create(name="Other", content="Help.", llm_model="gpt-4o").id
    assert lift.log(WEEK_1, prompt_id=other).logged == 3
    with sqlite3.connect(service.data / "promptlift.db", timeout=30) as database:
        database.execute(
            "DELETE FROM idempotency_keys WHERE conversation_id IN (SELECT id FROM conversations WHERE prompt_id = ?)",
            (prompt_id,),
        )
    database.close()
    result = lift.log(WEEK_2, prompt_id=prompt_id)
    assert (result.logged, result.updated, result.already_there) == (1, 2, 1)


def test_a_table_with_conversation_ids_is_joined_back_by_source_id(lift, prompt_id):
    import pandas as pd

    mine = pd.DataFrame(
        {"conversation_id": ["t-1", "t-2"], "content": ["User: a", "User: b"], "region": ["north", "south"]}
    )
    lift.log(mine, prompt_id=prompt_id)
    joined = lift.conversations(prompt_id, content=True).merge(
        mine, left_on="source_id", right_on="conversation_id", suffixes=("", "_mine")
    )
    assert sorted(zip(joined["content"], joined["region"], strict=True)) == [
        ("User: a", "north"),
        ("User: b", "south"),
    ]


def test_metadata_of_the_users_own_stay(lift, prompt_id):
    records = [
        record("s1", talk("a"), metadata={"channel": "web"}),
        record("s2", talk("b"), metadata={"sourceId": "mine"}),
    ]
    lift.log(records, prompt_id=prompt_id)
    table = lift.conversations(prompt_id, content=True).set_index("source_id")
    assert json.loads(table.loc["s1", "content"])["metadata"] == {"channel": "web", "sourceId": "s1"}
    assert json.loads(table.loc["s2", "content"])["metadata"] == {"sourceId": "mine"}
