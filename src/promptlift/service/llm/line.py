"""One kept-alive HTTP/1.1 connection: a request out, a bounded answer in, cut at any time from another thread.

Written on the socket because a job must be able to end its own requests and nobody else's, because one deadline holds
for a whole request, and because it costs a tenth of the processor time of httpx. The parser is llhttp's (httptools).
"""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass
from typing import Any, Final

import httptools

from promptlift.service.llm.dial import NoAnswer

__all__ = ["ANSWER_BYTES", "Line", "RawAnswer"]

ANSWER_BYTES: Final = 4 * 1024 * 1024
HEADER_BYTES: Final = 128 * 1024
READ_BYTES: Final = 64 * 1024
# Servers close an idle connection after five seconds or more; it is given up before that.
IDLE_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What came back, undecoded. Names of headers are lower case."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Line:
    """A connection and the requests that go over it, one after the other, by one thread at a time.

    Parameters
    ----------
    connection
        Connected, with TLS where there is any.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._used_at = time.monotonic()
        self._usable = True
        self._cut = False

    @property
    def usable(self) -> bool:
        """Whether another request may go over it."""
        return self._usable and not self._cut and time.monotonic() - self._used_at <= IDLE_SECONDS

    @property
    def silent(self) -> bool:
        """Whether the other side neither closed the idle connection nor sent what nobody asked for."""
        try:
            self._socket.settimeout(0)
            # Not the TLS socket's own method: it takes no flags, and the bare bytes tell enough.
            socket.socket.recv(self._socket, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def exchange(self, request: bytes, deadline: float) -> RawAnswer:
        """Send a whole request and read its whole answer.

        Parameters
        ----------
        request
            Head and body.
        deadline
            On the clock of ``time.monotonic``. An endpoint that sends a byte now and then does not move it.

        Raises
        ------
        NoAnswer
            No whole answer came; the connection is of no further use.
        TimeoutError
            The deadline passed; the same.
        """
        self._usable = False
        reader = _Reader()
        try:
            self._send(request, deadline)
            while not reader.complete:
                self._socket.settimeout(_left(deadline))
                piece = self._socket.recv(READ_BYTES)
                if not piece:
                    reader.ended()
                    break
                reader.feed(piece)
        except TimeoutError:
            raise
        except OSError as error:
            raise NoAnswer(f"the connection broke ({type(error).__name__})") from None
        self._used_at = time.monotonic()
        self._usable = reader.keep_alive
        return RawAnswer(reader.status, reader.headers, b"".join(reader.body))

    def cut(self) -> None:
        """End the request that is under way in another thread, at once."""
        self._cut = True
        with contextlib.suppress(OSError, ValueError):
            # Not the TLS socket's own shutdown: it would pull the session away from the reading thread.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._usable = False
        self._socket.close()

    def _send(self, request: bytes, deadline: float) -> None:
        self._socket.settimeout(_left(deadline))
        try:
            self._socket.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            # An endpoint may refuse a long request before it has read all of it: its answer is still to be read.
            if self._cut:
                raise


class _Reader:
    """Collects one answer; httptools calls the ``on_`` methods."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.body: list[bytes] = []
        self.complete = False
        self.keep_alive = False
        self._begun = False
        self._length = 0
        self._received = 0
        self._parser: Any = httptools.HttpResponseParser(self)

    def feed(self, piece: bytes) -> None:
        self._received += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            raise NoAnswer("it wants another protocol") from None
        except httptools.HttpParserError as error:
            self.keep_alive = False
            if not self.complete:
                raise NoAnswer(f"its answer is not HTTP ({type(error).__name__})") from None
        if self._length > ANSWER_BYTES:
            raise NoAnswer(f"its answer is larger than {ANSWER_BYTES // 1024 // 1024} MB")
        if not self._begun and self._received > HEADER_BYTES:
            raise NoAnswer(f"its answer's headers are larger than {HEADER_BYTES // 1024} KB")

    def ended(self) -> None:
        """Take the end of the connection; it is the end of an answer that says nowhere how long it is."""
        if not self._begun:
            raise NoAnswer("it closed the connection without an answer")
        if b"content-length" in self.headers or b"transfer-encoding" in self.headers:
            raise NoAnswer("it closed the connection within its answer")
        self.complete = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._begun = True
            self.keep_alive = self._parser.should_keep_alive()

    def on_body(self, piece: bytes) -> None:
        if self.complete:
            self.keep_alive = False
            return
        self._length += len(piece)
        if self._length <= ANSWER_BYTES:
            self.body.append(piece)

    def on_message_complete(self) -> None:
        if self._begun:
            self.complete = True
        else:  # 1xx: the answer itself is still to come
            self.headers.clear()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
