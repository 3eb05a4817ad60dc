"""The outbox does not grow for ever, and nothing that is still to be delivered is trimmed."""

from __future__ import annotations

import pytest

from promptlift.service.webhooks import trim_outbox
from service.webhooks.subscribed import Subscribed
from support.databases import sqlite_only


@pytest.fixture
def world(database):
    return Subscribed(database)


def ids(world, table="events"):
    return [one.event_id if table == "deliveries" else one.id for one in world.rows(table)]


@sqlite_only
def test_events_that_nobody_had_subscribed_to_go_after_seven_days(world):
    world.record(count=3)
    world.pass_days(7)
    assert trim_outbox(world.database, now=world.now) == 0
    world.now += 1
    (newest,) = world.record()
    assert trim_outbox(world.database, now=world.now) == 3
    assert ids(world) == [newest]


def test_delivered_events_go_after_thirty_days_with_their_deliveries(world):
    world.subscribe()
    delivered = world.record(count=2)
    world.work()
    world.pass_days(30)
    assert trim_outbox(world.database, now=world.now) == 0
    assert ids(world) == ids(world, "deliveries") == delivered
    world.now += 1
    newest = world.record()
    assert trim_outbox(world.database, now=world.now) == 2
    assert ids(world) == ids(world, "deliveries") == newest


@sqlite_only
def test_what_is_still_to_be_delivered_stays(world):
    world.subscribe()
    waiting = world.record(count=2)
    world.pass_days(100)
    newest = world.record("prompt.updated")
    assert trim_outbox(world.database, now=world.now) == 0
    assert ids(world) == [*waiting, *newest]


@sqlite_only
def test_the_newest_event_stays_so_that_its_number_is_not_given_again(world):
    world.record()
    world.pass_days(40)
    assert trim_outbox(world.database, now=world.now) == 0
    assert len(ids(world)) == 1
