"""What is rare among many conversations is found in an index of only what is rare, on both databases."""

from __future__ import annotations

from sqlalchemy import event

from promptlift.service.store import events
from promptlift.service.store.rows import Rows
from service.store.conftest import NOW


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
