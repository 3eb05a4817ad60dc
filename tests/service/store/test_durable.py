"""What survives a power cut: what was acknowledged to whoever logged it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

from promptlift.schema.conversations import ConversationCreate, ConversationUpdate
from promptlift.schema.limits import PLANS
from promptlift.service.actions.logging.conversation_log import ConversationLog
from promptlift.service.actions.logging.entries import Entry, Update, accept
from promptlift.service.store.accounts import Caller
from support.databases import sqlite_only

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
