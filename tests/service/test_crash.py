"""``kill -9`` at random moments under load, on both databases: nothing that was acknowledged is lost, nothing happens twice.

The load is what a service does all day: writes (with idempotency keys, with answers that nobody reads, without keys,
changes), a language model that judges, and deliveries to a receiver that refuses some (runs: `test_run_kills`). With ``KILLS``
in the environment there are as many kills as it says, at the moments of ``SEED``.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from promptlift.schema.events import EVENT_KINDS
from promptlift.service import clock
from promptlift.service.store import tables
from promptlift.service.store.database import Database
from support.answering_model import AnsweringModel, serving
from support.conversation_recount import assert_counts_are_a_recount
from support.crash_load import Acknowledged, Load, Refusals
from support.kills import KILLS
from support.plain_client import PlainClient
from support.service_process import ServiceProcess, free_port, wait_until
from support.tls_receiver import make_certificate, receiving
from support.worker_process import WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

WRITES_A_KILL = 24
SEED = int(os.environ.get("SEED", "20261122"))
# From the last kill to the end of all work.
LONGEST_WORK = 600.0

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(2 * LONGEST_WORK + 60 * KILLS)]

# Of these there is one for each conversation.
ONE_EACH = ("conversation.created", "insights.generated")


@dataclass
class World:
    """Everything of one test."""

    database: Database
    service: ServiceProcess
    workers: Sequence[WorkerProcess]
    receiver: Refusals
    client: PlainClient

    def rows(self, table, **equal):
        with self.database.read() as connection:
            return connection.execute(select(table).filter_by(**equal)).all()

    def retry_now(self):
        """Make the deliveries due that wait for their next attempt."""
        waiting = (
            tables.metadata.tables["deliveries"].c.status == "pending",
            tables.metadata.tables["deliveries"].c.attempts > 0,
        )
        with self.database.write() as connection:
            # Whoever records an attempt locks the webhook first, too: so there is no deadlock.
            connection.execute(select(tables.metadata.tables["webhooks"].c.id).with_for_update())
            connection.execute(
                update(tables.metadata.tables["deliveries"]).where(*waiting).values(due_at=clock.now())
            )

    def logs(self):
        return "".join(one.log.read_text() for one in (self.service, *self.workers))


@pytest.fixture(params=["postgresql", "without a model"])
def world(request, tmp_path):
    """A service with all that belongs to it; on PostgreSQL two workers do its work.

    Without a model, on SQLite, the built-in analyser judges.
    """
    on_postgresql = request.param == "postgresql"
    url = request.getfixturevalue("postgres_url") if on_postgresql else None
    certificate = make_certificate(tmp_path)
    with ExitStack() as ends:
        receiver = ends.enter_context(receiving(certificate))
        model = {}
        if request.param != "without a model":
            model = ends.enter_context(serving(AnsweringModel(delay=0.05)))
        env = {
            **certificate.trusted,
            **model,
            "PROMPTLIFT_SECRET_KEY": "s" * 40,
            "PROMPTLIFT_LEASE_SECONDS": "3",
        }
        options = ["--no-worker"] if on_postgresql else []
        service = ServiceProcess(tmp_path / "data", port=free_port(), env=env, database=url, options=options)
        ends.callback(service.start().kill)
        workers = []
        for number in range(2 if on_postgresql else 0):
            workers.append(WorkerProcess(url, tmp_path / f"worker-{number}.log", env).start())
            ends.callback(workers[-1].kill)
        client = PlainClient(service, time.monotonic() + LONGEST_WORK + 60 * KILLS)
        client.send_until_answered("POST", "/webhooks", {"url": receiver.url, "events": list(EVENT_KINDS)})
        file = f"sqlite:///{service.data / 'promptlift.db'}"
        database = Database(file if url is None else url.replace("postgresql://", "postgresql+psycopg://"))
        ends.callback(database.close)
        yield World(database, service, workers, Refusals(receiver), client)


def kill_at_random(world, load):
    """Kill processes at random moments while the load runs, some of them in the middle of their start."""
    chance, kills = random.Random(SEED), 0
    with load.running(KILLS * WRITES_A_KILL) as allow:
        while kills < KILLS:
            allow(WRITES_A_KILL)
            victim = chance.choice([world.service, *world.workers])
            time.sleep(chance.uniform(0.0, 1.5))
            victim.kill()
            kills += 1
            if kills < KILLS and chance.random() < 0.2:
                victim.start(wait=False)
                time.sleep(chance.uniform(0.0, 1.0))
                victim.kill()
                kills += 1
            victim.start()


def wait_for_all_work(world):
    """Wait until nothing is left to do: conversations judged, deliveries made."""

    def is_done():
        # On a slow machine all deliveries are made after the last kill.
        world.receiver.active = not world.receiver.refused
        world.retry_now()
        judged = {row.judging for row in world.rows(tables.conversations)} == {"done"}
        return judged and not world.rows(tables.metadata.tables["deliveries"], status="pending")

    wait_until(is_done, what="all work is done", seconds=LONGEST_WORK)


def assert_conversations_are_there_once(world, said: Acknowledged):
    rows = world.client.all_pages("/conversations?includeInsights=true")
    ids = [row["id"] for row in rows]
    assert len(set(ids)) == len(ids)
    acknowledged = said.conversations
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(ids)
    contents = [row.content for row in world.rows(tables.conversation_contents)]
    # No write is there twice, and each is there but for those that were never answered.
    assert len(set(contents)) == len(contents) == len(ids)
    assert len(ids) - len(acknowledged) <= list(said.once.values()).count(None)
    assert {row["id"] for row in rows if row["status"] == "abandoned"} == said.abandoned
    used = world.rows(tables.usage_counters, kind="conversations")
    assert sum(row.used for row in used) == len(ids)
    # The primary key of insights is their conversation.
    assert {row["insights"]["conversationId"] for row in rows} == set(ids)
    assert {row.generation for row in world.rows(tables.insights)} == {1}
    assert_counts_are_a_recount(world.database)
    assert said.prompts <= {row["id"] for row in world.client.all_pages("/prompts")}
    return len(ids)


def assert_events_arrived_under_one_id(world, conversations):
    rows = world.rows(tables.events)
    subjects = defaultdict(list)
    for row in rows:
        subjects[row.type].append(row.subject_id)
    for kind in ONE_EACH:
        assert len(subjects[kind]) == len(set(subjects[kind])) == conversations, kind
    sent = world.rows(tables.metadata.tables["deliveries"])
    assert {row.status for row in sent} == {"delivered"}
    assert Counter(row.event_id for row in sent) == Counter(row.id for row in rows)
    accepted = world.receiver.accepted
    assert {one.event["id"] for one in accepted} == {row.id for row in rows}
    assert world.client.all_pages("/events")[0]["id"] in {row.id for row in rows}
    # Told again, an event is the same to the byte.
    bodies = defaultdict(set)
    for one in accepted:
        bodies[one.event["id"]].add((one.body, one.headers["x-service-signature"]))
    assert {len(found) for found in bodies.values()} == {1}
    assert world.receiver.refused, "the receiver refused nothing"
    return len(rows), len(accepted)


def test_kills_under_load_lose_nothing_and_do_nothing_twice(world, request):
    load = Load(world.client)
    kill_at_random(world, load)
    wait_for_all_work(world)
    conversations = assert_conversations_are_there_once(world, load.acknowledged)
    events, deliveries = assert_events_arrived_under_one_id(world, conversations)
    assert "Traceback" not in world.logs()
    figures = {
        "world": request.node.callspec.id,
        "kills": KILLS,
        "seed": SEED,
        "conversations": conversations,
        "acknowledged": len(load.acknowledged.conversations),
        "insights": conversations,
        "events": events,
        "accepted deliveries": deliveries,
        "refused deliveries": len(world.receiver.refused),
    }
    print(json.dumps(figures))
