"""Optimizations: starting, reading, stopping and applying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.schema.naming import SCHEMES
from promptlift.service.deployments import transitions
from promptlift.service.errors import invalid
from promptlift.service.optimizations import requests, views

if TYPE_CHECKING:
    from promptlift.schema.optimizations import ApplyRequest, OptimizationCreate, StopRequest
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.http.serve import Actions


def actions(context: AppContext) -> Actions:
    """Return the action of every endpoint of this module."""
    database = context.database

    def create(request: Call[OptimizationCreate, None]) -> dict[str, Any]:
        return requests.trigger(
            database,
            request.caller,
            request.body,
            rehearsal=context.models.rehearse,
            rehearsal_seconds=context.settings.rehearsal_seconds,
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
        return requests.stop(database, request.caller, request.id, body.reason, note=body.note)

    return {
        endpoints.OPTIMIZATIONS_CREATE: create,
        endpoints.OPTIMIZATIONS_LIST: lambda request: views.page(database, request.caller, request.query),
        endpoints.OPTIMIZATIONS_GET: lambda request: views.view(database, request.caller, request.id),
        endpoints.OPTIMIZATIONS_VARIANTS: lambda request: views.variants(
            database, request.caller, request.id
        ),
        endpoints.OPTIMIZATIONS_SIMULATIONS: lambda request: views.simulated(
            database, request.caller, request.id, request.query
        ),
        endpoints.OPTIMIZATIONS_APPLY: apply,
        endpoints.OPTIMIZATIONS_STOP: stop,
    }
