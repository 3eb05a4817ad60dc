"""No form of a private, loopback, link-local or reserved address is reached, whoever names it and however."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from promptlift.service.net import GuardedRequest, NoAnswer, RefusedAddress, UnusableUrl, is_public, read_url
from support.private_addresses import FORMS, NO_URLS


def test_a_form_is_refused_when_it_is_given_and_when_it_is_used(guarded):
    client = guarded()
    for host in FORMS:
        url = f"https://{host}/hook"
        with pytest.raises((RefusedAddress, UnusableUrl)):
            client.check(url).result(timeout=20)
        with pytest.raises((RefusedAddress, UnusableUrl)):
            client.send(GuardedRequest("POST", url))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[2002:7f00:1::]", "0x7f.1", "2130706433", "[::ffff:10.0.0.1]"]
)
def test_an_address_in_numbers_is_refused_also_when_the_resolver_never_answers(guarded, host):
    async def never(name, port):
        await asyncio.Event().wait()

    with pytest.raises(RefusedAddress):
        guarded(resolve=never).check(f"https://{host}/hook", seconds=0.05).result(timeout=20)


def test_what_is_no_https_address_is_refused(guarded):
    client = guarded()
    for url in NO_URLS:
        with pytest.raises((UnusableUrl, RefusedAddress)):
            client.check(url).result(timeout=20)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_public_addresses_are_not_refused(address):
    assert is_public(address)


def test_a_url_is_asked_as_it_was_understood():
    target = read_url("https://Example.COM:8443/a%20b?c=d#e")
    assert (target.host, target.port, str(target.url)) == (
        "example.com",
        8443,
        "https://example.com:8443/a%20b?c=d",
    )


class Listener:
    """A socket on loopback that counts who connects."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(timeout=10)


@pytest.fixture
def inside():
    """What must not be reached."""
    listener = Listener()
    yield listener
    assert listener.connections == 0
    listener.close()


def resolver(*answers):
    """A name server whose answers change from one question to the next; the last one stays."""
    asked = []

    async def resolve(host, _port):
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    return resolve, asked


@pytest.mark.parametrize(
    "private",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0"],
)
def test_a_name_with_a_private_address_is_refused(guarded, inside, private):
    resolve, _ = resolver([private])
    client = guarded(resolve=resolve)
    with pytest.raises(RefusedAddress):
        client.check(f"https://rebinding.test:{inside.port}/").result(timeout=20)
    with pytest.raises(RefusedAddress):
        client.send(GuardedRequest("POST", f"https://rebinding.test:{inside.port}/"))


def test_one_private_address_among_public_ones_refuses_all(guarded, inside):
    resolve, _ = resolver(["93.184.216.34", "127.0.0.1"])
    with pytest.raises(RefusedAddress):
        guarded(resolve=resolve).send(GuardedRequest("POST", f"https://rebinding.test:{inside.port}/"))


def test_a_name_that_turns_private_after_it_was_checked_is_refused(guarded, inside):
    resolve, asked = resolver(["93.184.216.34"], ["127.0.0.1"])
    client = guarded(resolve=resolve)
    client.check(f"https://rebinding.test:{inside.port}/").result(timeout=20)
    with pytest.raises(RefusedAddress):
        client.send(GuardedRequest("POST", f"https://rebinding.test:{inside.port}/"))
    assert len(asked) == 2


def test_the_connection_goes_to_the_address_that_was_checked_and_asks_no_more(guarded, inside, monkeypatch):
    """The name is resolved once a request: its second answer, loopback, is never asked for."""
    resolve, asked = resolver(["192.0.2.7"], ["127.0.0.1"])
    connected = []
    monkeypatch.setattr("promptlift.service.net.is_public", lambda address: address == "192.0.2.7")

    async def create_connection(_self, _factory, host, port, **_options):
        connected.append((host, port))
        raise OSError("no route")

    monkeypatch.setattr("asyncio.SelectorEventLoop.create_connection", create_connection)
    with pytest.raises(NoAnswer):
        guarded(resolve=resolve).send(GuardedRequest("POST", f"https://rebinding.test:{inside.port}/"))
    assert connected == [("192.0.2.7", inside.port)]
    assert asked == ["rebinding.test"]
