"""Pages of events cost the same wherever they are, on both databases."""

from __future__ import annotations

from promptlift.service.store import events
from promptlift.service.store.rows import Rows
from service.store.conftest import NOW
from service.store.test_partial_indexes import plans


def add(filled, account_id, count):
    rows = [
        events.row("prompt.deleted", account_id, f"prm_{number}", {"n": number}, now=NOW)
        for number in range(count)
    ]
    with filled.database.write() as connection:
        events.write(connection, rows)
    return [row["id"] for row in rows][::-1]


def test_a_page_after_a_cursor_reads_a_range_of_an_index(filled):
    """No row before it is counted or passed over, however deep it is."""
    account_id = filled.account
    ids = add(filled, account_id, 3_000)
    if not filled.database.is_sqlite:
        with filled.database.write() as connection:
            connection.exec_driver_sql("ANALYZE events")

    def deep(connection):
        rows = Rows(connection)
        first = rows.all(events.listed(account_id).limit(2_000))
        page = rows.all(events.listed(account_id, before=first[-1].seq).limit(5))
        assert [row.id for row in page] == ids[2_000:2_005]

    *_, plan = plans(filled, deep, table="events")
    # The bound is part of the range, not a filter on what was read, and the order is that of the index. With one account
    # PostgreSQL may take that of the numbers alone.
    sqlite, postgresql = "ix_events_account_id_seq (account_id=? AND seq<?)", "seq < "
    assert (sqlite if filled.database.is_sqlite else postgresql) in plan.partition("Filter")[0], plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan
