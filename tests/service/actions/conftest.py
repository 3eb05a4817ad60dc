"""The world of `deployed` on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deployed import World
from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated, empty database."""
    url = f"sqlite:///{tmp_path / 'promptlift.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url").replace("postgresql://", "postgresql+psycopg://")
    opened = Database(url)
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def world(database: Database) -> World:
    return World(database)
