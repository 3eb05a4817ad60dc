"""A service with a model behind it, and a plain way to ask both."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.answering_model import AnsweringModel, serving
from support.optimizing_caller import Caller
from support.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Caller]]:
    """Start a service over a model; ``model=None`` starts it without one."""
    with ExitStack() as stack:

        def start(
            model: AnsweringModel | None,
            *,
            plan: str = "enterprise",
            database: str | None = None,
            **env: str,
        ) -> Caller:
            variables = {"PROMPTLIFT_LLM_PATIENCE": "0", **env}
            if model is not None:
                variables |= stack.enter_context(serving(model))
            service = ServiceProcess(tmp_path / "data", plan=plan, env=variables, database=database).start()
            stack.callback(service.stop)
            caller = Caller(service)
            stack.callback(caller.close)
            return caller

        yield start
