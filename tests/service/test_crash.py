"""What is left after ``kill -9`` at any moment: all that was acknowledged, once, and in the end all judged once."""

from __future__ import annotations

import http.client
import json
import random
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from promptlift.service.store.database import Database
from support.conversation_recount import assert_counts_are_a_recount
from support.service_process import ServiceProcess, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.crash, pytest.mark.timeout(600)]

CONVERSATIONS = 1_000
KILLS = 20
WRITERS = 4
SEED = 20261121


class Wire:
    """The plainest client: one request a connection, so that a dead service is only a failed request."""

    def __init__(self, service: ServiceProcess) -> None:
        self._service = service

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        address = urlsplit(self._service.base_url)
        assert address.hostname is not None
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        try:
            headers = {"Authorization": f"Bearer {self._service.key}", "Content-Type": "application/json"}
            connection.request(method, address.path + path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def log_until_acknowledged(self, prompt_id: str, number: int, deadline: float) -> str:
        body = {
            "promptId": prompt_id,
            "content": f"User: Where is order {number}?\nAssistant: It arrives tomorrow.\nUser: Great, thanks!",
            "idempotencyKey": f"order-{number}",
        }
        while time.monotonic() < deadline:
            try:
                status, answer = self.send("POST", "/conversations", body)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                time.sleep(0.02)
                continue
            assert status in (200, 201), answer
            return str(answer["id"])
        raise AssertionError(f"conversation {number} was never acknowledged")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _all_conversations(wire: Wire) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        status, page = wire.send("GET", f"/conversations?limit=100&offset={len(found)}&includeInsights=true")
        assert status == 200, page
        found += page["data"]
        if len(found) >= page["pagination"]["total"] or not page["data"]:
            return found


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_nothing_and_judges_nothing_twice(tmp_path: Path) -> None:
    moments = random.Random(SEED)
    service = ServiceProcess(tmp_path / "data", port=_free_port()).start()
    wire = Wire(service)
    try:
        _, prompt = wire.send("POST", "/prompts", {"name": "p", "content": "c", "llmModel": "gpt-4o"})
        deadline = time.monotonic() + 500
        # Writers wait for the killer, so that every kill meets requests and jobs under way.
        allowed = threading.Semaphore(0)

        def write(number: int) -> str:
            allowed.acquire()
            return wire.log_until_acknowledged(prompt["id"], number, deadline)

        with ThreadPoolExecutor(WRITERS) as writers:
            acknowledged = [writers.submit(write, number) for number in range(CONVERSATIONS)]
            for _ in range(KILLS):
                allowed.release(CONVERSATIONS // KILLS)
                time.sleep(moments.uniform(0.0, 0.8))
                service.kill()
                service.start()
            ids = [future.result() for future in acknowledged]

        def all_judged() -> bool:
            _, page = wire.send("GET", "/conversations?hasInsights=false&limit=1")
            return bool(page["pagination"]["total"] == 0)

        wait_until(all_judged, what="every conversation judged", seconds=120)
        found = _all_conversations(wire)
        assert len(set(ids)) == CONVERSATIONS
        assert sorted(row["id"] for row in found) == sorted(ids)
        assert all(row["insights"]["conversationId"] == row["id"] for row in found)
    finally:
        service.stop()

    with sqlite3.connect(service.data / "promptlift.db") as database:
        counts = dict(
            database.execute(
                "SELECT type, COUNT(*) || '/' || COUNT(DISTINCT subject_id) FROM events GROUP BY type"
            ).fetchall()
        )
        used = database.execute("SELECT used FROM usage_counters WHERE kind = 'conversations'").fetchall()
        generations = database.execute("SELECT DISTINCT generation FROM insights").fetchall()
    opened = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    assert_counts_are_a_recount(opened)
    opened.close()
    each_once = f"{CONVERSATIONS}/{CONVERSATIONS}"
    assert counts == {"conversation.created": each_once, "insights.generated": each_once}
    assert used == [(CONVERSATIONS,)]
    assert generations == [(1,)]
