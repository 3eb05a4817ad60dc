"""New work wakes the workers of its own process and, on PostgreSQL, those of others; without any they hardly ask the database."""

from __future__ import annotations

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.engine import Engine

from promptlift.schema.conversations import ConversationCreate
from promptlift.service import clock
from promptlift.service.actions.logging.conversation_log import log_entries
from promptlift.service.actions.logging.entries import Entry, accept
from promptlift.service.background import worker
from promptlift.service.deployments import watch as deployments_watch
from promptlift.service.insights.judge import OneByOne
from promptlift.service.insights.lexicon.judge import LexiconJudge
from promptlift.service.insights.lexicon.process import LexiconProcess
from promptlift.service.settings import ServiceSettings
from promptlift.service.store import leases
from promptlift.service.store.database import Database
from promptlift.service.store.tables import insights
from promptlift.service.work import BackgroundWork
from support.databases import migrated
from support.deployed import World
from support.service_process import wait_until

TEXT = "User: Where is my order?\nAssistant: It arrives today."


@pytest.fixture
def world(request):
    with migrated(getattr(request, "param", "sqlite"), request) as database:
        yield World(database)


@pytest.fixture
def background(world, tmp_path, monkeypatch):
    """Start the background work of a process, or one that leaves it to others; nothing is judged in processes."""
    in_this_process = OneByOne(LexiconJudge())
    monkeypatch.setattr(LexiconProcess, "_ask", lambda _self, requests: in_this_process.judge_all(requests))
    started, databases = [], []

    def begin(*, work=True):
        databases.append(Database(world.database.url))
        made = BackgroundWork(databases[-1], ServiceSettings(data=tmp_path, api_key=None))
        started.append(made)
        made.start() if work else made.leave_to_others()
        return databases[-1]

    yield begin
    for one in started:
        one.stop()
    for one in databases:
        one.close()


@pytest.fixture
def statements():
    """What is executed, on any database."""
    executed = []

    def note(_connection, _cursor, statement, *_others):
        executed.append(statement)

    event.listen(Engine, "after_cursor_execute", note)
    yield executed
    event.remove(Engine, "after_cursor_execute", note)


@pytest.fixture
def looks(monkeypatch):
    """How often workers have looked at all kinds of work at once."""
    seen = []
    real = leases.with_work
    monkeypatch.setattr(leases, "with_work", lambda *found, **at: seen.append(1) or real(*found, **at))
    return seen


def log(world, database):
    body = ConversationCreate(prompt_id=world.prompt_id, content=TEXT)
    entry = Entry(world.caller, body, accept(TEXT))
    with database.write() as connection:
        (logged,) = log_entries(connection, [entry], now=clock.now())
    return logged


def count(database):
    with database.read() as connection:
        return connection.scalar(select(func.count()).select_from(insights))


@pytest.mark.slow
def test_an_idle_service_executes_less_than_one_statement_a_second(
    world, background, looks, statements, monkeypatch
):
    """Two a look: one begins a transaction, and one asks for all kinds of work at once."""
    a_look = 2
    assert a_look / worker.LOOK_SECONDS < 0.5
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(deployments_watch, "LOOK_SECONDS", 0.01)
    background()
    wait_until(
        lambda: len(looks) >= 20, what="what one worker does for all was taken, and live texts looked at"
    )
    statements.clear()
    before = len(looks)
    wait_until(lambda: len(looks) >= before + 50, what="it looked again and again")
    assert len(statements) <= a_look * (len(looks) - before + 1)


@pytest.mark.parametrize("world", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.slow
def test_insights_begin_without_another_look_at_all_work(world, background, looks, monkeypatch):
    monkeypatch.setattr(worker, "LOOK_SECONDS", 3600.0)
    database = background()
    wait_until(lambda: looks, what="it looked once")
    log(world, database)
    wait_until(lambda: count(database) > 0, what="the insights are there")
    assert count(database) == 1


@pytest.mark.parametrize("world", ["postgresql"], indirect=True)
def test_a_process_that_does_not_work_wakes_those_that_do(world, background, looks, statements, monkeypatch):
    monkeypatch.setattr(worker, "LOOK_SECONDS", 3600.0)
    background()
    serving = background(work=False)
    wait_until(lambda: any(one.startswith("LISTEN") for one in statements), what="it listens")
    wait_until(lambda: looks, what="it looked once")
    log(world, serving)
    wait_until(lambda: count(serving) > 0, what="the insights are there")
    assert count(serving) == 1
