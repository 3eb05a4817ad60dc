"""One kept-alive connection to the service: the only module of the client that imports httpx.

A connection serves one thread at a time; another thread may abort its request.
"""

from __future__ import annotations

import contextlib
import socket
import time
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self

import httpx

from promptlift._version import __version__
from promptlift.client.config import is_loopback
from promptlift.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.client.config import ClientConfig

# Enough for a page of 100 conversations of 512 KB each, escaped.
ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
# Servers close an idle connection after five seconds or more; it is closed before that.
_ONE: Final = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=4.0)

Failure = Literal["no answer", "cut off", "too large", "too slow"]


class ExchangeFailed(Exception):
    """An exchange without a complete answer; ``reason`` may be shown to the user."""

    def __init__(self, reason: str, kind: Failure = "no answer") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


class RawAnswer(NamedTuple):
    """An answer, not yet decoded; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """A connection and its requests, one after another; it connects with its first request.

    Raises
    ------
    ConfigError
        The address of the service cannot be read.
    """

    def __init__(self, config: ClientConfig, context: Any) -> None:
        self._config = config
        self._socket: socket.socket | None = None
        self._ended = False
        self._http = httpx.Client(
            headers={
                "authorization": f"Bearer {config.key.reveal()}",
                "accept": "application/json",
                "accept-encoding": "gzip" if config.base_url.startswith("https") else "identity",
                "user-agent": f"promptlift/{__version__}",
            },
            verify=context,
            limits=_ONE,
            timeout=httpx.Timeout(config.read_timeout, connect=config.connect_timeout),
            # A proxy of the environment is for other computers.
            trust_env=not is_loopback(httpx.URL(config.base_url).host),
        )

    def exchange(self, method: str, target: str, body: bytes | None, known: str | None = None) -> RawAnswer:
        """Send one request and read its complete answer.

        Parameters
        ----------
        known
            Tag of a known answer, which is not sent again if it is still current; then the status is 304.

        Raises
        ------
        ExchangeFailed
            There was no complete answer. The exceptions of httpx, whose frames contain the headers, are
            dropped, also for an interrupt.
        """
        failure: BaseException
        try:
            return self._exchange(method, target, body, known)
        except ExchangeFailed as error:
            failure = error
        except httpx.DecodingError as error:
            failure = ExchangeFailed(f"it cannot be unpacked: {_reason(error)}", "cut off")
        except httpx.RemoteProtocolError as error:
            unanswered = "without sending a response" in str(error)
            failure = ExchangeFailed(_reason(error), "no answer" if unanswered else "cut off")
        except (httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
            failure = ExchangeFailed(_reason(error))
        except (KeyboardInterrupt, SystemExit) as error:
            failure = error
        self._shut()
        failure.__context__ = None
        raise failure.with_traceback(None)

    def _exchange(self, method: str, target: str, body: bytes | None, known: str | None) -> RawAnswer:
        headers = {} if body is None else {"content-type": "application/json"}
        if known is not None:
            headers["if-none-match"] = known
        began = time.monotonic()
        extensions = {"trace": self._note}
        with self._http.stream(
            method, self._config.base_url + target, content=body, headers=headers, extensions=extensions
        ) as response:
            length = response.headers.get("content-length", "")
            if length.isdecimal() and int(length) > ANSWER_BYTES_MAX:
                raise ExchangeFailed(f"the answer has {length} bytes", "too large")
            parts, size = [], 0
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if size > ANSWER_BYTES_MAX:
                    raise ExchangeFailed(f"the answer has more than {ANSWER_BYTES_MAX} bytes", "too large")
                # A timeout of each read would never end an answer that trickles in.
                allowed = self._config.read_timeout + size / self._config.floor_rate
                if time.monotonic() - began > allowed:
                    raise ExchangeFailed(
                        f"{size} bytes arrived in {allowed:.3g} seconds, then it was given up", "too slow"
                    )
            return RawAnswer(response.status_code, response.headers, b"".join(parts))

    def _note(self, event: str, known: dict[str, Any]) -> None:
        """Record an open socket, encrypted or not; an aborted request ends even if it was still connecting."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = known["return_value"].get_extra_info("socket")
            if self._ended:
                self._shut()

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
        """Close the connection."""
        self._http.close()


def tls_context(config: ClientConfig) -> Any:
    """Return what verifies the service's certificate, shared by all connections because making it is slow.

    Raises
    ------
    ConfigError
        The address of the service cannot be read.
    """
    try:
        url = httpx.URL(config.base_url)
    except httpx.InvalidURL as error:
        raise ConfigError(
            f"The service address cannot be read: {error}. Use one such as https://host/api/v1."
        ) from None
    return httpx.create_ssl_context() if url.scheme == "https" else False


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        kind = "connecting" if isinstance(error, httpx.ConnectTimeout) else "an answer"
        return f"timed out waiting for {kind}"
    text = str(error).strip() or type(error).__name__
    return text[:200]
