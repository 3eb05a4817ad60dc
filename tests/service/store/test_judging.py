"""Which conversations wait for insights, who works on them, and what comes out."""

from __future__ import annotations

import json
import threading

import pytest
from sqlalchemy import select

from promptlift.service.store import accounts, conversations, judging, workers
from promptlift.service.store.leases import with_work
from promptlift.service.store.tables import conversations as table
from support.databases import sqlite_only

from .conftest import NOW


@pytest.fixture
def waiting(filled):
    filled.add_conversations("a", "b", "c")
    return filled


def claim(filled, worker, *, limit=10, now=NOW):
    with filled.database.write() as connection:
        return judging.LEASES.claim(connection, worker, limit=limit, now=now)


def row_of(conversation_id, filled, *, generation=1, insights_id=None):
    return {
        "conversation_id": conversation_id,
        "account_id": filled.account,
        "id": insights_id or f"ins_{conversation_id}_{generation}",
        "generation": generation,
        "sentiment": "neutral",
        "sentiment_score": 0.5,
        "task_completed": True,
        "basis": "model",
        "document": json.dumps({"summary": f"generation {generation}"}),
        "created_at": NOW,
    }


def keep(filled, worker, conversation_id, *, generation=1):
    with filled.database.write() as connection:
        kept = judging.keep(connection, worker, [row_of(conversation_id, filled, generation=generation)])
    return kept == {conversation_id}


def state(filled, conversation_id):
    columns = (table.c.judging, table.c.worker, table.c.has_insights, table.c.generation)
    with filled.database.read() as connection:
        return tuple(connection.execute(select(*columns).where(table.c.id == conversation_id)).one())


def test_the_oldest_are_claimed_first_and_only_once(waiting):
    assert claim(waiting, "one", limit=2) == ["a", "b"]
    assert claim(waiting, "two") == ["c"]
    assert claim(waiting, "three") == []


@sqlite_only
def test_nothing_is_claimed_before_its_time(filled):
    filled.add_conversations("a", judge_after=NOW + 1)
    assert claim(filled, "one") == []
    assert claim(filled, "one", now=NOW + 1) == ["a"]


def test_jobs_that_claim_at_once_never_share_one(filled):
    ids = [f"c{n:03d}" for n in range(60)]
    filled.add_conversations(*ids)
    taken = []
    threads = [
        threading.Thread(target=lambda name=f"w{n}": taken.append(claim(filled, name, limit=10)))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(one for some in taken for one in some) == ids


@sqlite_only
def test_a_job_reads_its_transcripts_and_the_objective(waiting):
    claim(waiting, "one", limit=2)
    with waiting.database.read() as connection:
        rows = judging.to_judge(connection, ["a", "b", "c"], "one")
        assert judging.to_judge(connection, ["a"], "another") == []
    assert {row.id: row.content for row in rows} == {
        one: f"User: {one} \x00 ü".encode() for one in ("a", "b")
    }
    assert {row.objective for row in rows} == {None}


def test_insights_are_kept_once(waiting):
    claim(waiting, "one")
    assert keep(waiting, "one", "a")
    assert state(waiting, "a") == ("done", None, True, 1)
    assert not keep(waiting, "one", "a")
    assert claim(waiting, "two") == []


@sqlite_only
def test_insights_of_a_job_that_lost_its_claim_are_not_kept(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        assert judging.LEASES.release(connection, "one") == 3
    assert claim(waiting, "two", limit=1) == ["a"]
    assert not keep(waiting, "one", "a")
    assert keep(waiting, "two", "a")


@sqlite_only
def test_what_waits_again_waits_until_then_and_counts_its_tries(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        judging.put_back(connection, "one", ["a", "b"], after=NOW + 5_000, problem="no answer")
    assert state(waiting, "a") == ("pending", None, False, 1)
    assert claim(waiting, "two", now=NOW + 4_999) == []
    assert claim(waiting, "two", now=NOW + 5_000) == ["a", "b"]
    with waiting.database.read() as connection:
        rows = judging.to_judge(connection, ["a", "b"], "two")
        assert [row.judge_attempts for row in rows] == [1, 1]
        assert conversations.find(connection, waiting.account, "a").judge_problem == "no answer"


@sqlite_only
def test_another_job_cannot_put_back_or_give_up(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        judging.put_back(connection, "two", ["a"], after=NOW, problem="x")
        judging.give_up(connection, "two", "a", problem="x")
    assert state(waiting, "a") == ("claimed", "one", False, 1)


@sqlite_only
def test_what_was_given_up_can_be_asked_for_again(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        judging.give_up(connection, "one", "a", problem="no sense")
    assert state(waiting, "a") == ("failed", None, False, 1)
    assert claim(waiting, "two", now=NOW * 2) == []
    with waiting.database.write() as connection:
        assert judging.ask_again(connection, waiting.account, conversation_id="a", now=NOW) == 1
    assert claim(waiting, "two") == ["a"]


def test_asking_again_keeps_the_old_insights_until_the_new_ones_come(waiting):
    claim(waiting, "one")
    keep(waiting, "one", "a")
    with waiting.database.write() as connection:
        assert judging.ask_again(connection, waiting.account, conversation_id="a", now=NOW) == 1
    assert state(waiting, "a") == ("pending", None, True, 2)
    assert claim(waiting, "two", limit=1) == ["a"]
    with waiting.database.read() as connection:
        assert conversations.find(connection, waiting.account, "a").document == '{"summary": "generation 1"}'
    assert not keep(waiting, "two", "a", generation=1)
    assert keep(waiting, "two", "a", generation=2)
    with waiting.database.read() as connection:
        assert conversations.find(connection, waiting.account, "a").document == '{"summary": "generation 2"}'


@sqlite_only
def test_asking_again_while_a_job_works_makes_its_result_void(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        assert judging.ask_again(connection, waiting.account, prompt_id="prm_1", now=NOW) == 3
    assert not keep(waiting, "one", "a")
    assert claim(waiting, "two") == ["a", "b", "c"]


def test_another_verdict_while_a_job_works_makes_its_result_void_and_asks_no_judge_again(waiting):
    claim(waiting, "one")
    keep(waiting, "one", "a")
    with waiting.database.write() as connection:
        judging.decide_again(connection, waiting.account, prompt_id="prm_1", now=NOW)
    assert claim(waiting, "one") == ["a", "b", "c"]
    with waiting.database.write() as connection:
        judging.decide_again(connection, waiting.account, prompt_id="prm_1", now=NOW)
    assert claim(waiting, "one") == ["a", "b", "c"]
    # What the worker began before, though it holds the rows again.
    assert not keep(waiting, "one", "a")
    with waiting.database.read() as connection:
        rows = judging.to_judge(connection, ["a", "b", "c"], "one")
    assert {row.id: row.known is not None for row in rows} == {"a": True, "b": False, "c": False}
    (generation,) = {row.generation for row in rows if row.id == "a"}
    assert keep(waiting, "one", "a", generation=generation)


@sqlite_only
def test_nobody_asks_for_another_accounts_conversations(waiting):
    with waiting.database.write() as connection:
        other = accounts.create(connection, name="Two", email="two@example.test", plan="pro")
        assert judging.ask_again(connection, other, conversation_id="a", now=NOW) == 0
        assert judging.ask_again(connection, other, prompt_id="prm_1", now=NOW) == 0
        assert judging.ask_again(connection, other, now=NOW) == 0


@sqlite_only
def test_what_is_left_to_do_is_counted(waiting):
    with waiting.database.read() as connection:
        assert with_work(connection, [judging.LEASES], now=NOW)
        assert not with_work(connection, [judging.LEASES], now=NOW - 1)
    claim(waiting, "one", limit=2)
    with waiting.database.read() as connection:
        assert with_work(connection, [judging.LEASES], now=NOW)
        assert judging.LEASES.held(connection, "one", ["a", "b", "c"]) == {"a", "b"}
    claim(waiting, "two", limit=1)
    with waiting.database.read() as connection:
        assert not with_work(connection, [judging.LEASES], now=NOW)
        assert judging.unfinished(connection) == 3
    keep(waiting, "one", "a")
    with waiting.database.read() as connection:
        assert judging.unfinished(connection) == 2


def test_claims_of_a_worker_that_died_are_given_to_others(waiting):
    assert claim(waiting, "dead", limit=2) == ["a", "b"]
    assert claim(waiting, "living") == ["c"]
    with waiting.database.write() as connection:
        workers.renew(connection, "living", seconds=60)
        assert judging.LEASES.release_orphans(connection) == 2
    assert claim(waiting, "other") == ["a", "b"]
    assert not keep(waiting, "dead", "a")
    assert keep(waiting, "living", "c")


@sqlite_only
def test_what_is_put_off_for_a_model_that_is_away_is_no_attempt_and_can_be_made_due(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        judging.put_back(connection, "one", ["a"], after=NOW + 60_000, problem="away", counts=False)
        judging.put_back(connection, "one", ["b"], after=NOW + 60_000, problem="its own")
        judging.LEASES.release(connection, "one", ["c"])
    assert claim(waiting, "two") == ["c"]
    with waiting.database.write() as connection:
        judging.make_due(connection, ["a", "c", "nobody"], now=NOW + 1)
    assert claim(waiting, "three", now=NOW + 1) == ["a"]
    with waiting.database.read() as connection:
        attempts = dict(connection.execute(select(table.c.id, table.c.judge_attempts)).all())
    assert attempts == {"a": 0, "b": 1, "c": 0}


@sqlite_only
def test_conversations_that_could_not_be_judged_are_counted_by_state_and_reason(waiting):
    waiting.add_prompt("prm_2")
    waiting.add_conversations("other", prompt="prm_2")
    claim(waiting, "one")
    assert keep(waiting, "one", "a")
    with waiting.database.write() as connection:
        judging.give_up(connection, "one", "b", problem="nonsense")
        judging.put_back(connection, "one", ["c"], after=NOW, problem="away")
    with waiting.database.read() as connection:
        found = judging.troubles(connection, waiting.account, "prm_1")
    assert {tuple(row) for row in found} == {("failed", "nonsense", 1), ("pending", "away", 1)}
