"""A batch of conversations takes as many statements whatever its size, and however many there are already."""

from __future__ import annotations

import re

from sqlalchemy import event

from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.limits import BULK_ROWS, PLANS
from promptlift.service.actions.logging.conversation_log import log_entries
from promptlift.service.actions.logging.entries import Entry, Logged, accept
from promptlift.service.store.accounts import Caller
from service.store.conftest import NOW


def entries(filled, numbers):
    caller = Caller(filled.account, PLANS["enterprise"], "key_1")
    return [
        Entry(
            caller,
            ConversationCreate(prompt_id="prm_1", content=text, idempotency_key=f"k{number}"),
            accept(text),
        )
        for number in numbers
        for text in [f"User: question {number}\nAssistant: ☎ \x00"]
    ]


def log(filled, numbers):
    """Log a batch and return the statements that it took, each of them for all rows."""
    found = []

    @event.listens_for(filled.database._writer, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, executemany):
        place = r"(\?|%\(\w+\)s(::\w+)?)"
        found.append(re.sub(rf"\({place}(, {place})*\)", "(…)", statement))  # a list of any length

    try:
        with filled.database.write() as connection:
            outcomes = log_entries(connection, entries(filled, numbers), now=NOW)
    finally:
        event.remove(filled.database._writer, "before_cursor_execute", note)
    assert all(isinstance(one, Logged) for one in outcomes)
    return found


def test_every_batch_takes_the_same_statements(filled):
    log(filled, range(BULK_ROWS))  # the first one makes what others find
    small = log(filled, range(1_000, 1_100))
    assert log(filled, range(2_000, 2_000 + BULK_ROWS)) == small
    # The same rows again: their keys are found, and nothing is written.
    assert len(log(filled, range(2_000, 2_000 + BULK_ROWS))) < len(small)
    with filled.database.read() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM conversations").scalar_one()
        text = connection.exec_driver_sql("SELECT content FROM conversation_contents LIMIT 1").scalar_one()
    assert count == 2 * BULK_ROWS + 100
    assert bytes(text).decode().endswith("Assistant: ☎ \x00")
