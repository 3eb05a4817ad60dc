"""What the rows of the tables are made of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

# Filled in when the request is sent.
PROMPT_ID = "{prompt}"
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

    def raw(self, prompt_id: str) -> bytes | None:
        """The body as it goes over the wire."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, ensure_ascii=False).replace(PROMPT_ID, prompt_id).encode()


def said(*messages: Any, **rest: Any) -> dict[str, Any]:
    """A log request with structured content."""
    return {**LOG, "content": json.dumps({"messages": list(messages), **rest}, ensure_ascii=False)}


def nested(levels: int) -> list[Any]:
    """Lists inside lists."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value
