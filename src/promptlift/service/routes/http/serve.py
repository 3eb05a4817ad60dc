"""Make a route from a row of the table of endpoints and the action that does its work."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from promptlift.service.routes.http.messages import (
    answer,
    answer_to_get,
    caller_of,
    path_id,
    read_body,
    read_query,
)
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.schema.endpoint import Endpoint
    from promptlift.schema.naming import Scheme
    from promptlift.service.store.accounts import Caller

    GeneralSettings = Callable[[Caller], Mapping[str, str]]

Body = TypeVar("Body")
Query = TypeVar("Query")


@dataclass(slots=True)
class ApiRequest(Generic[Body, Query]):
    """A request whose body and query have been read and validated.

    Attributes
    ----------
    id
        Identifier in the path; empty when the path has none.
    body, query
        ``None`` where the endpoint has none.
    """

    caller: Caller
    scheme: Scheme
    id: str
    body: Body
    query: Query


@dataclass(slots=True)
class Reply:
    """An answer with a status of its own."""

    content: Any
    status: int


if TYPE_CHECKING:
    # Called on a thread, or in the event loop when it is a coroutine function. Returns content, or a Reply.
    Action = Callable[[ApiRequest[Any, Any]], Any]
    Actions = Mapping[Endpoint[Any], Action]


def serve(endpoint: Endpoint[Any], scheme: Scheme, action: Action, general: GeneralSettings) -> Route:
    """Make the route of an endpoint in one naming scheme; ``general`` reads an account's general settings."""
    # Looked up once, not for every request.
    query_model, body_model, has_id, status = endpoint.query, endpoint.body, endpoint.has_id, endpoint.status
    either, optional, lines = endpoint.either, endpoint.body_optional, endpoint.lines
    is_get = endpoint.method == "GET"
    is_async = inspect.iscoroutinefunction(action)

    async def from_settings(request: Request, given: Mapping[str, Any]) -> dict[str, str]:
        missing = [(name, setting) for name, setting in endpoint.from_settings if name not in given]
        settings = await run_in_threadpool(general, caller_of(request)) if missing else {}
        return {name: settings[setting] for name, setting in missing if settings[setting].strip()}

    async def handle(request: Request) -> Response:
        query = None if query_model is None else read_query(request, query_model)
        body = None
        if body_model is not None:
            body = await read_body(
                request, body_model, either=either, optional=optional, lines=lines, defaults=from_settings
            )
        identifier = path_id(request) if has_id else ""
        api_request = ApiRequest(caller_of(request), scheme, identifier, body, query)
        content = await action(api_request) if is_async else await run_in_threadpool(action, api_request)
        if isinstance(content, Reply):
            return answer(content.content, content.status)
        if is_get:
            return answer_to_get(request, content, status)
        return answer(content, status)

    return Route(API_PATH + endpoint.path_in(scheme), handle, methods=[endpoint.method])
