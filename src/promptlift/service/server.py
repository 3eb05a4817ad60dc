"""One service process: opens the database, starts the background work, listens, and shuts down in order."""

from __future__ import annotations

import logging
import resource
import signal
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from promptlift.errors import ServiceStartError
from promptlift.service.actions.logging.conversation_log import ConversationLog
from promptlift.service.app import create_app
from promptlift.service.call import AppContext
from promptlift.service.errors import ApiException
from promptlift.service.identifiers import new_key, shown_prefix
from promptlift.service.settings import API_PATH, DEFAULT_PLAN
from promptlift.service.store import accounts
from promptlift.service.store.database import Database
from promptlift.service.throttled_log import ThrottledHandler
from promptlift.service.work import BackgroundWork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from promptlift.schema.limits import PlanName
    from promptlift.service.settings import ServiceSettings

_LOG = logging.getLogger(__name__)
_BACKLOG = 512
# Maximum size of a request line and its header fields while incomplete.
_HEADER_BYTES = 65_536
# Longer than clients and proxies keep idle connections.
_KEEP_ALIVE_SECONDS = 75


@dataclass(frozen=True)
class Ready:
    """The address of a service that is ready, and its first key.

    Attributes
    ----------
    base_url
        Address up to and including the version segment.
    new_key
        A key that was created at this start and is shown only once; ``None`` otherwise.
    plan
        Plan of the first account.
    """

    base_url: str
    new_key: str | None
    plan: PlanName


def serve(settings: ServiceSettings, *, on_ready: Callable[[Ready], None]) -> None:
    """Run the service until it is interrupted or terminated.

    SQLite allows one service process per data folder, which the caller ensures.

    Parameters
    ----------
    settings
        The operator's settings.
    on_ready
        Called once, when requests can be sent.

    Raises
    ------
    ServiceStartError
        The port is taken, or the database cannot be used.
    """
    with _listening(settings) as listener, Database(settings.resolved_database_url) as database:
        if database.is_sqlite and not settings.work:
            raise ServiceStartError(
                "On SQLite no other process can do the background work: start serve without --no-worker, or set "
                "PROMPTLIFT_DATABASE_URL to a PostgreSQL database"
            )
        database.migrate()
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host

        def on_started() -> None:
            # Last, so that a failing start does not create a key that is never shown.
            new_key = ensure_key(database, settings)
            on_ready(Ready(f"http://{shown}:{port}{API_PATH}", new_key, _plan(database)))

        _run(settings, database, listener, on_started)


def ensure_key(database: Database, settings: ServiceSettings) -> str | None:
    """Make sure that the first account has a key; return a key that was created here and not yet shown."""
    with database.write() as connection:
        account_id = first_account(connection, settings)
        if settings.api_key is not None:
            if accounts.is_revoked(connection, settings.api_key):
                raise ServiceStartError(
                    f"The key in PROMPTLIFT_API_KEY ({shown_prefix(settings.api_key)}…) was revoked: set another one, "
                    "or none to use the existing keys. promptlift.local() takes it from local.key in the "
                    "data folder: "
                    "remove that file, and the next start creates a new key"
                )
            accounts.add_key(connection, account_id, settings.api_key, name="PROMPTLIFT_API_KEY")
        elif not accounts.keys(connection):
            made = new_key()
            accounts.add_key(connection, account_id, made, name="first key")
            return made
    return None


def first_account(connection: Connection, settings: ServiceSettings) -> str:
    """Return the first account of this database, on the plan of the settings if they have one; create it if needed."""
    account_id = accounts.first(connection)
    if account_id is None:
        plan = settings.plan or DEFAULT_PLAN
        return accounts.create(connection, name="My workspace", email="owner@localhost", plan=plan)
    if settings.plan is not None:
        accounts.change(connection, account_id, {"plan": settings.plan})
    return account_id


def _plan(database: Database) -> PlanName:
    with database.read() as connection:
        account_id = accounts.first(connection)
        assert account_id is not None  # noqa: S101 - made before
        return accounts.plan_of(connection, account_id).name


def _run(
    settings: ServiceSettings, database: Database, listener: socket.socket, on_started: Callable[[], None]
) -> None:
    background = BackgroundWork(database, settings)
    log = ConversationLog(database)
    app = create_app(
        AppContext(
            settings,
            database,
            background.insights,
            log,
            background.models,
            background.sender,
            background.net,
            background.served,
            background.kinds,
        )
    )

    config = uvicorn.Config(
        app,
        http=ClientConnection,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        # This many are accepted in one iteration of the event loop, before any of them can be closed to make
        # room.
        backlog=min(_BACKLOG, most_connections() // 2),
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[ThrottledHandler()])
    # uvicorn re-raises the signal that stopped it; the parts below must be closed first.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    if settings.work:
        background.start()
    else:
        background.leave_to_others()
    server = _Server(config, on_started)
    try:
        server.run(sockets=[listener])
    finally:
        log.close()
        background.stop()
    if server.failure is not None:
        raise server.failure


class _Server(uvicorn.Server):
    """uvicorn's server, which reports when it is ready."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started
        self.failure: Exception | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            try:
                self._on_started()
            except Exception as error:  # noqa: BLE001 - raised when uvicorn has ended; here it would log a traceback
                self.failure, self.should_exit = error, True


@contextmanager
def _listening(settings: ServiceSettings) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ServiceStartError(
            f"Cannot listen on {settings.host}:{settings.port} ({error.strerror or error}); "
            "choose another with --port, or --port 0 for any free one"
        ) from error
    try:
        yield listener
    finally:
        listener.close()


def most_connections() -> int:
    """Return how many clients may be connected: half of the files that the process may open, at most 4,096.

    The other half is for the database, logs and requests to a language model.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 4096 if files < 0 else max(8, min(4096, files // 2))


class ClientConnection(HttpToolsProtocol):
    """A connection that, at the limit, displaces the one that has waited longest for its client.

    At uvicorn's own limit new clients are refused, so silent ones would lock everybody else out.
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
        """Return whether the client still has to send a request, or the rest of it."""
        cycle: Any = self.cycle  # none before the first request
        return cycle is None or cycle.response_complete or cycle.more_body

    def data_received(self, data: bytes) -> None:
        """Bound headers that never end."""
        self.header_bytes += len(data)
        super().data_received(data)
        if self.header_bytes > _HEADER_BYTES and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too long.")

    def send_400_response(self, msg: str) -> None:
        """Refuse malformed HTTP, with the error body of the API."""
        body = orjson.dumps(ApiException("VALIDATION_ERROR", msg).body())
        head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def on_headers_complete(self) -> None:
        """Start answering a request, whose body may still be arriving."""
        self.header_bytes, self.waiting_since = 0, self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Receive a part of a body."""
        self.header_bytes = 0
        super().on_body(body)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()
