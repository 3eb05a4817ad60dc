"""The account, its usage and its settings."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.service.actions import account, settings

if TYPE_CHECKING:
    from promptlift.schema.settings import SettingsChange, SyncContextRequest
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest

# A website and a model may take half a minute to answer: not one of the threads that every other request needs.
_WEBSITES: Final = ThreadPoolExecutor(max_workers=8, thread_name_prefix="websites")


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database

    async def sync_context(request: ApiRequest[SyncContextRequest, None]) -> dict[str, Any]:
        # unspecified: when the model is asked. At once, because the answer has what it found: this is the one request
        # that waits for a model, for a bounded time.
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            _WEBSITES, settings.sync_context, database, context.websites, request.caller, request.body
        )

    async def update(request: ApiRequest[SettingsChange, None]) -> dict[str, Any]:
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
