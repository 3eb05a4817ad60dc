"""Conversations found by their ids and changed, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from promptlift.schema.conversations import ConversationUpdate
from promptlift.schema.limits import PLANS
from promptlift.service.actions.logging.content import accept
from promptlift.service.actions.logging.conversation_log import apply_updates
from promptlift.service.actions.logging.entries import Update
from promptlift.service.errors import ApiException
from promptlift.service.store import accounts, conversation_updates, conversations, judging
from promptlift.service.store.accounts import Caller
from promptlift.service.store.tables import conversations as rows
from promptlift.service.store.tables import insights
from support.databases import sqlite_only

from .conftest import NOW

LATER = NOW + 60_000
NEW = "User: one\nAssistant: two\nUser: three"


def looked_up(filled, *, prompt="prm_1", ids=(), source_ids=()):
    with filled.database.read() as connection:
        found = conversation_updates.lookup(
            connection, filled.account, prompt, ids=ids, source_ids=source_ids
        )
    return [row.id for row in found]


def update(filled, one, *, account=None, text=None, **fields):
    caller = Caller(account or filled.account, next(iter(PLANS)), "key_1")
    body = ConversationUpdate(**fields) if text is None else ConversationUpdate(content=text, **fields)
    shape = None if text is None else accept(text)
    with filled.database.write() as connection:
        return apply_updates(connection, [Update(caller, one, body, shape)], now=LATER)[0]


def row_of(filled, one):
    with filled.database.read() as connection:
        return connection.execute(select(rows).where(rows.c.id == one)).one()


def test_ids_and_source_ids_are_found_newest_first_in_their_prompt_only(filled):
    filled.add_prompt("prm_2")
    filled.add_conversations("plain")
    filled.add_conversations("first", "second", source_id="s1")
    filled.add_conversations("elsewhere", prompt="prm_2", source_id="s1")
    assert looked_up(filled, ids=["plain", "elsewhere", "none"], source_ids=["s1", "s2"]) == [
        "second",
        "first",
        "plain",
    ]
    assert looked_up(filled, prompt="prm_2", source_ids=["s1"]) == ["elsewhere"]
    assert looked_up(filled) == []
    with filled.database.write() as connection:
        other = accounts.create(connection, name="Two", email="t@example.test", plan="free")
        assert conversation_updates.lookup(connection, other, "prm_1", ids=["plain"], source_ids=["s1"]) == []


@pytest.mark.slow
def test_of_one_source_id_the_newest_are_found(filled):
    names = [f"c{number}" for number in range(12)]
    filled.add_conversations(*names, source_id="customer")
    filled.add_conversations("other", source_id="s1")
    assert looked_up(filled, source_ids=["customer", "s1"]) == ["other", *names[:2:-1]]


def test_a_new_content_removes_insights_and_waits_for_new_ones(filled):
    filled.add_conversations("c1", has_insights=True, judging="done", judge_problem="old", judge_attempts=2)
    kept = {
        "conversation_id": "c1",
        "account_id": filled.account,
        "id": "ins_1",
        "generation": 1,
        "sentiment": "neutral",
        "sentiment_score": 0.0,
        "task_completed": True,
        "basis": "model",
        "by_words": False,
        "issues": b"[]",
        "document": "{}",
        "created_at": NOW,
    }
    with filled.database.write() as connection:
        connection.execute(insert(insights).values(**kept))
    done = update(filled, "c1", text=NEW, source_id="s1")
    assert (done.content.decode(), done.document, done.has_insights) == (NEW, None, False)
    after = row_of(filled, "c1")
    assert (after.judging, after.generation, after.judge_after, after.judge_attempts) == (
        "pending",
        2,
        LATER,
        0,
    )
    assert (after.message_count, after.user_turns, after.judge_problem) == (3, 2, None)
    assert after.content_hash == conversation_updates.content_hash(NEW.encode())


@sqlite_only
def test_a_judge_that_read_the_old_content_keeps_nothing(filled):
    filled.add_conversations("c1")
    with filled.database.write() as connection:
        assert judging.LEASES.claim(connection, "worker", limit=5, now=LATER) == ["c1"]
    update(filled, "c1", text=NEW)
    with filled.database.write() as connection:
        row = {"conversation_id": "c1", "generation": 1}
        assert judging.keep(connection, "worker", [row]) == set()
        assert judging.LEASES.claim(connection, "worker", limit=5, now=LATER) == ["c1"]


@sqlite_only
@pytest.mark.parametrize("fields", [{"status": "abandoned"}, {"source_id": "s1"}, {}])
def test_without_a_new_content_nothing_is_judged_again(filled, fields):
    filled.add_conversations("c1", has_insights=True, judging="done")
    update(filled, "c1", **fields)
    after = row_of(filled, "c1")
    assert (after.judging, after.generation, after.has_insights) == ("done", 1, True)
    assert {name: getattr(after, name) for name in fields} == fields
    assert (after.content_hash is not None) == ("source_id" in fields)


@sqlite_only
def test_a_conversation_of_another_account_is_not_found(filled):
    filled.add_conversations("c1")
    with filled.database.write() as connection:
        other = accounts.create(connection, name="Two", email="t@example.test", plan="free")
    refused = update(filled, "c1", account=other, text=NEW)
    assert isinstance(refused, ApiException)
    assert refused.code == "NOT_FOUND"
    with filled.database.read() as connection:
        found = conversations.find(connection, filled.account, "c1")
    assert found is not None
    assert found.content.decode() != NEW
