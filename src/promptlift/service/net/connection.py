"""One HTTP/1.1 connection to an address that was checked, for one request after the other.

httpx takes eight times the processor time of this, and a service may deliver thousands of events a second.
Here asyncio connects and speaks TLS, and httptools reads the answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

import httptools

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

__all__ = ["Broken", "Connection", "Unreachable"]

# Of the status line and all header fields together, and of what comes around and after a body in chunks.
HEADER_BYTES: Final = 65_536
# In chunks of one byte each, a body comes with so many bytes of framing for one of its own.
_CHUNK_FRAMING: Final = 16
# Where only the status counts: how much of a body, and how long, is read to use the connection again.
DRAIN_BYTES: Final = 64 * 1024
DRAIN_SECONDS: Final = 1.0
_SWITCHING_PROTOCOLS: Final = 101


class Unreachable(Exception):
    """No connection was made, and nothing was sent."""


class Broken(Exception):
    """No answer came on a connection. The message says why, as a clause."""


class Connection(asyncio.Protocol):
    """A connection; made by `Connection.open`.

    Attributes
    ----------
    address
        The IP address that it leads to.
    is_usable
        Whether another request can be sent: it is open, and nothing came that was not asked for.
    idle_since
        When the last answer ended, by the clock of the event loop.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.is_usable = False
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: _Answer | None = None

    @classmethod
    async def open(
        cls, address: str, port: int, *, tls: ssl.SSLContext | None, name: str, seconds: float
    ) -> Connection:
        """Connect to an IP address.

        Parameters
        ----------
        tls
            Verifies the other side; ``None`` for plain HTTP.
        name
            Host that the certificate must name.

        Raises
        ------
        Unreachable
            Nothing listens there, or it is too slow.
        ssl.SSLError
            The other side speaks no TLS, or is not who it should be.
        """
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                _, connection = await loop.create_connection(
                    lambda: cls(address), address, port, ssl=tls, server_hostname=name if tls else None
                )
        except TimeoutError:
            if limit.expired():
                raise Unreachable from None
            raise
        return connection

    async def ask(
        self, head: bytes, content: bytes, *, max_bytes: int, deadline: float
    ) -> tuple[int, Mapping[str, str], bytes, bool]:
        """Send a request and return the answer's status, headers, body and whether the body ended.

        Raises
        ------
        Broken
            There is no answer, or it broke off before what is wanted of it was there.
        """
        if self._transport is None or not self.is_usable:
            raise Broken("it closed the connection without an answer")
        answer = self._answer = _Answer(max_bytes)
        self._transport.write(head + content)
        try:
            await answer.headers_came
            if not answer.ended.done():
                await self._wait_for_body(answer, deadline)
            if (problem := answer.problem()) is not None and max_bytes:
                raise problem
        finally:
            self._answer = None
            answer.release()
            if not answer.may_keep():
                self.close()
        self.idle_since = asyncio.get_running_loop().time()
        return answer.status, answer.headers, bytes(answer.body[:max_bytes]), answer.is_whole

    @staticmethod
    async def _wait_for_body(answer: _Answer, deadline: float) -> None:
        """Wait for the end of a body; where only the status counts, what does not come at once is given up."""
        if answer.max_bytes:
            await asyncio.wait({answer.ended})
            return
        end = min(asyncio.get_running_loop().time() + DRAIN_SECONDS, deadline - 0.05)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(end):
                await asyncio.wait({answer.ended})

    def close(self) -> None:
        """Close it at once."""
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that requests can be sent."""
        self._transport = transport  # type: ignore[assignment]
        self.is_usable = True

    def data_received(self, data: bytes) -> None:
        """Take bytes of the answer; nobody asked for others."""
        if self._answer is None:
            self.close()
        else:
            self._answer.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing more comes."""
        self.is_usable = False
        if self._answer is not None:
            self._answer.end_of_connection(exc)


class _Answer:
    """An answer as it comes."""

    def __init__(self, max_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.max_bytes = max_bytes
        self.status = 0
        self.headers: dict[str, str] = {}  # by lower-case name
        self.body = bytearray()
        self.is_whole = False
        self.headers_came: asyncio.Future[None] = loop.create_future()
        # Resolved when nothing more is wanted of the answer, with what is wrong with it.
        self.ended: asyncio.Future[Broken | None] = loop.create_future()
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._keep_alive = False
        self._surplus = False
        self._framing_bytes = 0

    def problem(self) -> Broken | None:
        return self.ended.result() if self.ended.done() else None

    def may_keep(self) -> bool:
        """Whether the connection can be used for another request."""
        return self.is_whole and self._keep_alive and not self._surplus

    def release(self) -> None:
        """Release the parser, which holds this object: thousands of them a second would wait for the collector."""
        self._parser = None

    def feed(self, data: bytes) -> None:
        if self._parser is None:
            return
        had = len(self.body)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end()
        except httptools.HttpParserError:
            self._surplus = True
            self._end(Broken("its answer is not HTTP"))
        self._framing_bytes += len(data) - (len(self.body) - had)
        if self._framing_bytes > HEADER_BYTES + _CHUNK_FRAMING * len(self.body):
            self._end(Broken("its answer's headers are too long"))

    def end_of_connection(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None and self.headers_came.done() and not self._has_length():
            self.is_whole = True
            self._end()
        elif error is not None:
            self._end(Broken("the connection broke"))
        else:
            where = "within its" if self._framing_bytes else "without an"
            self._end(Broken(f"it closed the connection {where} answer"))

    def _has_length(self) -> bool:
        return "content-length" in self.headers or "chunked" in self.headers.get("transfer-encoding", "")

    def _end(self, problem: Broken | None = None) -> None:
        if not self.headers_came.done():
            if problem is None:
                self.headers_came.set_result(None)
            else:
                self.headers_came.set_exception(problem)
        if not self.ended.done():
            self.ended.set_result(problem)

    # What httptools calls

    def on_message_begin(self) -> None:
        self._surplus = self.ended.done()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.headers_came.done():  # those after a body in chunks are of no interest
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        if self._parser is None or self.headers_came.done():
            return
        self.status = self._parser.get_status_code()
        if self.status < 200 and self.status != _SWITCHING_PROTOCOLS:
            self.headers.clear()  # the answer is still to come
            return
        self._keep_alive = self._parser.should_keep_alive()
        self.headers_came.set_result(None)

    def on_body(self, body: bytes) -> None:
        if self.ended.done():
            return
        self.body += body
        if len(self.body) > (self.max_bytes or DRAIN_BYTES):
            self._end()

    def on_message_complete(self) -> None:
        if self.headers_came.done() and not self.ended.done():
            self.is_whole = True
            self._end()
