"""No form of a private, loopback, link-local or reserved address is read: named, redirected to, or resolved later."""

from __future__ import annotations

import asyncio

import pytest

from promptlift.service.websites.visit import UnreadableWebsite, visit
from support.website import a_website, redirect_to

PUBLIC = "93.184.215.14"
REFUSED = r"private, loopback, link-local or reserved|neither a name nor an IP|is not a URL"


class Names:
    """A resolver for which the website's own name is public; connections to it are made to loopback all the same."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, _host, _port):
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def at_a_public_address(monkeypatch):
    """A public address at which websites of this machine are found."""
    connect = asyncio.SelectorEventLoop.create_connection

    def create_connection(loop, factory, host, port, **options):
        return connect(loop, factory, "127.0.0.1" if host == PUBLIC else host, port, **options)

    monkeypatch.setattr("asyncio.SelectorEventLoop.create_connection", create_connection)
    return PUBLIC


@pytest.mark.parametrize("host", ["localhost", "0x7f.1", "[::ffff:10.0.0.1]"])
def test_a_redirect_to_a_private_address_is_not_followed(guarded, host, at_a_public_address):
    with a_website() as website:
        website.pages["/"] = redirect_to(f"http://{host}:{website.port}/inside")
        website.pages["/inside"] = "<p>Our mission is to be private.</p>"
        client = guarded(resolve=Names([at_a_public_address], ["127.0.0.1"]))
        with pytest.raises(UnreadableWebsite, match=REFUSED):
            visit(client, f"http://website.test:{website.port}/")
        assert website.paths[-1] == "/"


def test_a_name_that_turns_private_after_its_robots_txt_is_not_read(
    guarded, at_a_public_address, monkeypatch
):
    """Rebinding: public for the first look-up, loopback for the second."""
    names = Names([at_a_public_address], ["127.0.0.1"])
    with a_website() as website:
        client = guarded(resolve=names)
        monkeypatch.setattr("promptlift.service.net.KEPT_CONNECTIONS", 0)  # each request connects anew
        with pytest.raises(UnreadableWebsite, match="private"):
            visit(client, f"http://rebinding.test:{website.port}/")
        assert website.paths == ["/robots.txt"]
        assert names.asked == 2
