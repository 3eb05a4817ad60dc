"""``GET /metrics``: the text format of Prometheus, for this machine or with a key."""

from __future__ import annotations

import re

import httpx
import pytest

from promptlift.service.routes.monitoring import is_local

SAMPLE = re.compile(r'^([a-z_]+)(\{[a-z_]+="[^"\\\n]*"(,[a-z_]+="[^"\\\n]*")*\})? (\S+)$')


def root(service):
    return service.base_url.removesuffix("/api/v1")


def read(text):
    """Samples by name and labels; every line has the form of Prometheus, and every metric its type before it."""
    samples, types = {}, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            name, labels, _, value = SAMPLE.fullmatch(line).groups()
            assert name in types or re.sub("_(bucket|sum|count)$", "", name) in types
            assert (name, labels) not in samples
            samples[name, labels] = float(value)
    return samples


def test_requests_and_conversations_are_counted(start_service):
    service = start_service()
    key = {"Authorization": f"Bearer {service.key}"}
    prompt = {"name": "A", "content": "B", "llmModel": "gpt-4o"}
    made = httpx.post(f"{service.base_url}/prompts", json=prompt, headers=key).json()
    said = {"promptId": made["id"], "content": "User: Hi\nAssistant: Hello"}
    for _ in range(3):
        assert httpx.post(f"{service.base_url}/conversations", json=said, headers=key).status_code == 201
    assert httpx.get(f"{service.base_url}/prompts").status_code == 401
    answer = httpx.get(f"{root(service)}/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = read(answer.text)
    assert samples["promptlift_http_requests_total", '{method="POST",status="201"}'] == 4
    assert samples["promptlift_http_requests_total", '{method="GET",status="401"}'] == 1
    assert samples["promptlift_http_request_duration_seconds_count", None] == 5
    assert samples["promptlift_http_request_duration_seconds_bucket", '{le="+Inf"}'] == 5
    kept = [value for (name, _), value in samples.items() if name == "promptlift_conversations"]
    assert sum(kept) == 3
    assert samples["promptlift_database_up", None] == 1
    assert samples["promptlift_work_waiting", '{kind="optimization"}'] == 0
    due = [value for (name, _), value in samples.items() if name == "promptlift_work_oldest_seconds"]
    assert all(0 <= seconds < 600 for seconds in due)
    assert samples["process_resident_memory_bytes", None] > 10_000_000


def test_whoever_comes_through_a_proxy_needs_a_key(service):
    for name in ("X-Forwarded-For", "Forwarded", "Via"):
        refused = httpx.get(f"{root(service)}/metrics", headers={name: "127.0.0.1"})
        assert refused.status_code == 401
        assert refused.json()["error"]["code"] == "INVALID_API_KEY"
    headers = {"Via": "1.1 proxy", "Authorization": f"Bearer {service.key}"}
    assert httpx.get(f"{root(service)}/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("client", "local"),
    [
        (("127.0.0.1", 1), True),
        (("127.8.9.10", 1), True),
        (("::1", 1), True),
        (("10.0.0.1", 1), False),
        (("::ffff:10.0.0.1", 1), False),
        (("unix", 1), False),
        (None, False),
    ],
)
def test_this_machine_is_told_by_its_address(client, local):
    assert is_local({"type": "http", "client": client, "headers": [(b"host", b"localhost")]}) is local


def test_a_host_header_of_this_machine_needs_no_key_and_a_name_that_is_rebound_to_it_does(service):
    def status(host):
        return httpx.get(f"{root(service)}/metrics", headers={"Host": host}).status_code

    assert {status(host) for host in ("127.0.0.1", "LocalHost:8787", "localhost.:1", "[::1]:8787")} == {200}
    strange = ("rebound.example:8787", "127.0.0.1.example", "localhost.example", "10.0.0.1", "[::1", "", "@")
    assert {status(host) for host in strange} == {401}


def test_metrics_are_given_when_the_database_is_gone(start_service):
    service = start_service()
    with httpx.Client() as client:
        for file in service.data.glob("promptlift.db*"):
            file.write_bytes(b"no database")
        samples = read(client.get(f"{root(service)}/metrics").text)
    assert samples["promptlift_database_up", None] == 0
    assert ("promptlift_conversations", None) not in samples
