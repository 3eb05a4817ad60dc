"""An account with a prompt of its own on the shared service, and a workspace on it."""

from __future__ import annotations

import pytest

import promptlift
from support.reviewed_world import ReviewedWorld


@pytest.fixture
def world(service):
    made = ReviewedWorld.beside(service.data)
    yield made
    made.database.close()


@pytest.fixture
def lift(service, world):
    with promptlift.connect(service.base_url, world.key, progress=False) as opened:
        yield opened
