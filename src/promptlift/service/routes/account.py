"""The account, its usage and its settings."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.service.actions import account, settings
from promptlift.service.errors import ApiException

if TYPE_CHECKING:
    from promptlift.schema.settings import SettingsChange, SyncContextRequest
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions

# A website and a model may take half a minute to answer: not one of the threads that every other request needs.
_WEBSITES: Final = ThreadPoolExecutor(max_workers=8, thread_name_prefix="websites")


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database
    reading: set[str] = set()

    async def sync_context(request: Call[SyncContextRequest, None]) -> dict[str, Any]:
        # unspecified: when the model is asked. At once, because the answer has what it found: this is the one request
        # that waits for a model, for a bounded time.
        account_id = request.caller.account_id
        if account_id in reading:
            # One account cannot hold up the others with websites that take their time.
            raise ApiException(
                "INVALID_STATE", "A website is being read for this account; ask again when that has ended"
            )
        reading.add(account_id)
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                _WEBSITES, settings.read_website, database, context.websites, request.caller, request.body
            )
        finally:
            reading.discard(account_id)
        # Apart from the reading, which goes on for a moment when the service stops: then nothing is filled in.
        return await run_in_threadpool(settings.fill_context, database, request.caller, request.body, found)

    async def update(request: Call[SettingsChange, None]) -> dict[str, Any]:
        general = request.body.general
        if general is not None and general.preferred_llm:
            await context.check_model(general.preferred_llm, field="general.preferredLLM")
        return await run_in_threadpool(settings.update, database, request.caller, request.body)

    return {
        endpoints.ACCOUNT_GET: lambda request: account.view(database, request.caller),
        endpoints.USAGE_GET: lambda request: account.usage_view(database, request.caller),
        endpoints.SETTINGS_GET: lambda request: settings.view(database, request.caller),
        endpoints.SETTINGS_UPDATE: update,
        endpoints.SETTINGS_SYNC_CONTEXT: sync_context,
    }
