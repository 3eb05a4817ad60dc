"""A chat-completions endpoint on a real loopback socket that answers what a test tells it."""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptlift.service.llm.settings import LlmSettings
from support.http_server import HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.http_server import Handler

KEY = "sk-test-0123456789abcdef"
HANG_SECONDS = 30.0
LOOK_SECONDS = 0.05


@dataclass
class Asked:
    """One request as it came.

    Attributes
    ----------
    begun, ended
        Times of ``time.monotonic``: when it came, and when it was answered or its client left; ``None`` until then.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None


@dataclass
class Say:
    """One answer to give: a JSON document or raw bytes."""

    document: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: threading.Event | None = None
    cut: bool = False
    delay: float = 0.0


def completion(text: Any, *, prompt: int = 10, completed: int = 5, **extra: Any) -> Say:
    """A well-formed completion."""
    return Say(
        {
            "model": "stub-1",
            "choices": [
                {"message": {"role": "assistant", "content": text, **extra}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": prompt, "completion_tokens": completed},
        }
    )


class StubEndpoint:
    """Serve answers in turn; the last one again and again. A function of the request may answer instead."""

    def __init__(self, answers: Iterable[Say] | Callable[[Asked], Say]) -> None:
        self._answers = answers if callable(answers) else list(answers)
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._server = HttpServer(self._serve)

    @property
    def settings(self) -> LlmSettings:
        return LlmSettings(
            base_url=f"http://127.0.0.1:{self._server.port}/v1",
            model="stub",
            api_key=KEY,
            agent_model=None,
        )

    def close(self) -> None:
        self._server.close()

    def _serve(self, handler: Handler) -> None:
        asked = Asked(
            handler.command,
            handler.path,
            {name.lower(): value for name, value in handler.headers.items()},
            json.loads(handler.body) if handler.body else None,
        )
        with self._lock:
            self.asked.append(asked)
            if callable(self._answers):
                say = self._answers(asked)
            else:
                say = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        try:
            if not _wait(handler.connection, say):
                handler.close_connection = True
                return
            body = json.dumps(say.document).encode() if say.raw is None else say.raw
            handler.answer(say.status, body, say.headers, more=10 if say.cut else 0)
        except OSError:  # the client left
            handler.close_connection = True
        finally:
            asked.ended = time.monotonic()


def _wait(connection: socket.socket, say: Say) -> bool:
    """Wait until an answer is due; says whether the client did, too."""
    if say.hang is not None:
        late = time.monotonic() + HANG_SECONDS
        while not say.hang.is_set() and time.monotonic() < late:
            if _leaves(connection, LOOK_SECONDS):
                return False
    return not (say.delay and _leaves(connection, say.delay))


def _leaves(connection: socket.socket, seconds: float) -> bool:
    """Wait for some seconds, or until the client closes its connection; says whether it did."""
    connection.settimeout(seconds)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return False
    finally:
        connection.settimeout(None)
    # A client that waits says nothing.
    return True


def weather_answer(asked: Asked) -> Say:
    """Answer what the instrumented application asks: with a call of a tool first, then in words."""
    count = len(asked.body["messages"])
    said = {"role": "assistant", "content": f"Answer {count}"}
    if count == 2:
        function = {"name": "weather", "arguments": '{"city": "Paris"}'}
        call = {"id": "call_1", "type": "function", "function": function}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
    return Say(
        {
            "id": f"c{count}",
            "object": "chat.completion",
            "created": 1,
            "model": "stub-1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
            "usage": {"prompt_tokens": 10 * count, "completion_tokens": count, "total_tokens": 11 * count},
        }
    )
