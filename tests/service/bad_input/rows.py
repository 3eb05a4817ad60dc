"""Bad requests that no schema describes: content, keys, paths, and bodies that are no JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# "{prompt}" is a prompt of the account. What states and ids of others do not allow is in agreement.
PROMPT = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
LOG = {"promptId": "{prompt}", "content": "User: hi\nAssistant: hello"}
HI = {"role": "user", "content": "hi"}
ARM = {"promptId": "{prompt}"}
NUL = "must not contain a NUL character"
DEEP = "is nested deeper than 64 levels"


@dataclass(frozen=True)
class Bad:
    """A request that is refused, and exactly how.

    Attributes
    ----------
    body
        Bytes are sent as they are, anything else as JSON; ``None`` sends no body.
    message
        ``None`` where it names the fields of ``details``.
    """

    request: str
    body: Any
    details: Mapping[str, Any] | None = None
    message: str | None = None
    code: str = "VALIDATION_ERROR"
    headers: Mapping[str, str | None] | None = None

    def raw(self) -> bytes | None:
        """The body as it goes over the wire."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body, ensure_ascii=False).encode()


def refused(request: str, body: Any, by_path: Mapping[str, str] | None = None, /, **details: str) -> Bad:
    """A request that is refused because of some fields; ``by_path`` has those whose dotted path is no Python name."""
    return Bad(request, body, {**(by_path or {}), **details})


def absent(request: str, body: Any, kind: str) -> Bad:
    """A request for something that is not there, or not there for this account."""
    return Bad(request, body, None, f"{kind} not found", "NOT_FOUND")


def no_json(body: bytes) -> Bad:
    """A body that is no JSON: the words are the decoder's; what it says and where must be there."""
    words = re.compile(r"is not valid JSON: .+ at line \d+ column \d+")
    return Bad("POST /prompts", body, {"body": words}, "The body is not valid JSON")


def too_deep(request: str, body: Any) -> Bad:
    """A body with too many levels."""
    return Bad(request, body, {"body": DEEP}, "The body is nested too deeply")


