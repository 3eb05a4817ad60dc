"""A website on a loopback socket, and a page as companies have them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from support.http_server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.http_server import Handler

COMPANY_PAGE = """\
<!doctype html>
<html lang="en"><head>
<meta charset="utf-8"><title>Northwind Parcels | Delivery &amp; shipping</title>
<meta name="description" content="Northwind Parcels brings parcels from online shops to 4 million homes.">
<meta property="og:description" content="Northwind Parcels brings parcels from online shops to 4 million homes.">
<style>.menu { color: red } /* We help nobody. */</style>
<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [
  {"@type": "Organization", "name": "Northwind", "description": "A courier for shops of every size."}]}</script>
<script>if (a < b) { document.write("<p>Our mission is to be a script.</p>") }</script>
</head><body>
<nav><ul><li>Tracking<li>Prices<li>Log in</ul></nav>
<main>
<h1>Every parcel, <em>on time</em></h1>
<p>Our mission is to make shipping simple for small shops. We help people know where their parcel is.</p>
<p>98.5% of all parcels are delivered on time. Our courier team answers within 2 hours, and customers rate us 4.7 out of 5 stars.
<p hidden>Our goal is to hide this.</p>
<p style="display : none">Our aim is invisible.</p>
<div aria-hidden="true"><div>Our vision</div> is for nobody.</div>
<!-- Our purpose is a comment with <p>markup</p> in it. -->
<p>Freight, warehousing and tracking of each shipment come from one hand &mdash; ours.</p>
</main>
<footer>We want cookies. <a href="/imprint">Imprint</a></footer>
</body></html>
"""


class Website:
    """Answers paths; a path is a body, a status with headers and body, or a function that writes to the handler.

    Attributes
    ----------
    asked
        Paths and headers in the order of the requests.
    """

    def __init__(self, pages: dict[str, Any]) -> None:
        self.pages = pages
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.ending = threading.Event()
        self._server = HttpServer(self._serve)

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def _serve(self, handler: Handler) -> None:
        self.asked.append((handler.path, {name.lower(): value for name, value in handler.headers.items()}))
        page = self.pages.get(handler.path, (404, {}, ""))
        if callable(page):
            handler.close_connection = True
            page(handler)
            return
        status, headers, body = page if isinstance(page, tuple) else (200, {}, page)
        content = body.encode() if isinstance(body, str) else body
        handler.answer(status, content, {"Content-Type": "text/html", **headers})

    def hang(self, _handler: Handler) -> None:
        self.ending.wait(60)

    def drip(self, handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
        while not self.ending.wait(0.1):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    def endless(self, handler: Handler) -> None:
        handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>Our mission is to go on.</p>"
        )
        while not self.ending.is_set():
            handler.wfile.write(b"<p>On and on.</p>" * 4_096)

    def close(self) -> None:
        self.ending.set()
        self._server.close()


@contextmanager
def a_website(pages: dict[str, Any] | None = None) -> Iterator[Website]:
    """Run a website; by default the page of a company, and no robots.txt."""
    website = Website({"/": COMPANY_PAGE} if pages is None else pages)
    try:
        yield website
    finally:
        website.close()


def redirect_to(where: Callable[[], str] | str, status: int = 302) -> tuple[int, dict[str, str], str]:
    """Make the answer that sends readers elsewhere."""
    return (status, {"Location": where if isinstance(where, str) else where()}, "")
