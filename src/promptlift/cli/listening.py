"""``promptlift listen``: receive the deliveries of a webhook, verify them, print them, and forward them."""

from __future__ import annotations

import http.client
import http.server
import os
import ssl
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from promptlift import events
from promptlift.errors import ConfigError, EventError, InvalidSignature, ReplayedEvent
from promptlift.schema.webhooks import check_secret

if TYPE_CHECKING:
    from pathlib import Path

    from promptlift.schema.events import Event

_BODY_BYTES: Final = 4 * 1024 * 1024
# A webhook waits ten seconds for an answer.
_FORWARD_SECONDS: Final = 9.0
_CONNECTION_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Listening:
    """How to listen.

    Attributes
    ----------
    secret
        Secret of the webhook.
    host, port
        Where to listen; port 0 for any free one.
    tolerance
        Maximum age of an event in seconds; by default any age.
    certificate, key
        Files for HTTPS; without a certificate, plain HTTP behind a tunnel or proxy that provides HTTPS.
    forward
        Address to send every verified delivery to.
    """

    secret: str
    host: str = "127.0.0.1"
    port: int = 0
    tolerance: float | None = None
    certificate: Path | None = None
    key: Path | None = None
    forward: str | None = None

    def __post_init__(self) -> None:
        try:
            check_secret(self.secret)
        except ConfigError as error:
            raise ConfigError(f"{error}: PROMPTLIFT_WEBHOOK_SECRET, or --secret-file") from None
        if self.forward is not None:
            try:
                parts = urlsplit(self.forward)
                usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            except ValueError:
                usable = False
            if not usable:
                raise ConfigError(f"--forward must be an http:// or https:// address, not {self.forward!r}")


def secret_of(file: Path | None) -> str:
    """Return the secret in a file, or else ``PROMPTLIFT_WEBHOOK_SECRET``; empty without either."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            raise ConfigError(f"{file} is not UTF-8 text: save the secret in it as plain text") from None
    return os.environ.get("PROMPTLIFT_WEBHOOK_SECRET", "")


def run_listener(listening: Listening) -> None:
    """Receive deliveries until Ctrl-C.

    Raises
    ------
    ConfigError
        The certificate is unusable.
    """
    server = EventServer(listening)
    scheme = "https" if listening.certificate else "http"
    host = f"[{listening.host}]" if ":" in listening.host else listening.host
    _say(f"promptlift listens at {scheme}://{host}:{server.server_port}/")
    try:
        server.serve_forever()
    finally:
        server.server_close()


class EventServer(http.server.ThreadingHTTPServer):
    """The HTTP server that receives deliveries, with a thread per connection.

    Parameters
    ----------
    listening
        How to listen.
    """

    daemon_threads = True

    def __init__(self, listening: Listening) -> None:
        self.listening = listening
        self.seen = events.SeenIds()
        self.tls: ssl.SSLContext | None = None
        if listening.certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            try:
                self.tls.load_cert_chain(listening.certificate, listening.key)
            except ssl.SSLError as error:
                raise ConfigError(
                    f"The certificate {listening.certificate} cannot be used ({error.reason}): it must be PEM, with its "
                    "private key in the same file or in --key"
                ) from error
        super().__init__((listening.host, listening.port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away or do not trust the certificate; report everything else."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def receive(self, body: bytes, signature: str | None) -> tuple[int, str]:
        """Return the status with which to answer a delivery, and its line of output."""
        listening = self.listening
        try:
            event = events.parse(body, signature, listening.secret, tolerance=listening.tolerance)
        except InvalidSignature as error:
            return 401, f"refused: {error}"
        except ReplayedEvent as error:
            return 200, f"refused: {_plain(str(error))}"
        except EventError:
            return 400, "refused: the body is not an event of the API"
        again = "" if self.seen.add(event.id) else ", received before"
        line = f"{_line(event)}  signature valid{again}"
        if listening.forward is None:
            return 200, line
        status, said = _forward(listening.forward, body, signature)
        return status, f"{line}, {said}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: EventServer
    protocol_version = "HTTP/1.1"
    timeout = _CONNECTION_SECONDS

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request.settimeout(_CONNECTION_SECONDS)
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def do_POST(self) -> None:
        size = self.headers.get("content-length", "")
        if not size.isdecimal() or int(size) > _BODY_BYTES:
            self._answer(411 if not size.isdecimal() else 413)
            self.close_connection = True
            return
        status, line = self.server.receive(self.rfile.read(int(size)), self.headers.get(events.HEADER))
        _say(line)
        self._answer(status)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing: every delivery has its own line."""


def _forward(address: str, body: bytes, signature: str | None) -> tuple[int, str]:
    """Forward a delivery, byte for byte, and return the status for the sender: that of the answer, or 502."""
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_FORWARD_SECONDS)
    headers = {"Content-Type": "application/json", **({events.HEADER: signature} if signature else {})}
    try:
        connection.request(
            "POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers
        )
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return 502, f"could not be forwarded: {_plain(str(error)) or type(error).__name__}"
    finally:
        connection.close()
    return status, f"forwarded: {status}"


def _line(event: Event) -> str:
    when = event.timestamp.isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{when}  {event.type}  {_plain(event.id)}"


def _plain(text: str) -> str:
    """Return text without control characters: a body may contain anything."""
    return "".join(character if character.isprintable() else "�" for character in text)


_OUTPUT: Final = threading.Lock()


def _say(line: str) -> None:
    with _OUTPUT:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
