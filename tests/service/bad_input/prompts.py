"""Prompts and agents with values that are not acceptable."""

from __future__ import annotations

from typing import Any

from .requests import PROMPT, VALIDATION, Bad, absent, refused


def created(
    name: str, fields: dict[str, Any], by_path: dict[str, str] | None = None, /, **details: str
) -> Bad:
    """A new prompt in which only these fields are wrong."""
    return refused(name, "POST /prompts", {**PROMPT, **fields}, by_path, **details)


PROMPTS = [
    refused(
        "nothing",
        "POST /prompts",
        {},
        name="Required field",
        content="Required field",
        llmModel="Required field",
    ),
    refused(
        "nothing for an agent",
        "POST /agents",
        {},
        name="Required field",
        content="Required field",
        llmModel="Required field",
    ),
    refused(
        "every type wrong",
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
    created("name null", {"name": None}, name="must be a string"),
    created("name empty", {"name": ""}, name="must not be blank"),
    created("name blank", {"name": " \t"}, name="must not be blank"),
    created("name with NUL", {"name": "a\x00b"}, name="must not contain a NUL character"),
    created("name too long", {"name": "n" * 201}, name="must have at most 200 characters"),
    refused("name a list", "POST /agents", {**PROMPT, "name": ["n"]}, name="must be a string"),
    created("content null", {"content": None}, content="must be a string"),
    created(
        "no time and no flag",
        {"liveFrom": 5, "contentKnown": "no"},
        contentKnown="must be true or false",
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    refused(
        "a time that no clock shows",
        "PATCH /prompts/{prompt}",
        {"content": "c", "liveFrom": "soon"},
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    refused(
        "a time before all time",
        "PATCH /agents/{prompt}",
        {"content": "c", "liveFrom": "0001-01-01T00:00:00+14:00"},
        liveFrom="must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    ),
    refused(
        "a time to come",
        "POST /agents",
        {**PROMPT, "liveFrom": "9999-12-31T23:59:59.999999Z"},
        liveFrom="must not be in the future",
    ),
    created("content blank", {"content": "\n"}, content="must not be blank"),
    created("content with NUL", {"content": "\x00"}, content="must not contain a NUL character"),
    created("content too long", {"content": "é" * 262_145}, content="must be at most 524288 bytes"),
    Bad(
        "model unknown",
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
        "model unlike any",
        "POST /agents",
        {**PROMPT, "llmModel": "zzzz"},
        400,
        VALIDATION,
        "Unknown model name",
        {
            "llmModel": "Unknown model name; GET /openapi.json names the catalogue; PROMPTLIFT_MODELS adds names of your own"
        },
    ),
    Bad(
        "model in capitals",
        "POST /prompts",
        {**PROMPT, "llmModel": "GPT-4O"},
        400,
        VALIDATION,
        "Unknown model name",
        {
            "llmModel": "Unknown model name; did you mean gpt-4o, gpt-4, gpt-5.4? PROMPTLIFT_MODELS adds names of your own"
        },
    ),
    created("model empty", {"llmModel": ""}, llmModel="must not be blank"),
    created("description a number", {"description": 1.5}, description="must be a string"),
    created(
        "description too long",
        {"description": "d" * 10_001},
        description="must have at most 10000 characters",
    ),
    created("tags a text", {"tags": "a,b"}, tags="must be a list"),
    created("tags an object", {"tags": {"a": 1}}, tags="must be a list"),
    created("a tag that is a number", {"tags": ["a", 1]}, {"tags[1]": "must be a string"}),
    created("a tag that is blank", {"tags": ["a", " "]}, {"tags[1]": "must not be blank"}),
    created("a tag too long", {"tags": ["t" * 101]}, {"tags[0]": "must have at most 100 characters"}),
    created("too many tags", {"tags": ["t"] * 51}, tags="must have at most 50 entries"),
    created("temperature too high", {"temperature": 2.0001}, temperature="must be at most 2"),
    created("temperature below zero", {"temperature": -1}, temperature="must be at least 0"),
    created("temperature a boolean", {"temperature": True}, temperature="must be a number"),
    created("temperature a huge number", {"temperature": 10**40}, temperature="must be at most 2"),
    created("maxTokens zero", {"maxTokens": 0}, maxTokens="must be at least 1"),
    created("maxTokens negative", {"maxTokens": -5}, maxTokens="must be at least 1"),
    created("maxTokens a fraction", {"maxTokens": 1.5}, maxTokens="must be a whole number"),
    created("maxTokens a boolean", {"maxTokens": True}, maxTokens="must be a whole number"),
    created("maxTokens a huge number", {"maxTokens": 10**40}, maxTokens="must be a whole number"),
    created("maxTokens over its bound", {"maxTokens": 1_000_001}, maxTokens="must be at most 1000000"),
    created("objective a list", {"objective": []}, objective="must be a string"),
    refused("update: name null", "PATCH /prompts/{prompt}", {"name": None}, name="must not be null"),
    refused("update: content null", "PATCH /agents/{prompt}", {"content": None}, content="must not be null"),
    refused("update: model null", "PATCH /prompts/{prompt}", {"llmModel": None}, llmModel="must not be null"),
    Bad(
        "update: model unknown",
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
        "update: status unknown",
        "PATCH /prompts/{prompt}",
        {"status": "deleted"},
        status="must be one of active, draft, archived",
    ),
    refused("update: status null", "PATCH /prompts/{prompt}", {"status": None}, status="must not be null"),
    refused(
        "update: one field right and one wrong",
        "PATCH /prompts/{prompt}",
        {"name": "right", "temperature": 3},
        temperature="must be at most 2",
    ),
    absent("update: a prompt that is not there", "PATCH /prompts/none", {"name": "n"}, "Prompt"),
    absent("update: an agent that is not there", "PATCH /agents/none", {"name": "n"}, "Agent"),
    absent("delete: a prompt that is not there", "DELETE /prompts/none", None, "Prompt"),
]
