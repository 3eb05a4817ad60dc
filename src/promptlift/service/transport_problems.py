"""Why a request over httpx got no answer, without addresses, keys or words of the other side."""

from __future__ import annotations

import ssl
from operator import attrgetter
from typing import Final

import httpx

__all__ = ["problem_of", "unread"]

_BROKEN_HTTP: Final = {
    "disconnected without": "it closed the connection without an answer",
    "closed connection": "it closed the connection within its answer",
    "too long": "its answer's headers are too long",
}
# Nothing public shows what was received after an answer.
_HTTP_STATE: Final = attrgetter("stream._httpcore_stream._stream._connection._h11_state")


def unread(response: httpx.Response) -> bool:
    """Whether more than the answer came: httpx would take it for the answer to the next request."""
    return bool(_HTTP_STATE(response).trailing_data[0])


def problem_of(error: Exception) -> str:
    """Return why there is no answer, as a clause."""
    said = str(error)
    if isinstance(error, httpx.ProxyError):
        status = said[:3] if said[:3].isdigit() else "no status"
        return f"the proxy refused the connection with {status}"
    if isinstance(error, httpx.RemoteProtocolError):
        known = (problem for words, problem in _BROKEN_HTTP.items() if words in said)
        return next(known, "its answer is not HTTP")
    cause = _cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if cause is not None:
        return f"no secure connection ({cause.reason or type(cause).__name__})"
    if isinstance(error, (httpx.ReadError, httpx.WriteError, httpx.CloseError)):
        return "the connection broke"
    return "it cannot be reached"


def _cause(error: BaseException | None, kind: type[ssl.SSLError]) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error
