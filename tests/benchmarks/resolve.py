"""Resolve texts of a running experiment at a steady rate: latency, and the service's processor time a request.

    python tests/benchmarks/resolve.py [--rate 500] [--seconds 10] [--connections 8]

The latency counts from the moment at which a request is due, so that a service that falls behind shows. The processor time is
that of all requests together and says more than the clock on a machine that others use too.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import promptlift
from support.service_process import ServiceProcess

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def ask(service: ServiceProcess, path: str, due: list[float], taken: list[float]) -> None:
    """Send one request at each of these times, on one connection."""
    connection = http.client.HTTPConnection(urlsplit(service.base_url).netloc)
    for number, at in enumerate(due):
        time.sleep(max(0.0, at - time.monotonic()))
        connection.request("GET", f"{path}{number}", headers={"Authorization": f"Bearer {service.key}"})
        answer = connection.getresponse()
        answer.read()
        taken.append(time.monotonic() - at)
        assert answer.status == 200, answer.status
    connection.close()


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("rate", 500), ("seconds", 10), ("connections", 8)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        service = ServiceProcess(Path(folder) / "data").start()
        try:
            with promptlift.connect(service.base_url, service.key, progress=False) as lift:
                prompt = lift.create_prompt("Support", "first " * 200, llm_model="gpt-4o").id
                lift.update_prompt(prompt, content="second " * 200)
                lift.live(prompt, {"v1": 0.5})
            path = f"{urlsplit(service.base_url).path}/prompts/{prompt}/resolve?unit=user-"
            ask(service, path, [0.0] * 200, [])  # until everything is loaded
            taken: list[float] = []
            begin = time.monotonic() + 0.2
            due = [begin + number / given.rate for number in range(given.rate * given.seconds)]
            threads = [
                threading.Thread(target=ask, args=(service, path, due[n :: given.connections], taken))
                for n in range(given.connections)
            ]
            before = processor_seconds(service.pid)
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            spent = (processor_seconds(service.pid) - before) / len(due)
        finally:
            service.kill()
    p50, p99 = 1000.0 * np.quantile(taken, (0.5, 0.99))
    print(
        f"{len(taken):,} requests at {given.rate} a second: p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
        f"{1e6 * spent:.0f} µs of processor each"
    )


if __name__ == "__main__":
    main()
