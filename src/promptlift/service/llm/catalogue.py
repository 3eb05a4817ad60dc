"""Which model names a prompt may be bound to."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Container

# Common names of chat models. What an endpoint lists and PROMPTLIFT_MODELS come on top.
CATALOGUE: Final = frozenset(
    [
        "gpt-3.5-turbo",
        "gpt-4",
        "gpt-4-turbo",
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-4.1",
        "gpt-4.1-mini",
        "gpt-4.1-nano",
        "gpt-4.5-preview",
        "gpt-5",
        "gpt-5-mini",
        "gpt-5-nano",
        "gpt-5.1",
        "gpt-5.2",
        "gpt-5.4",
        "gpt-oss-20b",
        "gpt-oss-120b",
        "o1",
        "o1-mini",
        "o3",
        "o3-mini",
        "o4-mini",
        "chatgpt-4o-latest",
        "claude-3-haiku",
        "claude-3-sonnet",
        "claude-3-opus",
        "claude-3-5-haiku",
        "claude-3-5-sonnet",
        "claude-3-7-sonnet",
        "claude-haiku-4-5",
        "claude-sonnet-4",
        "claude-sonnet-4-5",
        "claude-opus-4",
        "claude-opus-4-1",
        "claude-opus-4-5",
        "claude-opus-4-6",
        "gemini-1.5-flash",
        "gemini-1.5-pro",
        "gemini-2.0-flash",
        "gemini-2.5-flash",
        "gemini-2.5-flash-lite",
        "gemini-2.5-pro",
        "gemini-3-pro",
        "llama-3.1-8b-instruct",
        "llama-3.1-70b-instruct",
        "llama-3.1-405b-instruct",
        "llama-3.2-1b-instruct",
        "llama-3.2-3b-instruct",
        "llama-3.3-70b-instruct",
        "llama-4-scout",
        "llama-4-maverick",
        "llama3.1",
        "llama3.2",
        "llama3.3",
        "mistral-small",
        "mistral-medium",
        "mistral-large",
        "mistral-small-latest",
        "mistral-medium-latest",
        "mistral-large-latest",
        "mistral-nemo",
        "ministral-3b",
        "ministral-8b",
        "mixtral-8x7b-instruct",
        "mixtral-8x22b-instruct",
        "codestral",
        "magistral-small",
        "magistral-medium",
        "qwen2.5",
        "qwen2.5-7b-instruct",
        "qwen2.5-14b-instruct",
        "qwen2.5-32b-instruct",
        "qwen2.5-72b-instruct",
        "qwen3",
        "qwen3-8b",
        "qwen3-14b",
        "qwen3-32b",
        "qwen3-235b-a22b",
        "qwq-32b",
        "deepseek-chat",
        "deepseek-reasoner",
        "deepseek-v3",
        "deepseek-r1",
        "phi-3-mini",
        "phi-3.5-mini",
        "phi-4",
        "phi-4-mini",
        "gemma-2-9b-it",
        "gemma-2-27b-it",
        "gemma-3-4b-it",
        "gemma-3-12b-it",
        "gemma-3-27b-it",
        "command-r",
        "command-r-plus",
        "command-a",
        "grok-2",
        "grok-3",
        "grok-3-mini",
        "grok-4",
        "kimi-k2",
        "glm-4.5",
        "glm-4.6",
        "nova-micro",
        "nova-lite",
        "nova-pro",
    ]
)


# An endpoint may list thousands of names; near ones are looked for among this many of them.
_COMPARED: Final = 1_000


def is_known(name: str, extra: Container[str] = ()) -> bool:
    """Whether a model name is valid: in the catalogue, or among the extra names."""
    return name in CATALOGUE or name in extra


def problem_of(name: str, extra: Collection[str] = (), doubt: str | None = None) -> str | None:
    """Return what is wrong with a model name, with near names; ``None`` when it is valid.

    Parameters
    ----------
    name
        Model name of a prompt.
    extra
        Names that are valid beside the catalogue.
    doubt
        Why more names may be valid than are known here, as a clause: the endpoint's list could not be read.
    """
    if is_known(name, extra):
        return None
    compared = [*CATALOGUE, *sorted(extra)[:_COMPARED]]
    near = get_close_matches(name.lower(), compared, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "GET /openapi.json names the catalogue;"
    unread = (
        f"The models of the language model endpoint could not be read just now ({doubt}); if it serves this one, try "
        "again in a few seconds. "
        if doubt
        else ""
    )
    return f"Unknown model name; {hint} {unread}PROMPTLIFT_MODELS adds names of your own"
