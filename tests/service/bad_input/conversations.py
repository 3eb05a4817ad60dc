"""Conversations that are not acceptable."""

from __future__ import annotations

from typing import Any

from .requests import HI, LOG, TEXT, VALIDATION, Bad, absent, nested, refused, said, too_large, unreadable

METADATA_VALUE = "must be a string, a number, a boolean, null or a list of strings"


def logged(
    name: str, fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str
) -> Bad:
    """A log request in which only these fields are wrong."""
    return refused(name, "POST /conversations", {**LOG, **fields}, by_path, **details)


CONVERSATIONS = [
    refused("nothing", "POST /conversations", {}, promptId="Required field", content="Required field"),
    Bad(
        "no prompt",
        "POST /conversations",
        {"content": TEXT},
        400,
        VALIDATION,
        "Required field: promptId (or agentId)",
        {"promptId": "Required field"},
    ),
    refused("no content", "POST /conversations", {"promptId": "{prompt}"}, content="Required field"),
    refused(
        "every type wrong",
        "POST /conversations",
        {"promptId": 1, "content": {}, "status": 2, "llmModel": [], "companyName": True, "idempotencyKey": 5},
        promptId="must be a string",
        content="must be a string",
        status="must be one of completed, abandoned, in_progress",
        llmModel="must be a string",
        companyName="must be a string",
        idempotencyKey="must be a string",
    ),
    logged(
        "two different prompts", {"agentId": "prm_other"}, agentId="must be the same as promptId, or absent"
    ),
    absent("a prompt that is not there", "POST /conversations", {**LOG, "promptId": "none"}, "Prompt"),
    absent(
        "an agent that is not there", "POST /conversations", {"agentId": "none", "content": TEXT}, "Agent"
    ),
    logged("a prompt id with NUL", {"promptId": "\x00"}, promptId="must not contain a NUL character"),
    logged("a prompt id too long", {"promptId": "p" * 256}, promptId="must have at most 255 characters"),
    absent("an empty prompt id", "POST /conversations", {**LOG, "promptId": ""}, "Prompt"),
    absent("SQL for a prompt id", "POST /conversations", {**LOG, "promptId": "' OR 1=1 --"}, "Prompt"),
    logged("content an object", {"content": {"messages": []}}, content="must be a string"),
    logged(
        "content a list of messages",
        {"content": [{"role": "user", "content": "hi"}]},
        content="must be a string",
    ),
    logged("content empty", {"content": ""}, content="must not be empty"),
    unreadable("content blank", {**LOG, "content": " \n "}, "content is empty"),
    unreadable(
        "content without labels",
        {**LOG, "content": "hello\nthere"},
        "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
    ),
    unreadable(
        "content with other labels",
        {**LOG, "content": "Bot: hello"},
        "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
    ),
    unreadable(
        "content with text before the first label",
        {**LOG, "content": "Log of today\nUser: hi"},
        "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
    ),
    unreadable(
        "content that is half JSON",
        {**LOG, "content": '{"messages": ['},
        "content looks like JSON but is not: unexpected end of data",
    ),
    unreadable("content without messages", {**LOG, "content": "{}"}, "messages: Required field"),
    unreadable("no message", said(), "messages: must not be empty"),
    unreadable("messages an object", {**LOG, "content": '{"messages": {}}'}, "messages: must be a list"),
    unreadable("a message that is a text", said("hi"), "messages[0]: must be an object"),
    unreadable("a message without a role", said({"content": "hi"}), "messages[0].role: Required field"),
    unreadable(
        "a message without content", said(HI, {"role": "user"}), "messages[1].content: Required field"
    ),
    unreadable(
        "a role that is not known",
        said(HI, {**HI, "role": "tool"}),
        "messages[1].role: must be one of user, assistant, system",
    ),
    unreadable(
        "a role in capitals",
        said({**HI, "role": "User"}),
        "messages[0].role: must be one of user, assistant, system",
    ),
    unreadable(
        "a message whose content is a list",
        said({**HI, "content": [{"type": "text"}]}),
        "messages[0].content: must be a string",
    ),
    unreadable(
        "a message whose content is null",
        said({**HI, "content": None}),
        "messages[0].content: must be a string",
    ),
    unreadable(
        "a timestamp that is a number",
        said({**HI, "timestamp": 1738316400}),
        "messages[0].timestamp: must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    unreadable(
        "a timestamp that is no time",
        said({**HI, "timestamp": "31.01.2026"}),
        "messages[0].timestamp: must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    unreadable(
        "a timestamp before all time",
        said({**HI, "timestamp": "0001-01-01T00:00:00+01:00"}),
        "messages[0].timestamp: must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    unreadable(
        "negative tokens", said({**HI, "tokens": -1}), "messages[0].tokens: must be a number of 0 or more"
    ),
    unreadable(
        "tokens a boolean", said({**HI, "tokens": True}), "messages[0].tokens: must be a number of 0 or more"
    ),
    unreadable(
        "tokens a text", said({**HI, "tokens": "12"}), "messages[0].tokens: must be a number of 0 or more"
    ),
    unreadable("a model that is a number", said({**HI, "model": 4}), "messages[0].model: must be a string"),
    unreadable("metadata a list", said(HI, metadata=[]), "metadata: must be an object"),
    unreadable(
        "a user id that is a number", said(HI, metadata={"userId": 7}), "metadata.userId: must be a string"
    ),
    unreadable(
        "half of a surrogate pair in a message",
        {**LOG, "content": '{"messages": [{"role": "user", "content": "\\ud800"}]}'},
        "content looks like JSON but is not: no low surrogate in string",
    ),
    unreadable(
        "content nested too deep", said({**HI, "x": nested(63)}), "content is nested deeper than 64 levels"
    ),
    logged(
        "a status that is not known",
        {"status": "done"},
        status="must be one of completed, abandoned, in_progress",
    ),
    logged("a model name too long", {"llmModel": "m" * 201}, llmModel="must have at most 200 characters"),
    logged("a model name with NUL", {"llmModel": "m\x00"}, llmModel="must not contain a NUL character"),
    logged("a company that is a number", {"companyName": 5}, companyName="must be a string"),
    logged("a company with NUL", {"companyName": "\x00"}, companyName="must not contain a NUL character"),
    logged("metadata that are a list", {"metadata": ["web"]}, metadata="must be an object"),
    logged("metadata with an object inside", {"metadata": {"user": {}}}, **{"metadata.user": METADATA_VALUE}),
    logged("metadata with a list of numbers", {"metadata": {"n": [1]}}, **{"metadata.n": METADATA_VALUE}),
    logged(
        "metadata with a long text",
        {"metadata": {"note": "n" * 501}},
        **{"metadata.note": "must have at most 500 characters"},
    ),
    logged(
        "metadata with a long list",
        {"metadata": {"tags": ["t" * 300, "u" * 300]}},
        **{"metadata.tags": "must have at most 500 characters"},
    ),
    logged(
        "metadata with NUL", {"metadata": {"a": "\x00"}}, **{"metadata.a": "must not contain a NUL character"}
    ),
    logged(
        "a key of metadata too long",
        {"metadata": {"k" * 65: 1}},
        metadata="a key must have 1 to 64 characters",
    ),
    logged("an empty key of metadata", {"metadata": {"": 1}}, metadata="a key must have 1 to 64 characters"),
    logged(
        "too much metadata",
        {"metadata": {f"k{n}": n for n in range(65)}},
        metadata="must have at most 64 entries",
    ),
    logged("a title too long", {"title": "t" * 201}, title="must have at most 200 characters"),
    logged("a cost below 0", {"cost": -0.1}, cost="must be at least 0"),
    logged("tokens that are text", {"inputTokens": "5"}, inputTokens="must be a whole number"),
    logged("tokens with a fraction", {"outputTokens": 1.5}, outputTokens="must be a whole number"),
    logged("an empty idempotency key", {"idempotencyKey": ""}, idempotencyKey="must not be empty"),
    logged(
        "an idempotency key too long",
        {"idempotencyKey": "k" * 256},
        idempotencyKey="must have at most 255 characters",
    ),
    logged(
        "an idempotency key with NUL",
        {"idempotencyKey": "k\x00"},
        idempotencyKey="must not contain a NUL character",
    ),
    absent("a conversation that is not there", "GET /conversations/none", None, "Conversation"),
    absent("insights that are not there", "GET /conversations/none/insights", None, "Conversation"),
    absent(
        "regenerating what is not there", "POST /conversations/none/insights/regenerate", None, "Conversation"
    ),
    logged("a source id that is no text", {"sourceId": 7}, sourceId="must be a string"),
    logged("an empty source id", {"sourceId": ""}, sourceId="must not be empty"),
    logged("a source id too long", {"sourceId": "s" * 501}, sourceId="must have at most 500 characters"),
    logged("a source id with NUL", {"sourceId": "s\x00"}, sourceId="must not contain a NUL character"),
    refused(
        "an update with every type wrong",
        "PATCH /conversations/none",
        {"content": 1, "status": "over", "sourceId": [], "ifContentHash": {}},
        content="must be a string",
        status="must be one of completed, abandoned, in_progress",
        sourceId="must be a string",
        ifContentHash="must be a string",
    ),
    refused(
        "an update to nothing",
        "PATCH /conversations/none",
        {"content": None, "status": None, "sourceId": None, "ifContentHash": None},
        content="must not be null",
        status="must not be null",
        sourceId="must not be null",
        ifContentHash="must not be null",
    ),
    refused(
        "an update to empty content",
        "PATCH /conversations/none",
        {"content": ""},
        content="must not be empty",
    ),
    Bad(
        "an update to content without roles",
        "PATCH /conversations/none",
        {"content": "no labels"},
        400,
        VALIDATION,
        "content cannot be read",
        {
            "content": "line 1: no role label; use one of the pairs User/Assistant, Human/AI, Customer/Agent",
        },
    ),
    too_large(
        "an update to too many messages",
        "PATCH /conversations/none",
        {"content": said(*[HI] * 501)["content"]},
        "content has 501 messages; at most 500 are allowed",
    ),
    too_large(
        "an update to content over the limit",
        "PATCH /conversations/none",
        {"content": "User: " + "x" * 524_283},
        "content has 524289 bytes; at most 524288 are allowed",
    ),
    absent("an update of what is not there", "PATCH /conversations/none", {"content": TEXT}, "Conversation"),
    refused(
        "a look-up with every type wrong",
        "POST /prompts/{prompt}/conversations/lookup",
        {"ids": "cnv_1", "sourceIds": {}},
        ids="must be a list",
        sourceIds="must be a list",
    ),
    refused(
        "a look-up of ids that are none",
        "POST /prompts/{prompt}/conversations/lookup",
        {"ids": [1], "sourceIds": ["ok", ""]},
        {"ids[0]": "must be a string", "sourceIds[1]": "must not be empty"},
    ),
    refused(
        "a look-up of too many",
        "POST /agents/{prompt}/conversations/lookup",
        {"ids": ["cnv_1"] * 501, "sourceIds": ["s"] * 501},
        ids="must have at most 500 entries",
        sourceIds="must have at most 500 entries",
    ),
    absent(
        "a look-up in the prompt of another account",
        "POST /prompts/{their-prompt}/conversations/lookup",
        {"sourceIds": ["s"]},
        "Prompt",
    ),
    refused("no list of conversations", "POST /conversations/bulk", {}, conversations="Required field"),
    refused(
        "an object for many conversations",
        "POST /conversations/bulk",
        {"conversations": LOG},
        conversations="must be a list",
    ),
    refused(
        "too many conversations",
        "POST /conversations/bulk",
        {"conversations": [{}] * 501},
        conversations="must have at most 500 entries",
    ),
]
