"""``promptlift listen``: receive the deliveries of a webhook, verify them, print them, and forward them."""

from __future__ import annotations

import http.client
import http.server
import os
import ssl
import sys
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from promptlift import events
from promptlift.errors import ConfigError, EventError, InvalidSignature, ReplayedEvent
from promptlift.schema.webhooks import check_secret

if TYPE_CHECKING:
    from pathlib import Path


_BODY_BYTES: Final = 4 * 1024 * 1024
# A webhook waits ten seconds for an answer.
_FORWARD_SECONDS: Final = 9.0
_CONNECTION_SECONDS: Final = 30.0


def secret_of(file: Path | None) -> str:
    """Return the secret in a file, or else ``PROMPTLIFT_WEBHOOK_SECRET``; empty without either."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            raise ConfigError(f"{file} is not UTF-8 text: save the secret in it as plain text") from None
    return os.environ.get("PROMPTLIFT_WEBHOOK_SECRET", "")


class EventServer(http.server.ThreadingHTTPServer):
    """The HTTP server that receives deliveries, with a thread per connection.

    Parameters
    ----------
    secret
        Secret of the webhook.
    address
        Host and port to listen at; port 0 for any free one.
    tolerance
        Maximum age of an event in seconds; by default any age.
    certificate, key
        Files for HTTPS; without a certificate, plain HTTP behind a tunnel or proxy that provides HTTPS.
    forward
        Address to send every verified delivery to.

    Raises
    ------
    ConfigError
        The secret, the certificate or the address to forward to is unusable.
    """

    daemon_threads = True

    def __init__(
        self,
        secret: str,
        address: tuple[str, int],
        *,
        tolerance: float | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        forward: str | None = None,
    ) -> None:
        try:
            check_secret(secret)
        except ConfigError as error:
            raise ConfigError(f"{error}: PROMPTLIFT_WEBHOOK_SECRET, or --secret-file") from None
        if forward is not None and not _is_address(forward):
            raise ConfigError(f"--forward must be an http:// or https:// address, not {forward!r}")
        self.secret, self.tolerance, self.forward = secret, tolerance, forward
        self.seen = events.SeenIds()
        self.tls: ssl.SSLContext | None = None
        if certificate is not None:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            try:
                self.tls.load_cert_chain(certificate, key)
            except ssl.SSLError as error:
                raise ConfigError(
                    f"The certificate {certificate} cannot be used ({error.reason}): it must be PEM, with its private key "
                    "in the same file or in --key"
                ) from error
        super().__init__(address, _Handler)

    def run(self) -> None:
        """Receive deliveries until Ctrl-C."""
        name = str(self.server_address[0])
        host = f"[{name}]" if ":" in name else name
        _say(f"promptlift listens at {'https' if self.tls else 'http'}://{host}:{self.server_port}/")
        try:
            self.serve_forever()
        finally:
            self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away or do not trust the certificate; report everything else."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def receive(self, body: bytes, signature: str | None) -> tuple[int, str]:
        """Return the status with which to answer a delivery, and its line of output."""
        try:
            event = events.parse(body, signature, self.secret, tolerance=self.tolerance)
        except InvalidSignature as error:
            return 401, f"refused: {error}"
        except ReplayedEvent as error:
            return 200, f"refused: {_plain(str(error))}"
        except EventError:
            return 400, "refused: the body is not an event of the API"
        again = "" if self.seen.add(event.id) else ", received before"
        when = event.timestamp.isoformat(timespec="seconds").replace("+00:00", "Z")
        line = f"{when}  {event.type}  {_plain(event.id)}  signature valid{again}"
        if self.forward is None:
            return 200, line
        status, said = _forward(self.forward, body, signature)
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


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


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


def _plain(text: str) -> str:
    """Return text without control characters: a body may contain anything."""
    return "".join(character if character.isprintable() else "�" for character in text)


_OUTPUT: Final = threading.Lock()


def _say(line: str) -> None:
    with _OUTPUT:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
