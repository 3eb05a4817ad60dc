"""The world of `deployed` on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.deployed import World, migrated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from promptlift.service.store.database import Database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated, empty database."""
    with migrated(request.param, request, tmp_path) as opened:
        yield opened


@pytest.fixture
def world(database: Database) -> World:
    return World(database)
