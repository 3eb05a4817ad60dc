"""Personas that talk in simulated conversations. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.service.actions import personas

if TYPE_CHECKING:
    from promptlift.schema.personas import PersonaCreate, PersonaUpdate
    from promptlift.schema.queries import PersonasQuery
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Personas(context)
    return {
        endpoints.PERSONAS_LIST: room.list,
        endpoints.PERSONAS_CREATE: room.create,
        endpoints.PERSONAS_GET: room.get,
        endpoints.PERSONAS_UPDATE: room.update,
        endpoints.PERSONAS_DELETE: room.delete,
    }


class _Personas:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def list(self, request: ApiRequest[None, PersonasQuery]) -> dict[str, Any]:
        query = request.query
        return personas.page(self._database, request.caller, limit=query.limit, offset=query.offset)

    def create(self, request: ApiRequest[PersonaCreate, None]) -> dict[str, Any]:
        return personas.create(self._database, request.caller, request.body)

    def get(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        return personas.get(self._database, request.caller, request.id)

    def update(self, request: ApiRequest[PersonaUpdate, None]) -> dict[str, Any]:
        return personas.update(self._database, request.caller, request.id, request.body)

    def delete(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        personas.delete(self._database, request.caller, request.id)
        return {"success": True, "message": "Persona deleted"}
