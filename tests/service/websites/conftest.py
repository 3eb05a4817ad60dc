"""A guarded client that may read loopback, and websites to read."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from promptlift.service.net.client import GuardedClient
from support.website import a_website

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.website import Website


@pytest.fixture
def guarded() -> Iterator[Callable[..., GuardedClient]]:
    """Make guarded clients; they are closed with the test."""
    with ExitStack() as ends:

        def make(**options: Any) -> GuardedClient:
            client = GuardedClient(**{"allow_private": False, **options})
            ends.callback(client.close)
            return client

        yield make


@pytest.fixture(scope="session")
def net() -> Iterator[GuardedClient]:
    with closing(GuardedClient(allow_private=True)) as client:
        yield client


@pytest.fixture
def website() -> Iterator[Website]:
    with a_website() as running:
        yield running
