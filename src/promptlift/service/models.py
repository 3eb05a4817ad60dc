"""The model and judge of this process: the configured endpoint, or their stand-ins."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.errors import PromptliftError
from promptlift.service.insights.judge import OneByOne
from promptlift.service.insights.lexicon.process import LexiconProcess
from promptlift.service.insights.llm_judge import LlmJudge
from promptlift.service.llm.calls import PATIENCE_SECONDS, Calls, RetryPolicy
from promptlift.service.llm.settings import LlmSettings, read_number
from promptlift.service.optimizations.tasks import ModelTasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.service.insights.judge import BatchJudge
    from promptlift.service.llm.client import ChatClient
    from promptlift.service.llm.served import ServedModels
    from promptlift.service.simulations.tasks import Tasks


CALLS_AT_A_TIME: Final = 8
# Model calls wait for the network, so eight run concurrently; the built-in analyser has one process.
_JUDGEMENTS_AT_A_TIME: Final = 8


class Models:
    """Create each run's view of the model.

    Parameters
    ----------
    client
        The configured endpoint; ``None`` without one.
    at_a_time
        Concurrent model calls over all runs of the process.
    seconds_until_down
        Seconds without any answer after which the endpoint counts as down.
    """

    def __init__(
        self,
        client: ChatClient | None,
        *,
        at_a_time: int = CALLS_AT_A_TIME,
        seconds_until_down: float = PATIENCE_SECONDS,
    ) -> None:
        self._client = client
        self._at_a_time = at_a_time
        self._places = asyncio.Semaphore(at_a_time)
        self._seconds_until_down = seconds_until_down

    @classmethod
    def from_env(cls, client: ChatClient | None, environ: Mapping[str, str] | None = None) -> Models:
        """Read ``PROMPTLIFT_LLM_CONCURRENCY`` and ``PROMPTLIFT_LLM_PATIENCE``.

        Raises
        ------
        ConfigError
            A value is not a number in its range, or not an integer for a number of calls.
        """
        env = os.environ if environ is None else environ
        at_a_time = read_number(env, "PROMPTLIFT_LLM_CONCURRENCY", CALLS_AT_A_TIME, 1, 256, kind=int)
        seconds = read_number(env, "PROMPTLIFT_LLM_PATIENCE", PATIENCE_SECONDS, 0, 86_400, kind=float)
        return cls(client, at_a_time=at_a_time, seconds_until_down=seconds)

    @property
    def rehearse(self) -> bool:
        """Whether there is no endpoint, so that optimizations are rehearsals."""
        return self._client is None

    @property
    def agent_model(self) -> str | None:
        """The model that plays every assistant, if the operator set one."""
        return None if self._client is None else self._client.settings.agent_model

    @property
    def conversations_at_a_time(self) -> int:
        """Concurrent conversations: half as many again as calls, because some are between two calls."""
        return self._at_a_time + (self._at_a_time + 1) // 2

    def calls_in_time(self) -> Calls | None:
        """Return a view of the model for a request that waits for it, with few attempts; ``None`` without an endpoint."""
        if self._client is None:
            return None
        return Calls(self._client, self._places, policy=RetryPolicy(attempts=2, budget=10.0))

    def tasks(self, *, rehearsal: bool, seed: int, own_models: bool = False) -> Tasks:
        """Return the implementation of the tasks of a run: the configured model, or the rehearsal.

        Parameters
        ----------
        own_models
            Whether every text runs on its own model, even if the operator set one model for all assistants.

        Raises
        ------
        PromptliftError
            The run was requested with an endpoint, and now there is none.
        """
        if rehearsal:
            from promptlift.service.rehearsal import Rehearsal  # noqa: PLC0415 - only without an endpoint

            return Rehearsal(seed)
        if self._client is None:
            raise PromptliftError(
                "No language model is configured any longer. Set PROMPTLIFT_LLM_BASE_URL and "
                "PROMPTLIFT_LLM_MODEL "
                "again, and ask once more."
            )
        settings = self._client.settings
        agent_model = None if own_models else settings.agent_model
        return ModelTasks(self._calls(self._client), judge_model=settings.model, agent_model=agent_model)

    @property
    def model(self) -> str | None:
        """The model that judges; ``None`` without an endpoint."""
        return None if self._client is None else self._client.settings.model

    def calls(self) -> Calls | None:
        """Return a run's own view of the model; ``None`` without an endpoint."""
        return None if self._client is None else self._calls(self._client)

    def _calls(self, client: ChatClient) -> Calls:
        return Calls(client, self._places, patience=self._seconds_until_down)


@dataclass(frozen=True)
class ChosenJudge:
    """A judge and its dependencies.

    Attributes
    ----------
    at_a_time
        Conversations to judge concurrently.
    client
        The endpoint; ``None`` without one.
    trial
        The same judge without retries; ``None`` if it uses no model.
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


def choose_judge() -> ChosenJudge:
    """Choose the judge by ``PROMPTLIFT_LLM_BASE_URL`` and ``PROMPTLIFT_LLM_MODEL``, and start reading the endpoint's models."""
    settings = LlmSettings.from_env()
    if settings is None:
        return ChosenJudge(LexiconProcess(), 1)
    # Loaded only here: a service without a model needs neither the HTTP library nor the memory for it.
    from promptlift.service.llm.client import ChatClient  # noqa: PLC0415
    from promptlift.service.llm.served import ServedModels  # noqa: PLC0415

    client = ChatClient(settings)
    served = ServedModels(client.models)
    served.refresh()  # so that the list is available when the first prompt is created
    judge, trial = (OneByOne(LlmJudge(asked, settings.model)) for asked in (client, client.once()))
    return ChosenJudge(judge, _JUDGEMENTS_AT_A_TIME, client, trial, served)
