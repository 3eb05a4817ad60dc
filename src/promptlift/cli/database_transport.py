"""A transport to the service's own actions, for `promptlift export`, which needs no running service."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import orjson

from promptlift.client import ClientConfig
from promptlift.client.secret import Secret
from promptlift.client.transport import Answer, Transport
from promptlift.errors import NotFound
from promptlift.schema import endpoints
from promptlift.schema.model import ApiModel
from promptlift.schema.naming import SCHEMES
from promptlift.service.actions import (  # noqa: F401  the actions register themselves
    account,
    conversations,
    labels,
    optimizations,
    prompts,
    versions,
)
from promptlift.service.call import ACTIONS
from promptlift.service.call import Call as ServiceCall
from promptlift.service.errors import ApiException
from promptlift.service.judges import versions as judge_versions  # noqa: F401

if TYPE_CHECKING:
    from promptlift.client.connection import Connection
    from promptlift.client.transport import Call, Task
    from promptlift.service.call import AppContext
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

# The embedded service on this computer may use any port; a pull from it continues an export.
_ADDRESS: Final = "http://localhost/api/v1"
# What a pull asks for. A fixed path comes before one that ends with an identifier.
_ENDPOINTS: Final = (
    *(endpoints.ACCOUNT_GET, endpoints.PROMPTS_LIST, endpoints.PROMPTS_VERSIONS),
    *(endpoints.CONVERSATIONS_LIST, endpoints.CONVERSATIONS_DELETED, endpoints.CONVERSATIONS_GET),
    *(endpoints.OPTIMIZATIONS_LIST, endpoints.OPTIMIZATIONS_GET, endpoints.OPTIMIZATIONS_VARIANTS),
    *(endpoints.LABELS_LIST, endpoints.JUDGES_LIST, endpoints.JUDGES_VERSIONS, endpoints.JUDGES_VERDICTS),
)


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
        # The actions of a pull use only the service's database.
        jobs = SimpleNamespace(waits_because=None)
        context = cast("AppContext", SimpleNamespace(database=self._database, jobs=jobs))
        scheme = self.config.scheme
        for endpoint in _ENDPOINTS:
            path = re.fullmatch(endpoint.path_in(scheme).replace("{id}", "([^/]+)"), call.path)
            if path is not None:
                identifier = unquote(path[1]) if endpoint.has_id else ""
                query = endpoint.query and endpoint.query.model_validate(dict(call.query))
                asked = ServiceCall(context, self._caller, scheme, identifier, None, query)
                found = ACTIONS[endpoint.name].answer(asked)
                return found.to_wire() if isinstance(found, ApiModel) else found
        raise NotFound("The export does not need this", status=404, request=call.label)
