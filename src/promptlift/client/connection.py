"""One kept-alive connection to the service: the only module of the client that imports httpx and httpcore.

httpx sends through httpcore, and so does this module, without the layers in between: the redirects, cookies,
connection pool and request objects of httpx are not needed here, and a request without them takes a third of
the processor time. httpx itself, which takes a tenth of the time until a first table to load, is loaded for
certificates and proxies only. A connection serves one thread at a time.
"""

from __future__ import annotations

import contextlib
import socket
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, Self
from urllib.parse import quote, urlsplit

import httpcore

from promptlift._version import __version__
from promptlift.client.config import is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping

    from promptlift.client.config import ClientConfig

# Enough for a page of 100 conversations of 512 KB each, escaped.
ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
# Servers close an idle connection after five seconds or more; it is closed before that.
_KEEP_ALIVE_SECONDS: Final = 4.0

# Characters of a path that are sent as they are.
_SAFE: Final = "/%:@!$&'()*+,;="

# Every other method declares the length of its body, even if it is empty.
_WITHOUT_BODY: Final = frozenset({"GET", "DELETE"})

Failure = Literal["no answer", "cut off", "too large", "too slow"]


class ExchangeFailed(Exception):
    """An exchange without a complete answer; ``reason`` may be shown to the user."""

    def __init__(self, reason: str, kind: Failure = "no answer") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer, not yet decoded; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Headers(list[tuple[bytes, bytes]]):
    """Headers whose repr shows no values: one of them is the key."""

    def __repr__(self) -> str:
        return f"_Headers({[name for name, _ in self]})"


class ConnectionFactory:
    """Address, headers, TLS context, proxy and timeouts, shared by all connections of a client."""

    def __init__(self, config: ClientConfig) -> None:
        parts = urlsplit(config.base_url)
        secure = parts.scheme == "https"
        self.url = httpcore.URL(
            scheme=parts.scheme,
            host=parts.hostname or "",
            port=parts.port,
            target=quote(parts.path, safe=_SAFE),
        )
        self.headers = _Headers(
            [
                (b"host", parts.netloc.encode("ascii")),
                (b"authorization", f"Bearer {config.key.reveal()}".encode("ascii")),
                (b"accept", b"application/json"),
                (b"accept-encoding", b"gzip" if secure else b"identity"),
                (b"user-agent", f"promptlift/{__version__}".encode("ascii")),
            ]
        )
        self.headers_with_body = _Headers([*self.headers, (b"content-type", b"application/json")])
        self.context: ssl.SSLContext | None = None
        if secure:
            import httpx  # noqa: PLC0415  takes long to load

            self.context = httpx.create_ssl_context()
        self.proxy = _proxy_for(parts.scheme, parts.hostname or "")
        self.read_timeout = config.read_timeout
        self.floor_rate = config.floor_rate
        self.extensions: dict[str, dict[str, float | None]] = {
            "timeout": {
                "connect": config.connect_timeout,
                "read": config.read_timeout,
                "write": config.read_timeout,
                "pool": config.connect_timeout,
            }
        }

    def create(self) -> Connection:
        """Create a connection, which connects with its first request."""
        return Connection(self)

    def http_connection(self, backend: httpcore.NetworkBackend) -> httpcore.ConnectionInterface:
        """Create an httpcore connection, through the proxy if there is one; it connects with its first request."""
        pool = httpcore.ConnectionPool(
            ssl_context=self.context,
            proxy=_proxy(self.proxy),
            keepalive_expiry=_KEEP_ALIVE_SECONDS,
            network_backend=backend,
        )
        return pool.create_connection(self.url.origin)


