"""A receiver of webhooks: a real TLS server on loopback, with certificates that are made here."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.http_server import HttpServer
from support.service_process import wait_until

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.http_server import Handler


@dataclass(frozen=True)
class Certificate:
    """A certificate that signs itself, with its key in the same file; trusted through ``SSL_CERT_FILE``."""

    file: Path

    @property
    def trusted(self) -> dict[str, str]:
        """Environment of a service that trusts it and may send to loopback."""
        return {"SSL_CERT_FILE": str(self.file), "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS": "1"}


def make_certificate(
    folder: Path, name: str = "receiver", hosts: str = "IP:127.0.0.1,DNS:localhost"
) -> Certificate:
    """Make a certificate for loopback with OpenSSL."""
    key, file = folder / f"{name}.key", folder / f"{name}.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-keyout", str(key), "-out", str(file), "-days", "2", "-subj", f"/CN={name}"]
    command += ["-addext", f"subjectAltName={hosts}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    file.write_text(file.read_text() + key.read_text())
    return Certificate(file)


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    at: float
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """What arrives, in order; ``answer`` may be replaced by a test.

    Attributes
    ----------
    answer
        Called with each request and its connection. Returns a status, a status with headers, or None when it has
        written to the connection itself.
    """

    def __init__(self, certificate: Certificate | None) -> None:
        self.received: list[Received] = []
        self.answer: Callable[[Received, socket.socket], int | tuple[int, dict[str, str]] | None] = (
            lambda _request, _connection: 204
        )
        self.ending = threading.Event()
        self._server = HttpServer(self._serve)
        if certificate is not None:
            self.use(certificate)

    def _serve(self, handler: Handler) -> None:
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Received(time.monotonic(), handler.path, headers, handler.body)
        self.received.append(request)
        answer = self.answer(request, handler.connection)
        if answer is None:
            handler.close_connection = True
            return
        status, headers = answer if isinstance(answer, tuple) else (answer, {})
        handler.answer(status, headers=headers)

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/hook"

    @property
    def events(self) -> list[Any]:
        return [one.event for one in list(self.received)]

    def use(self, certificate: Certificate) -> None:
        """Show another certificate from now on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.file)
        self._server.tls = context

    def wait_for(self, count: int, *, seconds: float = 30.0) -> list[Received]:
        """Wait until so many requests came."""
        wait_until(lambda: len(self.received) >= count, what=f"{count} deliveries", seconds=seconds)
        return list(self.received)

    def hang(self, _request: Received, _connection: socket.socket) -> None:
        """Answer nothing until the test ends."""
        self.ending.wait(60)

    def drip(self, _request: Received, connection: socket.socket) -> None:
        """Send the headers of an answer byte by byte."""
        with suppress(OSError):
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1_000:
                connection.sendall(bytes([byte]))
                if self.ending.wait(0.2):
                    return

    def close(self) -> None:
        self.ending.set()
        self._server.close()


@contextmanager
def receiving(certificate: Certificate | None) -> Iterator[Receiver]:
    """Run a receiver; without a certificate it speaks plain HTTP."""
    receiver = Receiver(certificate)
    try:
        yield receiver
    finally:
        receiver.close()
