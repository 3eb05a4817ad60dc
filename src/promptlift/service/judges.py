"""Which judge derives insights: the configured language model, or the built-in analyser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service.insights.judge import OneByOne
from promptlift.service.insights.lexicon.process import LexiconProcess
from promptlift.service.llm import LlmSettings

if TYPE_CHECKING:
    from promptlift.service.insights.judge import BatchJudge
    from promptlift.service.llm.client import ChatClient
    from promptlift.service.llm.served import ServedModels

# Model calls wait for the network, so eight go out side by side; the built-in analyser has one process.
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

    judge: BatchJudge
    at_a_time: int
    client: ChatClient | None = None
    trial: BatchJudge | None = None
    served: ServedModels | None = None

    def close(self) -> None:
        """Close the connections to the endpoint, or end the process of the built-in analyser."""
        if self.client is not None:
            self.client.close()
        if isinstance(self.judge, LexiconProcess):
            self.judge.close()


def choose() -> Chosen:
    """Choose by ``PROMPTLIFT_LLM_BASE_URL`` and ``PROMPTLIFT_LLM_MODEL``; begins to read the endpoint's models."""
    settings = LlmSettings.from_env()
    if settings is None:
        return Chosen(LexiconProcess(), 1)
    # Loaded only here: a service without a model needs neither the HTTP client nor the memory for it.
    from promptlift.service.insights.llm_judge import LlmJudge  # noqa: PLC0415
    from promptlift.service.llm.client import ChatClient  # noqa: PLC0415
    from promptlift.service.llm.served import ServedModels  # noqa: PLC0415

    client = ChatClient(settings)
    served = ServedModels(client.models)
    served.refresh()  # so that the list is there when the first prompt is made
    judge, trial = (OneByOne(LlmJudge(asked, settings.model)) for asked in (client, client.once()))
    return Chosen(judge, _MODEL_CALLS, client, trial, served)
