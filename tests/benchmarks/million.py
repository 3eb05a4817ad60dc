"""Import many conversations of 4 KB with ``promptlift import``: rows a second from start to end, memory, then first and deep pages.

    python tests/benchmarks/million.py [--rows 1000000] [--database sqlite|postgresql] [--judge]

Files of 5,000 conversations each are imported by one command into a service of its own. Reported are rows a second by tenth of the
import, the peak memory of both processes, and the median times of the first page, of a page in the middle, of the last one, of what
is new (nothing), and of the aggregates of the prompt. Without ``--judge`` the service judges none meanwhile (PostgreSQL only).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.postgres_cluster import cluster, new_postgres_database
from support.service_process import ServiceProcess, clean_environment

A_FILE = 5_000
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


def write_files(folder: Path, rows: int) -> list[Path]:
    chosen, files = random.Random(20261122), []
    start = datetime(2025, 11, 1, tzinfo=UTC)
    for number in range(-(-rows // A_FILE)):
        files.append(folder / f"{number:04d}.jsonl")
        with files[-1].open("w") as file:
            for _ in range(min(A_FILE, rows - number * A_FILE)):
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
    return files


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


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
        files = write_files(folder, rows)
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
        command = [sys.executable, "-m", "promptlift", "import", *map(str, files), "--prompt", "million"]
        command += ["--no-wait", "--base-url", service.base_url]
        began = time.perf_counter()
        ends_of_files, importer_mb = [], 0.0
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as importing:
            assert importing.stdout is not None
            for line in importing.stdout:
                if "logged" in line:
                    ends_of_files.append(time.perf_counter())
                    importer_mb = max(importer_mb, peak_mb(importing.pid))
        assert importing.returncode == 0
        print(
            f"{database}, {rows:,} conversations of {files[0].stat().st_size / min(rows, A_FILE):.0f} bytes, judged meanwhile: {not options}"
        )
        tenth = max(1, len(ends_of_files) // 10)
        marks = [began, *ends_of_files[tenth - 1 :: tenth]]
        rates = [tenth * A_FILE / (end - start) for start, end in itertools.pairwise(marks)]
        print(
            "rows/s by tenth:",
            " ".join(f"{rate:.0f}" for rate in rates),
            f"all: {rows / (ends_of_files[-1] - began):.0f}",
        )
        assert service.process is not None
        print(f"peak memory: service {peak_mb(service.process.pid):.0f} MB, import {importer_mb:.0f} MB")
        headers = {"Authorization": f"Bearer {service.key}"}
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
