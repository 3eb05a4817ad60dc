"""What survives a power cut: what was acknowledged to whoever logged it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
from promptlift.service.actions.logging.content import accept
from promptlift.service.actions.logging.conversation_log import ConversationLog
from promptlift.service.actions.logging.entries import Entry, Update
from promptlift.service.store.accounts import Caller
from support.databases import sqlite_only

FULL, NORMAL = 2, 1


def synchronous(connection):
    return connection.exec_driver_sql("PRAGMA synchronous").scalar_one()


@sqlite_only
def test_a_durable_transaction_is_synced_and_another_is_not(database):
    with database.write(durable=True) as connection:
        assert synchronous(connection) == FULL
    with database.write() as connection:
        assert synchronous(connection) == NORMAL


@sqlite_only
def test_conversations_and_their_updates_are_logged_durably(filled):
    asked = []

    class Watched:
        @staticmethod
        @contextmanager
        def write(*, durable=False):
            asked.append(durable)
            with filled.database.write(durable=durable) as connection:
                yield connection

    log = ConversationLog(Watched())
    caller = Caller(filled.account, "enterprise", "key_1")
    text = "User: a"
    body = ConversationCreate(prompt_id="prm_1", content=text, idempotency_key="k1")
    entry = Entry(caller, body, accept(text))

    async def run():
        logged = await log.log(entry)
        longer = "User: a\nAssistant: b"
        change = ConversationUpdate(content=longer)
        return await log.update(Update(caller, logged.id, change, accept(longer)))

    try:
        updated = asyncio.run(run())
    finally:
        log.close()
    assert updated.content == b"User: a\nAssistant: b"
    assert asked == [True, True]
