"""How fast a foreign service is read that needs one request an item, beside what people write with httpx and aiohttp.

``python -m pytest -m benchmark tests/benchmarks/test_item_requests_speed.py -s`` prints the ratios. No test asserts a time.

The service is another process (``serve_items.py``). Every reader is a process of its own, started in turn, and measures
itself from before its first request to after its last row, with its libraries loaded. All make the same requests, the pages
of the list and one an item, check every status, and decode every answer. The loops end with a list of dicts; ours ends with
the DataFrame of ``lift.conversations``, and beyond that checks ids and totals, keeps to the pace and repeats what fails.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from support.foreign_service import KEY
from support.service_process import clean_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

ITEMS = 2_000
ROUNDS = 7
SERVER = Path(__file__).with_name("serve_items.py")

OURS = """
import json, sys, time
import promptlift, promptlift.frames
base_url, key, detail = sys.argv[1:]
with promptlift.connect(base_url, key, progress=False) as lift:
    cpu, wall = time.process_time(), time.perf_counter()
    table = lift.conversations(**{detail: True})
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
whole = table["summary" if detail == "insights" else "content"].notna()
assert table.attrs["promptlift"]["complete"]
print(json.dumps([int(whole.sum()), wall, cpu]))
"""

HTTPX = """
import json, sys, time
import httpx
base_url, key, detail = sys.argv[1:]
path = "/conversations/{}/insights" if detail == "insights" else "/conversations/{}"
cpu, wall = time.process_time(), time.perf_counter()
with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}) as http:
    rows, total = [], 1
    while len(rows) < total:
        page = http.get("/conversations", params={"limit": 100, "offset": len(rows)}).raise_for_status().json()
        rows, total = rows + page["data"], page["pagination"]["total"]
    for row in rows:
        row[detail] = http.get(path.format(row["id"])).raise_for_status().json()
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps([sum(detail in row for row in rows), wall, cpu]))
"""

# Items are asked for while later pages are, as ours are: 16 at a time and one page.
AIOHTTP = """
import asyncio, json, sys, time
import aiohttp
base_url, key, detail = sys.argv[1:]
path = "/conversations/{}/insights" if detail == "insights" else "/conversations/{}"

async def read():
    places = asyncio.Semaphore(16)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as http:
        async def get(path, **params):
            async with http.get(base_url + path, params=params) as answer:
                answer.raise_for_status()
                return await answer.json()

        async def fill(row):
            async with places:
                row[detail] = await get(path.format(row["id"]))

        rows, total, tasks = [], 1, []
        while len(rows) < total:
            page = await get("/conversations", limit=100, offset=len(rows))
            rows, total = rows + page["data"], page["pagination"]["total"]
            tasks += [asyncio.create_task(fill(row)) for row in page["data"]]
        await asyncio.gather(*tasks)
        return rows

cpu, wall = time.process_time(), time.perf_counter()
rows = asyncio.run(read())
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(json.dumps([sum(detail in row for row in rows), wall, cpu]))
"""


class Reading(NamedTuple):
    """One whole read: rows with their detail, and seconds of wall and processor time."""

    rows: int
    wall: float
    cpu: float


@contextmanager
def foreign_service(delay_ms: float) -> Iterator[str]:
    command = [sys.executable, str(SERVER), str(ITEMS), str(delay_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/api/v1"
        finally:
            server.terminate()


def read_with(reader: str, base_url: str, detail: str) -> Reading:
    command = [sys.executable, "-c", reader, base_url, KEY, detail]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=True)
    return Reading(*json.loads(done.stdout))


@pytest.mark.parametrize("detail", ["insights", "content"])
@pytest.mark.parametrize(
    ("delay_ms", "name", "loop", "bound"),
    [(0, "plain httpx loop", HTTPX, 1.0), (30, "aiohttp, 16 in flight,", AIOHTTP, 1.05)],
    ids=["at once", "after 30 ms"],
)
def test_one_request_an_item(delay_ms: float, name: str, loop: str, bound: float, detail: str) -> None:
    ours, theirs = [], []
    with foreign_service(delay_ms) as base_url:
        for _ in range(ROUNDS):
            ours.append(read_with(OURS, base_url, detail))
            theirs.append(read_with(loop, base_url, detail))
    assert {one.rows for one in ours + theirs} == {ITEMS}

    def seconds(readings: list[Reading]) -> str:
        wall, cpu = (statistics.median(one[place] for one in readings) for place in (1, 2))
        return f"{wall:.2f} s ({cpu:.2f} s of processor)"

    walls, cpus = (
        [one[place] / other[place] for one, other in zip(ours, theirs, strict=True)] for place in (1, 2)
    )
    print(
        f"\n{ITEMS} {detail}, answers after {delay_ms} ms: ours {seconds(ours)}, {name} {seconds(theirs)}; "
        f"median ratio {statistics.median(walls):.2f} from {min(walls):.2f} to {max(walls):.2f} (aim {bound:.2f}), "
        f"of processor time {statistics.median(cpus):.2f}"
    )
