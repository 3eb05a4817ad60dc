"""Personas that talk in simulated conversations. All of it is ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from promptlift.schema import limits
from promptlift.schema.pages import Done, Page
from promptlift.schema.personas import Persona, PersonaCreate, PersonaUpdate
from promptlift.service.actions import personas
from promptlift.service.routes import endpoint
from promptlift.service.routes.http import Query, answer, caller_of, path_id, read_body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext

# unspecified: items of a page. Enough for the whole library.
_LIMIT_DEFAULT = limits.LIST_LIMIT_MAX
_LIMIT = endpoint.parameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": limits.LIST_LIMIT_MAX}, "Items of a page"
)
_OFFSET = endpoint.parameter("offset", {"type": "integer", "minimum": 0}, "Items before the page")


def add_to(endpoints: endpoint.Endpoints, context: AppContext) -> None:
    """Add the endpoints."""
    _Personas(context).add_to(endpoints)


class _Personas:
    def __init__(self, context: AppContext) -> None:
        self._database = context.database

    def add_to(self, endpoints: endpoint.Endpoints) -> None:
        add, one = endpoint.add, "/personas/{id}"
        add(
            endpoints,
            "GET",
            "/personas",
            self.list,
            answer=Page[Persona],
            query=(_LIMIT, _OFFSET),
            summary="List personas, the account's own first",
            operation="list_personas",
        )
        add(
            endpoints,
            "POST",
            "/personas",
            self.create,
            answer=Persona,
            status=201,
            body=PersonaCreate,
            errors=("INVALID_STATE",),
            summary="Create a persona",
            operation="create_persona",
        )
        add(endpoints, "GET", one, self.get, answer=Persona, summary="Get a persona", operation="get_persona")
        add(
            endpoints,
            "PATCH",
            one,
            self.update,
            answer=Persona,
            body=PersonaUpdate,
            errors=("INVALID_STATE",),
            summary="Change a persona",
            operation="update_persona",
        )
        add(
            endpoints,
            "DELETE",
            one,
            self.delete,
            answer=Done,
            errors=("INVALID_STATE",),
            summary="Delete a persona",
            operation="delete_persona",
        )

    async def list(self, request: Request) -> Response:
        query = Query(request)
        limit, offset = query.page(_LIMIT_DEFAULT)
        query.check()
        caller = caller_of(request)
        return answer(
            await run_in_threadpool(lambda: personas.page(self._database, caller, limit=limit, offset=offset))
        )

    async def create(self, request: Request) -> Response:
        body = await read_body(request, PersonaCreate)
        return answer(await run_in_threadpool(personas.create, self._database, caller_of(request), body), 201)

    async def get(self, request: Request) -> Response:
        return answer(
            await run_in_threadpool(personas.get, self._database, caller_of(request), path_id(request))
        )

    async def update(self, request: Request) -> Response:
        body = await read_body(request, PersonaUpdate)
        return answer(
            await run_in_threadpool(
                personas.update, self._database, caller_of(request), path_id(request), body
            )
        )

    async def delete(self, request: Request) -> Response:
        await run_in_threadpool(personas.delete, self._database, caller_of(request), path_id(request))
        return answer({"success": True, "message": "Persona deleted"})