# Errors that keep httpcore from an answer.
_HTTP_ERRORS: Final = (
    httpcore.ConnectionNotAvailable,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


def _proxy_for(scheme: str, host: str) -> str | None:
    if is_loopback(host):
        return None
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415  takes long to load

    proxies = getproxies()
    address = proxies.get(scheme) or proxies.get("all")
    return address if address and not proxy_bypass(host) else None


def _proxy(address: str | None) -> httpcore.Proxy | None:
    """Read the address of a proxy, including user name and password."""
    if address is None:
        return None
    import httpx  # noqa: PLC0415  takes long to load

    proxy = httpx.Proxy(address)
    url = proxy.url
    if url.scheme.startswith("socks5") and find_spec("socksio") is None:
        raise ImportError("A SOCKS proxy needs the package socksio: run 'pip install httpx[socks]'")
    return httpcore.Proxy(
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        auth=proxy.raw_auth,
        headers=proxy.headers.raw,
    )


class Connection:
    """A connection and its requests, one after another."""

    def __init__(self, shared: ConnectionFactory) -> None:
        self._shared = shared
        self._backend = _Backend(self)
        self._bodiless = httpcore.Request(
            "GET", shared.url, headers=shared.headers, extensions=shared.extensions
        )
        self._http: httpcore.ConnectionInterface | None = None
        self._socket: socket.socket | None = None
        self._ended = False
        self._began = 0.0
        self._received = 0

    def exchange(self, method: str, target: str, body: bytes | None, known: str | None = None) -> RawAnswer:
        """Send one request and read its complete answer.

        Parameters
        ----------
        known
            Tag of a known answer, which is not sent again if it is still current; then the status is 304.

        Raises
        ------
        ExchangeFailed
            There was no complete answer. httpcore's own exceptions, whose frames contain the headers, are
            dropped, also for an interrupt.
        """
        failure: ExchangeFailed | None = None
        interrupt: BaseException | None = None
        try:
            return self._exchange(method, target, body, known)
        except ExchangeFailed as error:
            failure = error
        except zlib.error as error:
            failure = ExchangeFailed(f"it cannot be unpacked: {_reason(error)}", "cut off")
        except httpcore.RemoteProtocolError as error:
            unanswered = "without sending a response" in str(error)
            failure = ExchangeFailed(_reason(error), "no answer" if unanswered else "cut off")
        except (*_HTTP_ERRORS, OSError, ValueError, RuntimeError) as error:
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
        http = self._http
        if http is None or http.is_closed() or http.has_expired():
            self.close()
            # Stored before it connects, so that an interrupt leaves nothing open.
            self._http = http = self._shared.http_connection(self._backend)
        self._began, self._received = time.monotonic(), 0
        response = http.handle_request(self._request(method, target, body, known))
        try:
            if not self._received:
                # Data left over after the last answer does not answer this request.
                raise ExchangeFailed("an answer arrived before the request", "cut off")
            # For a repeated header the last one counts; none of those used is a list.
            headers = {
                name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers
            }
            return RawAnswer(response.status, headers, _read(response, headers))
        finally:
            response.close()

    def _request(self, method: str, target: str, body: bytes | None, known: str | None) -> httpcore.Request:
        shared = self._shared
        base = shared.url
        url = httpcore.URL(
            scheme=base.scheme, host=base.host, port=base.port, target=base.target + target.encode("ascii")
        )
        if body is None and known is None and method in _WITHOUT_BODY:
            # The same object is reused, because creating one validates every header.
            self._bodiless.method, self._bodiless.url = method.encode("ascii"), url
            return self._bodiless
        headers = _Headers(shared.headers if body is None else shared.headers_with_body)
        if body is not None or method not in _WITHOUT_BODY:
            headers.append((b"content-length", b"%d" % len(body or b"")))
        if known is not None:
            headers.append((b"if-none-match", known.encode("latin-1")))
        return httpcore.Request(method, url, headers=headers, content=body, extensions=shared.extensions)

    def abort(self) -> None:
        """Abort another thread's request, even while it connects."""
        self._ended = True
        self._shut()

    def renew(self) -> Self:
        """Allow requests again after an abort."""
        self._ended = False
        return self

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError, ValueError):
                # Not the TLS socket's own shutdown, which would remove the session under the reading thread.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        http, self._http, self._socket = self._http, None, None
        if http is not None:
            with contextlib.suppress(Exception):
                http.close()

    def connected(self, stream: httpcore.NetworkStream) -> httpcore.NetworkStream:
        """Record an open socket; answers on it have a time limit."""
        self._socket = stream.get_extra_info("socket")
        if self._ended:
            self._shut()
        return _TimedStream(self, stream)

    def read(self, stream: httpcore.NetworkStream, max_bytes: int, timeout: float | None) -> bytes:
        """Read some bytes of an answer.

        A timeout on each read would never end an answer that trickles in. The limit of an answer is the read
        timeout plus the time of its bytes at the floor rate. It counts from the request, including headers.
        """
        shared = self._shared
        allowed = shared.read_timeout + self._received / shared.floor_rate
        left = allowed - (time.monotonic() - self._began)
        if left <= 0:
            raise ExchangeFailed(
                f"{self._received} bytes arrived in {allowed:.3g} seconds, then it was given up", "too slow"
            )
        data = stream.read(max_bytes, left if timeout is None else min(timeout, left))
        self._received += len(data)
        return data


class _Backend(httpcore.SyncBackend):
    """Opens the sockets of a connection, which records them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def connect_tcp(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return self._connection.connected(super().connect_tcp(*args, **options))


class _TimedStream(httpcore.NetworkStream):
    """A socket of a connection, encrypted or not, whose reads the connection limits."""

    def __init__(self, connection: Connection, stream: httpcore.NetworkStream) -> None:
        self._connection = connection
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._connection.read(self._stream, max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return self._connection.connected(self._stream.start_tls(*args, **options))


def _read(response: httpcore.Response, headers: Mapping[str, str]) -> bytes:
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > ANSWER_BYTES_MAX:
        raise ExchangeFailed(f"the answer has {length} bytes", "too large")
    body = response.stream
    assert isinstance(body, Iterable)  # noqa: S101 - it is, of a connection without async
    packed = headers.get("content-encoding", "").lower() == "gzip"
    if length.isdecimal() and not packed:
        return b"".join(body)
    parts, size = [], 0
    for part in _unpack(body) if packed else body:
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise ExchangeFailed(f"the answer has more than {ANSWER_BYTES_MAX} bytes", "too large")
        parts.append(part)
    return b"".join(parts)


def _unpack(body: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of a body that is compressed with gzip, decompressed."""
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    for part in body:
        yield unpacking.decompress(part)
    yield unpacking.flush()


def _reason(error: Exception) -> str:
    if isinstance(error, httpcore.TimeoutException):
        kind = "connecting" if isinstance(error, httpcore.ConnectTimeout) else "an answer"
        return f"timed out waiting for {kind}"
    text = str(error).strip() or type(error).__name__
    return text[:200]
