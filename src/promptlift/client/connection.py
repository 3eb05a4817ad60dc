"""One kept-alive connection to the service: the only module of the client that imports httpx.

httpx's transport is used without its client: the client's redirects, cookies and connection pool are not wanted
here, and a request without them takes a third to half of the time. A connection serves one thread at a time.
"""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from promptlift._version import __version__
from promptlift.client.config import is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    from promptlift.client.config import ClientConfig

# Enough for a page of 100 conversations of 512 KB each, escaped.
ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
# Servers close an idle connection after five seconds or more; it is closed before that.
_KEEP_ALIVE_SECONDS: Final = 4.0
_IDLE_SECONDS: Final = 2.0


Failure = Literal["no answer", "cut off", "too large", "too slow"]


class ExchangeFailed(Exception):
    """An exchange without a complete answer; ``reason`` can be shown to the user."""

    def __init__(self, reason: str, kind: Failure = "no answer") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer, not yet decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ConnectionFactory:
    """Headers, TLS context, proxy and timeouts, which all connections of a client share."""

    def __init__(self, config: ClientConfig) -> None:
        parts = urlsplit(config.base_url)
        self.base_url = config.base_url
        # httpx hides the authorization header in the repr of its Headers; a plain dict would show it.
        self.headers = httpx.Headers(
            {
                "host": parts.netloc,
                "authorization": f"Bearer {config.key.reveal()}",
                "accept": "application/json",
                "accept-encoding": "gzip" if parts.scheme == "https" else "identity",
                "user-agent": f"promptlift/{__version__}",
            }
        )
        self.headers_with_body = httpx.Headers(self.headers)
        self.headers_with_body["content-type"] = "application/json"
        self.context: ssl.SSLContext | bool = httpx.create_ssl_context() if parts.scheme == "https" else False
        self.proxy = _proxy_for(parts.scheme, parts.hostname or "")
        self.read_timeout = config.read_timeout
        self.floor_rate = config.floor_rate
        self.timeout: dict[str, float | None] = {
            "connect": config.connect_timeout,
            "read": config.read_timeout,
            "write": config.read_timeout,
            "pool": config.connect_timeout,
        }

    def create(self) -> Connection:
        """Make a connection; it connects with its first request."""
        return Connection(self)


def _proxy_for(scheme: str, host: str) -> str | None:
    if is_loopback(host):
        return None
    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    return address if address and not proxy_bypass(host) else None


