"""Conversations that are not acceptable."""

from __future__ import annotations

from typing import Any

from .requests import HI, LOG, TEXT, VALIDATION, Bad, absent, nested, refused, said, too_large, unreadable

METADATA_VALUE = "must be a string, a number, a boolean, null or a list of strings"


def logged(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A log request in which only these fields are wrong."""
    return refused("POST /conversations", {**LOG, **fields}, by_path, **details)


CONVERSATIONS = [
    refused("POST /conversations", {}, promptId="Required field", content="Required field"),
    Bad(
        "POST /conversations",
        {"content": TEXT},
        400,
        VALIDATION,
        "Required field: promptId (or agentId)",
        {"promptId": "Required field"},
    ),
    refused(
        "POST /conversations",
        {"promptId": 1, "content": {}, "status": 2, "llmModel": [], "companyName": True, "idempotencyKey": 5},
        promptId="must be a string",
        content="must be a string",
        status="must be one of completed, abandoned, in_progress",
        llmModel="must be a string",
        companyName="must be a string",
        idempotencyKey="must be a string",
    ),
    logged({"agentId": "prm_other"}, agentId="must be the same as promptId, or absent"),
    absent("POST /conversations", {**LOG, "promptId": "none"}, "Prompt"),
    absent("POST /conversations", {"agentId": "none", "content": TEXT}, "Agent"),
    logged({"promptId": "\x00"}, promptId="must not contain a NUL character"),
    absent("POST /conversations", {**LOG, "promptId": "' OR 1=1 --"}, "Prompt"),
    logged({"content": [{"role": "user", "content": "hi"}]}, content="must be a string"),
    logged({"content": ""}, content="must not be empty"),
    unreadable({**LOG, "content": " \n "}, "content is empty"),
    unreadable(
        {**LOG, "content": "hello\nthere"},
        "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
    ),
    unreadable(
        {**LOG, "content": "Log of today\nUser: hi"},
        "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
    ),
    unreadable(
        {**LOG, "content": '{"messages": ['}, "content looks like JSON but is not: unexpected end of data"
    ),
    unreadable({**LOG, "content": "{}"}, "messages: Required field"),
    unreadable(said("hi"), "messages[0]: must be an object"),
    unreadable(said({"content": "hi"}), "messages[0].role: Required field"),
    unreadable(said(HI, {"role": "user"}), "messages[1].content: Required field"),
    unreadable(said(HI, {**HI, "role": "tool"}), "messages[1].role: must be one of user, assistant, system"),
    unreadable(said({**HI, "role": "User"}), "messages[0].role: must be one of user, assistant, system"),
    unreadable(said({**HI, "content": [{"type": "text"}]}), "messages[0].content: must be a string"),
    unreadable(
        said({**HI, "timestamp": 1738316400}),
        "messages[0].timestamp: must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    unreadable(
        said({**HI, "timestamp": "0001-01-01T00:00:00+01:00"}),
        "messages[0].timestamp: must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    unreadable(said({**HI, "tokens": True}), "messages[0].tokens: must be a number of 0 or more"),
    unreadable(said(HI, metadata=[]), "metadata: must be an object"),
    unreadable(said(HI, metadata={"userId": 7}), "metadata.userId: must be a string"),
    unreadable(
        {**LOG, "content": '{"messages": [{"role": "user", "content": "\\ud800"}]}'},
        "content looks like JSON but is not: no low surrogate in string",
    ),
    unreadable(said({**HI, "x": nested(63)}), "content is nested deeper than 64 levels"),
    logged({"llmModel": "m" * 201}, llmModel="must have at most 200 characters"),
    logged({"llmModel": "m\x00"}, llmModel="must not contain a NUL character"),
    logged({"metadata": ["web"]}, metadata="must be an object"),
    logged({"metadata": {"user": {}}}, **{"metadata.user": METADATA_VALUE}),
    logged({"metadata": {"note": "n" * 501}}, **{"metadata.note": "must have at most 500 characters"}),
    logged(
        {"metadata": {"tags": ["t" * 300, "u" * 300]}},
        **{"metadata.tags": "must have at most 500 characters"},
    ),
    logged({"metadata": {"a": "\x00"}}, **{"metadata.a": "must not contain a NUL character"}),
    logged({"metadata": {"k" * 65: 1}}, metadata="a key must have 1 to 64 characters"),
    logged({"metadata": {f"k{n}": n for n in range(65)}}, metadata="must have at most 64 entries"),
    logged({"title": "t" * 201}, title="must have at most 200 characters"),
    logged({"cost": -0.1}, cost="must be at least 0"),
    logged({"inputTokens": "5"}, inputTokens="must be a whole number"),
    logged({"idempotencyKey": ""}, idempotencyKey="must not be empty"),
    logged({"idempotencyKey": "k" * 256}, idempotencyKey="must have at most 255 characters"),
    logged({"idempotencyKey": "k\x00"}, idempotencyKey="must not contain a NUL character"),
    absent("GET /conversations/none", None, "Conversation"),
    absent("GET /conversations/none/insights", None, "Conversation"),
    absent("POST /conversations/none/insights/regenerate", None, "Conversation"),
    logged({"sourceId": ""}, sourceId="must not be empty"),
    logged({"sourceId": "s" * 501}, sourceId="must have at most 500 characters"),
    logged({"sourceId": "s\x00"}, sourceId="must not contain a NUL character"),
    refused(
        "PATCH /conversations/none",
        {"content": 1, "status": "over", "sourceId": [], "ifContentHash": {}},
        content="must be a string",
        status="must be one of completed, abandoned, in_progress",
        sourceId="must be a string",
        ifContentHash="must be a string",
    ),
    refused(
        "PATCH /conversations/none",
        {"content": None, "status": None, "sourceId": None, "ifContentHash": None},
        content="must not be null",
        status="must not be null",
        sourceId="must not be null",
        ifContentHash="must not be null",
    ),
    Bad(
        "PATCH /conversations/none",
        {"content": "no labels"},
        400,
        VALIDATION,
        "content cannot be read",
        {"content": "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent"},
    ),
    too_large(
        "PATCH /conversations/none",
        {"content": said(*[HI] * 501)["content"]},
        "content has 501 messages; at most 500 are allowed",
    ),
    too_large(
        "PATCH /conversations/none",
        {"content": "User: " + "x" * 524_283},
        "content has 524289 bytes; at most 524288 are allowed",
    ),
    absent("PATCH /conversations/none", {"content": TEXT}, "Conversation"),
    refused(
        "POST /prompts/{prompt}/conversations/lookup",
        {"ids": "cnv_1", "sourceIds": {}},
        ids="must be a list",
        sourceIds="must be a list",
    ),
    refused(
        "POST /prompts/{prompt}/conversations/lookup",
        {"ids": [1], "sourceIds": ["ok", ""]},
        {"ids[0]": "must be a string", "sourceIds[1]": "must not be empty"},
    ),
    refused(
        "POST /agents/{prompt}/conversations/lookup",
        {"ids": ["cnv_1"] * 501, "sourceIds": ["s"] * 501},
        ids="must have at most 500 entries",
        sourceIds="must have at most 500 entries",
    ),
    absent("POST /prompts/{their-prompt}/conversations/lookup", {"sourceIds": ["s"]}, "Prompt"),
    refused("POST /conversations/bulk", {}, conversations="Required field"),
    refused("POST /conversations/bulk", {"conversations": LOG}, conversations="must be a list"),
    refused(
        "POST /conversations/bulk",
        {"conversations": [{}] * 501},
        conversations="must have at most 500 entries",
    ),
]
