"""Ctrl-C: real processes, real signals, a service that does not answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from itertools import cycle

import pytest

from promptlift.client.log.run import LOG_THREADS
from support.foreign_service import KEY
from support.lying_service import LyingService

pytestmark = pytest.mark.slow  # every test starts a process

PROGRAM = """
    import asyncio, os, threading, traceback
    import promptlift

    lift = promptlift.connect({base_url!r}, {key!r}, progress=False)

    def shown(value):
        try:
            return repr(value)
        except Exception as error:  # Ctrl-C may come between a foreign object's making and its first attribute
            return repr(error)

    def told(error):
        # Everything a traceback with locals shows, of every frame of the error and of what it came from.
        parts = []
        while error is not None:
            parts += traceback.format_exception(error, chain=False)
            for frame, _ in traceback.walk_tb(error.__traceback__):
                parts += map(shown, frame.f_locals.values())
            error = error.__cause__ or error.__context__
        return "".join(parts)

    def work():
        print("begun", flush=True)
        try:
            {work}
        except KeyboardInterrupt as interrupt:
            left = [t for t in threading.enumerate() if t.name == "promptlift-worker"]
            print("interrupted", len(left), {key!r} in told(interrupt), flush=True)

    async def in_loop():
        work()

    {start}
    lift.close()
"""

WORKS = {
    "details": "lift.conversations(insights=True)",
    "logging": "lift.log([{'content': 'User: a' + str(i)} for i in range(500)], prompt_id='p1')",
    "a page asked for ahead": "lift.prompts()",
}
# Requests that hang before the signal is sent: none is still connecting then.
HANGING = {"details": 8, "logging": LOG_THREADS, "a page asked for ahead": 1}
# A kernel runs cells in a loop of its own. asyncio.run would take the signal for itself and cancel at the next await.
STARTS = {
    "script": "work()",
    "running loop": "loop = asyncio.new_event_loop(); loop.run_until_complete(in_loop()); loop.close()",
}


@pytest.mark.parametrize(("start", "work"), [*zip(cycle(STARTS), WORKS, strict=False)])
def test_ctrl_c_ends_at_once_and_leaves_no_thread(work, start, tmp_path):
    with LyingService() as service:  # it has many prompts
        service.prompts = [{"id": f"p{number}"} for number in range(350)]
        service.fill(200)
        silent = []

        def hang(method, path, count):
            ahead = path == "/prompts" and count == 3
            logged = method == "POST" and path != "/conversations/bulk"
            if path.endswith("/insights") or logged or ahead:
                silent.append(path)
                return lambda handler: handler.connection.recv(1)  # until the client hangs up
            return None

        service.fault = hang
        program = textwrap.dedent(PROGRAM).format(
            base_url=service.base_url, key=KEY, work=WORKS[work], start=STARTS[start]
        )
        script = tmp_path / "program.py"
        script.write_text(program.replace(repr(KEY), "os.environ['THE_KEY']"))
        environment = {**os.environ, "THE_KEY": KEY, "PROMPTLIFT_DATA": str(tmp_path)}
        command = [sys.executable, str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                deadline = time.monotonic() + 60
                while len(silent) < HANGING[work]:
                    assert time.monotonic() < deadline
                    assert process.poll() is None
                    time.sleep(0.01)
                sent = time.monotonic()
                process.send_signal(signal.SIGINT)
                output, _ = process.communicate(timeout=30)
                # Generous against a busy machine; a read that is not cut takes a minute.
                assert time.monotonic() - sent < 10
            finally:
                process.kill()
        assert "interrupted 0 False" in output.splitlines()
