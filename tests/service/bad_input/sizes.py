"""Conversations and bodies that are too large."""

from __future__ import annotations

from .requests import HI, LARGE, LOG, Bad, said, too_large

SIZES = [
    too_large("POST /conversations", said(*[HI] * 501), "content has 501 messages; at most 500 are allowed"),
    too_large(
        "POST /conversations",
        said(HI, {**HI, "content": "x" * 102_401}),
        "messages[1] has 102401 bytes; at most 102400 are allowed",
    ),
    too_large(
        "POST /conversations",
        {**LOG, "content": "User: " + "x" * 102_401},
        "messages[0] has 102401 bytes; at most 102400 are allowed",
    ),
    too_large(
        "POST /conversations",
        {**LOG, "content": "User: " + "x" * 524_283},
        "content has 524289 bytes; at most 524288 are allowed",
    ),
    Bad(
        "POST /conversations",
        {**LOG, "content": "x" * (4 * 1024 * 1024)},
        413,
        LARGE,
        "The body is over 3670016 bytes",
        {"body": "The body is over 3670016 bytes"},
    ),
    Bad(
        "PATCH /settings",
        b"{" * (4 * 1024 * 1024 + 1),
        413,
        LARGE,
        "The body is over 3670016 bytes",
        {"body": "The body is over 3670016 bytes"},
    ),
]
