"""The account, its usage and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.service.actions import account, settings

if TYPE_CHECKING:
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database
    return {
        endpoints.ACCOUNT_GET: lambda request: account.view(database, request.caller),
        endpoints.USAGE_GET: lambda request: account.usage_view(database, request.caller),
        endpoints.SETTINGS_GET: lambda request: settings.view(database, request.caller),
        endpoints.SETTINGS_UPDATE: lambda request: settings.update(database, request.caller, request.body),
    }
