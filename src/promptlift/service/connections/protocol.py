"""HTTP/1.1 on one connection: uvicorn's, with the time and the room that a client may take.

uvicorn waits for a request as long as the client likes, keeps headers of any size, and answers what is not HTTP
in plain text. Here each turn of the client has its limits, and a refusal has the API's error body.
"""

from __future__ import annotations

import logging
import re
from http import HTTPMethod
from typing import TYPE_CHECKING, Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from promptlift.service.connections.transfer import Transfer
from promptlift.service.errors import ApiException
from promptlift.service.routes.http.messages import refuse

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from promptlift.service.settings import ConnectionLimits

_LOG = logging.getLogger(__name__)
# Of the request line and all header fields together, and of what comes after a body in chunks.
HEADER_BYTES = 65_536
# After a refusal the rest of the request is read and thrown away for a moment: a client that is still sending
# would otherwise find the connection reset, and no answer.
LINGER_SECONDS = 5.0
# In chunks of one byte each, a body comes with so many bytes of framing for one of its own.
_CHUNK_FRAMING = 16

# A request line that is in order but for its method.
_UNKNOWN_METHOD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}) \S+ HTTP/1\.[01]\r?\n")
_METHODS = "GET, POST, PATCH, DELETE"


class ClientConnection(HttpToolsProtocol):
    """One connection of a client.

    Parameters
    ----------
    limits
        How long the client may take.
    on_turn
        Called when a request is answered and the client's turn begins: the connection may be closed for another now.
    on_close
        Called with the connection when it is closed.
    options
        Arguments of uvicorn's protocol.
    """

    def __init__(
        self,
        *,
        limits: ConnectionLimits,
        on_turn: Callable[[], None],
        on_close: Callable[[ClientConnection], None],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.is_connected = False
        self._limits = limits
        self._on_turn = on_turn
        self._on_close = on_close
        # Since when the client has been expected to say something.
        self._waiting_since = self.loop.time()
        self._header_bytes = 0
        self._body: Transfer | None = None
        self._framing_bytes = 0
        self._unread: Transfer | None = None
        self._unread_bytes = 0
        self._in_headers = False
        # A refusal that waits until the requests before it are answered.
        self._refusal: ApiException | None = None
        self._refused_at: float | None = None
        self._deaf = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.is_connected = True

    # What the client sends

    def data_received(self, data: bytes) -> None:
        """Take bytes from the client."""
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        body = self._body
        seen = 0 if body is None else body.size
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # No other protocol is spoken here: the request is answered as the HTTP that it is, and is the last one.
            self._deaf = True
            self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            self._refuse_in_turn(_refusal_of(error, data))
        else:
            self._bound(len(data), body, seen)

    def _bound(self, size: int, body: Transfer | None, seen: int) -> None:
        """Refuse headers, or framing around a body, that have no end."""
        if self._in_headers:
            self._header_bytes += size
            if self._header_bytes > HEADER_BYTES:
                self._refuse_in_turn(_too_long(self.url if self.headers == [] else b""))
        elif body is not None and body is self._body:
            self._framing_bytes += size - (body.size - seen)
            if self._framing_bytes > HEADER_BYTES + _CHUNK_FRAMING * body.size:
                self._refuse_in_turn(_too_long(b""))

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._in_headers = True
        self._header_bytes = 0
        if self.cycle is not None:
            self._waiting_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """Start to answer a request whose body may still be on its way."""
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEADER_BYTES:
            raise _too_long(self.url)
        super().on_headers_complete()
        self._in_headers = False
        self._body = Transfer(self.loop.time())
        self._framing_bytes = 0

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._body is not None:
            self._body.add(len(body), self.loop.time())
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request is here as a whole."""
        self._body = None
        self._waiting_since = self.loop.time()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request, or wait for it."""
        self._waiting_since = self.loop.time()
        super().on_response_complete()
        if self._refusal is not None:
            self._refuse_in_turn(self._refusal)
        self._on_turn()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._on_close(self)

    # What the client is told

    def _refuse_in_turn(self, refusal: ApiException) -> None:
        """Refuse what came, after the answers to the requests before it."""
        self._deaf = True
        if self.pipeline or (self._is_answering() and self._body is None):
            self._refusal = refusal
        else:
            self._refuse(refusal)

    def _refuse(self, refusal: ApiException) -> None:
        """Answer with an error of the API and let the connection go."""
        if self._refused_at is not None or self.transport.is_closing():
            return
        self._deaf = True
        self._refused_at = self.loop.time()
        if self._is_answering():
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.abort()
                return
        elif self._body is not None:
            # Answered already, without the rest of its body.
            self.transport.close()
            return
        response = refuse(refusal)
        lines = [STATUS_LINE[response.status_code]]
        for name, value in (
            *self.server_state.default_headers,
            *response.raw_headers,
            (b"connection", b"close"),
        ):
            lines += [name, b": ", value, b"\r\n"]
        self.transport.write(b"".join([*lines, b"\r\n", bytes(response.body)]))
        self.transport.write_eof()
        self.flow.resume_reading()

    # What is waited for

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request
        return cycle is not None and not cycle.response_complete

    @property
    def waits_since(self) -> float | None:
        """Since when nothing but the client's next request is waited for; ``None`` while one is at work."""
        if self._refused_at is not None:
            return self._refused_at
        return None if self._is_answering() or self._body is not None else self._waiting_since

    def debt(self, now: float) -> float | None:
        """Return how far a body or the reading of an answer is behind; ``None`` when the service is at work."""
        transfer = self._unread if self._unread is not None else self._body
        if transfer is None or (transfer is self._body and self.flow.read_paused):
            return None
        return transfer.debt(now, self._limits)

    def abort(self) -> None:
        """Close the connection now, whatever was still to be sent."""
        self.transport.abort()

    def check(self, now: float, passed: float) -> None:
        """Close the connection when its client has taken too long.

        Parameters
        ----------
        now
            Time of the event loop.
        passed
            Seconds since the last look.
        """
        limits = self._limits
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        self._look_at_unread(now)
        if self._unread is not None and self._unread.is_too_slow(now, limits):
            self._give_up("a client did not read its answer")
        elif self._refused_at is not None:
            if now - self._refused_at > LINGER_SECONDS:
                self.abort()
        elif self._body is not None:
            self._check_body(self._body, now, passed)
        elif self._is_answering():
            return
        elif self._in_headers or self.cycle is None:
            if now - self._waiting_since > limits.headers:
                self._end_headers()
        elif now - self._waiting_since > limits.idle:
            self.transport.close()

    def _check_body(self, body: Transfer, now: float, passed: float) -> None:
        if self.flow.read_paused:
            # The service itself does not take more right now.
            body.hold(passed)
        elif not self._is_answering():
            if now - self._waiting_since > self._limits.body:
                self._give_up("a client did not end the body of a request that was answered")
        elif body.is_too_slow(now, self._limits):
            _LOG.info("the body of a request did not come in time")
            self._refuse(
                ApiException("REQUEST_TIMEOUT", "The body of the request did not come in time; send it again")
            )

    def _end_headers(self) -> None:
        _LOG.info("the headers of a request did not come in time")
        if self._header_bytes:
            message = f"The headers of the request did not come within {self._limits.headers:g} seconds"
            self._refuse(ApiException("REQUEST_TIMEOUT", message))
        else:
            self.transport.close()

    def _look_at_unread(self, now: float) -> None:
        waiting = self.transport.get_write_buffer_size()
        if not waiting:
            self._unread = None
        elif self._unread is None:
            self._unread = Transfer(now)
        elif waiting < self._unread_bytes:
            self._unread.add(self._unread_bytes - waiting, now)
        self._unread_bytes = waiting

    def _give_up(self, why: str) -> None:
        _LOG.info("%s in time", why)
        self.abort()


def _refusal_of(error: httptools.HttpParserError, data: bytes) -> ApiException:
    """Return the refusal that a callback of the parser raised, or say that this is not HTTP."""
    if isinstance(error.__context__, ApiException):
        return error.__context__
    unknown = _UNKNOWN_METHOD.match(data)
    if (
        unknown is not None
        and unknown[1].decode() not in HTTPMethod.__members__  # the request before what is wrong
        and isinstance(error, httptools.HttpParserInvalidMethodError)
    ):
        return ApiException(
            "METHOD_NOT_ALLOWED",
            f"{unknown[1].decode()} is no method of this API; allowed: {_METHODS}",
            headers={"Allow": _METHODS},
        )
    return ApiException(
        "VALIDATION_ERROR",
        "The request is not valid HTTP/1.1",
        details={"request": str(error) or "cannot be read"},
    )


def _too_long(url: bytes) -> ApiException:
    if len(url) > HEADER_BYTES // 2:
        return ApiException(
            "URI_TOO_LONG", f"The path and query of a request must have at most {HEADER_BYTES} bytes"
        )
    return ApiException(
        "HEADERS_TOO_LARGE", f"The headers of a request must have at most {HEADER_BYTES} bytes"
    )
