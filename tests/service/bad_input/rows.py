"""Bad requests that no schema describes: states, ids of others, content, keys, paths and bodies that are no JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Ids in braces are filled in when the request is sent; those that begin with "their-" are another account's.
PROMPT = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
LOG = {"promptId": "{prompt}", "content": "User: hi\nAssistant: hello"}
HI = {"role": "user", "content": "hi"}
ARM = {"promptId": "{prompt}"}
NUL = "must not contain a NUL character"
DEEP = "is nested deeper than 64 levels"
ADDS = "PROMPTLIFT_MODELS adds names of your own"


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


def state(request: str, body: Any, message: str, **details: Any) -> Bad:
    """A request that the state of things does not allow."""
    return Bad(request, body, details, message, "INVALID_STATE")


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
        ("GET /account", None, None, NO_KEY),
        ("GET /account", None, "Bearer", NO_KEY),
        ("GET /account", None, "Basic dTpw", NO_KEY),
        ("GET /account", None, "Bearer \xff\xfe", "The API key is invalid"),
        ("GET /account", None, "Bearer " + "k" * 5_000, NO_KEY),
        ("POST /prompts", b"{", "Bearer plk_wrong", "The API key is invalid"),
    )
]

SLASH = "No such path; no id has a slash in it"
PATHS = [
    *(
        Bad(request, None, None, message, "NOT_FOUND")
        for request, message in (
            ("GET /", "No such path; the API lies under /api/v1"),
            ("GET /prompts/", "No such path; the API lies under /api/v1"),
            ("GET /prompts//status", "No such path; the API lies under /api/v1"),
            ("GET /prompts/../account", "No such path; the API lies under /api/v1"),
            ("GET /prompts/%2e%2e%2faccount", SLASH),
        )
    ),
    *(absent(f"GET /prompts/{one}", None, "Prompt") for one in ("..", "%00", "%FF%FE", "i" * 4_000)),
    absent("GET /conversations/'%20OR%20'1'='1", None, "Conversation"),
    absent("GET /optimizations/{prompt}", None, "Optimization"),
    refused("GET /conversations?limit=5&limit=0", None, limit="must be a whole number from 1 to 100"),
    refused(
        "GET /prompts?tags=" + ",".join(f"t{n}" for n in range(51)), None, tags="must have at most 50 entries"
    ),
    refused("GET /benchmarks/bmk_1?reference=worst", None, reference="must be the number of an arm, or best"),
    refused(
        "GET /optimizations/{optimization}/simulations?variantId={their-variant}",
        None,
        variantId="no such variant in this optimization",
    ),
]


def created(fields: dict[str, Any], /, **details: str) -> Bad:
    """A new prompt in which only these fields are wrong."""
    return refused("POST /prompts", {**PROMPT, **fields}, **details)


def model(request: str, name: str, advice: str) -> Bad:
    """A prompt with an unknown model."""
    return Bad(
        request,
        {**PROMPT, "llmModel": name},
        {"llmModel": f"Unknown model name; {advice}; {ADDS}".replace("?;", "?")},
        "Unknown model name",
    )


PROMPTS = [
    created({"name": " \t", "content": "", "llmModel": ""}, **dict.fromkeys(PROMPT, "must not be blank")),
    created({"name": "a\x00b", "content": "\x00", "objective": "\x00"}, name=NUL, content=NUL, objective=NUL),
    refused("POST /prompts", {**PROMPT, "tags": ["a", " "]}, {"tags[1]": "must not be blank"}),
    created({"content": "é" * 262_145}, content="must be at most 524288 bytes"),
    created({"temperature": True, "maxTokens": 10**40}, temperature="must be a number", maxTokens="must be a whole number"),
    created({"maxTokens": True}, maxTokens="must be a whole number"),
    created({"temperature": "1"}, temperature="must be a number"),
    created({"liveFrom": "9999-12-31T23:59:59.999999Z"}, liveFrom="must not be in the future"),
    refused(
        "PATCH /agents/{prompt}",
        {"content": "c", "liveFrom": "0001-01-01T00:00:00+14:00"},
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    model("POST /prompts", "gpt-44o", "did you mean gpt-4o, gpt-4, gpt-5.4?"),
    model("PATCH /agents/{prompt}", "zzzz", "GET /openapi.json names the catalogue"),
    refused("PATCH /prompts/{prompt}", {"name": None, "status": None}, name="must not be null", status="must not be null"),
    refused("PATCH /prompts/{prompt}", {"name": "right", "temperature": 3}, temperature="must be at most 2"),
    refused("PATCH /settings", {"general": None}, general="must not be null"),
    refused(
        "PATCH /settings",
        {"general": {"name": "right"}, "optimization": {"maxIterations": 0}},
        {"optimization.maxIterations": "must be at least 1"},
    ),
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
VALUE = "must be a string, a number, a boolean, null or a list of strings"
LINK = {"promptId": "Required field"}
CONVERSATIONS = [
    *(
        Bad(request, body, LINK, "Required field: promptId (or agentId)")
        for request, body in (("POST /conversations", {"content": "User: hi"}), ("POST /optimizations", {}))
    ),
    refused("POST /conversations", {}, **LINK, content="Required field"),
    logged({"agentId": "prm_other"}, agentId="must be the same as promptId, or absent"),
    logged({"promptId": "\x00", "sourceId": "s\x00"}, promptId=NUL, sourceId=NUL),
    logged({"llmModel": "m\x00", "idempotencyKey": "k\x00"}, llmModel=NUL, idempotencyKey=NUL),
    absent("POST /conversations", {**LOG, "promptId": "' OR 1=1 --"}, "Prompt"),
    absent("POST /conversations", {"agentId": "none", "content": "User: hi"}, "Agent"),
    unreadable({**LOG, "content": "Log of today\nUser: hi"}, LABELS),
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
    absent("POST /prompts/{their-prompt}/conversations/lookup", {"sourceIds": ["s"]}, "Prompt"),
    *(
        too_large(request, body, "content", message)
        for request in ("POST /conversations", "PATCH /conversations/none")
        for body, message in (
            (said(*[HI] * 501), "content has 501 messages; at most 500 are allowed"),
            (said(HI, {**HI, "content": "x" * 102_401}), "messages[1] has 102401 bytes; at most 102400 are allowed"),
            ({**LOG, "content": "User: " + "x" * 524_283}, "content has 524289 bytes; at most 524288 are allowed"),
        )
    ),
    too_large("PATCH /settings", b"{" * (4 * 1024 * 1024), "body", "The body is over 3670016 bytes"),
]  # fmt: skip

CREATE, APPLY = "POST /optimizations", "POST /optimizations/{optimization}/apply"
OPTIMIZATIONS = [
    refused(CREATE, {**ARM, "agentId": "other"}, agentId="must be the same as promptId, or absent"),
    refused(
        CREATE,
        {**ARM, "variantCount": True, "seed": "7", "intent": {"targetImprovements": ["fine", "a\x00b"]}},
        {
            "variantCount": "must be a whole number",
            "intent.targetImprovements[1]": NUL,
            "seed": "must be a whole number",
        },
    ),
    refused(CREATE, {**ARM, "personaIds": []}, personaIds="must not be empty; leave it out to draw from all personas"),
    refused(CREATE, {**ARM, "personaIds": [" "]}, {"personaIds[0]": "must not be blank"}),
    *(
        refused(CREATE, {**ARM, "personaIds": [one]}, {"personaIds[0]": "no such persona"})
        for one in ("nobody", "{their-persona}")
    ),
    refused(
        CREATE,
        {**ARM, "personaIds": ["per_lib_expert", "per_lib_engineer"]},
        personaIds="must have at most 1 entries, the personaCount of the settings",
    ),
    *(absent(CREATE, {"promptId": one}, "Prompt") for one in ("' OR '1'='1", "", "{their-prompt}", "{optimization}")),
    absent(CREATE, {"agentId": "{their-prompt}"}, "Agent"),
    state(
        APPLY,
        None,
        "The optimization ended without a winner, so there is no variant to apply by default; pass variantId",
        variantId="needed, because there is no winner",
    ),
    state(
        APPLY,
        {"variantId": "{variant}", "ifVersionId": "ver_0", "acceptRehearsal": True},
        "The text was changed by someone else in the meantime; read the current version and try again",
        ifVersionId="is not the current version",
        liveVersionId=re.compile(r"ver_\d+"),
        liveOrigin="created",
        liveSince=re.compile(r"\d{4}-.+Z"),
    ),
    *(
        Bad(APPLY, {"variantId": one}, {"variantId": "is not a variant of this optimization"}, "No such variant")
        for one in ("var_none", "", "{their-variant}")
    ),
    state(
        "POST /optimizations/{optimization}/stop",
        {"reason": "r"},
        "The optimization is completed; only a queued or running one can be stopped",
        status="completed",
    ),
    *(
        state(
            f"{method} /personas/per_lib_engineer",
            body,
            "A persona of the library cannot be changed or deleted; create one of your own instead",
            builtIn="true",
        )
        for method, body in (("PATCH", {"name": "mine"}), ("DELETE", None))
    ),
    *(
        Bad(
            f"POST /{segment}s/{{prompt}}/restore",
            {"versionId": one},
            {"versionId": f"is not a version of this {segment}; see its versions"},
            "Version not found",
            "NOT_FOUND",
        )
        for segment, one in (
            ("prompt", f"ver_{10**40}"),
            ("prompt", "ver_\u0661"),
            ("agent", "ver_1 OR 1=1"),
            ("agent", "{their-version}"),
        )
    ),
]  # fmt: skip


def arm(fields: Any, field: str, problem: str) -> Bad:
    """A benchmark whose second arm is wrong."""
    return refused("POST /benchmarks", {"arms": [ARM, fields]}, {f"arms[1].{field}": problem})


def scenarios(fields: Any, field: str, problem: str) -> Bad:
    """A benchmark whose scenario set is wrong."""
    return refused(
        "POST /benchmarks", {"arms": [ARM], "scenarioSet": fields}, {f"scenarioSet.{field}": problem}
    )


NO_VERSION = "is not a version of this prompt; see its versions"
BENCHMARKS = [
    arm({}, "promptId", "Required field, unless variantId is given"),
    arm({"promptId": "{their-prompt}"}, "promptId", "no such prompt"),
    arm({**ARM, "agentId": "prm_1"}, "agentId", "must be the same as promptId, or absent"),
    arm({**ARM, "versionId": "ver_99"}, "versionId", NO_VERSION),
    arm({**ARM, "versionId": "{their-version}"}, "versionId", NO_VERSION),
    arm({"variantId": "{their-variant}"}, "variantId", "no such variant"),
    arm(
        {"variantId": "{variant}", "versionId": "{version}"},
        "variantId",
        "must be absent where versionId is given: an arm has one text",
    ),
    scenarios({"id": "set_1"}, "id", "no such scenario set; GET /scenario-sets lists them"),
    scenarios({"version": 1}, "version", "needs the id of a set"),
    scenarios({"promptId": "{their-prompt}"}, "promptId", "no such prompt"),
    scenarios({"conversationIds": ["cnv_1"]}, "conversationIds[0]", "no such conversation"),
    scenarios(
        {"conversationIds": ["cnv_1"], "source": "model"},
        "source",
        "must be conversations, or absent, where conversationIds is given",
    ),
    refused(
        "POST /benchmarks",
        {"arms": [ARM], "prices": {"gpt-4o": {"input": -1}}},
        {"prices.gpt-4o.input": "must be at least 0", "prices.gpt-4o.output": "Required field"},
    ),
]


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

TABLE = [*BODIES, *KEYS, *PATHS, *PROMPTS, *CONVERSATIONS, *OPTIMIZATIONS, *BENCHMARKS, *WEBHOOKS]
