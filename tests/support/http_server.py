"""The HTTP server of the doubles: on a free port of loopback, every request in a thread of its own."""

from __future__ import annotations

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping


class Handler(BaseHTTPRequestHandler):
    """One request, with its ``body``; a double that answers none closes the connection."""

    protocol_version = "HTTP/1.1"
    # Head and body leave in one piece, and none waits until another is acknowledged.
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server
    body = b""

    def setup(self) -> None:
        if (tls := self.server.owner.tls) is not None:
            self.request.settimeout(20)
            self.request = tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        if len(self.body) < length:  # the sender was killed
            self.close_connection = True
        else:
            self.server.owner.serve(self)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the standard library's names

    def answer(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None, *, more: int = 0
    ) -> None:
        """Send an answer, of which ``more`` bytes are promised than come."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body) + more))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection |= bool(more)

    def log_message(self, *_: Any) -> None:
        """Be silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: HttpServer) -> None:
        self.owner = owner
        self.accepted: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.accepted.append(request)
        super().process_request(request, client_address)

    def handle_error(self, *_: Any) -> None:
        """Ignore clients that went away: they are part of the tests."""


class HttpServer:
    """Hand each request to ``serve``; with ``tls``, which may be replaced, it speaks HTTPS."""

    def __init__(self, serve: Callable[[Handler], None], *, tls: ssl.SSLContext | None = None) -> None:
        self.serve, self.tls = serve, tls
        self._server = _Server(self)
        self.accepted = self._server.accepted
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End, with all connections."""
        self._server.shutdown()
        self._thread.join()
        for request in self.accepted:
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
