"""How threads of one process share SQLite."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from promptlift.service.store import database as module
from support.databases import migrated


@pytest.fixture
def impatient(request, monkeypatch):
    """A database that refuses at once whoever comes while another one writes."""
    pragmas = [one for one in module._PRAGMAS if "busy_timeout" not in one]
    assert len(pragmas) < len(module._PRAGMAS)
    monkeypatch.setattr(module, "_PRAGMAS", (*pragmas, "PRAGMA busy_timeout=0"))
    with migrated("sqlite", request) as opened:
        yield opened


def test_threads_that_write_take_turns_and_never_find_the_database_locked(impatient):
    with pytest.raises(ZeroDivisionError), impatient.write():
        raise ZeroDivisionError  # leaves the turn to the next one
    with impatient.write() as connection:
        connection.exec_driver_sql("CREATE TABLE numbers (n INTEGER)")

    def write(n):
        with impatient.write(durable=n % 2 == 0) as connection:
            connection.exec_driver_sql(f"INSERT INTO numbers VALUES ({n})")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    with impatient.read() as connection:
        assert connection.exec_driver_sql("SELECT count(DISTINCT n) FROM numbers").scalar() == 40


def test_one_reader_after_the_other_shares_one_connection_and_its_cache(impatient):
    with ExitStack() as ends:  # at a busy moment there are several
        for _ in range(4):
            ends.enter_context(impatient.read())
    used = set()
    for _ in range(8):
        with impatient.read() as connection:
            used.add(id(connection.connection.dbapi_connection))
    assert len(used) == 1
