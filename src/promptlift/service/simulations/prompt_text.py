"""The prompt under test, as the engine sees it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PromptText"]


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt's text and how it is run.

    Attributes
    ----------
    content
        The original text.
    llm_model
        Name of the model that the prompt is bound to; ``None`` leaves it to the endpoint.
    temperature, max_tokens
        As the prompt says; ``None`` leaves them to the endpoint.
    objective
        What the prompt is for, as its owner wrote it.
    """

    content: str
    llm_model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    objective: str | None = None
