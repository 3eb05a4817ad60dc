"""Which judge derives insights: the configured language model, or the built-in analyser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service.engine.lexicon import LexiconJudge
from promptlift.service.llm import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.engine.judge import Judge

# Model calls wait for the network, so eight go out side by side; the built-in analyser only uses the processor.
_MODEL_CALLS = 8


@dataclass(frozen=True)
class Chosen:
    """A judge and what goes with it.

    Attributes
    ----------
    at_a_time
        Conversations to judge side by side.
    list_models
        Asks the endpoint for its model names; ``None`` without an endpoint.
    """

    judge: Judge
    at_a_time: int
    list_models: Callable[[], list[str]] | None
    close: Callable[[], None]


def choose() -> Chosen:
    """Choose by ``PROMPTLIFT_LLM_BASE_URL`` and ``PROMPTLIFT_LLM_MODEL``."""
    settings = LlmSettings.from_env()
    if settings is None:
        return Chosen(LexiconJudge(), 1, None, lambda: None)
    # Loaded only here: a service without a model needs neither the HTTP client nor the memory for it.
    from promptlift.service.engine.llm_judge import LlmJudge  # noqa: PLC0415
    from promptlift.service.llm.client import ChatClient  # noqa: PLC0415

    client = ChatClient(settings)
    return Chosen(LlmJudge(client), _MODEL_CALLS, client.models, client.close)
