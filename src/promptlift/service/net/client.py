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
from typing import TYPE_CHECKING, Final

import httpx

from promptlift.service.event_loop import EventLoopThread
from promptlift.service.net.addresses import UnusableUrl, is_public, numeric_addresses, read_url
from promptlift.service.net.connection import Broken, Connection, Unreachable
from promptlift.service.transport_problems import problem_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from promptlift.service.net.addresses import Target

    Origin = tuple[str, str, int]
    Resolve = Callable[[str, int], Awaitable[list[str]]]

__all__ = ["GuardedClient", "NoAnswer", "RefusedAddress", "Reply", "Request", "Sent", "TooSlow"]

KEPT_CONNECTIONS: Final = 64
# Servers close an idle connection after five seconds or more; it is given up before that.
IDLE_SECONDS: Final = 4.0
# A name may have several addresses, of which the first may not answer.
ADDRESSES_TRIED: Final = 4


class NoAnswer(Exception):
    """No answer came. The message says why, as a clause without the address."""


class RefusedAddress(NoAnswer):
    """The address is not public, and only public ones are allowed."""


class TooSlow(NoAnswer):
    """The deadline passed."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to send.

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


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one of several requests.

    Attributes
    ----------
    outcome
        The answer, or why there is none.
    seconds
        How long it took.
    """

    outcome: Reply | NoAnswer | UnusableUrl
    seconds: float

    @property
    def is_success(self) -> bool:
        """Whether the answer is a 2xx."""
        return isinstance(self.outcome, Reply) and 200 <= self.outcome.status < 300


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
        self._idle: dict[Origin, list[Connection]] = {}
        # All that were ever idle and are open; each has one timer.
        self._watched: set[Connection] = set()
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

    def send_in_order(self, requests: Iterable[Request], *, seconds: float) -> list[Sent]:
        """Send requests, each when the one before was answered, and return what came of those that were sent.

        None is sent after one that is not answered with 2xx, nor after ``seconds``; the first always is. Callers wait once
        for all of them: to wake a thread costs more than an exchange with a server nearby.

        Raises
        ------
        NoAnswer
            The service was stopped.
        """
        try:
            return self._loop.submit(self._send_in_order, requests, seconds=seconds).result()
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
        # A busy resolver answers late or not at all; an address in numbers needs none.
        found = numeric_addresses(target.host) or await self._resolve(target.host, target.port)
        found = list(dict.fromkeys(found))
        if not self._allow_private and not all(map(is_public, found)):
            raise RefusedAddress("its address is private, loopback, link-local or reserved")
        return found

    async def _send_in_order(self, requests: Iterable[Request], *, seconds: float) -> list[Sent]:
        loop = asyncio.get_running_loop()
        sent: list[Sent] = []
        begun = loop.time()
        end = begun + seconds
        for request in requests:
            outcome: Reply | NoAnswer | UnusableUrl
            try:
                outcome = await self._send(request)
            except (NoAnswer, UnusableUrl) as error:
                outcome = error
            now = loop.time()
            sent.append(Sent(outcome, now - begun))
            if now >= end or not sent[-1].is_success:
                break
            begun = now
        return sent

    async def _send(self, request: Request) -> Reply:
        target = read_url(request.url, schemes=request.schemes)
        head = _head(target, request)
        try:
            async with asyncio.timeout(request.seconds) as deadline:
                return await self._exchange(target, request, head, deadline.when() or 0.0)
        except TimeoutError:
            raise TooSlow(f"it did not answer within {request.seconds:g} seconds") from None
        except socket.gaierror:
            raise NoAnswer("its name has no address") from None
        except Broken as error:
            raise NoAnswer(str(error)) from None
        except (Unreachable, OSError, UnicodeError) as error:
            raise NoAnswer(problem_of(error)) from None

    async def _exchange(self, target: Target, request: Request, head: bytes, deadline: float) -> Reply:
        if kept := self._take_idle(target.origin):
            # The other side may have closed it meanwhile, which is no answer to this request.
            with contextlib.suppress(Broken):
                return await self._ask(kept, target, request, head, deadline)
        addresses = (await self._addresses(target))[:ADDRESSES_TRIED]
        for number, address in enumerate(addresses, 1):
            try:
                connection = await Connection.open(
                    address,
                    target.port,
                    tls=self._certificates if target.url.scheme == "https" else None,
                    name=target.host,
                    seconds=request.seconds / 2,  # the next address may answer
                )
            except (Unreachable, OSError):
                if number == len(addresses):
                    raise
            else:
                return await self._ask(connection, target, request, head, deadline)
        raise NoAnswer("its name has no address")

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        # Those of SSL_CERT_FILE included.
        context = httpx.create_ssl_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def _ask(
        self, connection: Connection, target: Target, request: Request, head: bytes, deadline: float
    ) -> Reply:
        status, headers, content, whole = await connection.ask(
            head, request.content, max_bytes=request.max_bytes, deadline=deadline
        )
        if connection.is_usable:
            self._keep(target.origin, connection)
        return Reply(status, headers, content, whole)

    # Idle connections

    def _take_idle(self, origin: Origin) -> Connection | None:
        kept = self._idle.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.is_usable:
                return connection
        return None

    def _keep(self, origin: Origin, connection: Connection) -> None:
        if sum(map(len, self._idle.values())) >= KEPT_CONNECTIONS:
            connection.close()
            return
        self._idle.setdefault(origin, []).append(connection)
        if connection not in self._watched:
            self._watched.add(connection)
            self._look_later(origin, connection, IDLE_SECONDS)

    def _look_later(self, origin: Origin, connection: Connection, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._drop_if_idle, origin, connection)

    def _drop_if_idle(self, origin: Origin, connection: Connection) -> None:
        """Close a connection that nobody used for a while; look again later at one that somebody did."""
        left = connection.idle_since + IDLE_SECONDS - asyncio.get_running_loop().time()
        kept = self._idle.get(origin, [])
        is_idle = connection in kept
        if connection.is_usable and (left > 0 or not is_idle):
            self._look_later(origin, connection, left if left > 0 else IDLE_SECONDS)
            return
        self._watched.discard(connection)
        connection.close()
        if is_idle:
            kept.remove(connection)
        if not kept:
            self._idle.pop(origin, None)

    async def _close_idle(self) -> None:
        for connection in self._watched:
            connection.close()
        self._watched.clear()
        self._idle.clear()
        await asyncio.sleep(0)  # asyncio closes their sockets


def _head(target: Target, request: Request) -> bytes:
    """Return the request line and header fields as they are sent."""
    fields = {
        "Host": target.url.netloc.decode("ascii"),
        "Accept-Encoding": "identity",
        "User-Agent": "promptlift",
        **request.headers,
    }
    if request.content:
        fields["Content-Length"] = str(len(request.content))
    lines = [f"{request.method} {target.url.raw_path.decode('ascii')} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header field must be one line")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]
