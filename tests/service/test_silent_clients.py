"""Clients that are silent keep no other client from being answered."""

from __future__ import annotations

import http.client
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

OPEN_FILES = 256


def kept_waiting(service):
    """What clients send before they fall silent: nothing, half a header, headers without their body, a whole request."""
    head = f"POST /api/v1/prompts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n"
    whole = head.replace("POST /api/v1/prompts", "GET /api/v1/account")
    return [b"", head.encode(), f"{head}Content-Length: 1000\r\n\r\n".encode(), f"{whole}\r\n".encode()]


def account(service, connection):
    path = f"{urlsplit(service.base_url).path}/account"
    connection.request("GET", path, headers={"Authorization": f"Bearer {service.key}"})
    response = connection.getresponse()
    response.read()
    return response.status


def test_a_client_is_answered_while_a_thousand_are_silent(start_service):
    service = start_service(open_files=OPEN_FILES)
    address = urlsplit(service.base_url)
    sent = kept_waiting(service)
    with ExitStack() as ends:
        for number in range(1_000):
            silent = ends.enter_context(
                socket.create_connection((address.hostname, address.port), timeout=20)
            )
            silent.sendall(sent[number % len(sent)])
            if number % 100 == 99:
                good = http.client.HTTPConnection(address.netloc, timeout=20)
                assert account(service, good) == 200
                good.close()
        assert len(list(Path(f"/proc/{service.pid}/fd").iterdir())) < OPEN_FILES
    log = service.log.read_text()
    assert "the one that has waited longest is closed" in log
    assert "Traceback" not in log
    assert service.stop() == 0