class Connection:
    """A connection and the requests that go over it, one after the other."""

    def __init__(self, shared: ConnectionFactory) -> None:
        self._shared = shared
        self._transport = httpx.HTTPTransport(
            verify=shared.context,
            proxy=shared.proxy,
            trust_env=False,
            limits=httpx.Limits(
                max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEEP_ALIVE_SECONDS
            ),
        )
        self._stream: Any = None
        self._used_at = float("-inf")
        self._ended = False
        self._began = 0.0
        self._received = 0
        self._traced = {"timeout": shared.timeout, "trace": self._trace}
        self._untraced = {"timeout": shared.timeout}
        self._urls: dict[str, httpx.URL] = {}

    def exchange(self, method: str, target: str, body: bytes | None, known: str | None = None) -> RawAnswer:
        """Send one request and read its whole answer.

        Parameters
        ----------
        known
            Tag of an answer that need not be sent again when it is still the answer; the status is 304 then.

        Raises
        ------
        ExchangeFailed
            When no complete answer came. httpx's own exceptions, and the frames in which they know the headers, are
            left behind; so they are for an interrupt.
        """
        failure: ExchangeFailed | None = None
        interrupt: BaseException | None = None
        try:
            return self._exchange(method, target, body, known)
        except ExchangeFailed as error:
            failure = error
        except httpx.DecodingError as error:
            failure = ExchangeFailed(f"it cannot be unpacked: {_reason(error)}", "cut off")
        except httpx.RemoteProtocolError as error:
            unanswered = "without sending a response" in str(error)
            failure = ExchangeFailed(_reason(error), "no answer" if unanswered else "cut off")
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            httpx.StreamError,
            OSError,
            ValueError,
            RuntimeError,
        ) as error:
            failure = ExchangeFailed(_reason(error))
        except (KeyboardInterrupt, SystemExit) as error:
            interrupt = error
        self.close()
        if interrupt is not None:
            interrupt.__context__ = None
            raise interrupt.with_traceback(None)
        assert failure is not None  # noqa: S101
        failure.__context__ = None
        raise failure.with_traceback(None)

    def _exchange(self, method: str, target: str, body: bytes | None, known: str | None) -> RawAnswer:
        url = self._urls.get(target)
        if url is None:
            url = httpx.URL(self._shared.base_url + target)
            if "?" not in target and len(self._urls) < 16:
                self._urls[target] = url
        headers = self._shared.headers if body is None else self._shared.headers_with_body
        if known is not None:
            headers = httpx.Headers([*headers.raw, (b"if-none-match", known.encode("latin-1"))])
        self._began, self._received = time.monotonic(), 0
        # Tracing costs a tenth of a request, and is needed only where a new connection may be opened.
        stream = self._stream
        fresh = (
            stream is None
            or self._began - self._used_at > _IDLE_SECONDS
            or stream.get_extra_info("is_readable")  # closed by the service
        )
        extensions = self._traced if fresh else self._untraced
        request = httpx.Request(method, url, headers=headers, content=body, extensions=extensions)
        response = self._transport.handle_request(request)
        try:
            if not self._received:
                # Data left over after the last answer does not answer this request.
                raise ExchangeFailed("an answer was there before the request", "cut off")
            return RawAnswer(response.status_code, response.headers, _read(response))
        finally:
            response.close()
            self._used_at = time.monotonic()
            if response.headers.get("connection", "").lower() == "close":
                self._stream = None

    def abort(self) -> None:
        """Abort the request that another thread is making, even while it connects."""
        self._ended = True
        self._shut()

    def renew(self) -> Self:
        """Allow requests again after an abort."""
        self._ended = False
        return self

    def _shut(self) -> None:
        stream = self._stream
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                # Not the TLS socket's own shutdown: it would pull the session away from the reading thread.
                socket.socket.shutdown(stream.get_extra_info("socket"), socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        self._stream = None
        with contextlib.suppress(Exception):
            self._transport.close()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = stream = info["return_value"]
            stream.read = self._in_time(stream.read)
            if self._ended:
                self._shut()

    def _in_time(self, read: Callable[..., bytes]) -> Callable[..., bytes]:
        """Bound the time of a whole answer: a timeout on each read never ends an answer that arrives drop by drop.

        An answer has the read timeout, and on top the time that its bytes take at the floor rate. It counts from
        the request on, headers too.
        """
        shared = self._shared

        def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
            allowed = shared.read_timeout + self._received / shared.floor_rate
            left = allowed - (time.monotonic() - self._began)
            if left <= 0:
                raise ExchangeFailed(
                    f"{self._received} bytes came in {allowed:.3g} seconds, then it was given up",
                    "too slow",
                )
            data = read(max_bytes, left if timeout is None else min(timeout, left))
            self._received += len(data)
            return data

        return read_in_time


def _read(response: httpx.Response) -> bytes:
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > ANSWER_BYTES_MAX:
        raise ExchangeFailed(f"the answer has {length} bytes", "too large")
    if length.isdecimal() and "content-encoding" not in response.headers:
        return b"".join(response.stream)  # type: ignore[arg-type]  # of a transport without async it is iterable
    parts, size = [], 0
    for part in response.iter_bytes():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise ExchangeFailed(f"the answer has more than {ANSWER_BYTES_MAX} bytes", "too large")
        parts.append(part)
    return b"".join(parts)


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        kind = "connecting" if isinstance(error, httpx.ConnectTimeout) else "an answer"
        return f"timed out waiting for {kind}"
    text = str(error).strip() or type(error).__name__
    return text[:200]
