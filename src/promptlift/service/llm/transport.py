"""One request to the endpoint over httpx: one deadline, a bounded answer, and a reason where there is none.

Every connection is an httpx transport of its own, used without httpx's client: redirects, cookies and a search through
all connections before and after each request are not wanted here, and cost most of a request's processor time.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from promptlift.retry import read_retry_after
from promptlift.service.llm.answers import decode
from promptlift.service.transport_problems import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.service.llm.settings import LlmSettings

__all__ = ["ANSWER_BYTES", "NoAnswer", "Reply", "TooSlow", "Transport"]

ANSWER_BYTES: Final = 4 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
KEPT_CONNECTIONS: Final = 64
# Servers close an idle connection after five seconds or more; it is given up before that.
IDLE_SECONDS: Final = 4.0
# Nothing public shows what was received after an answer.
_HTTP_STATE: Final = attrgetter("stream._httpcore_stream._stream._connection._h11_state")


# httpcore asks for sniffio several times a request. Where it is not installed Python would search every folder for it
# each time, which costs more than the request; a module that is ``None`` is known to be missing.
if importlib.util.find_spec("sniffio") is None:
    sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]


class NoAnswer(Exception):
    """No whole answer came; an outcome inside this room, never seen outside.

    The message says why, without the address or the key.
    """


class TooSlow(NoAnswer):
    """The deadline passed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes
    ----------
    document
        The decoded JSON body, ``None`` when it is not JSON.
    """

    status: int
    document: Any
    retry_after: float | None


class Transport:
    """Requests to one endpoint, all from one event loop.

    Parameters
    ----------
    settings
        Address and key.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._idle: list[httpx.AsyncHTTPTransport] = []
        self._options: dict[str, Any] | None = None
        self._through = ""
        self._prepared: dict[tuple[str, str, str], tuple[httpx.URL, httpx.Headers]] = {}
        self._deadlines: dict[asyncio.Timeout, float] = {}

    async def send(
        self, method: str, path: str, *, purpose: str, seconds: float, content: bytes | None = None
    ) -> Reply:
        """Send one request.

        Parameters
        ----------
        seconds
            For the whole request: an endpoint that sends a byte now and then does not stretch it.

        Raises
        ------
        TooSlow
            It took longer than ``seconds``.
        NoAnswer
            The endpoint cannot be reached, breaks HTTP, sends too much, or the request was aborted.
        """
        connect = min(CONNECT_SECONDS, seconds)
        aborted = False
        try:
            async with asyncio.timeout(seconds) as deadline:
                with self._abortable(deadline):
                    due = deadline.when()
                    try:
                        return await self._exchange(method, path, purpose, connect, content)
                    finally:
                        aborted = deadline.when() != due
        except TimeoutError:
            if aborted:
                raise NoAnswer("it was silent for too long") from None
            raise TooSlow(f"it did not answer within {seconds:.3g} seconds") from None
        except httpx.ConnectTimeout:
            raise NoAnswer(f"no connection within {connect:g} seconds{self._through}") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise NoAnswer(problem_of(error) + self._through) from None

    def abort_older_than(self, moment: float) -> None:
        """End requests that were begun before a time of ``time.monotonic``: they have no answer."""
        now = asyncio.get_running_loop().time()
        for deadline, begun in self._deadlines.items():
            if begun < moment and not deadline.expired():
                deadline.reschedule(now)

    async def aclose(self) -> None:
        """Close the idle connections."""
        while self._idle:
            await self._idle.pop().aclose()

    async def _exchange(
        self, method: str, path: str, purpose: str, connect: float, content: bytes | None
    ) -> Reply:
        opened: list[Any] = []

        async def trace(event: str, info: dict[str, Any]) -> None:
            if event.endswith("connect_tcp.complete"):
                opened.append(info["return_value"])

        url, headers = self._head(method, path, purpose)
        extensions = {"timeout": {"connect": connect}, "trace": trace}
        request = httpx.Request(method, url, headers=headers, content=content, extensions=extensions)
        connection = self._idle.pop() if self._idle else self._new_connection()
        try:
            response = await connection.handle_async_request(request)
            body = await _body(response)
            # More than the answer would be taken for the answer to the next request.
            reusable = not _HTTP_STATE(response).trailing_data[0]
            await response.aclose()
        except BaseException:
            await connection.aclose()
            # httpx forgets a connection whose TLS handshake is cancelled, and leaves it open.
            for stream in opened:
                await stream.aclose()
            raise
        if reusable and len(self._idle) < KEPT_CONNECTIONS:
            self._idle.append(connection)
        else:
            await connection.aclose()
        return Reply(
            response.status_code, decode(body), read_retry_after(response.headers.get("retry-after"))
        )

    def _new_connection(self) -> httpx.AsyncHTTPTransport:
        if self._options is None:
            proxy = None if self._settings.on_this_machine else _proxy(self._settings.base_url)
            self._through = "" if proxy is None else ", through the proxy that the environment names"
            self._options = {
                # Loaded once, and only where certificates are needed; those of SSL_CERT_FILE included.
                "verify": self._settings.base_url.startswith("https:") and httpx.create_ssl_context(),
                "proxy": proxy,
                "limits": httpx.Limits(max_connections=1, keepalive_expiry=IDLE_SECONDS),
            }
        return httpx.AsyncHTTPTransport(**self._options)

    def _head(self, method: str, path: str, purpose: str) -> tuple[httpx.URL, httpx.Headers]:
        if (method, path, purpose) not in self._prepared:
            headers = {
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "promptlift",
                "X-Promptlift-Purpose": purpose,
            }
            if self._settings.api_key is not None:
                headers["Authorization"] = f"Bearer {self._settings.api_key}"
            if method == "POST":
                headers["Content-Type"] = "application/json"
            url = httpx.URL(self._settings.base_url + path)
            self._prepared[method, path, purpose] = (url, httpx.Headers(headers))
        return self._prepared[method, path, purpose]

    @contextmanager
    def _abortable(self, deadline: asyncio.Timeout) -> Iterator[None]:
        self._deadlines[deadline] = time.monotonic()
        try:
            yield
        finally:
            del self._deadlines[deadline]


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in cast("httpx.AsyncByteStream", response.stream):
        body += piece
        if len(body) > ANSWER_BYTES:
            raise NoAnswer(f"its answer is larger than {ANSWER_BYTES // 1024 // 1024} MB")
    return bytes(body)


def _proxy(address: str) -> httpx.Proxy | None:
    parts = urlsplit(address)
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named or proxy_bypass(parts.hostname or ""):
        return None
    try:
        proxy = httpx.Proxy(named if "://" in named else f"http://{named}")
        usable = 0 < (proxy.url.port or 80) < 65_536
    except (ValueError, httpx.InvalidURL):
        usable = False
    if not usable:
        raise NoAnswer("the proxy that the environment names has no usable address")
    if proxy.url.scheme != "http" or not proxy.url.host:
        raise NoAnswer("the proxy that the environment names must be one that starts with http://")
    return proxy
