"""Conversations and bodies that are too large."""

from __future__ import annotations

from .requests import HI, LARGE, LOG, PROMPT, Bad, said, too_large

SIZES = [
    too_large(
        "501 messages",
        "POST /conversations",
        said(*[HI] * 501),
        "content has 501 messages; at most 500 are allowed",
    ),
    too_large(
        "a message of 100 KB and a byte",
        "POST /conversations",
        said(HI, {**HI, "content": "x" * 102_401}),
        "messages[1] has 102401 bytes; at most 102400 are allowed",
    ),
    too_large(
        "a message that is only over the limit in bytes",
        "POST /conversations",
        said({**HI, "content": "é" * 51_201}),
        "messages[0] has 102402 bytes; at most 102400 are allowed",
    ),
    too_large(
        "a plain turn of 100 KB and a byte",
        "POST /conversations",
        {**LOG, "content": "User: " + "x" * 102_401},
        "messages[0] has 102401 bytes; at most 102400 are allowed",
    ),
    too_large(
        "content of 512 KB and a byte",
        "POST /conversations",
        {**LOG, "content": "User: " + "x" * 524_283},
        "content has 524289 bytes; at most 524288 are allowed",
    ),
    too_large(
        "content that is only over the limit in bytes",
        "POST /conversations",
        {**LOG, "content": "User: " + "🎈" * 131_071},
        "content has 524290 bytes; at most 524288 are allowed",
    ),
    Bad(
        "a body over its limit",
        "POST /conversations",
        {**LOG, "content": "x" * (4 * 1024 * 1024)},
        413,
        LARGE,
        "The body is over 3670016 bytes",
        {"body": "The body is over 3670016 bytes"},
    ),
    Bad(
        "a body of 8 MB",
        "POST /prompts",
        {**PROMPT, "content": "x" * (8 * 1024 * 1024)},
        413,
        LARGE,
        "The body is over 3670016 bytes",
        {"body": "The body is over 3670016 bytes"},
    ),
    Bad(
        "a body over its limit that is no JSON",
        "PATCH /settings",
        b"{" * (4 * 1024 * 1024 + 1),
        413,
        LARGE,
        "The body is over 3670016 bytes",
        {"body": "The body is over 3670016 bytes"},
    ),
]
