"""Clients that keep a service waiting: each speaks over a real socket, and connects again when it is let go."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    Kind = Callable[["Client"], Awaitable[bytes | None]]


class Client:
    """One connection of one client."""

    def __init__(self, base_url: str, key: str, connection: socket.socket) -> None:
        self.host = urlsplit(base_url).netloc
        self.key = key
        self._connection = connection
        self._loop = asyncio.get_running_loop()

    async def send(self, text: str) -> None:
        await self._loop.sock_sendall(self._connection, text.encode())

    async def read_to_the_end(self) -> bytes:
        received = b""
        while piece := await self._loop.sock_recv(self._connection, 65_536):
            received += piece
        return received

    async def read_answer(self) -> bytes:
        """Read one answer with a length."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += await self._read()
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += await self._read()
        return head + body

    async def _read(self) -> bytes:
        piece = await self._loop.sock_recv(self._connection, 65_536)
        if not piece:
            raise ConnectionResetError
        return piece

    async def drip(self, text: str) -> None:
        """Send a byte at a time until the service lets go."""
        for char in text:
            await self.send(char)
            await asyncio.sleep(0.2)

    def head(self, method: str = "GET", path: str = "/account", *, length: int | None = None) -> str:
        lines = [
            f"{method} /api/v1{path} HTTP/1.1",
            f"Host: {self.host}",
            f"Authorization: Bearer {self.key}",
        ]
        if length is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {length}"]
        return "\r\n".join(lines) + "\r\n\r\n"


async def says_nothing(client: Client) -> bytes:
    return await client.read_to_the_end()


async def sends_half_a_header(client: Client) -> bytes:
    await client.send(client.head()[:-10])
    return await client.read_to_the_end()


async def drips_headers(client: Client) -> None:
    await client.drip(client.head()[:-4] + "\r\nX: " + "y" * 10_000)


async def sends_headers_and_no_body(client: Client) -> bytes:
    await client.send(client.head("POST", "/prompts", length=1_000))
    return await client.read_to_the_end()


async def drips_a_body(client: Client) -> None:
    await client.send(client.head("POST", "/prompts", length=100_000))
    await client.drip(" " * 100_000)


async def is_silent_after_an_answer(client: Client) -> bytes:
    await client.send(client.head())
    await client.read_answer()
    return await client.read_to_the_end()


async def never_reads(client: Client) -> None:
    await client.send(client.head("GET", "/conversations?includeContent=true&limit=100"))
    while True:  # an answer waits for its reader; the end of the connection shows in a write
        await asyncio.sleep(0.2)
        await client.send("\r\n")


KINDS = (
    says_nothing,
    sends_half_a_header,
    drips_headers,
    sends_headers_and_no_body,
    drips_a_body,
    is_silent_after_an_answer,
    never_reads,
)


@contextlib.asynccontextmanager
async def connected(base_url: str, key: str, *, small: bool = False):
    """A client that is connected; ``small`` takes little at a time from the network."""
    address = urlsplit(base_url)
    connection = socket.socket()
    connection.setblocking(False)
    if small:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (address.hostname, address.port))
        yield Client(base_url, key, connection)
    finally:
        connection.close()


class Crowd:
    """Many clients at a time, each of which connects again when the service lets it go.

    Attributes
    ----------
    let_go
        How often a client of a kind was let go.
    """

    def __init__(self, base_url: str, key: str) -> None:
        self._base_url = base_url
        self._key = key
        self.let_go: Counter[str] = Counter()
        self.connected = 0

    async def _go_on(self, kind: Kind) -> None:
        while True:
            with contextlib.suppress(OSError):
                async with connected(self._base_url, self._key, small=kind is never_reads) as client:
                    self.connected += 1
                    with contextlib.suppress(OSError):
                        await kind(client)
                    self.let_go[kind.__name__] += 1
            await asyncio.sleep(0.1)

    async def _all(self, count: int, ended: asyncio.Event) -> None:
        tasks = [asyncio.create_task(self._go_on(KINDS[i % len(KINDS)])) for i in range(count)]
        await ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextlib.contextmanager
    def around(self, count: int) -> Iterator[None]:
        """Connect `count` clients of all kinds to the service, in a thread of their own."""
        loop = asyncio.new_event_loop()
        ended = asyncio.Event()
        thread = threading.Thread(target=lambda: loop.run_until_complete(self._all(count, ended)))
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(ended.set)
            thread.join(30)
            assert not thread.is_alive()
            loop.close()
