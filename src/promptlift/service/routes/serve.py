"""Make a route from a row of the table of endpoints and its action."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from promptlift.schema.model import ApiModel, LinkedModel
from promptlift.service.actions.account import general
from promptlift.service.call import Call
from promptlift.service.routes.messages import (
    answer,
    answer_to_get,
    caller_of,
    path_id,
    read_body,
    read_query,
)
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.schema.endpoint import Endpoint
    from promptlift.schema.naming import Scheme
    from promptlift.service.call import AnyCall, AppContext, EndpointAction


def serve(endpoint: Endpoint[Any], scheme: Scheme, action: EndpointAction, context: AppContext) -> Route:
    """Make the route of an endpoint in one naming scheme."""
    # Looked up once, not per request.
    has_id, is_get = endpoint.has_id, endpoint.method == "GET"
    is_async = inspect.iscoroutinefunction(action.answer)
    links = (scheme.link,) if "{segment}" in endpoint.path else action.links

    async def from_settings(request: Request, given: Mapping[str, Any]) -> dict[str, str]:
        missing = [(name, setting) for name, setting in endpoint.from_settings if name not in given]
        settings = await run_in_threadpool(general, context.database, caller_of(request)) if missing else {}
        return {name: settings[setting] for name, setting in missing if settings[setting].strip()}

    async def content_of(call: AnyCall) -> Any:
        if action.check is not None:
            await action.check(call)
        if is_async:
            return await action.answer(call)
        if action.threads is not None:
            return await asyncio.get_running_loop().run_in_executor(action.threads, action.answer, call)
        return await run_in_threadpool(action.answer, call)

    async def handle(request: Request) -> Response:
        query = None if endpoint.query is None else read_query(request, endpoint.query)
        body = None
        if endpoint.body is not None:
            body = await read_body(request, endpoint, endpoint.body, from_settings)
        row_id = path_id(request) if has_id else ""
        call: AnyCall = Call(context, caller_of(request), scheme, row_id, body, query)
        content = await content_of(call)
        if isinstance(content, ApiModel):
            content = _wire(content, call.links or links)
        status = call.status or endpoint.status
        return answer_to_get(request, content, status) if is_get else answer(content, status)

    return Route(API_PATH + endpoint.path_in(scheme), handle, methods=[endpoint.method])


def _wire(model: ApiModel, links: tuple[str, ...]) -> dict[str, object]:
    """Encode an answer; a resource of a prompt links to it under these names."""
    document = model.to_wire()
    items = getattr(model, "data", None)
    if items and isinstance(items[0], LinkedModel):
        document["data"] = [item and _linked(item, links) for item in document["data"]]
    return _linked(document, links) if isinstance(model, LinkedModel) else document


def _linked(document: dict[str, object], links: tuple[str, ...]) -> dict[str, object]:
    return {
        name: value for key, value in document.items() for name in (links if key == "promptId" else (key,))
    }
