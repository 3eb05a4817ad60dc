"""The port to language models: any endpoint that speaks OpenAI's chat completions.

The client itself is in ``promptlift.service.llm.client``, so that a service without a model never loads httpx.
"""

from __future__ import annotations

from promptlift.service.llm.failures import (
    Cancelled,
    EndpointDown,
    LlmBadAnswer,
    LlmEmptyAnswer,
    LlmError,
    LlmRefused,
    LlmUnavailable,
)
from promptlift.service.llm.settings import LlmSettings

__all__ = [
    "Cancelled",
    "EndpointDown",
    "LlmBadAnswer",
    "LlmEmptyAnswer",
    "LlmError",
    "LlmRefused",
    "LlmSettings",
    "LlmUnavailable",
]
