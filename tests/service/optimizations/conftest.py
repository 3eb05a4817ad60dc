"""A service with a model behind it, and a plain way to ask both."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.optimizing_caller import calling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.answering_model import AnsweringModel
    from support.optimizing_caller import Caller


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Caller]]:
    """Start a service over a model for one test; ``model=None`` starts it without one."""
    with ExitStack() as stack:

        def start(model: AnsweringModel | None, **options: str) -> Caller:
            return stack.enter_context(calling(model, tmp_path, **options))

        yield start
