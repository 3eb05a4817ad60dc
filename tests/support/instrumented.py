"""Run the instrumented application against a stub of a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from support.service_process import clean_environment
from support.stub_endpoint import StubEndpoint, weather_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["run_instrumented"]


def run_instrumented(instrumentation: str, environment: Mapping[str, str], *arguments: str) -> None:
    """Run it to its end; everything that it sends or writes is there then."""
    stub = StubEndpoint(weather_answer)
    program = [sys.executable, str(Path(__file__).with_name("instrumented_application.py")), instrumentation]
    try:
        done = subprocess.run(
            [*program, stub.settings.base_url, *arguments],
            env=clean_environment(environment),
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        stub.close()
    assert done.returncode == 0, done.stderr
    assert "Failed to export" not in done.stderr
