"""When deliveries are attempted, to the second, by a clock that is handed in; on SQLite and PostgreSQL."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from promptlift.schema.limits import PLANS
from promptlift.schema.naming import SCHEMES
from promptlift.schema.queries import PageQuery
from promptlift.service.actions import webhooks as actions
from promptlift.service.call import Call
from promptlift.service.errors import ApiException
from promptlift.service.store import events
from promptlift.service.store.accounts import Caller
from promptlift.service.webhooks import trim_outbox
from service.webhooks.subscribed import START, Subscribed
from support.databases import sqlite_only

# Retry policy: attempt 1 at once, then 1 minute, 5 minutes, 30 minutes and 2 hours after the one before.
MOMENTS = (0, 60, 360, 2_160, 9_360)


@pytest.fixture
def world(database, monkeypatch):
    # A turn lasts until all is sent, however busy the machine is.
    monkeypatch.setattr("promptlift.service.webhooks._TURN_SECONDS", 3600.0)
    return Subscribed(database)


def test_a_dead_receiver_is_asked_at_the_seconds_of_the_retry_policy(world):
    world.subscribe()
    world.net.answer = lambda _request: "the connection broke"
    (event,) = world.record()
    for moment in MOMENTS:
        world.now = START + moment * 1_000 - 1
        assert world.work() == []
        world.now += 1
        assert world.work() == [event]
        assert world.work() == []
    assert [(at - START) / 1_000 for at, _ in world.net.sent] == list(MOMENTS)
    (delivery,) = world.rows("deliveries")
    (webhook,) = world.rows("webhooks")
    assert (delivery.status, delivery.attempts, delivery.problem) == (
        "failed",
        5,
        "No answer: the connection broke",
    )
    assert (webhook.status, webhook.worker) == ("failing", None)


@pytest.mark.parametrize(("status", "done"), [(299, True), (300, False), (410, False)])
@sqlite_only
def test_every_2xx_is_success_and_nothing_else_also_at_the_last_attempt(world, status, done):
    world.subscribe()
    world.net.answer = lambda _request: 503
    world.record()
    for moment in MOMENTS[: 4 if done else 0]:
        world.now = START + moment * 1_000
        world.work()
    world.now = START + MOMENTS[-1] * 1_000
    world.net.answer = lambda _request: status
    world.work()
    (delivery,) = world.rows("deliveries")
    assert world.rows("webhooks")[0].status == "active"
    assert (delivery.status, delivery.status_code) == ("delivered" if done else "pending", status)
    assert done or delivery.problem.startswith(f"The receiver answered {status}")


def test_an_event_that_failed_is_overtaken_and_its_sequence_shows_it(world):
    world.subscribe()
    other = world.subscribe("prompt.updated")
    ids = world.record(count=120)
    world.net.answer = lambda request: 500 if ids[1] in request.content.decode() else 200
    assert world.work() == ids
    world.net.answer = lambda _request: 200
    world.record("prompt.updated")
    assert len(world.work()) == 1
    assert [one.last_sequence for one in world.rows("webhooks") if one.id == other] == [1]
    later = world.record(count=2)
    world.now += 60_000
    assert world.work() == [ids[1], *later]
    assert world.net.sequences == [*range(1, 121), 1, 2, 121, 122]
    world.pass_days(31)
    trim_outbox(world.database, now=world.now)
    world.record()
    world.work()
    assert world.net.sequences[-1] == 123


def fail(world):
    world.net.answer = lambda _request: 500
    for moment in MOMENTS:
        world.now = START + moment * 1_000
        world.work()


def test_a_failing_webhook_is_paused_until_it_is_resumed_and_loses_nothing(world):
    webhook_id = world.subscribe()
    other = world.subscribe("prompt.updated")
    (first,) = world.record()
    fail(world)
    (second,) = world.record()
    world.net.answer = lambda _request: 200
    world.pass_days(3)
    assert world.work() == []

    def call(account=world.account):
        caller = Caller(account, PLANS["enterprise"], "key")
        context = SimpleNamespace(database=world.database)
        return Call(context, caller, SCHEMES["prompt"], webhook_id, None, PageQuery())

    listed = actions.deliveries(call()).data
    assert [(one.status, one.next_attempt_at) for one in listed] == [("pending", None), ("failed", None)]
    assert actions.resume(call()).status == "active"
    with pytest.raises(ApiException, match="Webhook not found"):
        actions.resume(call("acc_other"))
    assert world.work() == [first, second]
    assert {one.status for one in world.rows("deliveries")} == {"delivered"}
    assert {one.id: one.status for one in world.rows("webhooks")} == {webhook_id: "active", other: "active"}


@sqlite_only
def test_a_webhook_that_is_deleted_while_it_is_served_receives_nothing_more(world):
    webhook_id = world.subscribe()
    first, _ = world.record(count=2)

    def delete(_request):
        with world.database.write() as connection:
            events.remove_webhook(connection, world.account, webhook_id)
        return 200

    world.net.answer = delete
    assert world.work() == [first]
    assert world.work() == []


@sqlite_only
def test_only_subscribed_kinds_of_the_own_account_are_sent(world):
    from promptlift.service.store import accounts

    with world.database.write() as connection:
        stranger = accounts.create(connection, name="s", email="s", plan="enterprise")
    world.subscribe("prompt.deleted", account=stranger)
    mine = world.subscribe("prompt.updated", "prompt.deleted")
    world.record("conversation.created")
    (updated,), (deleted,) = world.record("prompt.updated"), world.record("prompt.deleted")
    assert world.work() == [updated, deleted]
    assert {one.webhook_id for one in world.rows("deliveries")} == {mine}


def test_what_another_worker_took_over_is_not_written_over(world):
    webhook_id = world.subscribe()
    world.record(count=2)

    def take_over(_request):
        with world.database.write() as connection:
            connection.exec_driver_sql("UPDATE webhooks SET worker = 'wrk_other'")
        return 500

    world.net.answer = take_over
    assert len(world.work()) == 1
    assert {(one.attempts, one.status) for one in world.rows("deliveries")} == {(0, "pending")}
    assert world.rows("webhooks")[0].worker == "wrk_other"
    assert world.rows("webhooks")[0].id == webhook_id


@sqlite_only
def test_after_a_stop_no_attempt_starts(world):
    world.subscribe()
    first, second = world.record(count=2)
    world.net.answer = lambda _request: world.deliveries.stop() or 204
    assert world.work() == [first]
    world.deliveries.start()
    assert world.work() == [second]
