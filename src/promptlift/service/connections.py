"""HTTP/1.1 of uvicorn, with a limit of connections that silent clients cannot use up."""

from __future__ import annotations

import logging
import resource
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from promptlift.service.errors import ApiException

_LOG = logging.getLogger(__name__)
# Of a request line and its header fields, as long as they are incomplete.
_HEADER_BYTES = 65_536


def most_connections() -> int:
    """Return how many clients may be connected: half of the files that the process may open, at most 4,096.

    The other half is for the database, logs and requests to a language model.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 4096 if files < 0 else max(8, min(4096, files // 2))


class ClientConnection(HttpToolsProtocol):
    """A connection for which, at the limit, the one that has waited longest for its client is closed.

    At uvicorn's own limit new clients are refused, so that silent ones would keep everybody else out.
    """

    def connection_made(self, transport: Any) -> None:
        """Make room for this client."""
        super().connection_made(transport)
        self.header_bytes, self.waiting_since = 0, self.loop.time()
        if len(self.connections) <= most_connections():
            return
        others = (one for one in self.connections if isinstance(one, ClientConnection) and one is not self)
        if waiting := [one for one in others if one.is_waiting()]:
            _LOG.warning("too many connections are open: the one that has waited longest is closed")
            oldest = min(waiting, key=lambda one: one.waiting_since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def is_waiting(self) -> bool:
        """Return whether the client has still to send a request, or the rest of it."""
        cycle: Any = self.cycle  # none before the first request
        return cycle is None or cycle.response_complete or cycle.more_body

    def data_received(self, data: bytes) -> None:
        """Bound headers that never end."""
        self.header_bytes += len(data)
        super().data_received(data)
        if self.header_bytes > _HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too long.")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, with the error body of the API."""
        body = orjson.dumps(ApiException("VALIDATION_ERROR", msg).body())
        head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def on_headers_complete(self) -> None:
        """Begin to answer a request, whose body may still be on its way."""
        self.header_bytes, self.waiting_since = 0, self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self.header_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()
