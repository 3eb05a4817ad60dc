"""Import many conversations of 4 KB with ``promptlift import``: rows a second from start to end, memory, then first and deep pages.

    python tests/benchmarks/million.py [--rows 1000000] [--database sqlite|postgresql] [--judge]

One file is imported by one command into a service of its own. Reported are rows a second for every 50,000, with the
processor time of both processes a row and what each reads and writes a row (which other work on the machine does not change), their peak memory, and the median times of the first page, of a page in the middle, of the last one, of what is new (nothing), and of the
aggregates of the prompt. Without ``--judge`` the service judges none meanwhile (PostgreSQL only); SQLite always judges some, and the rest afterwards.
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

A_MARK = 50_000
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


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def moved_bytes(pid: int) -> dict[str, int]:
    """Return what a process has read and written, of files and connections, whether or not it reached the disk."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return {"read": int(fields["rchar"]), "written": int(fields["wchar"])}


def count(client: httpx.Client, which: str = "") -> int:
    return int(client.get(f"/conversations?limit=1{which}").json()["pagination"]["total"])


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
        environment = clean_environment(
            {
                "PROMPTLIFT_API_KEY": service.key,
                "PROMPTLIFT_DATA": str(folder / "user"),
                "PYTHONUNBUFFERED": "1",
            }
        )
        headers = {"Authorization": f"Bearer {service.key}"}
        command = [sys.executable, "-m", "promptlift", "import", str(file), "--prompt", "million"]
        command += ["--no-wait", "--base-url", service.base_url]
        assert service.process is not None
        size = file.stat().st_size / rows
        print(
            f"{database}, {rows:,} conversations of {size:.0f} bytes, judged meanwhile: {not options}",
            flush=True,
        )
        importer_mb = 0.0
        with (
            subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
            ) as importing,
            httpx.Client(base_url=service.base_url, headers=headers, timeout=120) as client,
        ):
            mark, began, marked_at = 0, time.perf_counter(), time.perf_counter()
            importer_seconds, worked_at, judged = 0.0, 0.0, 0
            moved = {name: {"read": 0, "written": 0} for name in ("service", "import")}
            while importing.poll() is None:
                with suppress(StopIteration):  # it has just ended
                    importer_mb = max(importer_mb, peak_mb(importing.pid))
                importer_seconds = max(importer_seconds, processor_seconds(importing.pid))
                total, now = count(client), time.perf_counter()
                if total >= mark + min(A_MARK, rows // 4) or total == rows > mark:
                    rate = (total - mark) / (now - marked_at)
                    service_mb = peak_mb(service.process.pid)
                    worked = importer_seconds + processor_seconds(service.process.pid)
                    per_row = 1e6 * (worked - worked_at) / (total - mark)
                    judged_before, judged = judged, count(client, "&hasInsights=true")
                    moves = []
                    for name, pid in (("service", service.process.pid), ("import", importing.pid)):
                        with suppress(OSError):  # it has just ended
                            before, moved[name] = moved[name], moved_bytes(pid)
                            kilobytes = {
                                way: (moved[name][way] - before[way]) / (total - mark) / 1000
                                for way in before
                            }
                            moves.append(f"{name} {kilobytes['read']:.0f} and {kilobytes['written']:.0f}")
                    print(
                        f"{total:>9,}: {rate:.0f} rows/s, {judged - judged_before:,} judged meanwhile, processor {per_row:.0f} µs a row, load {os.getloadavg()[0]:.1f}; "
                        f"KB read and written a row: {', '.join(moves)}; "
                        f"service {service_mb:.0f} MB, import {importer_mb:.0f} MB",
                        flush=True,
                    )
                    mark, marked_at, worked_at = total, now, worked
                time.sleep(0.5)
        assert importing.returncode == 0
        print(f"all: {rows / (marked_at - began):.0f} rows/s")
        service_seconds = processor_seconds(service.process.pid)
        print(f"processor time: service {service_seconds:.0f} s, import {importer_seconds:.0f} s")
        assert service.process is not None
        print(f"peak memory: service {peak_mb(service.process.pid):.0f} MB, import {importer_mb:.0f} MB")
        with httpx.Client(base_url=service.base_url, headers=headers, timeout=120) as client:
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
