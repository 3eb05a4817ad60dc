"""An endpoint on a real loopback socket that a test writes byte by byte."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

from promptlift.service.llm.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable


def read_request(line: socket.socket) -> bytes:
    """Return one request, head and body; empty when the client left."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = line.recv(65536)
        if not piece:
            return b""
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
    while len(body) < length:
        piece = line.recv(65536)
        if not piece:
            return b""
        body += piece
    return head + b"\r\n\r\n" + body


def whole_body(text: str = "ok") -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


def whole_answer(text: str = "ok", *, status: str = "200 OK", headers: str = "") -> bytes:
    body = whole_body(text)
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def left(line: socket.socket) -> bool:
    """Wait until the client ends the connection; false when it does not."""
    line.settimeout(10)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


class RawEndpoint:
    """Hand every connection, with its number, to a function that runs in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket, int], Any], host: str = "127.0.0.1") -> None:
        self._serve = serve
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self._threads: list[threading.Thread] = []
        self._lines: list[socket.socket] = []
        self.connections = 0
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def settings(self) -> LlmSettings:
        return LlmSettings(f"http://127.0.0.1:{self.port}/v1", "stub", "sk-test-0123456789abcdef")

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            number, self.connections = self.connections, self.connections + 1
            self._lines.append(line)
            thread = threading.Thread(target=self._run, args=(line, number))
            self._threads.append(thread)
            thread.start()

    def _run(self, line: socket.socket, number: int) -> None:
        with line, contextlib.suppress(OSError):
            self._serve(line, number)

    def close(self) -> None:
        # Not close alone: it would leave the accepting thread asleep.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for line in self._lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
        for thread in (self._accepting, *self._threads):
            thread.join(20)
