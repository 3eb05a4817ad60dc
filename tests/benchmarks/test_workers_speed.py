"""How much faster several workers judge on PostgreSQL, and what is left when one is killed again and again.

``python -m pytest -m benchmark tests/benchmarks/test_workers_speed.py -s`` prints the seconds and the speed-up. The endpoint
answers in 50 ms; no test asserts a time.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select

import promptlift
from promptlift.service.store.database import Database
from promptlift.service.store.tables import events, insights
from support.service_process import ServiceProcess, wait_until
from support.worker_process import WorkerProcess

# The programs of the benchmark beside this one.
sys.path.insert(0, str(Path(__file__).with_name("truth")))

from optimization_runs import OptimizationRuns, Wanted
from stub_process import MODEL, running_stub

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

CONVERSATIONS = 2_000
DELAY_MS = 50.0
KILL_SECONDS = 5.0
PLACES = 8  # model calls of one worker at a time
WANTED = Wanted(3, 0.15, 2, "validation", "high")


class World:
    """A service that does no background work, on PostgreSQL, and the workers beside it."""

    def __init__(self, folder: Path, url: str, env: dict[str, str]) -> None:
        self._folder = folder
        self._url = url
        self._env = {**env, "PROMPTLIFT_LEASE_SECONDS": "3"}
        self.database = Database(url.replace("postgresql://", "postgresql+psycopg://"))
        self.service = ServiceProcess(
            folder / "service", env=self._env, database=url, options=["--no-worker"]
        ).start()
        self.workers: list[WorkerProcess] = []

    def close(self) -> None:
        for one in self.workers:
            one.kill()
        self.service.stop()
        self.database.close()

    def start_workers(self, count: int) -> None:
        for number in range(count):
            log = self._folder / f"worker-{len(self.workers)}.log"
            self.workers.append(WorkerProcess(self._url, log, self._env).start(wait=number == count - 1))

    def stop_workers(self) -> None:
        while self.workers:
            self.workers.pop().stop()

    def log(self) -> str:
        """Log conversations with a new prompt; gives the prompt."""
        contents = [
            {"content": f"User: Matter {n}?\nAssistant: Reply {n:08x}: your matter is settled, outcome yes."}
            for n in range(CONVERSATIONS)
        ]
        with promptlift.connect(self.service.base_url, self.service.key, progress=False) as lift:
            prompt_id = lift.client.prompts.create(name="many", content="Help.", llm_model="gpt-4o").id
            assert lift.log(contents, prompt_id=prompt_id).logged == CONVERSATIONS
        return prompt_id

    def judged(self) -> int:
        with self.database.read() as connection:
            return connection.scalar(select(func.count()).select_from(insights))

    def counted(self) -> tuple[int, int, int]:
        """Rows of insights, events of them, and the conversations that these are of."""
        of = select(func.count(), func.count(events.c.subject_id.distinct()))
        with self.database.read() as connection:
            told = connection.execute(of.where(events.c.type == "insights.generated")).one()
        return self.judged(), *told

    def seconds_to_judge(self, total: int) -> float:
        """Wait until so many are judged; gives the seconds since the first of them."""
        before = self.judged()
        wait_until(lambda: self.judged() > before, what="judging begins")
        begun, first = time.perf_counter(), self.judged()
        wait_until(lambda: self.judged() >= total, what="all are judged", seconds=600)
        seconds = time.perf_counter() - begun
        return seconds * CONVERSATIONS / (total - first)


@contextmanager
def worlds(folder: Path, url: str) -> Iterator[World]:
    with running_stub(folder / "stub.log", delay_ms=DELAY_MS) as stub:
        world = World(folder, url, stub.environment(at_a_time=PLACES))
        try:
            yield world
        finally:
            world.close()


def test_more_workers_judge_faster(tmp_path, postgres_url):
    seconds: dict[int, float] = {}
    with worlds(tmp_path, postgres_url) as world:
        total = 0
        for count in (1, 2, 4):
            world.log()
            total += CONVERSATIONS
            world.start_workers(count)
            seconds[count] = world.seconds_to_judge(total)
            world.stop_workers()
        assert world.counted() == (total,) * 3
    bound = CONVERSATIONS * DELAY_MS / 1_000 / PLACES
    for count, taken in seconds.items():
        print(
            f"\n{count} workers: {CONVERSATIONS} conversations in {taken:.1f} s ({CONVERSATIONS / taken:.0f}/s), "
            f"{seconds[1] / taken:.2f} times as fast as one; not under {bound / count:.1f} s at {DELAY_MS:.0f} ms",
            end="",
        )


def decision(runs: OptimizationRuns) -> dict:
    """What an optimization ends with, whoever carried it."""
    record = next(iter(runs.results([WANTED])))
    assert record["problems"] == []
    return comparable(record)


def comparable(record: dict) -> dict:
    """A record without what interruptions may change: some calls are made again."""
    return {name: value for name, value in record.items() if name not in ("seconds", "model_calls")}


def test_a_worker_that_is_killed_again_and_again_costs_nothing_but_time(tmp_path, postgres_url):
    with worlds(tmp_path, postgres_url) as world:
        runs = OptimizationRuns(world.service.base_url, world.service.key, model=MODEL)
        world.start_workers(2)
        calm = decision(runs)
        world.stop_workers()
        optimization_id = runs.start(WANTED)
        world.log()
        world.start_workers(2)
        kills, begun = 0, time.perf_counter()

        def ended() -> bool:
            status = runs.ask("GET", f"/optimizations/{optimization_id}")["status"]
            return status in ("completed", "failed", "stopped")

        while world.judged() < CONVERSATIONS or not ended():
            assert time.perf_counter() - begun < 600
            time.sleep(KILL_SECONDS)
            world.workers[0].kill()
            world.workers[0].start(wait=False)
            kills += 1
        taken = time.perf_counter() - begun
        record = runs.read(optimization_id, WANTED)
        assert comparable(record) == calm
        assert world.counted() == (CONVERSATIONS,) * 3
        runs.close()
    print(f"\n{kills} kills in {taken:.0f} s: every insight once, the optimization as undisturbed", end="")
