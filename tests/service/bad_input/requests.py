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

    name: str
    request: str
    body: Any
    status: int
    code: str
    message: str
    details: dict[str, Any] | None = None
    headers: dict[str, str | None] | None = None

    def __str__(self) -> str:
        return self.name

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


def refused(name: str, request: str, body: Any, /, **details: str) -> Bad:
    """A request that is refused because of some fields, by dotted path."""
    return Bad(name, request, body, 400, VALIDATION, f"Invalid value: {', '.join(details)}", details)


def said(*messages: Any, **rest: Any) -> dict[str, Any]:
    """A log request with structured content."""
    return {**LOG, "content": json.dumps({"messages": list(messages), **rest}, ensure_ascii=False)}


def nested(levels: int) -> list[Any]:
    """Lists inside lists."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value
