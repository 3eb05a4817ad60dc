"""What tests of the service share: a stub of a model endpoint with a client, and the world of `deployed`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import ChatClient
from support.databases import migrated
from support.deployed import World
from support.raw_endpoint import RawEndpoint
from support.stub_endpoint import StubEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.service.store.database import Database


@pytest.fixture
def talk() -> Iterator[Any]:
    """Start a stub with answers and give it with a client; pauses are short."""
    opened: list[Any] = []

    def start(
        answers: Any, *, policy: RetryPolicy | None = None, timeout: float = 20
    ) -> tuple[StubEndpoint, ChatClient]:
        stub = StubEndpoint(answers)
        client = ChatClient(
            stub.settings, policy=policy or RetryPolicy(attempts=3, first=0.01, longest=0.02), timeout=timeout
        )
        opened.extend((client, stub))
        return stub, client

    yield start
    for one in opened:
        one.close()


@pytest.fixture
def raw() -> Iterator[Any]:
    """Start endpoints that a test writes byte by byte, each with a client."""
    opened: list[Any] = []

    def start(
        serve: Any, *, policy: RetryPolicy | None = None, timeout: float = 20
    ) -> tuple[RawEndpoint, ChatClient]:
        endpoint = RawEndpoint(serve)
        client = ChatClient(endpoint.settings, policy=policy or RetryPolicy(attempts=1), timeout=timeout)
        opened.extend((client, endpoint))
        return endpoint, client

    yield start
    for one in opened:
        one.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A migrated, empty database."""
    with migrated(request.param, request) as opened:
        yield opened


@pytest.fixture
def world(database: Database) -> World:
    return World(database)
