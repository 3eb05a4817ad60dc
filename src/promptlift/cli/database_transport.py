"""A transport to the service's own actions, for `promptlift export`, which needs no running service."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import orjson

from promptlift.client import ClientConfig
from promptlift.client.secret import Secret
from promptlift.client.transport import Answer, Transport
from promptlift.errors import NotFound
from promptlift.schema.naming import SCHEMES
from promptlift.schema.queries import (
    ConversationQuery,
    ConversationsQuery,
    DeletedConversationsQuery,
    LabelsQuery,
    OptimizationsQuery,
    PageQuery,
    PromptsQuery,
    VerdictsQuery,
)
from promptlift.service.actions import account, conversations, labels, optimizations, prompts, versions
from promptlift.service.call import Call as ServiceCall
from promptlift.service.errors import ApiException
from promptlift.service.judges import versions as judge_versions

if TYPE_CHECKING:
    from promptlift.client.connection import Connection
    from promptlift.client.transport import Call, Task
    from promptlift.schema.queries import QueryModel
    from promptlift.service.call import AnyCall, AppContext
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

# The embedded service on this computer may use any port; a pull from it continues an export.
_ADDRESS: Final = "http://localhost/api/v1"


class DatabaseTransport(Transport):
    """A transport that calls the service's own actions, in this process and without HTTP.

    Parameters
    ----------
    database
        The service's database.
    caller
        The account whose rows are read.
    """

    def __init__(self, database: Database, caller: Caller) -> None:
        super().__init__(ClientConfig(_ADDRESS, Secret(""), SCHEMES["prompt"]))
        self._database = database
        self._caller = caller

    def send(self, call: Call, task: Task | None = None, *, connection: Connection | None = None) -> Answer:
        """Answer a call from the database.

        Raises
        ------
        NotFound
            The resource does not exist.
        """
        del connection
        if task is not None:
            task.count()
        try:
            found = self._found(call)
        except ApiException as error:
            raise NotFound(str(error), status=404, request=call.label) from error
        return Answer(200, orjson.dumps(found), call)

    def _found(self, call: Call) -> Any:
        query = dict(call.query)
        kind, *rest = [unquote(part) for part in call.path.strip("/").split("/")]
        found: Any
        match kind, rest:
            case "account", []:
                found = account.account(self._asked()).to_wire()
            case "prompts", []:
                found = prompts.page(self._asked(query=PromptsQuery.model_validate(query))).to_wire()
            case "prompts", [one, "versions"]:
                found = versions.page(self._asked(one, PageQuery.model_validate(query))).to_wire()
            case "conversations", []:
                found = conversations.page(self._asked(query=ConversationsQuery.model_validate(query)))
            case "conversations", ["deleted"]:
                since = DeletedConversationsQuery.model_validate(query)
                found = conversations.deleted(self._asked(query=since)).to_wire()
            case "conversations", [one]:
                found = conversations.get(self._asked(one, ConversationQuery.model_validate(query)))
            case "optimizations", []:
                found = optimizations.page(
                    self._asked(query=OptimizationsQuery.model_validate(query))
                ).to_wire()
            case "optimizations", [one]:
                found = optimizations.get(self._asked(one)).to_wire()
            case "optimizations", [one, "variants"]:
                found = optimizations.variants(self._asked(one)).to_wire()
            case _:
                found = self._offered(call, kind, rest)
        return found

    def _asked(self, identifier: str = "", query: QueryModel | None = None) -> AnyCall:
        """Return a call for actions that use only the service's database."""
        jobs = SimpleNamespace(waits_because=None)
        context = cast("AppContext", SimpleNamespace(database=self._database, jobs=jobs))
        return ServiceCall(context, self._caller, SCHEMES["prompt"], identifier, None, query)

    def _offered(self, call: Call, kind: str, rest: list[str]) -> Any:
        """Answer a call of an endpoint beyond the specification: labels, and custom judges."""
        query = dict(call.query)
        match kind, rest:
            case "labels", []:
                return labels.page(self._asked(query=LabelsQuery.model_validate(query))).to_wire()
            case "judges", [one, "verdicts"]:
                return judge_versions.verdict_page(
                    self._asked(one, VerdictsQuery.model_validate(query))
                ).to_wire()
            case "judges", []:
                return judge_versions.page(self._asked(query=PageQuery.model_validate(query))).to_wire()
            case "judges", [one, "versions"]:
                return judge_versions.versions(self._asked(one, PageQuery.model_validate(query))).to_wire()
            case _:
                raise NotFound("The export does not need this", status=404, request=call.label)
