"""Optimizations: starting, reading, stopping and applying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from promptlift.schema import endpoints
from promptlift.schema.naming import SCHEMES
from promptlift.service.deployments import transitions
from promptlift.service.optimizations import requests

if TYPE_CHECKING:
    from promptlift.schema.optimizations import ApplyRequest, OptimizationCreate, StopRequest
    from promptlift.schema.queries import OptimizationsQuery, SimulationsQuery
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions, ApiRequest


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    room = _Optimizations(context)
    return {
        endpoints.OPTIMIZATIONS_CREATE: room.create,
        endpoints.OPTIMIZATIONS_LIST: room.list,
        endpoints.OPTIMIZATIONS_GET: room.get,
        endpoints.OPTIMIZATIONS_VARIANTS: room.variants,
        endpoints.OPTIMIZATIONS_SIMULATIONS: room.simulations,
        endpoints.OPTIMIZATIONS_APPLY: room.apply,
        endpoints.OPTIMIZATIONS_STOP: room.stop,
    }


class _Optimizations:
    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._database = context.database

    async def create(self, request: ApiRequest[OptimizationCreate, None]) -> dict[str, Any]:
        rehearsal = self._context.models.rehearse
        made = await run_in_threadpool(
            lambda: requests.trigger(self._database, request.caller, request.body, rehearsal=rehearsal)
        )
        self._context.optimizations.look()
        return made

    def list(self, request: ApiRequest[None, OptimizationsQuery]) -> dict[str, Any]:
        query = request.query
        return requests.page(
            self._database,
            request.caller,
            prompt_id=query.linked_id,
            status=query.status,
            limit=query.limit,
            offset=query.offset,
        )

    def get(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        return requests.view(self._database, request.caller, request.id)

    def variants(self, request: ApiRequest[None, None]) -> dict[str, Any]:
        return requests.variants(self._database, request.caller, request.id)

    def simulations(self, request: ApiRequest[None, SimulationsQuery]) -> dict[str, Any]:
        query = request.query
        return requests.simulated(
            self._database,
            request.caller,
            request.id,
            variant_id=query.variant_id,
            stage=query.stage,
            task_completed=query.task_completed,
            content=query.include_content,
            limit=query.limit,
            offset=query.offset,
        )

    def apply(self, request: ApiRequest[ApplyRequest, None]) -> dict[str, Any]:
        applied = transitions.apply(
            self._database,
            request.caller,
            SCHEMES["prompt"],
            request.id,
            request.body.variant_id,
            if_version_id=request.body.if_version_id,
            note=request.body.note,
        )
        # unspecified: which link an answer carries when the request names no scheme. Both.
        return {**applied, "agentId": applied["promptId"]}

    async def stop(self, request: ApiRequest[StopRequest, None]) -> dict[str, Any]:
        body = request.body
        stopped = await run_in_threadpool(
            lambda: requests.stop(self._database, request.caller, request.id, body.reason, note=body.note)
        )
        self._context.optimizations.look()
        return stopped
