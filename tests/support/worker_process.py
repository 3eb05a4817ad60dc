"""A real ``promptlift worker`` for tests, started as a user starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.service_process import START_DEADLINE, STOP_DEADLINE, clean_environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

READY = "promptlift worker is ready"


@dataclass
class WorkerProcess:
    """One worker on a database. ``start`` works again after ``kill`` and ``stop``."""

    database: str
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self, *, wait: bool = True) -> WorkerProcess:
        """Start the process and wait for its ready line."""
        start = self.log.stat().st_size if self.log.exists() else 0
        environment = clean_environment({**self.env, "PROMPTLIFT_DATABASE_URL": self.database})
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "promptlift", "worker"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )
        deadline = time.monotonic() + START_DEADLINE
        while wait and f"{READY}\n" not in self.log.read_bytes()[start:].decode():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"the worker did not start:\n{self.log.read_text()}")
            time.sleep(0.02)
        return self

    def stop(self) -> int:
        """End it in order; gives the exit code."""
        assert self.process is not None, "the worker was not started"
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=STOP_DEADLINE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        assert self.process is not None, "the worker was not started"
        self.process.kill()
        self.process.wait(timeout=30)
