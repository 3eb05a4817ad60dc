"""Old transcripts go first, later the conversations; what is counted stays right, and readers are told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sqlalchemy import func, select

from promptlift.errors import ConfigError
from promptlift.schema.limits import PLANS
from promptlift.schema.naming import SCHEMES
from promptlift.schema.queries import ConversationQuery
from promptlift.service import administration, clock
from promptlift.service.actions.conversations import get
from promptlift.service.call import Call
from promptlift.service.store import accounts, changes, conversations, events, judging, optimizations, runs
from promptlift.service.store import tables as all_tables
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.runs import OptimizationRow
from service.store.test_changes import updated
from support.asking import query_of
from support.conversation_recount import assert_counts_are_a_recount
from support.databases import sqlite_only

DAY = 24 * 3600 * 1000


@pytest.fixture
def old(filled):
    """Conversations of 0, 100, …, 900 days ago with insights and events, one that waits for its insights, and settings."""
    ids = []
    now = clock.now()
    for days in range(0, 1000, 100):
        ids.append(f"c{days}")
        filled.add_conversations(ids[-1], started_at=now - days * DAY, ended_at=now - days * DAY)
    filled.judge(*ids)
    filled.add_conversations("waits", started_at=now - 950 * DAY)
    with filled.database.write() as connection:
        rows = [
            events.row("conversation.created", filled.account, one, {}, now=now) for one in (*ids, "waits")
        ]
        events.write(connection, rows)
        keys = [
            {"account_id": filled.account, "key": one, "conversation_id": one, "expires_at": now + DAY}
            for one in ids
        ]
        conversations.hold_keys(connection, keys)
    filled.settings = SimpleNamespace(
        database_url=filled.database.url, resolved_database_url=filled.database.url, data=None
    )
    return filled


def ids_in(database, table, column):
    with database.read() as connection:
        return set(connection.scalars(select(table.c[column])))


def test_transcripts_go_before_insights_and_both_are_told_of(old, monkeypatch):
    monkeypatch.setattr("promptlift.service.store.conversation_updates.AT_ONCE", 2)
    _, since = updated(old, 1)
    done = administration.vacuum(old.settings, keep_days=350, keep_insights_days=750)
    assert (done.transcripts, done.conversations) == (4, 2)
    database = old.database
    left = {f"c{days}" for days in range(0, 800, 100)} | {"waits"}
    assert ids_in(database, all_tables.conversations, "id") == left
    assert ids_in(database, all_tables.insights, "conversation_id") == left - {"waits"}
    assert ids_in(database, all_tables.events, "subject_id") == left
    assert ids_in(database, all_tables.idempotency_keys, "conversation_id") == left - {"waits"}
    kept = {"c0", "c100", "c200", "c300", "waits"}
    assert ids_in(database, all_tables.conversation_contents, "conversation_id") == kept
    assert_counts_are_a_recount(database)
    # What has lost its transcript has changed, what is gone is deleted, and the rest is as it was.
    assert updated(old, since)[0] == ["c700", "c600", "c500", "c400"]
    with database.read() as connection:
        rows = Rows(connection).all(changes.deleted(old.account, prompt_id=None, since=since))
    assert {row.id for row in rows} == {"c800", "c900"}
    again = administration.vacuum(old.settings, keep_days=350, keep_insights_days=750)
    assert (again.transcripts, again.conversations) == (0, 0)


@sqlite_only
def test_what_has_no_transcript_is_read_without_and_not_judged_again(old):
    administration.vacuum(old.settings, keep_days=350)
    caller = accounts.Caller(old.account, PLANS["free"], "k")
    context = SimpleNamespace(database=old.database, jobs=SimpleNamespace(waits_because=None))
    query = ConversationQuery(includeInsights="true")
    item = get(Call(context, caller, SCHEMES["prompt"], "c500", None, query))
    assert (item["content"], item["hasInsights"]) == (None, True)
    with old.database.read() as connection:
        query = query_of(include_insights=True, include_content=True, limit=100)
        rows, _ = conversations.page(connection, old.account, query)
    assert {row.id for row in rows if row.content is None} == {f"c{days}" for days in range(400, 1000, 100)}
    with old.database.write() as connection:
        assert judging.ask_again(connection, old.account, now=clock.now()) == 5
        claimed = judging.LEASES.claim(connection, "w", limit=100, now=clock.now() + 1)
        assert len(judging.to_judge(connection, claimed, "w")) == len(claimed) == 5


@sqlite_only
def test_without_ages_nothing_is_deleted_and_space_is_given_back(old):
    with old.database.write() as connection:
        count = connection.scalar(select(func.count()).select_from(all_tables.conversation_contents))
    done = administration.vacuum(old.settings)
    assert (done.transcripts, done.conversations) == (0, 0)
    assert done.bytes_after > 0
    assert len(ids_in(old.database, all_tables.conversation_contents, "conversation_id")) == count
    # Insights are not kept for less long than transcripts.
    for keep in (None, 400):
        with pytest.raises(ConfigError, match="--keep"):
            administration.vacuum(old.settings, keep_days=keep, keep_insights_days=399)
    assert len(ids_in(old.database, all_tables.conversations, "id")) == 11


def with_search(filled, account, optimization_id, *conversations_quoted):
    """Keep an optimization whose search quotes conversations, once in a tested edit and once in a refused one."""
    edits = [
        {"id": f"e{at}", "evidence": [[one, f"words of {one}"], ["sim_1", "words of a simulated one"]]}
        for at, one in enumerate(conversations_quoted)
    ]
    row = OptimizationRow(
        id=optimization_id,
        account_id=account,
        prompt_id="prm_1",
        status="completed",
        mode="exploratory",
        variant_count=2,
        settings={},
        prompt={},
        seed=1,
        rehearsal=False,
        created_at=clock.to_datetime(1),
        search={"search": {"edits": edits}, "refused": edits},
    )
    with filled.database.write() as connection:
        runs.add(connection, row)


def quoted(filled, optimization_id):
    """Evidence of the edits that were tested, and of the refused ones."""
    with filled.database.read() as connection:
        state = optimizations.get(connection, optimization_id).search
    return [[one["evidence"] for one in edits] for edits in (state["search"]["edits"], state["refused"])]


def test_quotations_of_a_search_go_with_the_words_that_they_are_from(old):
    with old.database.write() as connection:
        other = accounts.create(connection, name="Two", email="two@example.test", plan="free")
    with_search(old, old.account, "opt_1", "c0", "c500", "c900")
    with_search(old, old.account, "opt_2", "c0")
    with_search(old, other, "opt_3", "c500")
    administration.vacuum(old.settings, keep_days=350, keep_insights_days=750)
    simulated = ["sim_1", "words of a simulated one"]
    # c500 has lost its transcript, and c900 is gone as a whole.
    left = [[["c0", "words of c0"], simulated], [["deleted", ""], simulated], [["deleted", ""], simulated]]
    assert quoted(old, "opt_1") == [left, left]
    assert quoted(old, "opt_2") == [left[:1], left[:1]]
    assert quoted(old, "opt_3") == [[[["c500", "words of c500"], simulated]]] * 2
