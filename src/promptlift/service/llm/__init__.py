"""The port to language models: any endpoint that speaks OpenAI's chat completions.

The client itself is in ``promptlift.service.llm.client``, so that a service without a model never loads httpx.
"""

from __future__ import annotations

from promptlift.service.llm.failures import LlmBadAnswer, LlmError, LlmRefused, LlmUnavailable
from promptlift.service.llm.settings import LlmSettings

__all__ = ["LlmBadAnswer", "LlmError", "LlmRefused", "LlmSettings", "LlmUnavailable"]
