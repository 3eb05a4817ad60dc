"""Send requests to addresses that users gave: resolve, check, connect to the address that was checked.

A name that answers with a public address when it is checked, and with a private one when it is connected to, reaches
nothing: the connection is made to the IP address that was checked, while TLS verifies the name. Redirects are not
followed, no proxy is used, and the whole exchange has one deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

import httpx

from promptlift.service.event_loop import EventLoopThread
from promptlift.service.net.addresses import is_public, read_url
from promptlift.service.transport_problems import problem_of, unread

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    from promptlift.service.net.addresses import Target

    Origin = tuple[str, str, int]
    Resolve = Callable[[str, int], Awaitable[list[str]]]

__all__ = ["GuardedClient", "NoAnswer", "RefusedAddress", "Reply", "Request", "TooSlow"]

KEPT_CONNECTIONS: Final = 64
# Servers close an idle connection after five seconds or more; it is given up before that.
IDLE_SECONDS: Final = 4.0
# A name may have several addresses, of which the first may not answer.
ADDRESSES_TRIED: Final = 4
DRAIN_BYTES: Final = 64 * 1024
DRAIN_SECONDS: Final = 1.0


class NoAnswer(Exception):
    """No answer came. The message says why, as a clause without the address."""


class RefusedAddress(NoAnswer):
    """The address is not public, and only public ones are allowed."""


class TooSlow(NoAnswer):
    """The deadline passed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent.

    Attributes
    ----------
    seconds
        For the whole exchange, the look-up of the name included: a server that sends a byte now and then does not
        stretch it.
    max_bytes
        How much of the answer's body is returned. With 0 the status is all that counts, and the end of the body is not
        waited for.
    schemes
        What the URL may start with.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    seconds: float = 10.0
    max_bytes: int = 0
    schemes: tuple[str, ...] = ("https",)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; a redirect is one too.

    Attributes
    ----------
    headers
        By lower-case name.
    content
        Body as it came, at most ``max_bytes`` of it.
    whole
        Whether the body ended there.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    whole: bool


@dataclass(eq=False, slots=True)
class _Idle:
    """A connection that can be used again, and the checked address that it leads to."""

    transport: httpx.AsyncHTTPTransport
    address: str


