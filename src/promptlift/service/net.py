"""Send requests to user-supplied addresses: resolve, check, connect to the checked address.

A name that resolves to a public address during the check and to a private one afterwards gains nothing: the
connection is made to the checked IP address, while TLS verifies the name. Redirects are not followed, no
proxy is used, and the whole exchange has one deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import httpcore

from promptlift.service.async_http import EventLoopThread, OpenedConnections, problem_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    import httpx

    Resolve = Callable[[str, int], Awaitable[list[str]]]

URL_CHARS: Final = 2_048

# Networks that some supported versions of Python consider global, and the address at which every Azure
# machine reaches its host.
_NOT_PUBLIC: Final = tuple(
    map(
        IPv4Network,
        ("0.0.0.0/8", "100.64.0.0/10", "168.63.129.16", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"),
    )
)
# Global unicast; nothing else of IPv6 is assigned to anybody on the internet.
_UNICAST: Final = IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
# Characters of a name in IDNA, or of an address without brackets.
_HOST: Final = re.compile(r"[a-z0-9._:-]+")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)
_LAST_32_BITS: Final = 0xFFFF_FFFF


class UnusableUrl(ValueError):
    """A URL to which no request is sent. The message explains why, as the end of a sentence about it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a request.

    Attributes
    ----------
    url
        The normalized URL.
    host
        Host name or IP address, in ASCII and without brackets.
    """

    url: httpx.URL
    host: str
    port: int

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: a connection can be reused for the same origin."""
        return (self.url.scheme, self.host, self.port)


