"""Import many conversations of 4 KB with ``promptlift import``: rows a second from start to end, memory, then first and deep pages.

    python tests/benchmarks/million.py [--rows 1000000] [--database sqlite|postgresql] [--judge]

One file is imported by one command into a service of its own. Reported are rows a second, the bytes that the service wrote (on SQLite
also for the insights until then), the processor time and peak memory of both processes, and the median times of the first page, of a page
in the middle, of the last one, of what is new (nothing), and of the aggregates of the prompt. Without ``--judge`` the service judges none
meanwhile (PostgreSQL only); SQLite always judges some, and the rest afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.postgres_cluster import cluster, new_postgres_database
from support.service_process import ServiceProcess, clean_environment

WORDS = [
    "order",
    "refund",
    "password",
    "account",
    "please",
    "thanks",
    "delivery",
    "invoice",
    "cancel",
    "address",
    "broken",
    "working",
]


def write_file(path: Path, rows: int) -> None:
    chosen = random.Random(20261122)
    start = datetime(2025, 11, 1, tzinfo=UTC)
    with path.open("w") as file:
        for _ in range(rows):
            begun = start + timedelta(seconds=chosen.randrange(380 * 86_400))
            messages = [
                {
                    "role": ("user", "assistant")[turn % 2],
                    "content": " ".join(chosen.choices(WORDS, k=82)),
                    "timestamp": (begun + timedelta(seconds=15 * turn)).isoformat(),
                }
                for turn in range(6)
            ]
            file.write(json.dumps({"messages": messages}) + "\n")


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def written_bytes(pid: int) -> int:
    counters = Path(f"/proc/{pid}/io").read_text()
    return next(int(line.split()[1]) for line in counters.splitlines() if line.startswith("write_bytes"))


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def median_ms(client: httpx.Client, path: str) -> float:
    times = []
    for _ in range(9):
        began = time.perf_counter()
        client.get(path).raise_for_status()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def measure(rows: int, database: str, *, judge: bool) -> None:
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        url = None
        if database == "postgresql":
            url = ends.enter_context(new_postgres_database(ends.enter_context(cluster())))
        file = folder / "conversations.jsonl"
        write_file(file, rows)
        options = () if judge or url is None else ("--no-worker",)
        service = ServiceProcess(folder / "data", database=url, options=options).start()
        ends.callback(lambda: service.process and service.kill())
        size = file.stat().st_size / rows
        print(
            f"{database}, {rows:,} conversations of {size:.0f} bytes, judged meanwhile: {not options}",
            flush=True,
        )
        headers = {"Authorization": f"Bearer {service.key}"}
        import_file(file, rows, service, folder)
        with httpx.Client(base_url=service.base_url, headers=headers, timeout=120) as client:
            print_reads(rows, client)


def import_file(file: Path, rows: int, service: ServiceProcess, folder: Path) -> None:
    """Import the file with the command, and print what it took."""
    environment = clean_environment(
        {"PROMPTLIFT_API_KEY": service.key, "PROMPTLIFT_DATA": str(folder / "user")}
    )
    command = [sys.executable, "-m", "promptlift", "import", str(file), "--prompt", "million"]
    command += ["--no-wait", "--base-url", service.base_url]
    began, megabytes, seconds = time.perf_counter(), 0.0, 0.0
    before = written_bytes(service.pid)
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as importing:
        while importing.poll() is None:
            with suppress(OSError, StopIteration):  # it has just ended
                megabytes, seconds = peak_mb(importing.pid), processor_seconds(importing.pid)
            time.sleep(0.5)
    assert importing.returncode == 0
    print(f"{rows / (time.perf_counter() - began):.0f} rows/s")
    print(f"written by the service: {(written_bytes(service.pid) - before) / rows:.0f} bytes a conversation")
    print(f"processor time: service {processor_seconds(service.pid):.0f} s, import {seconds:.0f} s")
    print(f"peak memory: service {peak_mb(service.pid):.0f} MB, import {megabytes:.0f} MB")


def print_reads(rows: int, client: httpx.Client) -> None:
    """Print the median times of pages and of the aggregates."""
    prompt = client.get("/prompts").json()["data"][0]["id"]
    page = client.get("/conversations", params={"updatedSince": "1970-01-01T00:00:00Z"}).json()
    total = page["pagination"]["total"]
    assert total == rows, total
    for name, path in {
        "first page": "/conversations?limit=100",
        "middle page": f"/conversations?limit=100&offset={rows // 2}",
        "last page": f"/conversations?limit=100&offset={rows - 100}",
        "last page of the prompt with a filter": f"/conversations?promptId={prompt}&status=completed&limit=100&offset={rows - 100}",
        "what is new": f"/conversations?limit=100&updatedSince={page['asOf']}",
        "aggregates of the prompt": f"/prompts/{prompt}/insights?days=all",
    }.items():
        print(f"{name}: {median_ms(client, path):.1f} ms")


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options.add_argument("--judge", action="store_true")
    given = options.parse_args()
    measure(given.rows, given.database, judge=given.judge)
