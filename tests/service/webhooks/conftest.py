"""Receivers on loopback with a certificate that is made for the tests."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from service.net.conftest import certificate  # noqa: F401 - a fixture
from support.tls_receiver import Certificate, Receiver, receiving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def new_receiver(certificate: Certificate) -> Iterator[Callable[[], Receiver]]:  # noqa: F811
    """Start receivers that show the certificate; they end with the test."""
    with ExitStack() as ends:
        yield lambda: ends.enter_context(receiving(certificate))


@pytest.fixture
def receiver(new_receiver: Callable[[], Receiver]) -> Receiver:
    return new_receiver()
