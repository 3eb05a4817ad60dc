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
from typing import TYPE_CHECKING

import httpx

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.postgres_cluster import cluster, new_postgres_database
from support.service_process import ServiceProcess, clean_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Watch:
    """Prints what the import of a part took: its pace, and what both processes did for each of its rows.

    Parameters
    ----------
    service, importing
        Process ids of the service and of the import.

    Attributes
    ----------
    rows, marked_at
        How many rows there were at the end of the last part, and when that was.
    importer_seconds, importer_mb
        Processor time and peak memory of the import.
    """

    def __init__(self, service: int, importing: int) -> None:
        self._pids = {"service": service, "import": importing}
        self._moved = {name: {"read": 0, "written": 0} for name in self._pids}
        self.rows, self._judged, self._worked = 0, 0, 0.0
        self.began = self.marked_at = time.perf_counter()
        self.importer_seconds, self.importer_mb = 0.0, 0.0

    def look(self) -> None:
        """Note the memory and processor time of the import, which takes them with it when it ends."""
        pid = self._pids["import"]
        with suppress(StopIteration):  # it has just ended
            self.importer_mb = max(self.importer_mb, peak_mb(pid))
        self.importer_seconds = max(self.importer_seconds, processor_seconds(pid))

    def is_due(self, total: int, rows: int) -> bool:
        """Whether so many rows more are there that a part has ended."""
        return total >= self.rows + min(A_MARK, rows // 4) or total == rows > self.rows

    def mark(self, total: int, judged: int) -> None:
        """Print the part that ends with so many rows, of which so many are judged."""
        now, rows = time.perf_counter(), total - self.rows
        worked = self.importer_seconds + processor_seconds(self._pids["service"])
        print(
            f"{total:>9,}: {rows / (now - self.marked_at):.0f} rows/s, {judged - self._judged:,} judged meanwhile, "
            f"processor {1e6 * (worked - self._worked) / rows:.0f} µs a row, load {os.getloadavg()[0]:.1f}; "
            f"KB read and written a row: {', '.join(self._moves(rows))}; "
            f"service {peak_mb(self._pids['service']):.0f} MB, import {self.importer_mb:.0f} MB",
            flush=True,
        )
        self.rows, self._judged, self._worked, self.marked_at = total, judged, worked, now

    def _moves(self, rows: int) -> Iterator[str]:
        for name, pid in self._pids.items():
            with suppress(OSError):  # it has just ended
                before, self._moved[name] = self._moved[name], moved_bytes(pid)
                read, written = ((self._moved[name][way] - before[way]) / rows / 1000 for way in before)
                yield f"{name} {read:.0f} and {written:.0f}"


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
        with httpx.Client(base_url=service.base_url, headers=headers, timeout=120) as client:
            import_file(file, rows, service, client, folder)
            print_reads(rows, client)


def import_file(file: Path, rows: int, service: ServiceProcess, client: httpx.Client, folder: Path) -> None:
    """Import the file with the command, and print each part and the whole."""
    environment = clean_environment(
        {
            "PROMPTLIFT_API_KEY": service.key,
            "PROMPTLIFT_DATA": str(folder / "user"),
            "PYTHONUNBUFFERED": "1",
        }
    )
    command = [sys.executable, "-m", "promptlift", "import", str(file), "--prompt", "million"]
    command += ["--no-wait", "--base-url", service.base_url]
    assert service.process is not None
    pid = service.process.pid
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as importing:
        watch = Watch(pid, importing.pid)
        while importing.poll() is None:
            watch.look()
            total = count(client)
            if watch.is_due(total, rows):
                watch.mark(total, count(client, "&hasInsights=true"))
            time.sleep(0.5)
    assert importing.returncode == 0
    # The import may end before its last part was seen.
    print(f"all: {watch.rows / (watch.marked_at - watch.began):.0f} rows/s, of {watch.rows:,}")
    print(f"processor time: service {processor_seconds(pid):.0f} s, import {watch.importer_seconds:.0f} s")
    print(f"peak memory: service {peak_mb(pid):.0f} MB, import {watch.importer_mb:.0f} MB")


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
