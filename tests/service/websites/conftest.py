"""A guarded client that may read loopback, and websites to read."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from promptlift.service.net import GuardedClient
from service.net.conftest import guarded  # noqa: F401 - a fixture
from support.website import a_website

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.website import Website


@pytest.fixture(scope="session")
def net() -> Iterator[GuardedClient]:
    with closing(GuardedClient(allow_private=True)) as client:
        yield client


@pytest.fixture
def website() -> Iterator[Website]:
    with a_website() as running:
        yield running
