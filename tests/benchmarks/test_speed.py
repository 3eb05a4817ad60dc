"""How fast conversations go in and come out, beside a plain loop; and what must hold at any speed.

``python -m pytest -m benchmark tests/benchmarks/test_speed.py -s`` prints the figures. No test asserts a time.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import promptlift
from support.service_process import ServiceProcess, clean_environment, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

ROWS = 10_000
CONTENT_CHARS = 4_096
WORDS = (  # noqa: SIM905 - a list of sixty words is not read as a list
    "order parcel refund card late broken size colour account password invoice address voucher please thanks sorry "
    "still again today tomorrow yesterday I you we my your the a is was not can cannot could would it works great bad"
).split()

# Reads in a process of its own, so that the peak of its memory is that of the read.
READER = """
import json, resource, sys, time
import promptlift, promptlift.frames  # as httpx in the loop: loading is not reading


def peak_kilobytes():
    # ru_maxrss starts at the size of the process that started this one; VmHWM is of this one alone.
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


base_url, key, prompt_id, content = sys.argv[1:]
with promptlift.connect(base_url, key, progress=False) as lift:
    started = time.perf_counter()
    table = lift.conversations(prompt_id, insights=True, content=content == "content")
    seconds = time.perf_counter() - started
about = table.attrs["promptlift"]
print(json.dumps({
    "rows": len(table), "distinct": int(table["conversation_id"].nunique()), "requests": about["requests"],
    "complete": about["complete"], "judged": int(table["task_completed"].notna().sum()), "seconds": seconds,
    "peak_mb": peak_kilobytes() / 1024,
}))
"""

# The same pages without a table: what HTTP and decoding take in a plain loop.
PAGES = """
import json, sys, time
import httpx
base_url, key, prompt_id, content = sys.argv[1:]
asked = {"promptId": prompt_id, "includeInsights": "true", "includeContent": json.dumps(content == "content"), "limit": 100}
with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}) as http:
    started = time.perf_counter()
    count, total = 0, 1
    while count < total:
        page = http.get("/conversations", params={**asked, "offset": count}).json()
        count, total = count + len(page["data"]), page["pagination"]["total"]
    print(json.dumps({"rows": count, "seconds": time.perf_counter() - started}))
"""

LOG_LOOP = """
import json, sys, time
import httpx
base_url, key, prompt_id = sys.argv[1:]
contents = [line for line in sys.stdin.read().splitlines()]
with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {key}"}) as http:
    started = time.perf_counter()
    for content in contents:
        http.post("/conversations", json={"promptId": prompt_id, "content": content}).raise_for_status()
    print(json.dumps({"rows": len(contents), "seconds": time.perf_counter() - started}))
"""


@dataclass(frozen=True)
class Filled:
    """A service with all rows logged through the package, and how long that took."""

    service: ServiceProcess
    prompt_id: str
    accepted_per_second: float
    judged_per_second: float
    loop_per_second: float


def _contents(count: int) -> list[str]:
    chance = random.Random(4)
    made = []
    for _ in range(count):
        messages = [
            {
                "role": "user" if turn % 2 == 0 else "assistant",
                "content": " ".join(chance.choices(WORDS, k=70)),
            }
            for turn in range(10)
        ]
        text = json.dumps({"messages": messages})
        made.append(text[:-3] + "x" * max(0, CONTENT_CHARS - len(text)) + text[-3:])
    return made


def _run(script: str, *arguments: str, given: str | None = None) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        input=given,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("speed")
    service = ServiceProcess(folder / "data", env={"PROMPTLIFT_DATA": str(folder)}).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROMPTLIFT_DATA", str(folder))
        with promptlift.connect(service.base_url, service.key, progress=False) as lift:
            prompt = lift.client.prompts.create(name="speed", content="Help.", llm_model="gpt-4o")
            other = lift.client.prompts.create(name="baseline", content="Help.", llm_model="gpt-4o")
            loop = _run(LOG_LOOP, service.base_url, service.key, other.id, given="\n".join(_contents(1_000)))
            records = [{"content": content} for content in _contents(ROWS)]
            started = time.perf_counter()
            result = lift.log(records, prompt_id=prompt.id)
            accepted = time.perf_counter() - started
            assert (result.logged, len(result.failed)) == (ROWS, 0)

            def all_judged() -> bool:
                return lift.client.conversations.list(has_insights=False, limit=1).pagination.total == 0

            wait_until(all_judged, what="all conversations judged", seconds=600)
            judged = time.perf_counter() - started
    yield Filled(service, prompt.id, ROWS / accepted, ROWS / judged, loop["rows"] / loop["seconds"])
    service.stop()


def test_logging_ten_thousand_conversations_beside_a_plain_loop(filled: Filled) -> None:
    print(
        f"\nlog {ROWS} conversations of {CONTENT_CHARS} characters: {filled.accepted_per_second:,.0f} a second accepted, "
        f"{filled.judged_per_second:,.0f} a second with insights ready; plain httpx loop {filled.loop_per_second:,.0f} "
        f"a second; ratio {filled.accepted_per_second / filled.loop_per_second:.2f}"
    )
    assert filled.accepted_per_second > 0


@pytest.mark.parametrize("content", ["rows", "content"])
def test_reading_ten_thousand_rows_needs_few_requests_and_little_memory(filled: Filled, content: str) -> None:
    asked = (filled.service.base_url, filled.service.key, filled.prompt_id, content)
    pages = _run(PAGES, *asked)
    found = _run(READER, *asked)
    ratio = (found["rows"] / found["seconds"]) / (pages["rows"] / pages["seconds"])
    print(
        f"\nread {ROWS} conversations with insights ({content}): {found['rows'] / found['seconds']:,.0f} rows a second, "
        f"{found['requests']:.0f} requests, peak {found['peak_mb']:.0f} MB; plain httpx loop over the same pages, no table, "
        f"{pages['rows'] / pages['seconds']:,.0f} rows a second; ratio {ratio:.2f}"
    )
    assert (found["rows"], found["distinct"], found["judged"], found["complete"]) == (ROWS, ROWS, ROWS, True)
    assert found["requests"] <= ROWS / 100 + 5
    assert found["peak_mb"] < 260
