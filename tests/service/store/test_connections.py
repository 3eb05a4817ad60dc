"""How threads of one process share SQLite, and what survives a power cut."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
from promptlift.schema.limits import PLANS
from promptlift.service.actions.logging.conversation_log import ConversationLog
from promptlift.service.actions.logging.entries import Entry, Update, accept
from promptlift.service.store import database as module
from promptlift.service.store.accounts import Caller
from support.databases import migrated, sqlite_only


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


FULL, NORMAL = 2, 1


@sqlite_only
def test_conversations_and_their_updates_are_synced_and_other_changes_are_not(filled):
    synced = []

    class Watched:
        @staticmethod
        @contextmanager
        def write(*, durable=False):
            with filled.database.write(durable=durable) as connection:
                synced.append(connection.exec_driver_sql("PRAGMA synchronous").scalar_one())
                yield connection

    log = ConversationLog(Watched())
    caller = Caller(filled.account, PLANS["enterprise"], "key_1")
    body = ConversationCreate(prompt_id="prm_1", content="User: a", idempotency_key="k1")

    async def run():
        logged = await log.log(Entry(caller, body, accept("User: a")))
        longer = "User: a\nAssistant: b"
        return await log.update(Update(caller, logged.id, ConversationUpdate(content=longer), accept(longer)))

    try:
        updated = asyncio.run(run())
    finally:
        log.close()
    assert updated.content == b"User: a\nAssistant: b"
    assert synced == [FULL, FULL]
    with Watched.write():
        assert synced[-1] == NORMAL
