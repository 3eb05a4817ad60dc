"""A real service process for tests: started as a user starts it, on a free port of loopback."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

READY = "promptlift is ready at "
DEADLINE = 60.0
# A start takes a second of one processor, which others may have; a stop may give requests ten seconds.
START_DEADLINE = 300.0
STOP_DEADLINE = 120.0


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without what a developer's shell may say about services."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROMPTLIFT_")}
    return {**kept, **(extra or {})}


def wait_until(holds: Callable[[], object], *, what: str, seconds: float = DEADLINE) -> None:
    """Wait for a condition with a deadline."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.02)


def free_port() -> int:
    """A port of loopback that nobody listens on now, for a service that is to come back on the same one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not yet collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@dataclass
class ServiceProcess:
    """One ``promptlift serve`` and how to reach it. ``start`` works again after ``kill`` and ``stop``."""

    data: Path
    # None leaves the option out.
    plan: str | None = "enterprise"
    env: Mapping[str, str] = field(default_factory=dict)
    database: str | None = None
    key: str = field(default_factory=lambda: f"test_{secrets.token_urlsafe(32)}", repr=False)
    port: int = 0
    base_url: str = ""
    process: subprocess.Popen[bytes] | None = None
    # How many files the process may have open; ``None`` is as many as the tests.
    open_files: int | None = None
    options: Sequence[str] = ()

    @property
    def pid(self) -> int:
        assert self.process is not None, "the service was not started"
        return self.process.pid

    @property
    def log(self) -> Path:
        return self.data / "test.log"

    def start(self, *, wait: bool = True) -> ServiceProcess:
        """Start the process and wait for its ready line."""
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = [sys.executable, "-m", "promptlift", "serve", "--port", str(self.port)]
        command += ["--data", str(self.data), *self.options]
        if self.plan is not None:
            command += ["--plan", self.plan]
        if self.database is not None:
            command += ["--database", self.database]
        if self.open_files is not None:
            command = ["sh", "-c", f'ulimit -n {self.open_files} && exec "$@"', "sh", *command]
        environment = clean_environment({"PROMPTLIFT_API_KEY": self.key, **self.env})
        start = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        deadline = time.monotonic() + START_DEADLINE
        while wait:
            text = self.log.read_bytes()[start:].decode()
            ready = [line for line in text.splitlines(keepends=True) if line.startswith(READY)]
            if ready and ready[0].endswith("\n"):
                self.base_url = ready[0].removeprefix(READY).strip()
                return self
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"the service did not start:\n{text}")
            time.sleep(0.02)
        return self

    def stop(self) -> int:
        """End it in order; gives the exit code."""
        assert self.process is not None, "the service was not started"
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=STOP_DEADLINE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        assert self.process is not None, "the service was not started"
        self.process.kill()
        self.process.wait(timeout=30)
