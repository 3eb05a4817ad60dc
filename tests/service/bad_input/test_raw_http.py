"""Garbage on the socket: the service refuses it, or lets go of it, and goes on."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

HEAD = "Host: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"


def talk(wire, *parts, leave=False, hang_up=False):
    """Send bytes as they are; gives what comes back until the service closes.

    ``leave`` closes without reading an answer, ``hang_up`` says that nothing more will be sent.
    """
    parts = [part if isinstance(part, bytes) else part.replace("{key}", wire.key).encode() for part in parts]
    address = urlsplit(wire.base_url)
    received = b""
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            if leave:
                return b""
            if hang_up:
                with suppress(OSError):  # let go already
                    connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                received += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
    return received


def status_of(received):
    return int(received.split(b" ", 2)[1]) if received.startswith(b"HTTP/1.1 ") else None


def error_of(received):
    return json.loads(received.partition(b"\r\n\r\n")[2])["error"]


def is_well(wire):
    return wire.ask("GET", "/account").status == 200


GET = b"GET /api/v1/account HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /api/v1/prompts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
LONG = b"y" * 33_554_432


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"\x00" * 1_000,
        b"POST /api/v1/prompts HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"GET /api/v1/account HTTP/9.9\r\n\r\n",
        b"FOO /api/v1/account HTTP/1.1\r\nHost: x\r\n\r\n",
        GET + b"X-Name: a\x00b\r\n\r\n",
        b"GET /api/v1/\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        POST + b"Content-Length: ten\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n\r\n",
        GET + b"X: " + b"y" * 70_000,
    ],
    ids=lambda raw: repr(raw[:40]),
)
def test_what_is_not_http_is_refused_with_the_error_body_of_the_api(wire, sent):
    received = talk(wire, sent.replace(b"{key}", wire.key.encode()))
    assert status_of(received) == 400
    assert error_of(received)["code"] == "VALIDATION_ERROR"
    assert is_well(wire)


@pytest.mark.parametrize(
    "sent",
    [
        GET + b"X: " + LONG + b"\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + LONG,
    ],
    ids=lambda raw: repr(raw[:40]),
)
def test_headers_without_an_end_are_let_go(wire, sent):
    """A client that is still sending may find the connection reset before it reads why."""
    assert status_of(talk(wire, sent.replace(b"{key}", wire.key.encode()))) in (400, None)
    assert is_well(wire)


def test_a_body_that_never_comes_to_its_end_is_let_go(wire):
    for end in ({"leave": True}, {"hang_up": True}):
        talk(
            wire,
            f"POST /api/v1/prompts HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n",
            b'{"name":',
            **end,
        )
    assert is_well(wire)
    assert wire.get("/prompts")["data"] == []


def chunked(*chunks):
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def test_chunks_without_a_length_are_bounded_too(wire):
    head = f"POST /api/v1/prompts HTTP/1.1\r\n{HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    received = talk(wire, head, chunked(*[b" " * 65_536] * 60))
    assert status_of(received) == 413
    assert error_of(received)["details"] == {"body": "The body is over 3670016 bytes"}
    assert is_well(wire)


def test_a_body_that_says_it_is_endless_is_refused_without_being_read(wire):
    head = (
        f"POST /api/v1/prompts HTTP/1.1\r\n{HEAD}Connection: close\r\nContent-Length: 99999999999999\r\n\r\n"
    )
    received = talk(wire, head, b"{" * 100_000)
    assert status_of(received) in (413, None)
    assert is_well(wire)


def test_a_refused_body_does_not_become_the_next_request(wire):
    hidden = f"GET /api/v1/account HTTP/1.1\r\n{HEAD}\r\n".replace("{key}", wire.key)
    head = f"POST /api/v1/prompts HTTP/1.1\r\n{HEAD}Content-Length: {len(hidden)}\r\n\r\n"
    last = f"GET /api/v1/usage HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"
    received = talk(wire, head.replace("application/json", "text/plain"), hidden, last)
    assert received.count(b"HTTP/1.1 ") == 2
    assert status_of(received) == 415
    assert received.count(b'"period"') == 1


def test_the_log_of_the_service_has_no_traceback_after_all_of_it(service, wire):
    assert is_well(wire)
    assert "Traceback" not in service.log.read_text()
    assert wire.key not in service.log.read_text()
