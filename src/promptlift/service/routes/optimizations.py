"""Optimizations: starting, reading and stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema import endpoints
from promptlift.service.optimizations import requests, views

if TYPE_CHECKING:
    from promptlift.schema.optimizations import OptimizationCreate, StopRequest
    from promptlift.schema.pages import Page
    from promptlift.schema.queries import SimulationsQuery
    from promptlift.schema.simulations import Simulation
    from promptlift.service.call import Call
    from promptlift.service.context import AppContext
    from promptlift.service.routes.serve import Actions


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

    def stop(request: Call[StopRequest, None]) -> dict[str, Any]:
        body = request.body
        return requests.stop(database, request.caller, request.id, body.reason, note=body.note)

    def simulated(request: Call[None, SimulationsQuery]) -> Page[Simulation]:
        with request.read() as rows:
            return views.simulated(rows, request.caller, request.id, request.query)

    return {
        endpoints.OPTIMIZATIONS_CREATE: create,
        endpoints.OPTIMIZATIONS_LIST: lambda request: views.page(database, request.caller, request.query),
        endpoints.OPTIMIZATIONS_GET: lambda request: views.view(database, request.caller, request.id),
        endpoints.OPTIMIZATIONS_VARIANTS: lambda request: views.variants(
            database, request.caller, request.id
        ),
        endpoints.OPTIMIZATIONS_SIMULATIONS: simulated,
        endpoints.OPTIMIZATIONS_STOP: stop,
    }
