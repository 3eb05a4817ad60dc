"""A prompt whose optimized text is live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.databases import migrated
from support.deployed import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.service.store.database import Database


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated, empty database; tests of statements that PostgreSQL may see differently ask for both."""
    with migrated(request.param, request) as opened:
        yield opened


@pytest.fixture
def live(world):
    """A winner that a person applied; 200 conversations before it, 80 of them failed."""
    world.log(200, failed=80, at=world.started)
    optimization_id = world.optimization()
    world.apply(optimization_id)
    return optimization_id


@pytest.fixture
def auto(world):
    """The same, gone live by itself."""
    world.log(200, failed=80, at=world.started)
    return world.optimization(AT_ONCE)
