"""One HTTP request to a language model: bounded in time and size, without httpx's errors showing through.

The only module of this room that imports httpx.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx

from promptlift.service.llm.retry import read_retry_after

if TYPE_CHECKING:
    from promptlift.service.llm.settings import LlmSettings

__all__ = ["ANSWER_BYTES", "NoAnswer", "Reply", "Transport"]

ANSWER_BYTES: Final = 4 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
CONNECTIONS: Final = 64


class NoAnswer(Exception):
    """No whole answer came; an outcome inside this room, never seen outside.

    The message says why, without the address or the key.
    """


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes
    ----------
    document
        The decoded JSON body, ``None`` when it is not JSON.
    """

    status: int
    document: Any
    retry_after: float | None


class Transport:
    """Requests to one endpoint. Safe from several threads.

    Parameters
    ----------
    settings
        Address and key.
    timeout
        Seconds for one whole request. An endpoint that sends a byte now and then does not stretch it.
    """

    def __init__(self, settings: LlmSettings, *, timeout: float) -> None:
        self._timeout = timeout
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "promptlift"}
        if settings.api_key is not None:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            # A redirect could carry the key and the transcript elsewhere.
            follow_redirects=False,
            trust_env=not settings.on_this_machine,
        )
        self._base_url = settings.base_url

    def send(self, method: str, path: str, *, purpose: str, body: dict[str, Any] | None = None) -> Reply:
        """Send one request.

        Raises
        ------
        NoAnswer
            The endpoint cannot be reached, is too slow or sends too much.
        """
        deadline = time.monotonic() + self._timeout
        headers = {"X-Promptlift-Purpose": purpose}
        content: bytes | None = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            with self._client.stream(
                method, self._base_url + path, headers=headers, content=content
            ) as answer:
                raw = _read(answer, deadline)
                retry_after = read_retry_after(answer.headers.get("Retry-After"))
                return Reply(answer.status_code, _decode(raw), retry_after)
        except httpx.TimeoutException:
            raise NoAnswer(f"it did not answer within {self._timeout:g} seconds") from None
        except httpx.ConnectError:
            raise NoAnswer("it cannot be reached") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise NoAnswer(f"the connection broke ({type(error).__name__})") from None
        except RuntimeError:  # httpx's word for a client that was closed meanwhile
            raise NoAnswer("the client was closed") from None

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


def _read(answer: httpx.Response, deadline: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    for piece in answer.iter_bytes():
        size += len(piece)
        if size > ANSWER_BYTES:
            raise NoAnswer(f"its answer is larger than {ANSWER_BYTES // 1024 // 1024} MB")
        if time.monotonic() > deadline:
            raise NoAnswer("its answer took too long")
        pieces.append(piece)
    return b"".join(pieces)


def _decode(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
