"""A chat-completions endpoint on a real loopback socket that answers what a test tells it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
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


class StubModel:
    """A model for a `StubEndpoint`: the method of a request's purpose answers it, such as ``_judge``.

    Parameters
    ----------
    delay
        Seconds before each answer.
    fault
        Called with each request first; what it gives is answered instead, ``None`` lets the model answer.

    Attributes
    ----------
    asked
        Number of requests by purpose.
    requests
        Requests as they came.
    """

    # Of a request and of its answer.
    tokens = (10, 5)

    def __init__(self, *, delay: float = 0.0, fault: Callable[[Asked], Say | None] | None = None) -> None:
        self.delay = delay
        self.fault = fault
        self.asked: Counter[str] = Counter()
        self.requests: list[Asked] = []
        self._left: int | None = None
        self._more = threading.Event()

    def __call__(self, asked: Asked) -> Say:
        if asked.body is None:
            return Say({"data": [{"id": "stub"}]})
        purpose = asked.headers["x-promptlift-purpose"]
        self.asked[purpose] += 1
        self.requests.append(asked)
        say = self._faulty(asked) or self._said(getattr(self, f"_{purpose}")(asked.body["messages"]))
        if self._left is not None:
            self._left -= 1
            say.hang = self._more if self._left < 0 else say.hang
        return say

    def _faulty(self, asked: Asked) -> Say | None:
        return None if self.fault is None else self.fault(asked)

    def _said(self, answer: Any) -> Say:
        prompt, completed = self.tokens
        text = answer if isinstance(answer, str) else json.dumps(answer)
        say = completion(text, prompt=prompt, completed=completed)
        say.delay = self.delay
        return say

    def hold(self) -> None:
        """Let requests hang from now on."""
        self._left = 0

    def allow(self, count: int | None = None) -> None:
        """Answer some more of the requests that hang or will come; all of them without a number."""
        self._left = None if count is None or self._left is None else self._left + count
        self._more.set()
        self._more = threading.Event()

    def of(self, purpose: str) -> list[Asked]:
        """Requests for a purpose."""
        return [one for one in self.requests if one.headers["x-promptlift-purpose"] == purpose]


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
