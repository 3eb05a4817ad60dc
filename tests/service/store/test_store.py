"""Prompts, conversations, idempotency keys, usage and accounts, on both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import func, select, text

from promptlift.service import clock
from promptlift.service.store import conversations, usage
from support.asking import query_of
from support.databases import sqlite_only

from .conftest import NOW


def page(filled, **filters):
    with filled.database.read() as connection:
        rows, total = conversations.page(connection, filled.account, query_of(**{"limit": 100, **filters}))
    return [row.id for row in rows], total


@sqlite_only
def test_usage_counts_in_calendar_months(filled):
    start, end = clock.billing_period(NOW)
    with filled.database.write() as connection:
        assert usage.used(connection, filled.account, "conversations", now=NOW) == 0
        assert usage.add(connection, filled.account, "conversations", 3, now=start) == 3
        assert usage.add(connection, filled.account, "conversations", 4, now=end - 1) == 7
        assert usage.add(connection, filled.account, "conversations", 5, now=end) == 5
        assert usage.add(connection, filled.account, "tokens", 9, now=NOW) == 9
        assert usage.used(connection, filled.account, "conversations", now=NOW) == 7
        assert usage.used(connection, filled.account, "conversations", now=start - 1) == 0
        assert usage.used(connection, filled.account, "tokens", now=NOW) == 9


def test_no_request_is_lost_when_many_are_counted_at_once(filled):
    def count(_):
        with filled.database.write() as connection:
            return usage.count_request(connection, filled.account, now=NOW)[0]

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(count, range(40))) == list(range(1, 41))


def test_a_reader_sees_one_state_for_all_queries_of_an_answer(filled):
    filled.add_conversations("a")
    with filled.database.read() as connection:
        count = select(func.count()).select_from(conversations.conversations)
        assert connection.scalar(count) == 1
        filled.add_conversations("b")
        assert connection.scalar(count) == 1
    assert page(filled)[1] == 2


def test_keys_are_found_by_themselves_however_many_an_account_has(filled):
    """PostgreSQL knows nothing yet of a table that an import has just filled; SQLite has no such guess."""
    filled.add_conversations("c")
    with filled.database.write() as connection:
        rows = [
            {"account_id": filled.account, "key": f"k{n}", "conversation_id": "c", "expires_at": NOW + n}
            for n in range(3000)
        ]
        conversations.hold_keys(connection, rows)
    asked = [f"k{n}" for n in range(2990, 3500)]
    with filled.database.write() as connection:
        found = conversations.held_by_keys(connection, filled.account, asked, now=NOW + 2995)
        assert {key: row.id for key, row in found.items()} == {f"k{n}": "c" for n in range(2996, 3000)}
        assert conversations.held_by_keys(connection, "another", asked, now=NOW) == {}
        # Those that had expired are forgotten.
        assert len(conversations.held_by_keys(connection, filled.account, asked, now=NOW)) == 4
        if filled.database.is_sqlite:
            return
        explain = text(f"EXPLAIN {conversations._KNOWN_KEYS_ONE_BY_ONE}")
        plan = [row[0] for row in connection.execute(explain, {"account": filled.account, "keys": asked})]
        assert any("Index" in line and "pk_idempotency_keys" in line for line in plan)
        assert [line for line in plan if "Filter" in line or "Seq Scan" in line] == []
