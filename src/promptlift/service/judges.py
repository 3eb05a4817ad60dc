"""Which judge derives insights: the configured language model, or the built-in analyser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service.engine.judge import OneByOne
from promptlift.service.engine.judge_process import LexiconProcess
from promptlift.service.llm import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.engine.judge import BatchJudge
    from promptlift.service.llm.client import ChatClient

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
    """

    judge: BatchJudge
    at_a_time: int
    client: ChatClient | None

    @property
    def list_models(self) -> Callable[[], list[str]] | None:
        """Asks the endpoint for its model names; ``None`` without an endpoint."""
        return None if self.client is None else self.client.models

    def close(self) -> None:
        """Close the connections to the endpoint, or end the process of the built-in analyser."""
        if self.client is not None:
            self.client.close()
        if isinstance(self.judge, LexiconProcess):
            self.judge.close()


def choose() -> Chosen:
    """Choose by ``PROMPTLIFT_LLM_BASE_URL`` and ``PROMPTLIFT_LLM_MODEL``."""
    settings = LlmSettings.from_env()
    if settings is None:
        return Chosen(LexiconProcess(), 1, None)
    # Loaded only here: a service without a model needs neither the HTTP client nor the memory for it.
    from promptlift.service.engine.llm_judge import LlmJudge  # noqa: PLC0415
    from promptlift.service.llm.client import ChatClient  # noqa: PLC0415

    client = ChatClient(settings)
    return Chosen(OneByOne(LlmJudge(client, settings.model)), _MODEL_CALLS, client)