def nested(levels: int) -> list[Any]:
    """Lists inside lists."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


BODIES = [
    *map(
        no_json, (b'{"name": "n", ', b"{} {}", b'{"temperature": NaN}', b'{"temperature": 1e999}', b"{}\x00")
    ),
    *map(no_json, (b'{"name": "\xff\xfe"}', b'{"name": "\\ud800"}', b'{"name": "a\nb"}', b"\xef\xbb\xbf{}")),
    too_deep("POST /prompts", b'{"x": ' + b"[" * 64 + b"]" * 64 + b"}"),
    too_deep("POST /prompts", b"[" * 70 + b'"' + b'\\"' * 500_000 + b"\\"),
    too_deep("POST /optimizations", {**ARM, "intent": nested(200)}),
    refused(
        "POST /prompts",
        b'{"name": "n", "content": "c", "llmModel": "gpt-4o", "name": 5}',
        name="must be a string",
    ),
]

NO_KEY = "The API key is missing or invalid; send Authorization: Bearer <API_KEY>"
KEYS = [
    Bad(request, body, None, message, "INVALID_API_KEY", {"Authorization": authorization})
    for request, body, authorization, message in (
        ("GET /account", None, "Bearer", NO_KEY),
        ("GET /account", None, "Bearer \xff\xfe", "The API key is invalid"),
        ("GET /account", None, "Bearer " + "k" * 5_000, NO_KEY),
        ("POST /prompts", b"{", "Bearer plk_wrong", "The API key is invalid"),
    )
]

PATHS = [
    *(
        Bad(request, None, None, message, "NOT_FOUND")
        for request, message in (
            ("GET /prompts/../account", "No such path; the API lies under /api/v1"),
            ("GET /prompts/%2e%2e%2faccount", "No such path; no id has a slash in it"),
        )
    ),
    *(absent(f"GET /prompts/{one}", None, "Prompt") for one in ("..", "%00", "%FF%FE", "i" * 4_000)),
    absent("GET /conversations/'%20OR%20'1'='1", None, "Conversation"),
    absent("GET /optimizations/{prompt}", None, "Optimization"),
    refused("GET /conversations?limit=5&limit=0", None, limit="must be a whole number from 1 to 1000"),
    refused(
        "GET /prompts?tags=" + ",".join(f"t{n}" for n in range(51)), None, tags="must have at most 50 entries"
    ),
    refused("GET /benchmarks/bmk_1?reference=worst", None, reference="must be the number of an arm, or best"),
]


def created(fields: dict[str, Any], /, **details: str) -> Bad:
    """A new prompt in which only these fields are wrong."""
    return refused("POST /prompts", {**PROMPT, **fields}, **details)


PROMPTS = [
    created({"name": " \t", "content": "", "llmModel": ""}, **dict.fromkeys(PROMPT, "must not be blank")),
    created({"name": "a\x00b", "content": "\x00", "objective": "\x00"}, objective=NUL, name=NUL, content=NUL),
    refused("POST /prompts", {**PROMPT, "tags": ["a", " "]}, {"tags[1]": "must not be blank"}),
    created({"content": "é" * 262_145}, content="must be at most 524288 bytes"),
    created({"temperature": True, "maxTokens": 10**40}, temperature="must be a number", maxTokens="must be a whole number"),
    created({"maxTokens": True}, maxTokens="must be a whole number"),
    created({"liveFrom": "9999-12-31T23:59:59.999999Z"}, liveFrom="must not be in the future"),
    refused(
        "PATCH /agents/{prompt}",
        {"content": "c", "liveFrom": "0001-01-01T00:00:00+14:00"},
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    Bad(
        "PATCH /agents/{prompt}",
        {"llmModel": "zzzz"},
        {
            "llmModel": "Unknown model name; GET /openapi.json names the catalogue; PROMPTLIFT_MODELS adds names of your own"
        },
        "Unknown model name",
    ),
    refused("PATCH /prompts/{prompt}", {"name": None, "status": None}, name="must not be null", status="must not be null"),
    refused("PATCH /settings", {"general": None}, general="must not be null"),
    refused("PATCH /settings", {"general": {"industry": "\x00"}}, {"general.industry": NUL}),
]  # fmt: skip


def logged(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A log request in which only these fields are wrong."""
    return refused("POST /conversations", {**LOG, **fields}, by_path, **details)


def said(*messages: Any, **rest: Any) -> dict[str, Any]:
    """A log request with structured content."""
    return {**LOG, "content": json.dumps({"messages": list(messages), **rest}, ensure_ascii=False)}


def unreadable(body: Any, reason: str) -> Bad:
    """A conversation with content that cannot be read; schema/test_transcript.py has every reason."""
    return Bad("POST /conversations", body, {"content": reason}, "content cannot be read")


def too_large(request: str, body: Any, field: str, message: str) -> Bad:
    """A body or a conversation with too much in it."""
    return Bad(request, body, {field: message}, message, "PAYLOAD_TOO_LARGE")


