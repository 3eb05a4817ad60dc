"""A prompt whose optimized text is live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.databases import migrated
from support.deployed import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.service.store.database import Database
    from support.deployed import World

# The file of a database, account, prompt, start and optimization of a world that was made once.
_made: dict[str, tuple[bytes, str, str, int, str]] = {}


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated, empty database; tests of statements that PostgreSQL may see differently ask for both."""
    with migrated(request.param, request) as opened:
        yield opened


def _once(world: World, name: str, make: Callable[[], str]) -> str:
    """Make a world once, and copy its file for every other test; return the optimization."""
    database = world.database
    if not database.is_sqlite:
        return make()
    file = Path(database.url.removeprefix("sqlite:///"))
    if name not in _made:
        optimization_id = make()
        database.close()
        _made[name] = file.read_bytes(), world.account, world.prompt_id, world.started, optimization_id
    database.close()
    content, world.account, world.prompt_id, world.started, optimization_id = _made[name]
    file.write_bytes(content)
    return optimization_id


@pytest.fixture
def live(world):
    """A winner that a person applied; 200 conversations before it, 80 of them failed."""

    def make() -> str:
        world.log(200, failed=80, at=world.started)
        optimization_id = world.optimization()
        world.apply(optimization_id)
        return optimization_id

    return _once(world, "live", make)


@pytest.fixture
def auto(world):
    """The same, gone live by itself."""

    def make() -> str:
        world.log(200, failed=80, at=world.started)
        return world.optimization(AT_ONCE)

    return _once(world, "auto", make)
