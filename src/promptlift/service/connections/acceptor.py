"""Accept connections, as many as the process has room for."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import heapq
import logging
import socket
from operator import itemgetter
from typing import TYPE_CHECKING

from promptlift.service.connections.protocol import ClientConnection

if TYPE_CHECKING:
    from uvicorn import Server

    from promptlift.service.settings import ConnectionLimits

_LOG = logging.getLogger(__name__)
# In one turn of the event loop, so that those who are connected already are served between. As many files of
# closed connections may still be open at its end.
_AT_A_TIME = 16
_CHECK_SECONDS = 1.0
# A new client has this long to send its request before its connection may be closed for another one, so that
# those who do nothing but connect cannot crowd out the others. As long nobody is accepted when there is no room.
_GRACE_SECONDS = 0.1
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """The listening socket of a server, and who is connected to it.

    At the limit a new client is let in and the connection that has waited longest for its client is closed. When
    all are at work, new ones stay in the queue of the operating system.

    Parameters
    ----------
    server
        uvicorn's server; its state knows the connections.
    listener
        Bound and listening.
    limits
        How many connections there may be, and how long they may take.
    """

    def __init__(self, server: Server, listener: socket.socket, limits: ConnectionLimits) -> None:
        self._server = server
        self._listener = listener
        self._limits = limits
        self._most = limits.most()
        self._check_seconds = min(_CHECK_SECONDS, limits.headers / 4, limits.body / 4, limits.idle / 4)
        self._open: set[ClientConnection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._is_accepting = False
        self._is_stopped = False

    def start(self) -> None:
        """Begin to accept, and to look for clients that take too long."""
        self._loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._resume()
        self._checked_at = self._loop.time()
        self._timer = self._loop.call_later(self._check_seconds, self._check)

    def stop(self) -> None:
        """Accept no more connections. Those that are still answered are still checked."""
        self._pause()
        self._is_stopped = True
        self._listener.close()

    def _resume(self) -> None:
        if not self._is_accepting and not self._is_stopped:
            self._is_accepting = True
            self._loop.add_reader(self._listener, self._accept)

    def _pause(self) -> None:
        if self._is_accepting:
            self._is_accepting = False
            self._loop.remove_reader(self._listener)
            self._loop.call_later(_GRACE_SECONDS, self._resume)

    def _accept(self) -> None:
        if not self._keep_limit():
            return
        for _ in range(_AT_A_TIME):
            try:
                accepted, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                break
            except OSError as error:
                if error.errno not in _NO_FILES:
                    raise
                _LOG.error("no connection can be accepted: %s", error.strerror)
                self._make_room(1)
                self._pause()
                return
            self._open_on(accepted)
        self._keep_limit()

    def _keep_limit(self) -> bool:
        """Close what is open beyond the limit; where all are at work, accept none for a moment."""
        excess = len(self._open) - self._most
        if excess > 0 and self._make_room(excess) < excess:
            self._pause()
            return False
        return True

    def _open_on(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = ClientConnection(
            limits=self._limits,
            on_turn=self._resume,
            on_close=self._closed,
            config=self._server.config,
            server_state=self._server.server_state,
            app_state=self._server.lifespan.state,
            _loop=self._loop,
        )
        self._open.add(connection)
        task = self._loop.create_task(self._connect(connection, accepted))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connect(self, connection: ClientConnection, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: connection, accepted)
        except OSError:  # the client is gone already
            accepted.close()
            self._closed(connection)

    def _closed(self, connection: ClientConnection) -> None:
        self._open.discard(connection)
        self._resume()

    def _make_room(self, count: int) -> int:
        """Close connections whose clients keep the service waiting; return how many there were of them.

        Those that have waited longest for a request go first, then those whose body or answer is furthest behind.
        """
        now = self._loop.time()
        connected = [one for one in self._open if one.is_connected]
        waiting = [
            (since, one)
            for one in connected
            if (since := one.waits_since) is not None and now - since > _GRACE_SECONDS
        ]
        chosen = heapq.nsmallest(count, waiting, key=itemgetter(0))
        if len(chosen) < count:
            behind = [(debt, one) for one in connected if (debt := one.debt(now)) is not None]
            chosen += heapq.nlargest(count - len(chosen), behind, key=itemgetter(0))
        for _, one in chosen:
            _LOG.warning(
                "%d connections are open, as many as there may be: the oldest idle one is closed", self._most
            )
            self._open.discard(one)
            one.abort()
        return len(chosen)

    def _check(self) -> None:
        now = self._loop.time()
        for connection in list(self._open):
            if connection.is_connected:
                connection.check(now, now - self._checked_at)
        self._checked_at = now
        self._timer = self._loop.call_later(self._check_seconds, self._check)
