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
    refused,
)

NOUNS = {"prompts": "Prompt", "agents": "Agent"}

VERSIONS = [
    row
    for segment, noun in NOUNS.items()
    for restore, list_all in (
        (f"POST /{segment}/{PROMPT_ID}/restore", f"GET /{segment}/{PROMPT_ID}/versions"),
    )
    for row in (
        refused(f"{noun} restore: nothing", restore, {}, versionId="Required field"),
        refused(f"{noun} restore: version null", restore, {"versionId": None}, versionId="must be a string"),
        refused(f"{noun} restore: version a number", restore, {"versionId": 1}, versionId="must be a string"),
        refused(f"{noun} restore: version blank", restore, {"versionId": " "}, versionId="must not be blank"),
        refused(f"{noun} restore: version with NUL", restore, {"versionId": "\x00v"}, versionId=NUL),
        refused(
            f"{noun} restore: version too long",
            restore,
            {"versionId": "v" * 256},
            versionId="must have at most 255 characters",
        ),
        refused(
            f"{noun} restore: live version a list",
            restore,
            {"versionId": VERSION_ID, "ifVersionId": []},
            ifVersionId="must be a string",
        ),
        *(
            Bad(
                f"{noun} restore: {name}",
                restore,
                {"versionId": one},
                404,
                MISSING,
                "Version not found",
                {"versionId": f"is not a version of this {noun.lower()}; see its versions"},
            )
            for name, one in (
                ("no such version", "none"),
                ("a version of nobody", "ver_0"),
                ("a negative version", "ver_-1"),
                ("a version beyond every number", f"ver_{10**40}"),
                ("a version in other digits", "ver_\u0661"),
                ("SQL for a version", "ver_1 OR 1=1"),
                ("somebody else's version", THEIR_VERSION_ID),
            )
        ),
        no_body(f"{noun} restore: no body", restore),
        media_type(restore),
        absent(
            f"{noun} restore: not there", f"POST /{segment}/none/restore", {"versionId": VERSION_ID}, noun
        ),
        absent(
            f"{noun} restore: somebody else's",
            f"POST /{segment}/{THEIR_PROMPT_ID}/restore",
            {"versionId": THEIR_VERSION_ID},
            noun,
        ),
        absent(f"{noun} versions: not there", f"GET /{segment}/none/versions", None, noun),
        absent(f"{noun} versions: somebody else's", f"GET /{segment}/{THEIR_PROMPT_ID}/versions", None, noun),
        absent(f"{noun} versions: a null byte", f"GET /{segment}/%00/versions", None, noun),
        refused(
            f"{noun} versions: limit",
            f"{list_all}?limit=101",
            None,
            limit="must be a whole number from 1 to 100",
        ),
        refused(
            f"{noun} versions: offset",
            f"{list_all}?offset=x",
            None,
            offset="must be a whole number from 0 to 9007199254740992",
        ),
        Bad(
            f"{noun} versions: POST",
            list_all.replace("GET", "POST"),
            {},
            405,
            "METHOD_NOT_ALLOWED",
            "POST is not possible here; allowed: GET",
        ),
        Bad(
            f"{noun} restore: GET",
            restore.replace("POST", "GET"),
            None,
            405,
            "METHOD_NOT_ALLOWED",
            "GET is not possible here; allowed: POST",
        ),
    )
]
