"""The real service in this process: its database, background work and HTTP API, with a world in the place of the endpoint.

Only the socket to the language model is left out, and the start of a process for each world: both took most of the time.
"""

from __future__ import annotations

import secrets
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import uvicorn

from benchmarks.prompt_world.model import PURPOSE
from promptlift.service.actions.logging.conversation_log import ConversationLog
from promptlift.service.app import create_app
from promptlift.service.call import AppContext
from promptlift.service.llm.client import ChatClient, Reply
from promptlift.service.llm.settings import LlmSettings
from promptlift.service.server import ensure_key
from promptlift.service.settings import API_PATH, ServiceSettings
from promptlift.service.store.database import Database
from promptlift.service.work import BackgroundWork
from support.stub_endpoint import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.prompt_world.model import WorldModel

__all__ = ["MODEL", "WorldClient", "service_in"]

MODEL: Final = "stub"
# Nobody listens there.
NOWHERE: Final = "http://127.0.0.1:9/v1"
START_SECONDS: Final = 60.0


class WorldClient(ChatClient):
    """The service's own client, which asks the model of a world without a socket."""

    def __init__(self, model: WorldModel) -> None:
        super().__init__(LlmSettings(base_url=NOWHERE, model=MODEL))
        self._world = model

    async def _exchange(self, request: Any, content: bytes | None, seconds: float) -> Reply:
        """Answer at once."""
        del seconds
        method = "GET" if content is None else "POST"
        said = self._world(Asked(method, request.path, {PURPOSE: request.purpose}, request.body))
        return Reply(said.status, said.document, None)


@contextmanager
def service_in(folder: Path, model: WorldModel) -> Iterator[tuple[str, str]]:
    """Serve from a folder until the block ends; gives the address and a key."""
    key = secrets.token_hex(20)
    settings = ServiceSettings(port=0, data=folder, api_key=key, plan="enterprise")
    environment = {"PROMPTLIFT_LLM_BASE_URL": NOWHERE, "PROMPTLIFT_LLM_MODEL": MODEL}
    with ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        database = stack.enter_context(Database(settings.resolved_database_url))
        database.migrate()
        with (
            patch.dict("os.environ", environment),
            patch("promptlift.service.llm.client.ChatClient", lambda _settings: WorldClient(model)),
        ):
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
        ensure_key(database, settings)
        server = uvicorn.Server(uvicorn.Config(app, port=0, ws="none", lifespan="off", log_level="error"))
        thread = threading.Thread(target=server.run)
        background.start()
        stack.callback(background.stop)
        stack.callback(log.close)
        thread.start()
        stack.callback(thread.join)
        stack.callback(lambda: setattr(server, "should_exit", True))
        yield f"http://127.0.0.1:{_port(server)}{API_PATH}", key


def _port(server: uvicorn.Server) -> int:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if time.monotonic() > deadline:
            raise TimeoutError("The service in this process did not start.")
        time.sleep(0.005)
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port
