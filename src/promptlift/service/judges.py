"""Which judge derives insights: the configured language model, or the built-in analyser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service.engine.lexicon import LexiconJudge
from promptlift.service.llm import LlmSettings

if TYPE_CHECKING:
    from promptlift.service.engine.judge import Judge
    from promptlift.service.llm.client import ChatClient
    from promptlift.service.llm.served import ServedModels

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
    trial
        The same judge, asking its model once and not again; ``None`` where nothing is asked.
    served
        The models that the endpoint serves; ``None`` without one.
    """

    judge: Judge
    at_a_time: int
    client: ChatClient | None = None
    trial: Judge | None = None
    served: ServedModels | None = None

    def close(self) -> None:
        """Close the connections to the endpoint."""
        if self.client is not None:
            self.client.close()


def choose() -> Chosen:
    """Choose by ``PROMPTLIFT_LLM_BASE_URL`` and ``PROMPTLIFT_LLM_MODEL``; begins to read the endpoint's models."""
    settings = LlmSettings.from_env()
    if settings is None:
        return Chosen(LexiconJudge(), 1)
    # Loaded only here: a service without a model needs neither the HTTP client nor the memory for it.
    from promptlift.service.engine.llm_judge import LlmJudge  # noqa: PLC0415
    from promptlift.service.llm.client import ChatClient  # noqa: PLC0415
    from promptlift.service.llm.served import ServedModels  # noqa: PLC0415

    client = ChatClient(settings)
    served = ServedModels(client.models)
    served.refresh()  # so that the list is there when the first prompt is made
    judge, trial = LlmJudge(client, settings.model), LlmJudge(client.once(), settings.model)
    return Chosen(judge, _MODEL_CALLS, client, trial, served)
