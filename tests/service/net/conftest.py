"""A guarded client, and a receiver on loopback whose certificate it trusts."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from promptlift.service.net import GuardedClient
from support.tls_receiver import Certificate, make_certificate, receiving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.tls_receiver import Receiver


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def receiver(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with receiving(certificate) as running:
        yield running


@pytest.fixture
def guarded() -> Iterator[Callable[..., GuardedClient]]:
    """Make guarded clients; they are closed with the test."""
    with ExitStack() as ends:

        def make(**options: object) -> GuardedClient:
            client = GuardedClient(**{"allow_private": False, **options})
            ends.callback(client.close)
            return client

        yield make
