"""Webhooks with addresses and events that are not acceptable; context from websites that nobody may read."""

from __future__ import annotations

from typing import Any

from promptlift.schema.events import EVENT_KINDS

from .requests import VALIDATION, Bad, absent, no_body, no_json, no_object, of_type, refused

CREATE, SYNC = "POST /webhooks", "POST /settings/sync-context"
NUL = "must not contain a NUL character"
PRIVATE = "is a private, loopback, link-local or reserved address"
KIND = f"must be one of {', '.join(EVENT_KINDS)}"
WEB = "must start with https:// or http://"
HTTPS = "must start with https://"
ITEMS = "must be a whole number from 1 to 100"


def hook(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A webhook of which only these fields are wrong."""
    body = {"url": "https://hooks.invalid/", "events": ["prompt.deleted"], **fields}
    return refused(CREATE, body, by_path, **details)


def to(url: Any, problem: str) -> Bad:
    """A webhook whose address is refused."""
    message = (
        "Webhooks are sent to public addresses only. The operator of the service can allow others with "
        "PROMPTLIFT_ALLOW_PRIVATE_NETWORKS"
        if problem == PRIVATE
        else "The URL of a webhook must be an HTTPS address"
    )
    body = {"url": url, "events": ["prompt.deleted"]}
    return Bad(CREATE, body, 400, VALIDATION, message, {"url": problem})


def site(fields: dict[str, Any], /, **details: str) -> Bad:
    """A website that is not read."""
    return refused(SYNC, fields, **details)


WEBHOOKS = [
    refused(CREATE, {}, url="Required field", events="Required field"),
    to("", HTTPS),
    to("http://hooks.invalid/", HTTPS),
    to("javascript:alert(1)", HTTPS),
    to("https://", "has no host"),
    to("https://user:secret@hooks.invalid/", "must not contain a user name or password"),
    to("https://hooks.invalid:99999/", "has no usable port"),
    to("https://hooks.invalid/\x00", "must not contain spaces or control characters"),
    to("https://" + "x" * 3_000, "must have at most 2048 characters"),
    to("https://[::1]/", PRIVATE),
    to("https://169.254.169.254/latest/", PRIVATE),
    to("https://0x7f000001/", PRIVATE),
    hook({"events": []}, events="must not be empty"),
    hook({"events": "prompt.deleted"}, events="must be a list"),
    hook({"events": ["prompt.deleted", "prompt.read"]}, {"events[1]": KIND}),
    hook({"description": "d" * 10_001}, description="must have at most 10000 characters"),
    absent("DELETE /webhooks/whk_1", kind="Webhook"),
    absent("POST /webhooks/whk_1/test", kind="Webhook"),
    absent("POST /webhooks/whk_1/resume", kind="Webhook"),
    absent("GET /webhooks/whk_1/deliveries", kind="Webhook"),
    refused("GET /webhooks/whk_1/deliveries?limit=0", None, limit=ITEMS),
    refused("GET /events?type=prompt.read", None, type=KIND),
    refused("GET /events?offset=-1", None, offset="must be a whole number from 0 to 9007199254740992"),
    site({}, url="Required field"),
    site({"url": " "}, url="must not be blank"),
    site({"url": "https://site.invalid/\x00"}, url=NUL),
    site({"url": "https://site.invalid", "overwrite": "yes"}, overwrite="must be true or false"),
    *(
        Bad(SYNC, {"url": url}, 400, VALIDATION, "The website could not be read", {"url": problem})
        for url, problem in (
            ("file:///etc/passwd", WEB),
            ("0x7f.1", PRIVATE),
            ("http://169.254.169.254/", PRIVATE),
        )
    ),
    *(no_body(request) for request in (CREATE, SYNC)),
    *(no_json(request, b"url=https://x") for request in (CREATE, SYNC)),
    *(no_object(request, []) for request in (CREATE, SYNC)),
    *(of_type(request, {}, "application/x-www-form-urlencoded") for request in (CREATE, SYNC)),
]
