"""The engines, opened once for all analyses."""

from __future__ import annotations

import pytest

from support.engines import Engines


@pytest.fixture(scope="session")
def engines():
    made = Engines()
    yield made
    made.close()
