"""Bodies that are no acceptable JSON."""

from __future__ import annotations

from .requests import PROMPT, VALIDATION, Bad, no_body, no_json, no_object, refused

BODIES = [
    no_body("POST /prompts"),
    no_body("POST /prompts", b""),
    no_json("POST /prompts", b"hello"),
    no_json("POST /prompts", b'{"name": "n", '),
    no_json("POST /prompts", b"{} {}"),
    no_object("POST /prompts", [PROMPT]),
    no_object("POST /prompts", "hello"),
    no_object("POST /prompts", b"null"),
    no_json("POST /prompts", b'{"temperature": NaN}'),
    no_json("POST /prompts", b'{"temperature": -Infinity}'),
    no_json("POST /prompts", b'{"temperature": 1e999}'),
    no_json("POST /prompts", b'{"name": "\xff\xfe"}'),
    no_json("POST /prompts", b'{"name": "\xed\xa0\x80"}'),
    no_json("POST /prompts", b'{"name": "\\ud800"}'),
    no_json("POST /prompts", b'{"name": "a\nb"}'),
    no_json("POST /prompts", b"\xef\xbb\xbf{}"),
    no_json("POST /prompts", b"{}\x00"),
    Bad(
        "POST /prompts",
        b'{"x": ' + b"[" * 64 + b"]" * 64 + b"}",
        400,
        VALIDATION,
        "The body is nested too deeply",
        {"body": "is nested deeper than 64 levels"},
    ),
    Bad(
        "POST /prompts",
        b"[" * 1_000_000,
        400,
        VALIDATION,
        "The body is nested too deeply",
        {"body": "is nested deeper than 64 levels"},
    ),
    Bad(
        "POST /prompts",
        b"[" * 70 + b'"' + b'\\"' * 500_000 + b"\\",
        400,
        VALIDATION,
        "The body is nested too deeply",
        {"body": "is nested deeper than 64 levels"},
    ),
    no_body("PATCH /settings"),
    refused(
        "POST /prompts",
        b'{"name": "n", "content": "c", "llmModel": "gpt-4o", "name": 5}',
        name="must be a string",
    ),
]
