"""What the rows of the tables are made of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Filled in when the request is sent.
PROMPT_ID = "{prompt}"
# A completed one without a winner, its first variant, a persona of the account, and the version that is live.
OPTIMIZATION_ID = "{optimization}"
VARIANT_ID = "{variant}"
PERSONA_ID = "{persona}"
VERSION_ID = "{version}"
# The same of another account.
THEIR_PROMPT_ID = "{their-prompt}"
THEIR_OPTIMIZATION_ID = "{their-optimization}"
THEIR_VARIANT_ID = "{their-variant}"
THEIR_PERSONA_ID = "{their-persona}"
THEIR_VERSION_ID = "{their-version}"
PROMPT = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
TEXT = "User: hi\nAssistant: hello"
LOG = {"promptId": PROMPT_ID, "content": TEXT}
HI = {"role": "user", "content": "hi"}
VALIDATION = "VALIDATION_ERROR"
MISSING = "NOT_FOUND"
METHOD = "METHOD_NOT_ALLOWED"
LARGE = "PAYLOAD_TOO_LARGE"
# The words are the decoder's; what it says and where must be there.
NOT_JSON = re.compile(r"is not valid JSON: .+ at line \d+ column \d+")
TYPE = "UNSUPPORTED_MEDIA_TYPE"
KEY = "INVALID_API_KEY"


@dataclass(frozen=True)
class Bad:
    """A request that is refused, and exactly how.

    Attributes
    ----------
    request
        Method and path.
    body
        Bytes are sent as they are, anything else as JSON; ``None`` sends no body.
    """

    request: str
    body: Any
    status: int
    code: str
    message: str
    details: dict[str, Any] | None = None
    headers: dict[str, str | None] | None = None

    def target(self, ids: Mapping[str, str]) -> tuple[str, str]:
        """Method and path as they go over the wire."""
        method, path = filled(self.request, ids).split(" ", 1)
        return method, path

    def raw(self, ids: Mapping[str, str]) -> bytes | None:
        """The body as it goes over the wire."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return filled(json.dumps(self.body, ensure_ascii=False), ids).encode()


def filled(text: str, ids: Mapping[str, str]) -> str:
    """A text with the ids that are known only when the request is sent."""
    for name, one in ids.items():
        text = text.replace(name, one)
    return text


def refused(request: str, body: Any, by_path: Mapping[str, str] | None = None, /, **details: str) -> Bad:
    """A request that is refused because of some fields; ``by_path`` has those whose dotted path is no Python name."""
    every = {**(by_path or {}), **details}
    return Bad(request, body, 400, VALIDATION, f"Invalid value: {', '.join(every)}", every)


def unreadable(body: Any, reason: str) -> Bad:
    """A conversation with content that cannot be read."""
    return Bad("POST /conversations", body, 400, VALIDATION, "content cannot be read", {"content": reason})


def too_large(request: str, body: Any, message: str) -> Bad:
    """A conversation with too much in it."""
    return Bad(request, body, 413, LARGE, message, {"content": message})


def no_body(request: str, body: Any = None) -> Bad:
    """A request without the body that it needs."""
    message = "The request has no body; send a JSON object"
    return Bad(request, body, 400, VALIDATION, message, {"body": "Required"})


def no_json(request: str, body: Any) -> Bad:
    """A body that is no JSON."""
    return Bad(request, body, 400, VALIDATION, "The body is not valid JSON", {"body": NOT_JSON})


def no_object(request: str, body: Any) -> Bad:
    """A body that is JSON, but no object."""
    message = "The body must be a JSON object"
    return Bad(request, body, 400, VALIDATION, message, {"body": "must be a JSON object"})


def of_type(request: str, body: Any, content_type: str) -> Bad:
    """A body that says it is something else than JSON."""
    message = "Send the body as JSON with the header Content-Type: application/json"
    details = {"Content-Type": "must be application/json"}
    return Bad(request, body, 415, TYPE, message, details, headers={"Content-Type": content_type})


def of_key(request: str, body: Any, authorization: str | None, message: str) -> Bad:
    """A request whose key is not accepted."""
    return Bad(request, body, 401, KEY, message, headers={"Authorization": authorization})


def absent(request: str, body: Any = None, kind: str = "Optimization") -> Bad:
    """A request for something that is not there, or not there for this account."""
    return Bad(request, body, 404, MISSING, f"{kind} not found")


def nowhere(request: str) -> Bad:
    """A path that is not there."""
    return Bad(request, None, 404, MISSING, "No such path; the API lies under /api/v1")


def not_possible(request: str, allowed: str, body: Any = None) -> Bad:
    """A method that a path does not have."""
    method = request.partition(" ")[0]
    return Bad(request, body, 405, METHOD, f"{method} is not possible here; allowed: {allowed}")


def said(*messages: Any, **rest: Any) -> dict[str, Any]:
    """A log request with structured content."""
    return {**LOG, "content": json.dumps({"messages": list(messages), **rest}, ensure_ascii=False)}


def nested(levels: int) -> list[Any]:
    """Lists inside lists."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value
