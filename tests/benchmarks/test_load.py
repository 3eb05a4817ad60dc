"""How many conversations a busy server takes, beside the same server without that work; and its memory.

``python -m pytest -m benchmark tests/benchmarks/test_load.py -s`` prints the figures of both. While conversations come in,
those before them are judged, and where webhooks are there, their events are delivered. No test asserts a time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from importlib.util import find_spec
from statistics import median
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import promptlift
from support.service_process import ServiceProcess, clean_environment, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]

ROUNDS = 3
SECONDS = 8
CONNECTIONS = 16
CONVERSATIONS = 100_000  # with two events each
STEP = 10_000
SETTLED = 30_000
MEGABYTES = 40

# Put before a process starts: the route reads and checks a request as ever, and answers at once.
NOTHING_BEHIND = """
from promptlift.service.routes import conversations
from promptlift.service.routes.serve import Reply


async def create(self, request):
    return Reply({"id": "cnv_0", "promptId": request.body.prompt_id, "status": "completed", "createdAt": None}, 201)


conversations._Conversations.create = create
"""

# A conversation is kept as ever, and nothing is done with it.
NO_WORK = """
from promptlift.service import work

work.BackgroundWork.start = lambda self: None
work.BackgroundWork.stop = lambda self: None
"""

# Sends the same request on some connections, each the next one when it has its answer, for some seconds.
LOAD = """
import asyncio, json, sys, time
host, port, key, prompt_id, seconds, connections, count = sys.argv[1:]
seconds, left = float(seconds), int(count)
messages = [{"role": ("user", "assistant")[n % 2], "content": "Where is my parcel? It is late again. " * 10} for n in range(10)]
body = json.dumps({"promptId": prompt_id, "content": json.dumps({"messages": messages})}).encode()
head = f"POST /api/v1/conversations HTTP/1.1\\r\\nHost: {host}\\r\\nAuthorization: Bearer {key}\\r\\n"
head += f"Content-Type: application/json\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
request = head.encode() + body
took, statuses = [], {}


async def send(until):
    global left
    reader, writer = await asyncio.open_connection(host, int(port))
    while time.perf_counter() < until and left > 0:
        left -= 1
        begun = time.perf_counter()
        writer.write(request)
        answer = await reader.readuntil(b"\\r\\n\\r\\n")
        lower = answer.lower()
        size = int(lower.partition(b"content-length:")[2].partition(b"\\r")[0])
        await reader.readexactly(size)
        took.append(time.perf_counter() - begun)
        status = answer[9:12].decode()
        statuses[status] = statuses.get(status, 0) + 1
    writer.close()


async def main():
    begun = time.perf_counter()
    await asyncio.gather(*(send(begun + seconds) for _ in range(int(connections))))
    return time.perf_counter() - begun


passed = asyncio.run(main())
took.sort()
print(json.dumps({
    "rate": len(took) / passed, "count": len(took), "statuses": statuses,
    "p50": took[len(took) // 2] * 1000, "p99": took[int(len(took) * 0.99)] * 1000,
}))
"""


def load(
    service: ServiceProcess, prompt_id: str, *, seconds: float = SECONDS, count: int = 10**9
) -> dict[str, Any]:
    url = httpx.URL(service.base_url)
    arguments = [url.host, url.port, service.key, prompt_id, seconds, CONNECTIONS, count]
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *map(str, arguments)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert set(found["statuses"]) == {"201"}
    return found


def gauge(service: ServiceProcess, name: str) -> float:
    text = httpx.get(service.base_url.removesuffix("/api/v1") + "/metrics", timeout=60).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def judged(service: ServiceProcess) -> float:
    return gauge(service, 'promptlift_conversations{status="completed",has_insights="true"}')


def new_prompt(service: ServiceProcess) -> str:
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        return lift.client.prompts.create(name="load", content="Help.", llm_model="gpt-4o").id


def start(folder: Path, ends: ExitStack, **env: str) -> ServiceProcess:
    service = ServiceProcess(folder, env=env).start()
    ends.callback(service.kill)
    return service


def with_receiver(folder: Path, ends: ExitStack) -> tuple[ServiceProcess, Any]:
    """A service that delivers its events to a receiver on loopback, where this version has webhooks."""
    if find_spec("support.tls_receiver") is None:
        return start(folder / "busy", ends), None
    from support.tls_receiver import make_certificate, receiving  # type: ignore[import-not-found]

    certificate = make_certificate(folder)
    receiver = ends.enter_context(receiving(certificate))
    service = start(folder / "busy", ends, **certificate.trusted)
    answer = httpx.post(
        f"{service.base_url}/webhooks",
        json={"url": receiver.url, "events": ["conversation.created", "insights.generated"]},
        headers={"Authorization": f"Bearer {service.key}"},
    )
    assert answer.status_code == 201, answer.text
    return service, receiver


def test_a_busy_server_beside_one_without_work_and_one_with_nothing_behind_the_route(tmp_path):
    with ExitStack() as ends:
        busy, receiver = with_receiver(tmp_path, ends)
        others = {}
        for name, patch in (("no background work", NO_WORK), ("nothing behind the route", NOTHING_BEHIND)):
            folder = tmp_path / name.replace(" ", "-")
            folder.mkdir()
            (folder / "sitecustomize.py").write_text(patch)
            others[name] = start(folder, ends, PYTHONPATH=str(folder))
        services = {"busy": busy, **others}
        prompts = {name: new_prompt(one) for name, one in services.items()}
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in services}
        load(busy, prompts["busy"], count=2_000)  # there is always something to judge
        before = judged(busy)
        for _ in range(ROUNDS):
            for name, one in services.items():
                found[name].append(load(one, prompts[name]))
        during = judged(busy) - before
        delivered = "no webhooks" if receiver is None else f"{len(receiver.received)} events delivered"
    rates = {name: median(one["rate"] for one in rounds) for name, rounds in found.items()}
    print(f"\nPOST /conversations, {CONNECTIONS} connections; {during:,.0f} judged meanwhile, {delivered}")
    for name, rounds in found.items():
        tail, middle = (median(one[which] for one in rounds) for which in ("p99", "p50"))
        print(
            f"{name}: {rates[name]:,.0f} a second, p50 {middle:.0f} ms, p99 {tail:.0f} ms; "
            f"busy is {rates['busy'] / rates[name]:.2f} of it"
        )
    assert during > 0


def test_memory_stays_flat(tmp_path):
    sizes: dict[int, float] = {}
    with ExitStack() as ends:
        service, receiver = with_receiver(tmp_path, ends)
        prompt_id = new_prompt(service)
        begun = time.perf_counter()
        for total in range(STEP, CONVERSATIONS + 1, STEP):
            load(service, prompt_id, seconds=3600, count=STEP)
            wait_until(
                lambda total=total: judged(service) >= total,
                what=f"{total} conversations judged",
                seconds=900,
            )
            sizes[total] = gauge(service, "process_resident_memory_bytes") / 1e6
            if receiver is not None:
                receiver.received.clear()
        seconds = time.perf_counter() - begun
    shown = ", ".join(f"{total // 1000},000: {size:.0f} MB" for total, size in sizes.items())
    print(f"\nmemory of serve after conversations with their insights: {shown}; {seconds:.0f} s")
    assert max(sizes.values()) - sizes[SETTLED] < MEGABYTES
