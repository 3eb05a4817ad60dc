"""How much of an endpoint's rate the model port uses, 8 calls at a time: 20 ms and 200 ms a call.

``python -m pytest -m benchmark tests/benchmarks/test_model_port_speed.py -s`` prints the rates beside those of bare loops in
the same minute. No test asserts a time: what is asserted is that every call was answered and none came in excess.
"""

from __future__ import annotations

import asyncio
import http.client
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptlift.service.llm.calls import Calls
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.settings import LlmSettings

# The programs of the benchmark beside this one.
sys.path.insert(0, str(Path(__file__).with_name("truth")))

from stub_process import MODEL, running_stub

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

AT_A_TIME = 8
ASK = [{"role": "user", "content": "Hello."}]


def rate(ask: Callable[[int], None], calls: int) -> tuple[float, float]:
    """Return the calls a second and the milliseconds of processor time a call of this process."""
    begun, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        list(threads.map(ask, [calls] * AT_A_TIME))
    count = calls * AT_A_TIME
    return count / (time.perf_counter() - begun), 1000 * (time.process_time() - used) / count


@pytest.mark.parametrize(("delay_ms", "calls"), [(20, 200), (200, 30)])
def test_the_rate_of_the_model_port(tmp_path, delay_ms, calls):
    possible = AT_A_TIME * 1000 / delay_ms
    with running_stub(tmp_path / "stub.log", delay_ms=delay_ms) as stub:
        settings = LlmSettings(f"{stub.address}/v1", MODEL)
        with ChatClient(settings) as client:
            job = Calls(client, asyncio.Semaphore(AT_A_TIME))

            def ask(count: int) -> None:
                for _ in range(count):
                    job.chat(ASK, purpose="persona")

            def bare(count: int) -> None:
                connection = http.client.HTTPConnection(stub.address.removeprefix("http://"))
                for _ in range(count):
                    connection.request(
                        "POST", "/v1/chat/completions", b"{}", {"X-Promptlift-Purpose": "persona"}
                    )
                    connection.getresponse().read()
                connection.close()

            for name, one in (("bare loop", bare), ("model port", ask)):
                stub.reset()
                found, used = rate(one, calls)
                record = stub.record()
                print(
                    f"\n{name}, {delay_ms} ms: {found:.0f} calls/s, {100 * found / possible:.0f} % of the possible "
                    f"{possible:.0f}, {used:.2f} ms of processor time a call",
                    end="",
                )
                assert record["requests"] == calls * AT_A_TIME
                assert len(record["secondsAt"]) <= AT_A_TIME + 1
            assert job.calls == calls * AT_A_TIME