@lru_cache(maxsize=256)
def read_url(text: str, *, schemes: tuple[str, ...] = ("https",)) -> Target:
    """Read a user-supplied URL.

    Raises
    ------
    UnusableUrl
        It is not an absolute URL with one of these schemes, or contains a user name or password.
    """
    if len(text) > URL_CHARS:
        raise UnusableUrl(f"must have at most {URL_CHARS} characters")
    if not text.isprintable() or any(character.isspace() for character in text):
        raise UnusableUrl("must not contain spaces or control characters")
    import httpx  # noqa: PLC0415  takes long to load

    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii").rstrip(".").lower()
        parts = urlsplit(text)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        raise UnusableUrl("is not a URL") from None
    try:
        # Stricter than httpx, which treats 0 as the scheme's default port and reads digits of every script.
        port = parts.port
    except ValueError:
        port = 0
    if url.scheme not in schemes:
        raise UnusableUrl(f"must start with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if not _HOST.fullmatch(host):
        raise UnusableUrl(
            "has no host" if not host else "has a host that is neither a name nor an IP address"
        )
    if url.userinfo:
        raise UnusableUrl("must not contain a user name or password")
    if port == 0:
        raise UnusableUrl("has no usable port")
    port = port or {"https": 443, "http": 80}[url.scheme]
    return Target(url.copy_with(fragment=None), host, port)


def numeric_addresses(host: str) -> list[str]:
    """Return the IP address of a numeric host, in any form that the operating system reads; empty for a name.

    Uses no network, so it returns immediately.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(one[4][0]) for one in found]


def is_public(address: str) -> bool:
    """Return whether an IP address is public, also if it wraps an IPv4 address.

    Examples
    --------
    >>> [is_public(one) for one in ("8.8.8.8", "127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2606:4700::1111")]
    [True, False, False, False, True]
    """
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast and not any(ip in network for network in _NOT_PUBLIC)
    wrapped = _wrapped(ip)
    if not all(is_public(str(one)) for one in wrapped):
        return False
    if ip.ipv4_mapped is not None or ip in _NAT64:
        return True
    return ip in _UNICAST and ip.is_global and not any(ip in network for network in _NOT_PUBLIC_6)


def _wrapped(ip: IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses inside an IPv6 address to which a router or kernel may send packets."""
    found = [one for one in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if one is not None]
    if ip in _NAT64 or (int(ip) >> 32) & _LAST_32_BITS in _ISATAP:
        found.append(IPv4Address(int(ip) & _LAST_32_BITS))
    return found


KEPT_CONNECTIONS: Final = 64
# Servers close an idle connection after five seconds or more; it is given up before that.
IDLE_SECONDS: Final = 4.0
# A name may have several addresses, of which the first may not answer.
ADDRESSES_TRIED: Final = 4
# If only the status matters: how much of a body to read, and for how long, so that the connection can be
# reused.
DRAIN_BYTES: Final = 64 * 1024
DRAIN_SECONDS: Final = 1.0
_BROKEN: Final = (httpcore.ReadError, httpcore.WriteError, httpcore.RemoteProtocolError)


class NoAnswer(Exception):
    """There was no answer. The message explains why, as a clause without the address."""


class RefusedAddress(NoAnswer):
    """The address is not public, and only public ones are allowed."""


@dataclass(frozen=True, slots=True)
class GuardedRequest:
    """A request to send.

    Attributes
    ----------
    seconds
        Deadline of the whole exchange, including name resolution: a server cannot extend it by sending single
        bytes.
    max_bytes
        How much of the answer's body is returned. With 0 only the status matters, and the end of the body is
        not awaited.
    schemes
        Permitted schemes of the URL.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    seconds: float = 10.0
    max_bytes: int = 0
    schemes: tuple[str, ...] = ("https",)


@dataclass(frozen=True, slots=True)
class GuardedReply:
    """An answer; a redirect is one too.

    Attributes
    ----------
    headers
        Headers by lower-case name.
    content
        The raw body, at most ``max_bytes`` of it.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """The outcome of one of several requests.

    Attributes
    ----------
    outcome
        The answer, or the reason why there is none.
    seconds
        How long it took.
    """

    outcome: GuardedReply | NoAnswer | UnusableUrl
    seconds: float

    @property
    def is_success(self) -> bool:
        """Whether the answer is a 2xx."""
        return isinstance(self.outcome, GuardedReply) and 200 <= self.outcome.status < 300


class GuardedClient:
    """Requests of one process to user-supplied addresses; callers are threads.

    Parameters
    ----------
    allow_private
        Whether addresses may be private, loopback, link-local or reserved.
    resolve
        Function that returns the IP addresses of a host; by default the system's resolver.
    """

    def __init__(self, *, allow_private: bool, resolve: Resolve | None = None) -> None:
        self._allow_private = allow_private
        self._resolve = resolve or _look_up
        self._loop = EventLoopThread("promptlift-net", at_end=self._close_idle)

    def send(self, request: GuardedRequest) -> GuardedReply:
        """Send a request and wait for its answer.

        Raises
        ------
        NoAnswer
            There was no answer; the message explains why.
        UnusableUrl
            The URL is invalid.
        """
        try:
            return self._loop.submit(self._send, request).result()
        except CancelledError:
            raise NoAnswer("the service was stopped") from None

    def send_in_order(self, requests: Iterable[GuardedRequest], *, seconds: float) -> list[Sent]:
        """Send requests, each after the previous one is answered, and return the outcomes of those sent.

        Sending stops after an answer other than 2xx, or after ``seconds``; the first request is always sent.
        Callers wait once for all of them: waking a thread costs more than an exchange with a nearby server.

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
        """Start checking whether requests to a URL would be refused; in that case the future raises `UnusableUrl`.

        A name that does not resolve now is not refused: it may later, and every request checks again.
        """
        return self._loop.submit(self._check, url, seconds)

    def close(self) -> None:
        """End all requests and close all connections."""
        self._loop.close()

    async def _check(self, url: str, seconds: float) -> None:
        target = read_url(url)
        with contextlib.suppress(TimeoutError, OSError, UnicodeError):
            async with asyncio.timeout(seconds):
                await self._addresses(target.host, target.port)

    async def _addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host; a single non-public address causes a refusal."""
        # A busy resolver answers late or not at all; a numeric address needs no resolver.
        found = numeric_addresses(host) or await self._resolve(host, port)
        found = list(dict.fromkeys(found))
        if not self._allow_private and not all(map(is_public, found)):
            raise RefusedAddress("its address is private, loopback, link-local or reserved")
        return found

    async def _send_in_order(self, requests: Iterable[GuardedRequest], *, seconds: float) -> list[Sent]:
        loop = asyncio.get_running_loop()
        sent: list[Sent] = []
        begun = loop.time()
        end = begun + seconds
        for request in requests:
            outcome: GuardedReply | NoAnswer | UnusableUrl
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

    async def _send(self, request: GuardedRequest) -> GuardedReply:
        target = read_url(request.url, schemes=request.schemes)
        url = httpcore.URL(
            scheme=target.url.raw_scheme,
            host=target.host.encode("ascii"),
            port=target.port,
            target=target.url.raw_path,
        )
        headers = {
            "Host": target.url.netloc.decode("ascii"),
            "Accept-Encoding": "identity",
            "User-Agent": "promptlift",
            **request.headers,
        }
        opened = OpenedConnections()
        try:
            async with asyncio.timeout(request.seconds) as deadline:
                while True:
                    try:
                        return await self._exchange(url, list(headers.items()), request, opened, deadline)
                    except _BROKEN:
                        # The other side may have closed a kept connection meanwhile, which is no answer to this request.
                        if opened:
                            raise
        except TimeoutError:
            raise NoAnswer(f"it did not answer within {request.seconds:g} seconds") from None
        except socket.gaierror:
            raise NoAnswer("its name has no address") from None
        except (*_BROKEN, httpcore.ConnectError, httpcore.ConnectTimeout, OSError, UnicodeError) as error:
            raise NoAnswer(problem_of(error)) from None

    async def _exchange(
        self,
        url: httpcore.URL,
        headers: Sequence[tuple[str, str]],
        request: GuardedRequest,
        opened: OpenedConnections,
        deadline: asyncio.Timeout,
    ) -> GuardedReply:
        # Half of the remaining time for each address: the next one may answer.
        extensions = {"timeout": {"connect": request.seconds / 2}, "trace": opened.note}
        async with (
            opened,
            self._pool.stream(
                request.method, url, headers=headers, content=request.content or None, extensions=extensions
            ) as response,
        ):
            if request.max_bytes:
                content = await _body(response, request.max_bytes)
            else:
                content = b""
                deadline.reschedule((deadline.when() or 0.0) + DRAIN_SECONDS)
                # If an unneeded body ends soon, the connection can be reused.
                with contextlib.suppress(TimeoutError, *_BROKEN):
                    async with asyncio.timeout(DRAIN_SECONDS):
                        await _body(response, DRAIN_BYTES)
        found: dict[str, str] = {}
        for name, value in response.headers:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            found[key] = f"{found[key]}, {text}" if key in found else text
        return GuardedReply(response.status, found, content)

    @cached_property
    def _pool(self) -> httpcore.AsyncConnectionPool:
        import httpx  # noqa: PLC0415  takes long to load

        return httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(),  # with those of SSL_CERT_FILE
            max_connections=None,
            max_keepalive_connections=KEPT_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=_CheckedNetwork(self._addresses),
        )

    async def _close_idle(self) -> None:
        if "_pool" in self.__dict__:
            await self._pool.aclose()


class _CheckedNetwork(httpcore.AnyIOBackend):
    """Connects to the checked addresses of a name; TLS still verifies the name."""

    def __init__(self, addresses: Resolve) -> None:
        self._addresses = addresses

    async def connect_tcp(
        self, host: str, port: int, *arguments: Any, **options: Any
    ) -> httpcore.AsyncNetworkStream:
        addresses = (await self._addresses(host, port))[:ADDRESSES_TRIED]
        for number, address in enumerate(addresses, 1):
            try:
                return await super().connect_tcp(address, port, *arguments, **options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise NoAnswer("its name has no address")


async def _body(response: httpcore.Response, max_bytes: int) -> bytes:
    """Return the requested part of a body."""
    body = bytearray()
    async for piece in response.aiter_stream():
        body += piece
        if len(body) > max_bytes:
            break
    return bytes(body[:max_bytes])


async def _look_up(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]
