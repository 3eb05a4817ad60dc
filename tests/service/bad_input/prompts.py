"""Prompts and agents with values that are not acceptable."""

from __future__ import annotations

from typing import Any

from .requests import PROMPT, VALIDATION, Bad, absent, refused


def created(fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str) -> Bad:
    """A new prompt in which only these fields are wrong."""
    return refused("POST /prompts", {**PROMPT, **fields}, by_path, **details)


PROMPTS = [
    refused("POST /prompts", {}, name="Required field", content="Required field", llmModel="Required field"),
    refused(
        "POST /prompts",
        {
            "name": 1,
            "content": [],
            "llmModel": {},
            "description": 5,
            "tags": "a",
            "temperature": "1",
            "maxTokens": "5",
            "objective": True,
        },
        name="must be a string",
        content="must be a string",
        llmModel="must be a string",
        description="must be a string",
        tags="must be a list",
        temperature="must be a number",
        maxTokens="must be a whole number",
        objective="must be a string",
    ),
    created({"name": " \t"}, name="must not be blank"),
    created({"name": "a\x00b"}, name="must not contain a NUL character"),
    created({"name": "n" * 201}, name="must have at most 200 characters"),
    created(
        {"liveFrom": 5, "contentKnown": "no"},
        contentKnown="must be true or false",
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    refused(
        "PATCH /prompts/{prompt}",
        {"content": "c", "liveFrom": "soon"},
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    refused(
        "PATCH /agents/{prompt}",
        {"content": "c", "liveFrom": "0001-01-01T00:00:00+14:00"},
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    refused(
        "POST /agents",
        {**PROMPT, "liveFrom": "9999-12-31T23:59:59.999999Z"},
        liveFrom="must not be in the future",
    ),
    created({"content": "\x00"}, content="must not contain a NUL character"),
    created({"content": "é" * 262_145}, content="must be at most 524288 bytes"),
    Bad(
        "POST /prompts",
        {**PROMPT, "llmModel": "gpt-44o"},
        400,
        VALIDATION,
        "Unknown model name",
        {
            "llmModel": "Unknown model name; did you mean gpt-4o, gpt-4, gpt-5.4? PROMPTLIFT_MODELS adds names of your own"
        },
    ),
    Bad(
        "POST /agents",
        {**PROMPT, "llmModel": "zzzz"},
        400,
        VALIDATION,
        "Unknown model name",
        {
            "llmModel": "Unknown model name; GET /openapi.json names the catalogue; PROMPTLIFT_MODELS adds names of your own"
        },
    ),
    created({"llmModel": ""}, llmModel="must not be blank"),
    created({"description": "d" * 10_001}, description="must have at most 10000 characters"),
    created({"tags": ["a", 1]}, {"tags[1]": "must be a string"}),
    created({"tags": ["a", " "]}, {"tags[1]": "must not be blank"}),
    created({"tags": ["t"] * 51}, tags="must have at most 50 entries"),
    created({"temperature": 2.0001}, temperature="must be at most 2"),
    created({"temperature": -1}, temperature="must be at least 0"),
    created({"temperature": True}, temperature="must be a number"),
    created({"maxTokens": 0}, maxTokens="must be at least 1"),
    created({"maxTokens": 1.5}, maxTokens="must be a whole number"),
    created({"maxTokens": 10**40}, maxTokens="must be a whole number"),
    created({"maxTokens": 1_000_001}, maxTokens="must be at most 1000000"),
    refused("PATCH /prompts/{prompt}", {"name": None}, name="must not be null"),
    Bad(
        "PATCH /prompts/{prompt}",
        {"llmModel": "claude"},
        400,
        VALIDATION,
        "Unknown model name",
        {
            "llmModel": "Unknown model name; did you mean claude-opus-4, claude-3-opus, claude-3-haiku? PROMPTLIFT_MODELS adds names of your own"
        },
    ),
    refused(
        "PATCH /prompts/{prompt}", {"status": "deleted"}, status="must be one of active, draft, archived"
    ),
    refused("PATCH /prompts/{prompt}", {"name": "right", "temperature": 3}, temperature="must be at most 2"),
    absent("PATCH /prompts/none", {"name": "n"}, "Prompt"),
    absent("DELETE /prompts/none", None, "Prompt"),
]
