"""Which language model optimizations run on: the configured endpoint, or the rehearsal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from promptlift.errors import ConfigError, PromptliftError
from promptlift.service.llm.budget import Budget
from promptlift.service.llm.calls import Calls
from promptlift.service.llm.circuit import Circuit
from promptlift.service.optimizations.model_tasks import ModelTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from promptlift.service.llm.client import ChatClient
    from promptlift.service.optimizations.tasks import OptimizationTasks

__all__ = ["Models"]

CALLS_AT_A_TIME: Final = 8
PATIENCE_SECONDS: Final = 60.0
Number = TypeVar("Number", int, float)
_KINDS: Final[dict[object, str]] = {int: "a whole number", float: "a number"}


class Models:
    """Gives each run its view of the model.

    Parameters
    ----------
    client
        The configured endpoint; ``None`` without one.
    at_a_time
        Model calls side by side over all runs of the process.
    patience
        Seconds after which an endpoint that answers nothing counts as gone.
    """

    def __init__(
        self,
        client: ChatClient | None,
        *,
        at_a_time: int = CALLS_AT_A_TIME,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._client = client
        self._budget = Budget(at_a_time)
        self._patience = patience

    @classmethod
    def from_env(cls, client: ChatClient | None, environ: Mapping[str, str] | None = None) -> Models:
        """Read ``PROMPTLIFT_LLM_CONCURRENCY`` and ``PROMPTLIFT_LLM_PATIENCE``.

        Raises
        ------
        ConfigError
            A value is not a number in its range, or no whole one where calls are counted.
        """
        env = os.environ if environ is None else environ
        at_a_time = _number(env, "PROMPTLIFT_LLM_CONCURRENCY", CALLS_AT_A_TIME, 1, 256, read=int)
        patience = _number(env, "PROMPTLIFT_LLM_PATIENCE", PATIENCE_SECONDS, 0, 86_400, read=float)
        return cls(client, at_a_time=at_a_time, patience=patience)

    @property
    def rehearse(self) -> bool:
        """Whether there is no endpoint, so that optimizations are rehearsals."""
        return self._client is None

    @property
    def conversations_at_a_time(self) -> int:
        """Conversations to hold side by side: half as many again as calls, some are between two calls."""
        return self._budget.at_a_time + (self._budget.at_a_time + 1) // 2

    def tasks(self, *, rehearsal: bool, seed: int) -> OptimizationTasks:
        """Return who carries out the tasks of one run: the configured model, or the rehearsal.

        Raises
        ------
        PromptliftError
            The run was asked for with an endpoint, and now there is none.
        """
        if rehearsal:
            from promptlift.service.rehearsal import Rehearsal  # noqa: PLC0415 - only without an endpoint

            return Rehearsal(seed)
        if self._client is None:
            raise PromptliftError(
                "No language model is configured any more. Set PROMPTLIFT_LLM_BASE_URL and PROMPTLIFT_LLM_MODEL "
                "again and ask for a new optimization."
            )
        settings = self._client.settings
        calls = Calls(self._client, self._budget, circuit=Circuit(seconds=self._patience))
        return ModelTasks(calls, judge_model=settings.model, agent_model=settings.agent_model)


def _number(
    env: Mapping[str, str], name: str, default: Number, low: int, high: int, *, read: Callable[[str], Number]
) -> Number:
    text = env.get(name, "").strip()
    if not text:
        return default
    try:
        value: Number | None = read(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise ConfigError(f"{name} must be {_KINDS[read]} from {low} to {high}, not {text!r}")
    return value
