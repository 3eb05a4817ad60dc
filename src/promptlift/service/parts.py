"""The parts of one service process, put together once."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptlift.service.rules.models import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.actions.conversation_log import ConversationLog
    from promptlift.service.jobs.insights import InsightJobs
    from promptlift.service.jobs.optimizations import OptimizationJobs
    from promptlift.service.models import Models
    from promptlift.service.settings import ServiceSettings
    from promptlift.service.store.database import Database

_LOG = logging.getLogger(__name__)
_MODELS_MEMORY_SECONDS = 60.0


@dataclass
class Parts:
    """What routes and actions need.

    Attributes
    ----------
    list_models
        Asks the configured endpoint for its model names; ``None`` without an endpoint.
    """

    settings: ServiceSettings
    database: Database
    jobs: InsightJobs
    log: ConversationLog
    models: Models
    optimizations: OptimizationJobs
    list_models: Callable[[], list[str]] | None = None
    _models: tuple[float, tuple[str, ...]] = field(default=(-1e9, ()), init=False)

    def model_names(self, wanted: str) -> tuple[str, ...]:
        """Model names that are valid beside the catalogue: the operator's and the endpoint's.

        The endpoint is asked only when ``wanted`` is not known without it, so a slow one holds up nobody else.
        """
        if self.list_models is None or problem_of(wanted, self.settings.models) is None:
            return self.settings.models
        asked_at, names = self._models
        if time.monotonic() - asked_at > _MODELS_MEMORY_SECONDS:
            try:
                names = tuple(self.list_models())
            except Exception as error:  # noqa: BLE001 - a dead endpoint must not stop the work on prompts
                _LOG.warning("the language model endpoint does not list its models: %s", error)
            self._models = (time.monotonic(), names)
        return self.settings.models + names
