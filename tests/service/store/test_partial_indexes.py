"""What is rare among many conversations is found in an index of only what is rare, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from promptlift.service.store import conversation_updates, events, judging
from promptlift.service.store.leases import with_work
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables import conversations as table
from service.store.conftest import NOW

WAITING = "ix_conversations_judging"
TROUBLE = "ix_conversations_account_id_prompt_id_judging"
SOURCE = "ix_conversations_account_id_prompt_id_source_id"


def fill_and_analyze(filled):
    """Enough conversations, most of them alike, for PostgreSQL to use an index."""
    filled.add_prompt("prm_2")
    filled.add_conversations("a")
    given = {
        "seq": "number",
        "id": "'c' || number",
        "prompt_id": "CASE WHEN number % 10 = 0 THEN 'prm_2' ELSE 'prm_1' END",
        "status": "CASE WHEN number % 9 = 0 THEN 'abandoned' ELSE 'completed' END",
        "has_insights": "number % 8 > 0",
    }
    columns = [column.name for column in table.c]
    values = ", ".join(given.get(name, name) for name in columns)
    with filled.database.write() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO conversations ({', '.join(columns)}) SELECT {values.replace('%', '%%')} "
            "FROM conversations, generate_series(1000, 21000) AS number"
        )
        connection.exec_driver_sql("ANALYZE conversations")


@pytest.fixture
def many(filled):
    """Conversations of which few wait, have a problem, or come from another tool. SQLite's choice does not need them."""
    if filled.database.is_sqlite:
        filled.add_conversations("a", "b")
        return filled
    fill_and_analyze(filled)
    with filled.database.write() as connection:
        for values in (
            "judging = 'done' WHERE seq % 2000 <> 0",
            "judging = 'failed', judge_problem = 'p' WHERE seq % 3001 = 0",
            "source_id = 's' || seq WHERE seq % 1000 = 0",
        ):
            connection.exec_driver_sql(f"UPDATE conversations SET {values}".replace("%", "%%"))
        connection.exec_driver_sql("ANALYZE conversations")
    return filled


def plans(filled, run, *, table="conversations", reading=False):
    """How the database does the statements of a call that name a table, or only those that read it."""
    found = []

    @event.listens_for(filled.database._writer, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith("EXPLAIN") or (reading and not statement.startswith("SELECT")):
            return
        if f" {table}" in statement:
            found.append((statement, parameters))

    explain = "EXPLAIN QUERY PLAN" if filled.database.is_sqlite else "EXPLAIN"
    with filled.database.write() as connection:
        run(connection)
        event.remove(filled.database._writer, "before_cursor_execute", note)
        return [
            "\n".join(
                str(row[-1]) for row in connection.exec_driver_sql(f"{explain} {statement}", parameters)
            )
            for statement, parameters in found
        ]


def test_what_is_rare_has_an_index_of_its_own(many):
    for index, call in (
        (WAITING, lambda c, _: judging.LEASES.claim(c, "w", limit=3, now=NOW + 1)),
        (WAITING, lambda c, _: with_work(c, [judging.LEASES], now=NOW)),
        (WAITING, lambda c, _: judging.LEASES.release(c, "w")),
        (TROUBLE, lambda c, account: judging.troubles(c, account, "prm_1")),
        (
            SOURCE,
            lambda c, account: conversation_updates.lookup(
                c, account, "prm_1", ids=(), source_ids=["s3000", "s7000"]
            ),
        ),
    ):
        said = plans(many, lambda connection, call=call: call(connection, many.account))
        assert any(f"{index} " in f"{plan} ".replace("\n", " ") for plan in said), said
        assert not any("SCAN conversations" in plan or "Seq Scan on conversations" in plan for plan in said)


def test_a_page_of_events_after_a_cursor_reads_a_range_of_an_index(filled):
    """No row before it is counted or passed over, however deep it is."""
    made = [events.row("prompt.deleted", filled.account, "prm_1", {"n": n}, now=NOW) for n in range(3_000)]
    with filled.database.write() as connection:
        events.write(connection, made)
        if not filled.database.is_sqlite:
            connection.exec_driver_sql("ANALYZE events")

    def deep(connection):
        rows = Rows(connection)
        first = rows.all(events.listed(filled.account).limit(2_000))
        page = rows.all(events.listed(filled.account, before=first[-1].seq).limit(5))
        assert [row.id for row in page] == [row["id"] for row in made[995:1_000]][::-1]

    *_, plan = plans(filled, deep, table="events")
    # The bound is part of the range, not a filter on what was read, and the order is that of the index. With one account
    # PostgreSQL may take that of the numbers alone.
    sqlite, postgresql = "ix_events_account_id_seq (account_id=? AND seq<?)", "seq < "
    assert (sqlite if filled.database.is_sqlite else postgresql) in plan.partition("Filter")[0], plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan
