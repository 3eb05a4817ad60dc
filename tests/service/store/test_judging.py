"""Which conversations wait for insights, who works on them, and what comes out."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from promptlift.service.store import conversations, judging, prompts
from promptlift.service.store.tables import conversations as table
from support.databases import is_lock_awaited, sqlite_only
from support.service_process import wait_until

from .conftest import NOW


@pytest.fixture
def waiting(filled):
    filled.add_conversations("a", "b", "c")
    return filled


def claim(filled, worker, *, limit=10, now=NOW):
    with filled.database.write() as connection:
        return judging.LEASES.claim(connection, worker, limit=limit, now=now)


def keep(filled, worker, conversation_id, *, generation=1):
    row = {
        "conversation_id": conversation_id,
        "generation": generation,
        "sentiment": "neutral",
        "sentiment_score": 0.5,
        "task_completed": True,
        "basis": "model",
        "document": json.dumps({"summary": f"generation {generation}"}),
    }
    with filled.database.write() as connection:
        return judging.keep(connection, worker, [row]) == {conversation_id}


def state(filled, conversation_id):
    columns = (table.c.judging, table.c.worker, table.c.has_insights, table.c.generation)
    with filled.database.read() as connection:
        return tuple(connection.execute(select(*columns).where(table.c.id == conversation_id)).one())


@sqlite_only
def test_nothing_of_a_job_that_lost_its_claim_is_kept(waiting):
    claim(waiting, "one")
    with waiting.database.write() as connection:
        assert judging.LEASES.release(connection, "one") == 3
    assert claim(waiting, "two", limit=1) == ["a"]
    assert not keep(waiting, "one", "a")
    with waiting.database.write() as connection:
        judging.put_back(connection, "one", ["a"], after=NOW, problem="x")
        judging.give_up(connection, "one", "a", problem="x")
    assert state(waiting, "a") == ("claimed", "two", False, 1)
    assert keep(waiting, "two", "a")
    assert not keep(waiting, "two", "a")


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
    # What was given up is not claimed until it is asked for.
    assert claim(waiting, "two", now=NOW * 2) == ["c"]
    with waiting.database.write() as connection:
        assert judging.ask_again(connection, waiting.account, conversation_id="b", now=NOW) == 1
    assert claim(waiting, "two") == ["b"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_new_rule_locks_conversations_in_the_order_of_everybody_else(waiting):
    """Who holds the first conversation gets the next one, too: nobody waits for both at once."""
    database = waiting.database
    claim(waiting, "one", limit=2)
    assert keep(waiting, "one", "b")

    def lock(connection, conversation_id):
        connection.execute(select(table.c.id).where(table.c.id == conversation_id).with_for_update())

    def change():
        with database.write() as connection:
            judging.decide_again(connection, waiting.account, prompt_id="prm_1", now=NOW)

    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            lock(connection, "a")
            changed = pool.submit(change)
            wait_until(lambda: is_lock_awaited(database), what="the change waits for the first conversation")
            lock(connection, "b")
        changed.result()
    assert [state(waiting, one)[0] for one in ("a", "b")] == ["pending", "pending"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_conversations_of_a_prompt_that_is_changed_do_not_wait_for_it(waiting):
    """The second change of a row in one transaction checks its foreign key again."""
    with waiting.database.write() as one, waiting.database.write() as other:
        prompts.find(one, waiting.account, "prm_1", lock=True)
        other.exec_driver_sql("SET LOCAL lock_timeout = '5s'")
        for status in ("abandoned", "completed"):
            other.execute(update(table).where(table.c.id == "a").values(status=status))
