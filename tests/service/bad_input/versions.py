"""Versions of prompts that are not there, and requests to go back to them."""

from __future__ import annotations

from .optimizations import NUL, media_type
from .requests import (
    MISSING,
    PROMPT_ID,
    THEIR_PROMPT_ID,
    THEIR_VERSION_ID,
    VERSION_ID,
    Bad,
    absent,
    no_body,
    not_possible,
    refused,
)

RESTORE, VERSIONS_OF = f"POST /prompts/{PROMPT_ID}/restore", f"GET /prompts/{PROMPT_ID}/versions"

VERSIONS = [
    refused(RESTORE, {}, versionId="Required field"),
    refused(RESTORE, {"versionId": 1}, versionId="must be a string"),
    refused(RESTORE, {"versionId": " "}, versionId="must not be blank"),
    refused(RESTORE, {"versionId": "\x00v"}, versionId=NUL),
    refused(RESTORE, {"versionId": "v" * 256}, versionId="must have at most 255 characters"),
    refused(RESTORE, {"versionId": VERSION_ID, "ifVersionId": []}, ifVersionId="must be a string"),
    *(
        Bad(
            f"POST /{segment}/{PROMPT_ID}/restore",
            {"versionId": one},
            404,
            MISSING,
            "Version not found",
            {"versionId": f"is not a version of this {noun}; see its versions"},
        )
        for segment, noun, one in (
            ("prompts", "prompt", "none"),
            ("prompts", "prompt", "ver_-1"),
            ("prompts", "prompt", f"ver_{10**40}"),
            ("prompts", "prompt", "ver_\u0661"),
            ("agents", "agent", "ver_1 OR 1=1"),
            ("agents", "agent", THEIR_VERSION_ID),
        )
    ),
    no_body(RESTORE),
    media_type(RESTORE),
    absent("POST /agents/none/restore", {"versionId": VERSION_ID}, "Agent"),
    absent(f"POST /prompts/{THEIR_PROMPT_ID}/restore", {"versionId": THEIR_VERSION_ID}, "Prompt"),
    absent("GET /agents/none/versions", None, "Agent"),
    absent(f"GET /prompts/{THEIR_PROMPT_ID}/versions", None, "Prompt"),
    refused(f"{VERSIONS_OF}?limit=101", None, limit="must be a whole number from 1 to 100"),
    not_possible(f"POST /prompts/{PROMPT_ID}/versions", "GET", {}),
]
