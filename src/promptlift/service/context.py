"""The parts of one service process, put together once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service.errors import invalid
from promptlift.service.llm.served import is_known, problem_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.actions.logging.conversation_log import ConversationLog
    from promptlift.service.background.kind import Kind
    from promptlift.service.insights.worker import InsightJobs
    from promptlift.service.llm.served import ServedModels
    from promptlift.service.models import Models
    from promptlift.service.settings import ServiceSettings
    from promptlift.service.store.database import Database
    from promptlift.service.webhooks.deliveries import Sender
    from promptlift.service.websites.company import Websites

# Near names cost milliseconds of processor time. One thread of their own looks for them: not the event loop, and not
# the threads that every other request needs.
_NEAR_NAMES = ThreadPoolExecutor(max_workers=1, thread_name_prefix="near-names")


@dataclass
class AppContext:
    """The parts of the service that routes and actions use.

    Attributes
    ----------
    served
        The models that the configured endpoint serves; ``None`` without an endpoint.
    kinds
        The kinds of background work, whose backlog the metrics tell.
    """

    settings: ServiceSettings
    database: Database
    jobs: InsightJobs
    log: ConversationLog
    models: Models
    sender: Sender
    websites: Websites
    served: ServedModels | None = None
    kinds: Sequence[Kind] = ()

    async def check_model(self, wanted: str, *, field: str = "llmModel") -> None:
        """Check the name of a model of prompts: in the catalogue, the operator's, or one that the endpoint serves.

        The endpoint is asked only for a name that is not known without it, and in the background: a request never
        waits for it in a thread, and is answered from what is known when the endpoint is slow.

        Raises
        ------
        ApiException
            ``VALIDATION_ERROR`` under ``field``; says so when the endpoint's list could not be read.
        """
        names, doubt = frozenset(self.settings.models), None
        if is_known(wanted, names):
            return
        if self.served is not None:
            served = await self.served.find(wanted)
            names, doubt = names | served.names, served.doubt
            if is_known(wanted, names):
                return
        loop = asyncio.get_running_loop()
        problem = await loop.run_in_executor(_NEAR_NAMES, problem_of, wanted, names, doubt)
        raise invalid({field: problem}, "Unknown model name")
