"""Optimizations: starting, reading, stopping and applying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.schema.naming import SCHEMES
from promptlift.service.deployments import transitions
from promptlift.service.errors import invalid
from promptlift.service.optimizations import requests

if TYPE_CHECKING:
    from promptlift.schema.optimizations import ApplyRequest, OptimizationCreate, StopRequest
    from promptlift.schema.queries import OptimizationsQuery, SimulationsQuery
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database

    def create(request: Call[OptimizationCreate, None]) -> dict[str, Any]:
        made = requests.trigger(
            database,
            request.caller,
            request.body,
            rehearsal=context.models.rehearse,
            rehearsal_seconds=context.settings.rehearsal_seconds,
        )
        context.optimizations.look()
        return made

    def page(request: Call[None, OptimizationsQuery]) -> dict[str, Any]:
        query = request.query
        return requests.page(
            database,
            request.caller,
            prompt_id=query.linked_id,
            status=query.status,
            limit=query.limit,
            offset=query.offset,
        )

    def simulations(request: Call[None, SimulationsQuery]) -> dict[str, Any]:
        query = request.query
        return requests.simulated(
            database,
            request.caller,
            request.id,
            variant_id=query.variant_id,
            stage=query.stage,
            task_completed=query.task_completed,
            content=query.include_content,
            limit=query.limit,
            offset=query.offset,
        )

    def apply(request: Call[ApplyRequest, None]) -> dict[str, Any]:
        body = request.body
        if body.content is not None and body.variant_id is not None:
            raise invalid({"content": "is for a text of no variant; leave out one of content and variantId"})
        where = (database, request.caller, SCHEMES["prompt"], request.id)
        version_id, note = body.if_version_id, body.note
        if body.content is not None:
            applied = transitions.apply_text(*where, body.content, if_version_id=version_id, note=note)
        else:
            applied = transitions.apply(
                *where,
                body.variant_id,
                accept_rehearsal=body.accept_rehearsal,
                if_version_id=version_id,
                note=note,
            )
        # unspecified: which link an answer carries when the request names no scheme. Both.
        return {**applied, "agentId": applied["promptId"]}

    def stop(request: Call[StopRequest, None]) -> dict[str, Any]:
        body = request.body
        stopped = requests.stop(database, request.caller, request.id, body.reason, note=body.note)
        context.optimizations.look()
        return stopped

    return {
        endpoints.OPTIMIZATIONS_CREATE: create,
        endpoints.OPTIMIZATIONS_LIST: page,
        endpoints.OPTIMIZATIONS_GET: lambda request: requests.view(database, request.caller, request.id),
        endpoints.OPTIMIZATIONS_VARIANTS: lambda request: requests.variants(
            database, request.caller, request.id
        ),
        endpoints.OPTIMIZATIONS_SIMULATIONS: simulations,
        endpoints.OPTIMIZATIONS_APPLY: apply,
        endpoints.OPTIMIZATIONS_STOP: stop,
    }
