from __future__ import annotations

import pytest

from promptlift.service.store.database import Database
from support.wire import Wire, open_account


@pytest.fixture(scope="module")
def database(service):
    opened = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wire(service, database) -> Wire:
    return open_account(service.base_url, database)
