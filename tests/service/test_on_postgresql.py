"""The whole service on PostgreSQL, in one process and in two."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import column, func, select, table

import promptlift
from promptlift.service.store import accounts
from promptlift.service.store.database import Database
from promptlift.service.store.tables import events
from support.service_process import wait_until
from support.wire import Wire, open_account

pytestmark = pytest.mark.slow


def wire_of(running):
    return Wire(running.base_url, running.key)


def test_conversations_are_logged_judged_and_read(start_service, postgres_url):
    running = start_service(database=postgres_url)
    wire = wire_of(running)
    prompt_id = wire.add_prompt(tags=["a"])
    texts = [f"User: ☎ {n}\x00\nAssistant: \U0001f388 thank you" for n in range(30)]
    with ThreadPoolExecutor(8) as pool:
        ids = list(
            pool.map(lambda n: wire.log(prompt_id, texts[n], idempotencyKey=f"ключ {n}"), range(len(texts)))
        )
    wire.wait_for_insights(prompt_id)
    body = wire.get("/conversations?limit=100&includeInsights=true&includeContent=true")
    assert body["pagination"]["total"] == 30
    read = {item["id"]: item for item in body["data"]}
    for one, text in zip(ids, texts, strict=True):
        assert read[one]["content"] == text
        assert read[one]["insights"]["conversationId"] == one
    view = wire.get(f"/prompts/{prompt_id}/insights?days=all")
    assert view["summary"]["totalConversations"] == 30
    assert sum(view["metrics"]["sentiment"]["distribution"].values()) == 30
    assert wire.get(f"/agents/{prompt_id}/insights")["fleetIntelligence"]["agents"] == 1
    assert wire.get(f"/agents/{prompt_id}/step-failures")["steps"][0]["reached"] == 30
    assert wire.get(f"/prompts/{prompt_id}/status")["metrics"]["conversationCount"] == 30
    assert wire.get("/prompts?tags=a")["pagination"]["total"] == 1
    assert wire.get("/usage")["conversations"]["used"] == 30
    label = {"conversationId": ids[0], "question": "q", "value": "yes", "labeller": "ann", "chance": 0.125}
    for value in ("yes", "no"):
        assert wire.ask("POST", "/labels", {"labels": [label | {"value": value}]}).status == 200
    assert [one["value"] for one in wire.get("/labels")["data"]] == ["no"]
    changed = wire.ask("PATCH", "/settings", {"general": {"kpis": "x"}})
    assert changed.body["settings"] == wire.get("/settings")
    assert wire.ask("POST", f"/prompts/{prompt_id}/insights/regenerate").body["queued"] == 30
    for path in (f"/prompts/{prompt_id}%00", "/conversations?promptId=%00", "/prompts/none"):
        assert wire.ask("GET", path).status in (400, 404)
    null = wire.ask("POST", "/conversations", {"promptId": "\x00", "content": "User: hi"})
    assert null.status == 400
    assert "Traceback" not in running.log.read_text()
    assert running.stop() == 0


def test_two_processes_on_one_database_keep_keys_quotas_and_rates(start_service, postgres_url):
    first = start_service(database=postgres_url, env={"PROMPTLIFT_API_KEY": "shared-key-0123456789"})
    second = start_service(database=postgres_url, env={"PROMPTLIFT_API_KEY": "shared-key-0123456789"})
    database = Database(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    account = open_account(first.base_url, database, plan="pro")
    sides = [Wire(running.base_url, account.key, account.account) for running in (first, second)]
    prompt_id = sides[0].add_prompt()
    start = threading.Barrier(16)

    def log(number):
        start.wait(timeout=30)
        body = {"promptId": prompt_id, "content": f"User: writer {number}", "idempotencyKey": "one"}
        return sides[number % 2].ask("POST", "/conversations", body)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(log, range(16)))
    assert sorted(answer.status for answer in answers) == [200] * 15 + [201]
    assert len({answer.body["id"] for answer in answers}) == 1
    assert sides[1].get("/conversations")["pagination"]["total"] == 1
    assert sides[1].get("/usage")["conversations"]["used"] == 1
    sides[0].wait_for_insights(prompt_id)
    with database.read() as connection:
        kinds = sorted(connection.scalars(events.select().with_only_columns(events.c.type)))
    assert kinds == ["conversation.created", "insights.generated"]

    free = open_account(first.base_url, database, plan="free")
    body = {"name": "n", "content": "c", "llmModel": "gpt-4o"}

    def create(number):
        return Wire(sides[number % 2].base_url, free.key).ask("POST", "/prompts", body).status

    with ThreadPoolExecutor(12) as pool:
        assert sorted(pool.map(create, range(12))) == [201] * 5 + [429] * 7

    waiting_now = (
        select(func.count()).select_from(table("pg_stat_activity")).where(column("wait_event_type") == "Lock")
    )

    def waiting():
        with database.read() as connection:
            return connection.scalar(waiting_now)

    with ThreadPoolExecutor(2) as pool:
        with database.write() as connection:
            accounts.lock(connection, account.account)
            deleted = [pool.submit(side.ask, "DELETE", f"/prompts/{prompt_id}") for side in sides]
            wait_until(lambda: waiting() == 2, what="both wait for the account")
        assert sorted(one.result().status for one in deleted) == [200, 404]
    database.close()


def test_conversations_grow_in_two_processes_at_once_and_end_in_their_longest_state(
    start_service, postgres_url
):
    env = {"PROMPTLIFT_API_KEY": "shared-key-0123456789"}
    sides = [start_service(database=postgres_url, env=env) for _ in range(2)]
    prompt_id = Wire(sides[0].base_url, env["PROMPTLIFT_API_KEY"]).add_prompt()

    def records(turns):
        return [
            {
                "source_id": f"s{number}",
                "messages": [{"role": "user", "content": f"{number} {turn}"} for turn in range(turns)],
            }
            for number in range(40)
        ]

    def log(side, turns):
        with promptlift.connect(sides[side].base_url, env["PROMPTLIFT_API_KEY"], progress=False) as workspace:
            return workspace.log(records(turns), prompt_id=prompt_id)

    assert log(0, 1).logged == 40
    with ThreadPoolExecutor(2) as pool:
        shorter, longer = pool.map(log, (0, 1), (2, 3))
    assert longer.updated == 40
    assert shorter.updated + shorter.already_there == 40
    with promptlift.connect(sides[0].base_url, env["PROMPTLIFT_API_KEY"], progress=False) as workspace:
        table = workspace.conversations(prompt_id, content=True)
    assert sorted(table["source_id"]) == sorted(f"s{number}" for number in range(40))
    assert {len(json.loads(content)["messages"]) for content in table["content"]} == {3}
    for side in sides:
        assert "Traceback" not in side.log.read_text()
