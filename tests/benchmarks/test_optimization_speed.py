"""Whether optimizations use the model calls that they may have at a time: 20 ms a call, 8 at a time.

``python -m pytest -m benchmark tests/benchmarks/test_optimization_speed.py -s`` prints the rate beside the possible one. No test
asserts a time: what is asserted is the share of the time in which all places were taken, as the stub recorded it.
"""

from __future__ import annotations

import http.client
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from support.service_process import ServiceProcess

# The programs of the benchmark beside this one.
sys.path.insert(0, str(Path(__file__).with_name("truth")))

from model_stub import environment, running_stub, seconds_at, share_at
from optimization_runs import OptimizationRuns, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.stub_endpoint import Asked, StubEndpoint

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

DELAY_MS = 20.0
AT_A_TIME = 8
BARE_CALLS = 100
POSSIBLE = AT_A_TIME * 1000.0 / DELAY_MS


@dataclass
class Load:
    """What the model was asked by some optimizations."""

    name: str
    asked: list[Asked]
    conversations: int

    @cached_property
    def seconds_at(self) -> list[float]:
        return seconds_at(self.asked)

    def purposes(self) -> Counter[str]:
        return Counter(one.headers["x-promptlift-purpose"] for one in self.asked)

    def told(self) -> str:
        rate = len(self.asked) / sum(self.seconds_at)
        levels = " ".join(f"{100 * share_at(self.seconds_at, at):.0f}" for at in range(1, AT_A_TIME + 1))
        return (
            f"{self.name}: {len(self.asked)} calls, {self.conversations} conversations, {rate:.0f} calls/s, "
            f"{100 * rate / POSSIBLE:.0f} % of the possible {POSSIBLE:.0f}; share of the time with at least 1 to "
            f"{AT_A_TIME} calls under way, %: {levels}"
        )


def bare_loop(address: str) -> None:
    """As many threads as calls are allowed, each doing nothing but one call after the other."""
    body = b'{"messages": [{"role": "user", "content": "Hello."}]}'

    def ask(_: int) -> None:
        line = http.client.HTTPConnection(address)
        for _ in range(BARE_CALLS):
            line.request("POST", "/v1/chat/completions", body, {"X-Promptlift-Purpose": "persona"})
            line.getresponse().read()
        line.close()

    with ThreadPoolExecutor(AT_A_TIME) as threads:
        list(threads.map(ask, range(AT_A_TIME)))


@contextmanager
def loads(folder: Path) -> Iterator[dict[int, Load]]:
    """By how many run at once: one optimization alone, then three, on a service that has run one before (0)."""
    with running_stub(delay=DELAY_MS / 1000) as (model, endpoint):
        service = ServiceProcess(folder / "service", env=environment(endpoint, at_a_time=AT_A_TIME)).start()
        runs = OptimizationRuns(service.base_url, service.key, model=endpoint.settings.model)
        try:
            found = {}
            # The first one loads what later ones find loaded.
            for together, numbers in ((0, (1,)), (1, (2,)), (3, (3, 4, 5))):
                endpoint.asked.clear()
                # Equal texts and many passes: A/A in the longer mode.
                wanted = [Wanted(number, 0.0, 3, "validation", "high") for number in numbers]
                records = list(runs.results(wanted))
                assert [record["problems"] for record in records] == [[]] * len(records)
                conversations = sum(record["conversations"] for record in records)
                name = {0: "first", 1: "one optimization"}.get(together, f"{together} at once")
                found[together] = Load(name, calls_of(endpoint), conversations)
            assert model.not_understood == model.leaks == 0
            endpoint.asked.clear()
            bare_loop(urlsplit(endpoint.settings.base_url).netloc)
            found[-1] = Load("bare loop", calls_of(endpoint), 0)
            yield found
        finally:
            runs.close()
            service.stop()


def calls_of(endpoint: StubEndpoint) -> list[Asked]:
    return [one for one in endpoint.asked if one.body is not None]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Load]]:
    with loads(tmp_path_factory.mktemp("optimization-speed")) as found:
        for load in found.values():
            print(f"\n{load.told()}", end="")
        yield found


def test_there_are_never_more_calls_than_allowed(measured):
    for load in measured.values():
        assert len(load.seconds_at) <= AT_A_TIME + 1


def test_the_places_are_taken_most_of_the_time_when_optimizations_run_side_by_side(measured):
    # Leaves room for a busy machine: the level itself, not a rate. One optimization alone waits between its passes.
    busy = measured[3].seconds_at
    assert share_at(busy, AT_A_TIME * 3 // 4) > 0.5
    assert share_at(busy, AT_A_TIME) > 0.25
    assert share_at(busy, AT_A_TIME // 2) > share_at(measured[1].seconds_at, AT_A_TIME // 2) * 0.9


def test_nothing_is_asked_that_is_not_needed(measured):
    for load in (measured[together] for together in (0, 1, 3)):
        purposes = load.purposes()
        assert purposes["agent"] == purposes["judge"] == load.conversations
        assert purposes["variants"] == (3 if load.name == "3 at once" else 1)
