"""Webhooks, their deliveries, and the events that they receive."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.service.actions import events

if TYPE_CHECKING:
    from promptlift.schema.queries import EventsQuery, PageQuery
    from promptlift.schema.webhooks import WebhookCreate
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions

# A receiver may take ten seconds to answer a test: not one of the threads that every other request needs.
_TESTS: Final = ThreadPoolExecutor(max_workers=16, thread_name_prefix="webhook-tests")


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Webhooks(context)
    return {
        endpoints.WEBHOOKS_LIST: room.list,
        endpoints.WEBHOOKS_CREATE: room.create,
        endpoints.WEBHOOKS_DELETE: room.delete,
        endpoints.WEBHOOKS_TEST: room.test,
        endpoints.WEBHOOKS_RESUME: room.resume,
        endpoints.WEBHOOKS_DELIVERIES: room.deliveries,
        endpoints.EVENTS_LIST: room.events,
    }


class _Webhooks:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database
        self._webhooks = context.webhooks

    def list(self, request: Call[None, None]) -> dict[str, Any]:
        return self._webhooks.listed(request.caller)

    async def create(self, request: Call[WebhookCreate, None]) -> dict[str, Any]:
        await self._webhooks.check_url(request.body.url)
        return await run_in_threadpool(self._webhooks.create, request.caller, request.body)

    def delete(self, request: Call[None, None]) -> dict[str, Any]:
        self._webhooks.delete(request.caller, request.id)
        return {"success": True, "message": "Webhook deleted"}

    async def test(self, request: Call[None, None]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_TESTS, self._webhooks.test, request.caller, request.id)

    def resume(self, request: Call[None, None]) -> dict[str, Any]:
        return self._webhooks.resume(request.caller, request.id)

    def deliveries(self, request: Call[None, PageQuery]) -> dict[str, Any]:
        query = request.query
        return self._webhooks.deliveries(request.caller, request.id, limit=query.limit, offset=query.offset)

    def events(self, request: Call[None, EventsQuery]) -> dict[str, Any]:
        return events.page(self._database, request.caller, request.query)
