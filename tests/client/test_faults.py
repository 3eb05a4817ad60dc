"""What services and networks do wrong, over a real socket, and what the client makes of it."""

from __future__ import annotations

import gzip
import logging
import re
import socket
import time
import traceback
from dataclasses import replace

import pytest

from promptlift.client import Client, configure
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Transport
from promptlift.errors import (
    ApiError,
    ConnectionFailed,
    UnexpectedResponse,
)
from support.foreign_service import KEY, ForeignService

QUICK = RetryPolicy(first_pause=0.01, longest_pause=0.05, timeout=2.0, first_timeout=0.2)


@pytest.fixture
def service():
    with ForeignService() as running:
        running.fill(3)
        yield running


@pytest.fixture
def client(service):
    config = configure(service.base_url, KEY)
    with Client(config, transport=Transport(config, policy=QUICK)) as opened:
        yield opened


def raw(handler, text):
    handler.wfile.write(text)
    handler.wfile.flush()
    handler.close_connection = True


def answer_with(service, raw_answer, *, times=1):
    """Answer so many requests with raw bytes, the others as usual."""
    service.fault = lambda _m, _p, count: (
        (lambda handler: raw(handler, raw_answer)) if count <= times else None
    )


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

PASSING = {
    "closed without an answer": b"",
    "cut in the body": OK + b'Content-Length: 500\r\n\r\n{"data": [',
    "500 with a page": b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
    "503 of a proxy": b"HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n",
    "429 with Retry-After": b"HTTP/1.1 429 Slow\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("kind", PASSING)
def test_what_may_pass_is_asked_again(service, client, kind):
    answer_with(service, PASSING[kind], times=2)
    assert client.conversations.list().pagination.total == 3
    assert len(service.seen) == 3


GARBAGE = {
    "a page": (OK + b"Content-Length: 14\r\n\r\n<html>sign in!", "not JSON; it begins with '<html>"),
    "a list": (OK + b"Content-Length: 2\r\n\r\n[]", "not what the API promises"),
    "too deep": (OK + b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000, "not JSON"),
    "a redirect": (
        b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
        "redirects to http://elsewhere",
    ),
    "an odd status": (b"HTTP/1.1 418 Tea\r\nContent-Length: 0\r\n\r\n", "answered 418 without an error body"),
    "too much": (OK + b"Content-Length: 99999999999\r\n\r\n{", "sent too much"),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_an_answer_that_is_not_the_apis_is_told_and_not_repeated(service, client, kind):
    bytes_sent, says = GARBAGE[kind]
    answer_with(service, bytes_sent, times=99)
    with pytest.raises(UnexpectedResponse, match=re.escape(says)) as failed:
        client.conversations.list()
    assert failed.value.request == "GET /conversations"
    assert len(service.seen) == 1


def test_nan_and_half_surrogates_of_careless_services_are_read(service, client):
    body = b'{"id": "c1", "status": "completed", "llmModel": "a\\ud800b", "score": NaN}'
    answer_with(service, OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    got = client.conversations.get("c1")
    assert got.llm_model == "a?b"
    assert got.model_extra["score"] is None


def test_a_packed_answer_that_grows_too_large_is_stopped(service, client, monkeypatch):
    monkeypatch.setattr("promptlift.client.connection.ANSWER_BYTES_MAX", 100_000)
    body = gzip.compress(b" " * 10_000_000)
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    answer_with(service, head + body)
    with pytest.raises(UnexpectedResponse, match="sent too much"):
        client.conversations.list()


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (lambda c: c.prompts.create(name="n", content="c", llm_model="m"), b""),
        (lambda c: c.prompts.delete("p1"), PASSING["503 of a proxy"]),
        (
            lambda c: c.conversations.create(prompt_id="p1", content="User: a"),
            PASSING["429 with Retry-After"],
        ),
    ],
)
def test_what_is_not_repeatable_is_sent_once(service, client, act, fault):
    answer_with(service, fault, times=99)
    with pytest.raises(ApiError):
        act(client)
    assert len(service.seen) == 1


def test_a_port_where_nobody_listens_is_told_with_what_to_check():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        config = configure(address, KEY)
        told = pytest.raises(ConnectionFailed, match="Check the address and whether the service runs")
        with Client(config, transport=Transport(config, policy=QUICK)) as client, told:
            client.account.get()


def test_a_silent_service_runs_into_the_timeout(service):
    config = configure(service.base_url, KEY)
    quick = type(config)(config.base_url, config.key, config.scheme, read_timeout=0.2)
    waits = []
    service.fault = lambda _m, _p, _c: lambda handler: waits.append(handler.connection.recv(1))
    told = pytest.raises(ConnectionFailed, match="timed out waiting for an answer")
    with Client(quick, transport=Transport(quick, policy=QUICK)) as client, told:
        client.account.get()


WHOLE = OK + b"Content-Length: 2000\r\n\r\n" + b" " * 1996 + b"null"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 400


@pytest.mark.parametrize(
    "answer", [OK[:20] + b"X-Slow: " + b"x" * 2000, WHOLE, CHUNKED], ids=["headers", "body", "chunks"]
)
def test_an_answer_that_drips_is_given_up(service, answer):
    """Every byte comes well within the read timeout, and the answer would take four seconds."""
    config = configure(service.base_url, KEY)
    # A fifth of a second, and then 10,000 bytes a second.
    impatient = replace(config, read_timeout=0.2, floor_rate=10_000.0)
    sent = []

    def drip(handler):
        for place in range(len(answer)):
            handler.wfile.write(answer[place : place + 1])
            handler.wfile.flush()
            sent.append(place)
            time.sleep(0.002)

    service.fault = lambda _m, _p, _c: drip
    once = RetryPolicy(first_timeout=0.0)
    told = pytest.raises(ConnectionFailed, match=r"too slowly|timed out")
    with Client(impatient, transport=Transport(impatient, policy=once)) as client, told:
        client.account.get()
    assert len(sent) < len(answer)


def test_a_slow_answer_that_keeps_the_floor_rate_is_read_to_its_end(service):
    config = configure(service.base_url, KEY)
    patient = replace(config, read_timeout=0.5, floor_rate=1_000.0)
    body = b'{"id": "c1", "status": "completed"}'.ljust(60_000)

    def drip(handler):
        handler.wfile.write(OK + b"Content-Length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 2_000):
            handler.wfile.write(body[start : start + 2_000])
            handler.wfile.flush()
            time.sleep(0.03)  # in all well over the read timeout

    service.fault = lambda _m, _p, _c: drip
    with Client(patient, transport=Transport(patient, policy=QUICK)) as client:
        assert client.conversations.get("c1").id == "c1"


@pytest.mark.parametrize("kind", ["closed without an answer", "cut in the body", "503 of a proxy", "page"])
def test_the_key_shows_in_no_traceback_log_or_repr(service, client, caplog, kind):
    caplog.set_level(logging.DEBUG)
    answer_with(service, PASSING.get(kind, GARBAGE["a page"][0]), times=10**6)
    with pytest.raises(ApiError) as failed:
        client.conversations.list()
    told = traceback.TracebackException.from_exception(failed.value, capture_locals=True)
    shown = [
        "".join(told.format()),
        caplog.text,
        repr(failed.value),
        str(failed.value),
        *map(repr, (client, client.config, client.transport, client.prompts, service and client.__dict__)),
    ]
    assert not [text for text in shown if KEY in text]
    assert failed.value.__context__ is None or KEY not in repr(failed.value.__context__)


def test_a_redirect_never_carries_the_key_elsewhere(service, client):
    with ForeignService() as other:
        location = other.base_url.encode()
        answer_with(
            service, b"HTTP/1.1 307 X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % location, times=9
        )
        with pytest.raises(UnexpectedResponse, match="redirects"):
            client.account.get()
        assert other.seen == []
