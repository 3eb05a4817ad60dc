"""How many conversations a server takes that judges them and delivers their events, beside one that does neither; and its memory.

``python -m pytest -m benchmark tests/benchmarks/test_load.py -s`` prints the figures of both, on a machine that does
nothing else in about 15 minutes. Rounds of the two servers alternate, so that other load on the machine hits both.
No test asserts a time.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import pytest

import promptlift
from promptlift.events import EVENT_KINDS
from support.service_process import ServiceProcess, clean_environment, wait_until
from support.tls_receiver import make_certificate

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(7200)]

SCRIPTS = Path(__file__).parent / "load"
ROUNDS = 6
SECONDS = 5
CONNECTIONS = 16
MEASURED = (10_000, 50_000, 100_000)  # conversations, with two events each
MEGABYTES = 40

# Put before a process starts: conversations are kept as ever, and nothing is done with them.
NO_WORK = """
from promptlift.service import work

work.BackgroundWork.start = lambda self: None
work.BackgroundWork.stop = lambda self: None
"""


@dataclass
class EventReceiver:
    """A receiver in a process of its own."""

    process: subprocess.Popen[str]
    port: int

    @classmethod
    def start(cls, certificate: Path, ends: ExitStack) -> EventReceiver:
        process = subprocess.Popen(
            [sys.executable, SCRIPTS / "receive_events.py", certificate],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )
        ends.enter_context(process)
        ends.callback(process.kill)
        assert process.stdout is not None
        return cls(process, int(process.stdout.readline()))

    def counts(self) -> dict[str, int]:
        """Deliveries, different events and connections until now."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found: dict[str, int] = json.loads(self.process.stdout.readline())
        return found


@dataclass(frozen=True)
class Backlog:
    """What a server has still to do."""

    insights: int
    deliveries: int

    @classmethod
    def of(cls, service: ServiceProcess) -> Backlog:
        file = f"file:{service.data / 'promptlift.db'}?mode=ro"
        with closing(sqlite3.connect(file, uri=True, timeout=60)) as connection:
            found = (
                "SELECT count(*) FROM conversations WHERE judging = 'pending' OR judging = 'claimed'",
                "SELECT count(*) FROM deliveries WHERE status = 'pending'",
            )
            return cls(*(connection.execute(one).fetchone()[0] for one in found))


def load(
    service: ServiceProcess, prompt_id: str, *, seconds: float = SECONDS, count: int = 10**9
) -> dict[str, Any]:
    url = httpx.URL(service.base_url)
    arguments = [url.host, url.port, service.key, prompt_id, seconds, CONNECTIONS, count]
    done = subprocess.run(
        [sys.executable, SCRIPTS / "send_conversations.py", *map(str, arguments)],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def metric(service: ServiceProcess, name: str) -> float:
    text = httpx.get(service.base_url.removesuffix("/api/v1") + "/metrics", timeout=60).text
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def megabytes(service: ServiceProcess) -> float:
    return metric(service, "process_resident_memory_bytes") / 1e6


def finish(service: ServiceProcess) -> float:
    """Wait until the server has judged and delivered everything; gives the seconds."""
    begun = time.perf_counter()
    wait_until(lambda: Backlog.of(service) == Backlog(0, 0), what="all work is done", seconds=3600)
    return time.perf_counter() - begun


def new_prompt(service: ServiceProcess) -> str:
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        return lift.client.prompts.create(name="load", content="Help.", llm_model="gpt-4o").id


def start(folder: Path, ends: ExitStack, **env: str) -> ServiceProcess:
    service = ServiceProcess(folder, env=env).start()
    ends.callback(service.kill)
    return service


def start_busy(folder: Path, ends: ExitStack) -> tuple[ServiceProcess, EventReceiver]:
    """Start a service that delivers every event to a receiver in another process."""
    certificate = make_certificate(folder)
    receiver = EventReceiver.start(certificate.file, ends)
    service = start(folder / "busy", ends, **certificate.trusted)
    answer = httpx.post(
        f"{service.base_url}/webhooks",
        json={"url": f"https://127.0.0.1:{receiver.port}/hook", "events": EVENT_KINDS},
        headers={"Authorization": f"Bearer {service.key}"},
    )
    assert answer.status_code == 201, answer.text
    return service, receiver


def start_idle(folder: Path, ends: ExitStack) -> ServiceProcess:
    """Start a service that keeps conversations, and does nothing with them."""
    (folder / "sitecustomize.py").write_text(NO_WORK)
    return start(folder / "idle", ends, PYTHONPATH=str(folder))


def test_a_server_that_judges_and_delivers_beside_one_that_does_neither(tmp_path):
    rounds: dict[str, list[dict[str, Any]]] = {"nothing behind the route": [], "insights and deliveries": []}
    ends_of_rounds: list[tuple[Backlog, float]] = []
    with ExitStack() as ends:
        idle, (busy, receiver) = start_idle(tmp_path, ends), start_busy(tmp_path, ends)
        idle_prompt, busy_prompt = new_prompt(idle), new_prompt(busy)
        for service, prompt_id in ((idle, idle_prompt), (busy, busy_prompt)):
            load(service, prompt_id, seconds=2)  # what is loaded at first use is loaded
        finish(busy)
        before = receiver.counts()["events"]
        for _ in range(ROUNDS):
            rounds["nothing behind the route"].append(load(idle, idle_prompt))
            rounds["insights and deliveries"].append(load(busy, busy_prompt))
            backlog = Backlog.of(busy)
            ends_of_rounds.append((backlog, finish(busy)))
        delivered = receiver.counts()["events"] - before
    print(f"\nPOST /conversations on {CONNECTIONS} connections, medians of {ROUNDS} rounds of {SECONDS} s")
    for name, found in rounds.items():
        rate, middle, tail = (median(one[which] for one in found) for which in ("rate", "p50", "p99"))
        print(f"{name}: {rate:,.0f} a second, p50 {middle:.0f} ms, p99 {tail:.0f} ms")
    ratios = [one["rate"] / other["rate"] for other, one in zip(*rounds.values(), strict=True)]
    shown = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"ratio {median(ratios):.2f} ({shown})")
    for name in ("insights", "deliveries"):
        waiting = median(getattr(backlog, name) for backlog, _ in ends_of_rounds)
        print(f"{name} that wait at the end of a round: {waiting:,.0f}")
    print(f"seconds until all of them are done: {median(seconds for _, seconds in ends_of_rounds):.1f}")
    assert delivered == 2 * sum(one["count"] for one in rounds["insights and deliveries"])


def test_memory_stays_flat(tmp_path):
    with ExitStack() as ends:
        service, receiver = start_busy(tmp_path, ends)
        prompt_id = new_prompt(service)
        sizes = {0: megabytes(service)}
        begun, sent = time.perf_counter(), 0
        for total in MEASURED:
            load(service, prompt_id, seconds=3600, count=total - sent)
            waiting = Backlog.of(service)
            took = finish(service)
            sizes[total], sent = megabytes(service), total
            print(f"\nafter {total:,}: {waiting} waited, all done {took:.1f} s later")
        seconds = time.perf_counter() - begun
        counts = receiver.counts()
    shown = ", ".join(f"{total:,}: {size:.0f} MB" for total, size in sizes.items())
    print(
        f"memory of serve after conversations with insights, their events delivered: {shown}; {seconds:.0f} s"
    )
    print(counts)
    assert counts["events"] == 2 * max(MEASURED)
    assert sizes[100_000] - sizes[10_000] < MEGABYTES
