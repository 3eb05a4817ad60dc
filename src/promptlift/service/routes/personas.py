"""Personas that talk in simulated conversations. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptlift.schema import endpoints
from promptlift.service.actions import personas

if TYPE_CHECKING:
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database
    return {
        endpoints.PERSONAS_LIST: lambda request: personas.page(
            database, request.caller, limit=request.query.limit, offset=request.query.offset
        ),
        endpoints.PERSONAS_CREATE: lambda request: personas.create(database, request.caller, request.body),
        endpoints.PERSONAS_GET: lambda request: personas.get(database, request.caller, request.id),
        endpoints.PERSONAS_UPDATE: lambda request: personas.update(
            database, request.caller, request.id, request.body
        ),
        endpoints.PERSONAS_DELETE: lambda request: personas.delete(database, request.caller, request.id),
    }