LABELS = "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent"
TWO_PAIRS = (
    "line 4: the label Agent is not of the pair User/Assistant, which the previous lines have; "
    "use one pair, or send structured content"
)
VALUE = "must be a string, a number, a boolean, null or a list of strings"
CONVERSATIONS = [
    Bad(
        "POST /conversations",
        {"content": "User: hi"},
        {"promptId": "Required field"},
        "Required field: promptId (or agentId)",
    ),
    logged({"agentId": "prm_other"}, agentId="must be the same as promptId, or absent"),
    logged({"promptId": "\x00", "sourceId": "s\x00"}, promptId=NUL, sourceId=NUL),
    logged({"llmModel": "m\x00", "idempotencyKey": "k\x00"}, llmModel=NUL, idempotencyKey=NUL),
    absent("POST /conversations", {**LOG, "promptId": "' OR 1=1 --"}, "Prompt"),
    absent("POST /conversations", {"agentId": "none", "content": "User: hi"}, "Agent"),
    unreadable({**LOG, "content": "Log of today\nUser: hi"}, LABELS),
    unreadable({**LOG, "content": "User: hi\nAssistant: a\n\nAgent: hello"}, TWO_PAIRS),
    unreadable(said(HI, {"role": "user"}), "messages[1].content: Required field"),
    unreadable(said({**HI, "x": nested(63)}), f"content {DEEP}"),
    Bad("PATCH /conversations/none", {"content": "no labels"}, {"content": LABELS}, "content cannot be read"),
    logged({"metadata": {"user": {}, "a": "\x00"}}, {"metadata.user": VALUE, "metadata.a": NUL}),
    logged({"metadata": {"tags": ["t" * 300, "u" * 300]}}, {"metadata.tags": "must have at most 500 characters"}),
    logged({"metadata": {"k" * 65: 1}}, metadata="a key must have 1 to 64 characters"),
    logged({"metadata": {f"k{n}": n for n in range(65)}}, metadata="must have at most 64 entries"),
    refused(
        "PATCH /conversations/none",
        dict.fromkeys(("content", "status", "sourceId", "ifContentHash")),
        dict.fromkeys(("content", "status", "sourceId", "ifContentHash"), "must not be null"),
    ),
    *(
        too_large("PATCH /conversations/none", body, "content", message)
        for body, message in (
            (said(*[HI] * 501), "content has 501 messages; at most 500 are allowed"),
            (said(HI, {**HI, "content": "x" * 102_401}), "messages[1] has 102401 bytes; at most 102400 are allowed"),
            ({**LOG, "content": "User: " + "x" * 524_283}, "content has 524289 bytes; at most 524288 are allowed"),
        )
    ),
    too_large("PATCH /settings", b"{" * (4 * 1024 * 1024), "body", "The body is over 3670016 bytes"),
]  # fmt: skip

OPTIMIZATIONS = [
    refused(
        "POST /optimizations",
        {**ARM, "intent": {"targetImprovements": ["fine", "a\x00b"]}},
        {"intent.targetImprovements[1]": NUL},
    ),
    refused(
        "POST /optimizations",
        {**ARM, "personaIds": [f"per_lib_{name}" for name in ("expert", "engineer", "student", "parent", "nurse", "x")]},
        personaIds="must have at most 5 entries, the personaCount of the settings",
    ),
    refused(
        "POST /benchmarks",
        {"arms": [ARM], "prices": {"gpt-4o": {"input": -1}}},
        {"prices.gpt-4o.input": "must be at least 0", "prices.gpt-4o.output": "Required field"},
    ),
]  # fmt: skip


def to(url: str, problem: str) -> Bad:
    """A webhook whose address is refused."""
    message = (
        "Webhooks are sent to public addresses only. The operator of the service can allow others with "
        "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS"
        if problem == PRIVATE
        else "The URL of a webhook must be an HTTPS address"
    )
    return Bad("POST /webhooks", {"url": url, "events": ["prompt.deleted"]}, {"url": problem}, message)


PRIVATE = "is a private, loopback, link-local or reserved address"
WEBHOOKS = [
    to("http://hooks.invalid/", "must start with https://"),
    to("https://", "has no host"),
    to("https://user:secret@hooks.invalid/", "must not contain a user name or password"),
    to("https://hooks.invalid:99999/", "has no usable port"),
    to("https://hooks.invalid/\x00", "must not contain spaces or control characters"),
    to("https://" + "x" * 3_000, "must have at most 2048 characters"),
    to("https://169.254.169.254/latest/", PRIVATE),
    *(
        Bad("POST /settings/sync-context", {"url": url}, {"url": problem}, "The website could not be read")
        for url, problem in (
            ("file:///etc/passwd", "must start with https:// or http://"),
            ("0x7f.1", PRIVATE),
            ("http://169.254.169.254/", PRIVATE),
        )
    ),
    refused("POST /settings/sync-context", {"url": "https://site.invalid/\x00"}, url=NUL),
]

TABLE = [*BODIES, *KEYS, *PATHS, *PROMPTS, *CONVERSATIONS, *OPTIMIZATIONS, *WEBHOOKS]
