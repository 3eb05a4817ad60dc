"""Requests to a real TLS server: what it may do, and what becomes of the request."""

from __future__ import annotations

import threading
import time

import httpcore
import pytest

from promptlift.service.net import GuardedRequest, NoAnswer


def post(url, **options):
    return GuardedRequest("POST", url, content=b'{"a": 1}', **options)


def test_a_request_arrives_as_it_was_given(guarded, receiver):
    reply = guarded(allow_private=True).send(post(receiver.url + "?x=%20y", headers={"X-Own": "1"}))
    assert (reply.status, reply.content) == (204, b"")
    (request,) = receiver.received
    assert (request.path, request.body) == ("/hook?x=%20y", b'{"a": 1}')
    assert request.headers["x-own"] == "1"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert request.headers["user-agent"] == "promptlift"


def test_a_name_is_what_tls_verifies(guarded, receiver):
    async def resolve(_host, _port):
        return ["127.0.0.1"]

    client = guarded(allow_private=True, resolve=resolve)
    assert client.send(post(f"https://localhost:{receiver.port}/")).status == 204
    assert receiver.received[0].headers["host"] == f"localhost:{receiver.port}"
    with pytest.raises(NoAnswer, match="certificate is not trusted"):
        client.send(post(f"https://other.test:{receiver.port}/"))
    assert len(receiver.received) == 1


@pytest.mark.parametrize("behaviour", ["hang", "drip"])
def test_the_deadline_counts_for_the_whole_exchange(guarded, receiver, behaviour):
    receiver.answer = getattr(receiver, behaviour)
    begun = time.monotonic()
    with pytest.raises(NoAnswer, match="did not answer within 1 seconds"):
        guarded(allow_private=True).send(post(receiver.url, seconds=1.0))
    assert time.monotonic() - begun < 20  # the receiver takes 60 and 200


def test_a_status_counts_although_its_body_drips(guarded, receiver):
    def drip_body(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not receiver.ending.wait(0.1):
            try:
                connection.sendall(b"x")
            except OSError:
                return

    receiver.answer = drip_body
    reply = guarded(allow_private=True).send(post(receiver.url, seconds=10))
    assert (reply.status, reply.content) == (200, b"")
    with pytest.raises(NoAnswer):
        guarded(allow_private=True).send(post(receiver.url, seconds=1, max_bytes=1_000_000))


def test_a_body_is_bounded(guarded, receiver):
    def endless(_request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"x" * 65_536)
        except OSError:
            return

    receiver.answer = endless
    reply = guarded(allow_private=True).send(post(receiver.url, max_bytes=1_000))
    assert len(reply.content) == 1_000


@pytest.mark.parametrize(
    "raw", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, b"HTTP/1.1 200 OK\r\nX-"]
)
def test_what_is_not_http_is_no_answer(guarded, receiver, raw):
    receiver.answer = lambda _request, connection: connection.sendall(raw)
    with pytest.raises(NoAnswer):
        guarded(allow_private=True).send(post(receiver.url))


def test_a_body_that_breaks_off_is_no_answer_where_it_is_wanted(guarded, receiver):
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
    receiver.answer = lambda _request, connection: connection.sendall(raw)
    client = guarded(allow_private=True)
    with pytest.raises(NoAnswer, match="closed the connection within its answer"):
        client.send(post(receiver.url, max_bytes=1_000))
    assert client.send(post(receiver.url)).status == 200


def test_a_header_field_is_one_line(guarded, receiver):
    with pytest.raises(httpcore.LocalProtocolError, match="Illegal header value"):
        guarded(allow_private=True).send(post(receiver.url, headers={"X-Own": "1\r\nX-Other: 2"}))
    assert receiver.received == []


def test_requests_in_order_end_with_the_first_that_is_not_accepted(guarded, receiver):
    receiver.answer = lambda request, _connection: 500 if request.path.endswith("/2") else 204
    made = []

    def requests():
        for number in range(9):
            made.append(number)
            yield post(f"{receiver.url}/{number}")

    sent = guarded(allow_private=True).send_in_order(requests(), seconds=60)
    assert [one.outcome.status for one in sent] == [204, 204, 500]
    assert [one.is_success for one in sent] == [True, True, False]
    assert [one.path for one in receiver.received] == ["/hook/0", "/hook/1", "/hook/2"]
    assert made == [0, 1, 2]


def test_requests_in_order_end_with_one_that_is_not_answered_or_when_the_time_is_over(guarded, receiver):
    client = guarded(allow_private=True)
    wrong = [post(receiver.url), post("https://user@127.0.0.1/"), post(receiver.url)]
    first, second = client.send_in_order(wrong, seconds=60)
    assert (first.is_success, str(second.outcome)) == (True, "must not contain a user name or password")
    (only,) = client.send_in_order([post(receiver.url), post(receiver.url)], seconds=0)
    assert only.is_success
    client.close()
    with pytest.raises(NoAnswer, match="the service was stopped"):
        client.send_in_order([post(receiver.url)], seconds=60)


def test_a_connection_is_used_again_and_one_that_was_closed_costs_nothing(guarded, receiver):
    client = guarded(allow_private=True)
    ports = []
    receiver.answer = lambda _request, connection: ports.append(connection.getpeername()[1]) or 204
    for _ in range(3):
        client.send(post(receiver.url))
    assert len(set(ports)) == 1
    receiver.answer = lambda _request, connection: (
        ports.append(connection.getpeername()[1])
        or (
            200,
            {"Connection": "close"},
        )
    )
    for _ in range(3):
        assert client.send(post(receiver.url)).status == 200
    assert len(receiver.received) == 6


def test_closing_ends_what_is_under_way(guarded, receiver):
    client = guarded(allow_private=True)
    receiver.answer = receiver.hang
    ended = []

    def ask():
        try:
            client.send(post(receiver.url, seconds=60))
        except NoAnswer as error:
            ended.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    receiver.wait_for(1)
    client.close()
    thread.join(timeout=20)
    assert ended == ["the service was stopped"]
