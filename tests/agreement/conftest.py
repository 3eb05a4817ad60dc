"""Accounts of their own on the shared service, and a client for each."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

import promptlift
from agreement.wire import Wire, open_account
from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.client.resources import Client
    from service_process import ServiceProcess


@pytest.fixture(scope="session")
def database(service: ServiceProcess) -> Iterator[Database]:
    """The database file of the shared service, opened beside it."""
    opened = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    yield opened
    opened.close()


@pytest.fixture
def new_account(service: ServiceProcess, database: Database) -> Callable[..., Wire]:
    """Make an account with a key of its own; nobody else's rows are in it."""

    def make(plan: str = "enterprise", scheme: str = "prompt") -> Wire:
        return open_account(service.base_url, database, plan=plan, scheme=scheme)

    return make


@pytest.fixture(params=["prompt", "agent"])
def wire(request: pytest.FixtureRequest, new_account: Callable[..., Wire]) -> Wire:
    """A fresh account, once in each naming scheme."""
    return new_account(scheme=request.param)


@pytest.fixture
def connect() -> Iterator[Callable[[Wire], Client]]:
    """The typed client of an account, in the same scheme."""
    with ExitStack() as ends:

        def make(wire: Wire) -> Client:
            workspace = promptlift.connect(wire.base_url, wire.key, scheme=wire.scheme.name, progress=False)
            return ends.enter_context(workspace).client

        yield make


@pytest.fixture
def client(wire: Wire, connect: Callable[[Wire], Client]) -> Client:
    return connect(wire)
