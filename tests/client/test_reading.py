"""Whole reads over a real socket, from a service that speaks the specification only."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter

import pytest

from promptlift.client import Client, configure
from promptlift.client.pace import Pace
from promptlift.client.reads.conversations import ConversationRead, Wanted
from promptlift.client.reads.read_list import read_list
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Call, Clock, Task, Transport
from promptlift.schema import endpoints
from promptlift.schema.naming import SCHEMES
from support.foreign_service import KEY, ForeignService
from support.limiters import SharedClock

pytestmark = pytest.mark.slow

QUICK = RetryPolicy(first_pause=0.01, longest_pause=0.05, timeout=2.0, first_timeout=0.2)
CONVERSATIONS = Call.to(endpoints.CONVERSATIONS_LIST, SCHEMES["prompt"])


@pytest.fixture
def service():
    with ForeignService() as running:
        yield running


def open_client(service, *, key=KEY, scheme="prompt", policy=QUICK, **parts):
    config = configure(service.base_url, key, scheme=scheme)
    return Client(config, transport=Transport(config, policy=policy, **parts))


def read(client, *, insights=False, content=False, **options):
    return ConversationRead(client.transport, Wanted(insights=insights, content=content), **options).run()


@pytest.mark.parametrize(("count", "page_limit"), [(0, 100), (101, 100), (450, 37)])
def test_a_quiet_list_is_read_whole_and_once(service, count, page_limit):
    service.fill(count)
    service.page_limit = page_limit
    with open_client(service) as client:
        got = read(client)
    ids = [row["id"] for row in got.rows]
    assert ids == [row["id"] for row in service.rows]
    assert (got.complete, got.total, got.requests) == (True, count, len(service.seen))


@pytest.mark.parametrize(("seed", "oldest_first"), [(0, False), (1, True), (2, False), (3, True)])
def test_rows_that_stay_are_there_once_while_others_come_and_go(service, seed, oldest_first):
    chance = random.Random(seed)
    service.oldest_first = oldest_first
    service.fill(700)
    stable = {row["id"] for row in service.rows}

    def change(_method, path, count):
        if path != "/conversations" or count == 1:
            return
        for _ in range(chance.choice([0, 1, 2, 7])):
            if chance.random() < 0.5:
                stable.discard(service.rows.pop(chance.randrange(len(service.rows)))["id"])
            else:
                service.insert()

    service.before = change
    with open_client(service) as client:
        got = read(client)
    counts = Counter(row["id"] for row in got.rows)
    assert not stable - set(counts)
    assert set(counts.values()) == {1}
    assert got.complete


def test_insights_cost_one_request_each_and_none_where_there_are_none(service):
    service.fill(130, insights=True)
    service.fill(70, insights=False)
    with open_client(service) as client:
        got = read(client, insights=True)
    details = [path for _, path, _ in service.seen if path.endswith("/insights")]
    assert len(details) == len(set(details)) == 130
    assert service.requests("GET", "/account") == 1
    assert len(service.seen) == 130 + 3 + 1
    judged = [row for row in got.rows if row.get("insights")]
    assert len(judged) == 130
    assert all(row["insights"]["summary"] == f"summary of {row['id']}" for row in judged)


def test_a_conversation_that_is_deleted_meanwhile_is_dropped_and_counted(service):
    service.fill(40)
    gone = service.rows[7]["id"], service.rows[23]["id"]

    def delete(_method, path, _count):
        if path.endswith("/insights"):
            service.rows[:] = [row for row in service.rows if row["id"] not in gone]

    service.before = delete
    with open_client(service) as client:
        got = read(client, insights=True)
    assert not {row["id"] for row in got.rows} & set(gone)
    assert (len(got.rows), got.dropped, got.complete) == (38, 2, True)


class SkippingClock(Clock):
    """Real time, with waits that are skipped over."""

    def __init__(self):
        self.skipped = 0.0
        self.lock = threading.Lock()

    def now(self):
        return super().now() + self.skipped

    def wait(self, seconds, stop):
        with self.lock:
            self.skipped += seconds
        return stop.is_set()


@pytest.mark.parametrize("headers", ["since 1970", None])
def test_the_plan_is_kept(service, headers):
    clock = SkippingClock()
    service.plan, service.per_minute, service.rate_headers = "pro", 300, headers is not None
    service.reset_from = int(time.time()) + 1 if headers == "since 1970" else 0
    service.monotonic = clock.now
    service.fill(500)
    with open_client(service, clock=clock, pace=Pace()) as client:
        got = read(client, insights=True)
    assert (len(got.rows), got.complete) == (500, True)
    # Where no header says what is left, one request may find out how the service counts.
    assert service.refused <= (headers is None)


@pytest.mark.parametrize(
    "answer", [(403, {"error": {"code": "FORBIDDEN", "message": "no"}}), (200, b"<html>")]
)
def test_an_account_that_nobody_can_read_ends_no_read(service, answer):
    service.fill(130)
    service.fault = lambda _m, path, _c: (
        (lambda handler: service.send(handler, *answer)) if path == "/account" else None
    )
    with open_client(service) as client:
        got = read(client, insights=True)
        assert client.transport.pace.per_minute is None
    assert (len(got.rows), got.complete) == (130, True)
    assert service.requests("GET", "/account") == 1


def test_the_rate_of_an_untold_plan_is_learned_from_one_refusal(service):
    clock = SharedClock()
    service.per_minute, service.retry_after = 100, False
    service.monotonic = lambda: clock.time
    service.fill(330)
    service.plan = "custom"
    with open_client(service, clock=clock) as client:
        clock.transport = client.transport
        assert read(client, insights=True).complete
        assert client.transport.pace.per_minute == 100
    # Those in flight at the first refusal, and attempts until the minute has ended.
    assert service.refused <= 40


def test_the_next_page_is_asked_for_while_the_last_one_is_worked_on(service):
    """The reader holds a page back until the service has seen the request for the next one."""
    service.fill(450)
    seen = []

    def work(rows, _total):
        wanted = min(len(seen) + 2, 5)  # the second page is asked for once the first has told the total
        deadline = time.monotonic() + 20
        while len(seen) and len(service.seen) < wanted and time.monotonic() < deadline:
            time.sleep(0.005)
        seen.append(len(service.seen))

    with open_client(service) as client:
        got = read_list(client.transport, CONVERSATIONS, task=Task(), on_page=work)
    assert got.complete
    assert seen == [1, 3, 4, 5, 5]
    assert len(service.seen) == 5  # and none that is not needed


def test_rows_that_were_deleted_after_they_were_read_are_told(service):
    service.fill(350)

    def delete(_method, _path, count):
        if count == 3:
            del service.rows[20:76]

    service.before = delete
    with open_client(service) as client:
        got = read(client)
    assert (got.complete, got.total, len(got.rows)) == (True, 294, 350)
    assert got.facts == {"deleted_since_read": 56}
