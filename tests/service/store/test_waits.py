"""What was written while the clock was ahead waits no longer than anything else once the clock is right."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select, update

from promptlift.schema.limits import WEBHOOK_DELAYS_SECONDS
from promptlift.service import clock
from promptlift.service.store import (
    conversations,
    deployments,
    events,
    judging,
    tables,
    traced,
    webhooks,
)
from support.databases import sqlite_only
from support.deployed import World

from .conftest import NOW

pytestmark = sqlite_only

AHEAD = NOW + 90 * clock.DAY
END_OF_MONTH = clock.billing_period(NOW)[1]


@pytest.fixture(autouse=True)
def right(monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: NOW)


def due(database, leases, *, now=NOW):
    """What a worker claims, once it has looked at the times."""
    with database.write() as connection:
        leases.bring_forward(connection, now=NOW)
        return leases.claim(connection, "one", limit=10, now=now)


def test_conversations_are_judged_at_once_and_tried_again_after_the_longest_pause(filled):
    filled.add_conversations("logged", judge_after=AHEAD)
    filled.add_conversations("away", judge_after=AHEAD, judge_problem="No answer")
    filled.add_conversations("soon", judge_after=NOW + 5_000, judge_problem="No answer")
    filled.add_conversations("no tokens", judge_after=END_OF_MONTH, judge_problem="No tokens")
    assert due(filled.database, judging.LEASES) == ["logged"]
    assert due(filled.database, judging.LEASES, now=NOW + 5_000) == ["soon"]
    assert due(filled.database, judging.LEASES, now=NOW + judging.LONGEST_PAUSE) == ["away"]
    assert due(filled.database, judging.LEASES, now=END_OF_MONTH) == ["no tokens"]


def test_deliveries_are_attempted_after_the_delay_of_their_attempt(filled):
    with filled.database.write() as connection:
        values = {"id": "whk_1", "account_id": filled.account, "url": "https://hooks.invalid/"}
        values |= {"events": ["prompt.deleted"], "status": "active", "key_id": "key"}
        connection.execute(insert(tables.webhooks).values(values | {"created_at": NOW}))
        rows = [events.row("prompt.deleted", filled.account, "prm_1", {}, now=AHEAD) for _ in range(5)]
        events.write(connection, rows)
        for attempts, row in enumerate(rows):
            mine = tables.deliveries.c.event_id == row["id"]
            connection.execute(update(tables.deliveries).where(mine).values(attempts=attempts))
    assert due(filled.database, webhooks.leases(key_id="key")) == ["whk_1"]
    with filled.database.read() as connection:
        times = connection.scalars(select(tables.deliveries.c.due_at).order_by(tables.deliveries.c.seq))
        assert [(at - NOW) // 1_000 for at in times] == list(WEBHOOK_DELAYS_SECONDS)


def test_traced_conversations_are_closed_when_they_were_quiet(filled):
    leases = traced.leases(quiet=300_000)
    with filled.database.write() as connection:
        for name, close_at in (("ahead", AHEAD), ("open", NOW + 1_000), ("no room", END_OF_MONTH)):
            values = {"id": name, "account_id": filled.account, "prompt_id": "prm_1", "key": name}
            times = {"close_at": close_at, "changed_at": close_at}
            connection.execute(insert(tables.traced_conversations).values(**values, **times))
    assert due(filled.database, leases) == []
    assert due(filled.database, leases, now=NOW + 1_000) == ["open"]
    assert due(filled.database, leases, now=NOW + 300_000) == ["ahead"]
    assert due(filled.database, leases, now=END_OF_MONTH) == ["no room"]


def test_a_text_is_not_live_from_the_future(database, monkeypatch):
    world = World(database)
    with monkeypatch.context() as ahead:
        ahead.setattr(clock, "now", lambda: AHEAD)
        optimization_id = world.optimization()
        world.apply(optimization_id)
    with database.write() as connection:
        deployments.LIVE.bring_forward(connection, now=NOW)
    assert world.row(optimization_id).applied_at == NOW


def test_an_idempotency_key_is_held_for_a_day(filled):
    filled.add_conversations("a")
    with filled.database.write() as connection:
        keys = {"account_id": filled.account, "key": "k", "conversation_id": "a"}
        conversations.hold_keys(connection, [{**keys, "expires_at": AHEAD}])
        conversations.KEYS_EXPIRE.bring_forward(connection, now=NOW)
        assert conversations.drop_expired_keys(connection, now=NOW + clock.DAY - 1) == 0
        assert conversations.drop_expired_keys(connection, now=NOW + clock.DAY) == 1
