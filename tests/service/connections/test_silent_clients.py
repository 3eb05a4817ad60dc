"""A thousand clients that keep the service waiting, and one that is served all the same."""

from __future__ import annotations

import http.client
import time
from pathlib import Path
from urllib.parse import urlsplit

import promptlift
from service_process import wait_until

from .silent_clients import KINDS, Crowd

OPEN_FILES = 256
TRANSCRIPT = "User: hi\n" + "Assistant: " + "x" * 90_000


def account_over_a_new_connection(service):
    address = urlsplit(service.base_url)
    connection = http.client.HTTPConnection(address.netloc, timeout=20)
    connection.request("GET", f"{address.path}/account", headers={"Authorization": f"Bearer {service.key}"})
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_client_is_served_among_a_thousand_that_keep_the_service_waiting(start_service):
    service = start_service(
        env={"PROMPTLIFT_CONNECTION_LIMITS": "headers=2,body=2,idle=3"}, open_files=OPEN_FILES
    )
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(name="A", content="Be kind.", llm_model="gpt-4o-mini")
        for _ in range(10):
            lift.client.conversations.create(prompt_id=prompt.id, content=TRANSCRIPT)
        crowd = Crowd(service.base_url, service.key)
        statuses, rounds, slowest = [], 0, 0.0
        with crowd.around(1_000):
            wait_until(lambda: crowd.connected >= 1_000, what="everybody was connected once")
            while len(crowd.let_go) < len(KINDS) or rounds < 20:
                assert rounds < 500, crowd.let_go
                began = time.monotonic()
                statuses.append(account_over_a_new_connection(service))
                lift.client.conversations.create(prompt_id=prompt.id, content="User: hi\nAssistant: hello")
                slowest = max(slowest, time.monotonic() - began)
                assert lift.client.prompts.get(prompt.id).name == "A"
                assert len(list(Path(f"/proc/{service.pid}/fd").iterdir())) < OPEN_FILES
                rounds += 1
        print(rounds, slowest, crowd.let_go)
        assert set(statuses) == {200}
        assert lift.client.conversations.list(prompt_id=prompt.id, limit=1).pagination.total == 10 + rounds
    assert "Too many open files" not in service.log.read_text()
    assert "Traceback" not in service.log.read_text()
    assert service.stop() == 0
