"""The parts of one service process, a call of its API, and the actions that answer calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from promptlift.schema.naming import LINKS
from promptlift.service.errors import invalid
from promptlift.service.llm.served import is_known, problem_of
from promptlift.service.store import accounts, prompts
from promptlift.service.store.rows import R, Rows, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from typing_extensions import TypeVar

    from promptlift.schema.endpoints import Answer, Endpoint
    from promptlift.schema.naming import Scheme
    from promptlift.service.actions.logging.conversation_log import ConversationLog
    from promptlift.service.background.kind import Kind
    from promptlift.service.insights.worker import InsightJobs
    from promptlift.service.llm.served import ServedModels
    from promptlift.service.models import Models
    from promptlift.service.net import GuardedClient
    from promptlift.service.settings import ServiceSettings
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.service.webhooks import Sender

    Body = TypeVar("Body", default=None)
    Query = TypeVar("Query", default=None)
else:
    from typing import TypeVar

    Body, Query = TypeVar("Body"), TypeVar("Query")


# Finding similar names costs milliseconds of processor time. It has a thread of its own, to keep it off the
# event loop and off the threads that every other request needs.
_NEAR_NAMES = ThreadPoolExecutor(max_workers=1, thread_name_prefix="near-names")


@dataclass
class AppContext:
    """The parts of the service that routes and actions use.

    Attributes
    ----------
    net
        Sends requests to user-supplied addresses.
    served
        The models that the configured endpoint serves; ``None`` without an endpoint.
    kinds
        The kinds of background work, whose backlog the metrics report.
    """

    settings: ServiceSettings
    database: Database
    jobs: InsightJobs
    log: ConversationLog
    models: Models
    sender: Sender
    net: GuardedClient
    served: ServedModels | None = None
    kinds: Sequence[Kind] = ()

    def general(self, account_id: str) -> dict[str, str]:
        """Return the general settings of an account."""
        with self.database.read() as connection:
            return accounts.general(connection, account_id)

    async def check_model(self, wanted: str, *, field: str = "llmModel") -> None:
        """Check the model name of a prompt: in the catalogue, the operator's, or served by the endpoint.

        The endpoint is queried only for otherwise unknown names, and in the background: a request never waits
        for it in a thread, and falls back to known models when the endpoint is slow.

        Raises
        ------
        ApiException
            ``VALIDATION_ERROR`` under ``field``; mentions it if the endpoint's list could not be read.
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


@dataclass(slots=True)
class Call(Generic[Body, Query]):
    """A request whose body and query have been read and validated.

    Attributes
    ----------
    id
        Identifier in the path; empty when the path has none.
    body, query
        ``None`` if the endpoint has none.
    status
        Status of the answer, if it differs from the endpoint's usual status.
    links
        Names under which the answer gives its prompt, if that depends on the call.
    """

    context: AppContext
    caller: Caller
    scheme: Scheme
    id: str
    body: Body
    query: Query
    status: int | None = None
    links: tuple[str, ...] | None = None

    @property
    def account_id(self) -> str:
        """The account of the caller."""
        return self.caller.account_id

    @contextmanager
    def read(self) -> Iterator[Rows]:
        """Open a consistent view of the rows for one answer."""
        with self.context.database.read() as connection, Rows(connection) as rows:
            yield rows

    @contextmanager
    def write(self) -> Iterator[Rows]:
        """Open one transaction over the rows."""
        with self.context.database.write() as connection, Rows(connection) as rows:
            yield rows
            rows.flush()

    def prompt(self, rows: Rows, *, lock: bool = False) -> PromptRow:
        """Return the prompt of the path.

        Raises
        ------
        ApiException
            ``NOT_FOUND``, with the noun of the naming scheme.
        """
        return prompts.found(rows, self.account_id, self.id, self.scheme.noun, lock=lock)

    def found(self, rows: Rows, kind: type[R], noun: str) -> R:
        """Return the row of the path.

        Raises
        ------
        ApiException
            ``NOT_FOUND``, with the noun.
        """
        return rows.found(wanted(kind, account_id=self.account_id, id=self.id), noun)


AnyCall = Call[Any, Any]
Check = Callable[[AnyCall], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class EndpointAction:
    """The action of an endpoint.

    Attributes
    ----------
    answer
        Called on a thread; a coroutine function in the event loop.
    check
        Awaited before.
    threads
        The threads for actions that may take long; by default the shared ones.
    links
        Names under which an answer gives its prompt, if the path has no naming scheme.
    """

    answer: Callable[[AnyCall], Any]
    check: Check | None = None
    threads: Executor | None = None
    # unspecified: which link an answer contains when the request names no scheme. Both.
    links: tuple[str, ...] = LINKS


# By name of the endpoint.
ACTIONS: dict[str, EndpointAction] = {}


async def known_model(call: AnyCall) -> None:
    """Check the model name in a body, if there is one.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR``.
    """
    if call.body.llm_model is not None:
        await call.context.check_model(call.body.llm_model)


def writes(endpoint: Endpoint[Any]) -> Callable[[Callable[[AnyCall], Any]], Callable[[AnyCall], Any]]:
    """Make a function the action of an endpoint; it writes the JSON itself, as a model would be too slow."""
    return answers(endpoint)


def answers(
    endpoint: Endpoint[Answer],
    *,
    check: Check | None = None,
    threads: Executor | None = None,
    links: tuple[str, ...] = LINKS,
) -> Callable[[Callable[[AnyCall], Answer | Awaitable[Answer]]], Callable[[AnyCall], Any]]:
    """Make a function the action of an endpoint; it returns the endpoint's answer model."""

    def register(
        answer: Callable[[AnyCall], Answer | Awaitable[Answer]],
    ) -> Callable[[AnyCall], Any]:
        ACTIONS[endpoint.name] = EndpointAction(answer, check, threads, links)
        return answer

    return register