class GuardedClient:
    """Requests of one process to addresses that users gave; callers are threads.

    Parameters
    ----------
    allow_private
        Whether addresses may be private, loopback, link-local or reserved.
    resolve
        Return the IP addresses of a host; the system's resolver by default.
    """

    def __init__(self, *, allow_private: bool, resolve: Resolve | None = None) -> None:
        self._allow_private = allow_private
        self._resolve = resolve or _look_up
        self._idle: dict[Origin, list[_Idle]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._loop = EventLoopThread("promptlift-net", at_end=self._close_idle)

    def submit(self, request: Request) -> Future[Reply]:
        """Begin a request; its future raises `NoAnswer` or `UnusableUrl`. Cancelling it ends the request."""
        return self._loop.submit(self._send, request)

    def send(self, request: Request) -> Reply:
        """Send a request and wait for its answer.

        Raises
        ------
        NoAnswer
            There was none; says why.
        UnusableUrl
            The URL is not one.
        """
        try:
            return self.submit(request).result()
        except CancelledError:
            raise NoAnswer("the service was stopped") from None

    def check(self, url: str, *, seconds: float = 3.0) -> Future[None]:
        """Begin to check whether requests to a URL would be refused; the future raises `UnusableUrl` then.

        A name that has no address now is not refused: it may have one later, and every request checks again.
        """
        return self._loop.submit(self._check, url, seconds)

    def close(self) -> None:
        """End all requests and close all connections."""
        self._loop.close()

    async def _check(self, url: str, seconds: float) -> None:
        target = read_url(url)
        with contextlib.suppress(TimeoutError, OSError, UnicodeError):
            async with asyncio.timeout(seconds):
                await self._addresses(target)

    async def _addresses(self, target: Target) -> list[str]:
        """Resolve a host; one address that is not public refuses all of them."""
        found = list(dict.fromkeys(await self._resolve(target.host, target.port)))
        if not self._allow_private and not all(map(is_public, found)):
            raise RefusedAddress("its address is private, loopback, link-local or reserved")
        return found

    async def _send(self, request: Request) -> Reply:
        target = read_url(request.url, schemes=request.schemes)
        try:
            async with asyncio.timeout(request.seconds) as deadline:
                return await self._exchange(target, request, deadline.when() or 0.0)
        except TimeoutError:
            raise TooSlow(f"it did not answer within {request.seconds:g} seconds") from None
        except socket.gaierror:
            raise NoAnswer("its name has no address") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise NoAnswer(problem_of(error)) from None

    async def _exchange(self, target: Target, request: Request, deadline: float) -> Reply:
        if kept := self._idle.get(target.origin):
            # The other side may have closed it meanwhile, which is no answer to this request.
            with contextlib.suppress(httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
                return await self._ask(kept.pop(), target, request, deadline)
        addresses = (await self._addresses(target))[:ADDRESSES_TRIED]
        for number, address in enumerate(addresses, 1):
            try:
                return await self._ask(_Idle(self._new_transport(target), address), target, request, deadline)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise NoAnswer("its name has no address")

    def _new_transport(self, target: Target) -> httpx.AsyncHTTPTransport:
        verify = self._certificates if target.url.scheme == "https" else False
        limits = httpx.Limits(max_connections=1, keepalive_expiry=IDLE_SECONDS)
        return httpx.AsyncHTTPTransport(verify=verify, limits=limits)

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        # Those of SSL_CERT_FILE included.
        return httpx.create_ssl_context()

    async def _ask(self, connection: _Idle, target: Target, request: Request, deadline: float) -> Reply:
        opened: list[Any] = []

        async def trace(event: str, info: dict[str, Any]) -> None:
            if event.endswith("connect_tcp.complete"):
                opened.append(info["return_value"])

        asked = httpx.Request(
            request.method,
            target.at(connection.address),
            headers={
                "Accept-Encoding": "identity",
                "User-Agent": "promptlift",
                **request.headers,
                "Host": target.url.netloc.decode("ascii"),
            },
            content=request.content,
            extensions={
                "sni_hostname": target.host,  # the name that TLS verifies: the URL has the IP address
                "timeout": {"connect": request.seconds / 2},  # the next address may answer
                "trace": trace,
            },
        )
        kept = False
        try:
            response = await connection.transport.handle_async_request(asked)
            content, whole = await _body(response, request.max_bytes, deadline)
            if whole and not unread(response):
                await response.aclose()
                kept = self._keep(target.origin, connection)
        finally:
            if not kept:
                await connection.transport.aclose()
                # httpx forgets a connection whose TLS handshake is cancelled, and leaves it open.
                for stream in opened:
                    await stream.aclose()
        known = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, known, content, whole)

    # Idle connections

    def _keep(self, origin: Origin, connection: _Idle) -> bool:
        if sum(map(len, self._idle.values())) >= KEPT_CONNECTIONS:
            return False
        self._idle.setdefault(origin, []).append(connection)
        asyncio.get_running_loop().call_later(IDLE_SECONDS, self._drop, origin, connection)
        return True

    def _drop(self, origin: Origin, connection: _Idle) -> None:
        kept = self._idle.get(origin, [])
        if connection in kept:
            kept.remove(connection)
            task = asyncio.ensure_future(connection.transport.aclose())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        if not kept:
            self._idle.pop(origin, None)

    async def _close_idle(self) -> None:
        for connection in [one for kept in self._idle.values() for one in kept]:
            await connection.transport.aclose()
        self._idle.clear()


async def _body(response: httpx.Response, max_bytes: int, deadline: float) -> tuple[bytes, bool]:
    """Read a body; where only the status counts, what does not come at once is given up."""
    body = bytearray()
    end = deadline if max_bytes else min(asyncio.get_running_loop().time() + DRAIN_SECONDS, deadline - 0.05)
    try:
        async with asyncio.timeout_at(end):
            async for piece in cast("httpx.AsyncByteStream", response.stream):
                body += piece
                if len(body) > (max_bytes or DRAIN_BYTES):
                    return bytes(body[:max_bytes]), False
    except (TimeoutError, httpx.HTTPError):
        if max_bytes:
            raise
        return b"", False
    return bytes(body[:max_bytes]), True


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]
