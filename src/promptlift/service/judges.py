"""Which judge derives insights: the configured language model, or the built-in analyser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service.engine.lexicon import LexiconJudge
from promptlift.service.llm import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.engine.judge import Judge
    from promptlift.service.llm.client import ChatClient

# Model calls wait for the network, so eight go out side by side; the built-in analyser only uses the processor.
_MODEL_CALLS = 8


@dataclass(frozen=True)
class Chosen:
    """A judge and what goes with it.

    Attributes
    ----------
    at_a_time
        Conversations to judge side by side.
    client
        The endpoint; ``None`` without one.
    """

    judge: Judge
    at_a_time: int
    client: ChatClient | None

    @property
    def list_models(self) -> Callable[[], list[str]] | None:
        """Asks the endpoint for its model names; ``None`` without an endpoint."""
        return None if self.client is None else self.client.models

    def close(self) -> None:
        """Close the connections to the endpoint."""
        if self.client is not None:
            self.client.close()


def choose() -> Chosen:
    """Choose by ``PROMPTLIFT_LLM_BASE_URL`` and ``PROMPTLIFT_LLM_MODEL``."""
    settings = LlmSettings.from_env()
    if settings is None:
        return Chosen(LexiconJudge(), 1, None)
    # Loaded only here: a service without a model needs neither the HTTP client nor the memory for it.
    from promptlift.service.engine.llm_judge import LlmJudge  # noqa: PLC0415
    from promptlift.service.llm.client import ChatClient  # noqa: PLC0415

    client = ChatClient(settings)
    return Chosen(LlmJudge(client, settings.model), _MODEL_CALLS, client)
