"""What requests over httpcore and httpx have in common: why one got no answer, and which connections it opened."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final, Self

import httpcore
import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OpenedConnections", "problem_of"]

_BROKEN_HTTP: Final = {
    "disconnected without": "it closed the connection without an answer",
    "closed connection": "it closed the connection within its answer",
    "too long": "its answer's headers are too long",
}


class OpenedConnections:
    """The connections that a request opens; closed when it fails.

    httpcore forgets a connection whose TLS handshake is cancelled, and leaves it open.
    """

    def __init__(self) -> None:
        self._streams: list[httpcore.AsyncNetworkStream] = []

    def __bool__(self) -> bool:
        return bool(self._streams)

    async def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Note what a request does; its extension ``trace``."""
        if event.endswith("connect_tcp.complete"):
            self._streams.append(info["return_value"])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for stream in self._streams:
                await stream.aclose()


def problem_of(error: Exception) -> str:
    """Return why there is no answer, as a clause without addresses, keys or words of the other side."""
    said = str(error)
    if isinstance(error, httpx.ProxyError):
        status = said[:3] if said[:3].isdigit() else "no status"
        return f"the proxy refused the connection with {status}"
    if isinstance(error, (httpx.RemoteProtocolError, httpcore.RemoteProtocolError)):
        known = (problem for words, problem in _BROKEN_HTTP.items() if words in said)
        return next(known, "its answer is not HTTP")
    cause = _cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if cause is not None:
        return f"no secure connection ({cause.reason or type(cause).__name__})"
    if isinstance(error, (httpx.ReadError, httpx.WriteError, httpcore.ReadError, httpcore.WriteError)):
        return "the connection broke"
    return "it cannot be reached"


def _cause(error: BaseException | None, kind: type[ssl.SSLError]) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error
