"""The stub of a model as a process of its own, and what it recorded."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.service_process import clean_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

READY = "model stub is ready at "
MODEL = "stub"


@dataclass
class ModelStub:
    """A running stub.

    Attributes
    ----------
    address
        Without a path.
    """

    process: subprocess.Popen
    address: str

    def environment(self, *, at_a_time: int) -> dict[str, str]:
        """What a service needs to know to use it."""
        return {
            "PROMPTLIFT_LLM_BASE_URL": f"{self.address}/v1",
            "PROMPTLIFT_LLM_MODEL": MODEL,
            "PROMPTLIFT_LLM_CONCURRENCY": str(at_a_time),
        }

    def record(self) -> dict:
        """What was asked since the last reset."""
        return self._ask("/record", "GET")

    def reset(self) -> None:
        """Begin a new record."""
        self._ask("/reset", "POST")

    def _ask(self, path: str, method: str) -> dict:
        request = urllib.request.Request(self.address + path, method=method)
        # Loopback, so never over the proxy that the environment may name.
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def running_stub(log: Path, *, delay_ms: float = 0.0) -> Iterator[ModelStub]:
    """Start a stub; it ends with the block."""
    program = Path(__file__).with_name("model_stub.py")
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, str(program), "--delay-ms", str(delay_ms)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=clean_environment(),
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert line.startswith(READY), f"the stub did not start:\n{log.read_text()}"
        yield ModelStub(process, line.removeprefix(READY).strip())
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()


def share_at(record: dict, level: int) -> float:
    """Share of the recorded time in which at least ``level`` requests were under way."""
    seconds = record["secondsAt"]
    return sum(seconds[level:]) / sum(seconds) if sum(seconds) else 0.0
