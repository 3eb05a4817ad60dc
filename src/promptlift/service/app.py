"""The HTTP application: routes, authentication, and the description of the API."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Match, Route

from promptlift.schema.endpoints import ENDPOINTS

# These modules declare which endpoints their functions answer.
from promptlift.service.actions import (  # noqa: F401
    account,
    conversations,
    experiments,
    labels,
    learned_judge,
    optimizations,
    personas,
    prompts,
    topics,
    versions,
    webhooks,
)
from promptlift.service.actions.views import agent_insights, completion, prompt_insights, steps  # noqa: F401
from promptlift.service.benchmarks import requests as benchmark_requests  # noqa: F401
from promptlift.service.benchmarks import scenario_sets  # noqa: F401
from promptlift.service.call import ACTIONS
from promptlift.service.errors import ApiException
from promptlift.service.judges import requests as judge_requests  # noqa: F401
from promptlift.service.judges import versions as judge_versions  # noqa: F401
from promptlift.service.routes import log, monitoring, otlp  # noqa: F401
from promptlift.service.routes.authentication import Authentication
from promptlift.service.routes.messages import answer, refuse, serve
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.call import AppContext


def create_app(context: AppContext) -> Starlette:
    """Create the ASGI application."""

    @cache
    def document() -> JsonSchemaValue:
        from promptlift.service.routes.openapi import description  # noqa: PLC0415 - few ask for it

        return description()

    counts = monitoring.Counts()

    async def openapi(_request: Request) -> Response:
        return answer(document())

    app = Starlette(
        routes=[
            *_api_routes(context),
            *monitoring.routes(context, counts),
            *otlp.routes(context),
            Route("/openapi.json", openapi, methods=["GET"]),
        ],
        middleware=[Middleware(Authentication, database=context.database, counts=counts)],
        exception_handlers={HTTPException: _no_route, ApiException: _refused},
    )
    app.router.redirect_slashes = False
    return app


def _api_routes(context: AppContext) -> list[Route]:
    """Make the routes of every row of the table, in each of its naming schemes.

    Raises
    ------
    KeyError
        If a row has no action, or an action has no row.
    """
    unmatched = ACTIONS.keys() ^ ENDPOINTS.keys()
    if unmatched:
        raise KeyError(f"Give each of these a row in schema/endpoints.py and an action: {sorted(unmatched)}")

    return [
        serve(endpoint, scheme, ACTIONS[endpoint.name], context)
        for endpoint in ENDPOINTS.values()
        for scheme in endpoint.served_schemes()
    ]


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiException)  # noqa: S101 - registered for this class only
    return refuse(error)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    if error.status_code == 405:
        allowed = ", ".join(_methods_at(request))
        message = f"{request.method} is not possible here; allowed: {allowed}"
        return refuse(ApiException("METHOD_NOT_ALLOWED", message, headers={"Allow": allowed}))
    if error.status_code == 404:
        return refuse(ApiException("NOT_FOUND", f"No such path; the API lies under {API_PATH}"))
    return refuse(ApiException("VALIDATION_ERROR", str(error.detail)))


def _methods_at(request: Request) -> list[str]:
    methods = ("GET", "POST", "PATCH", "DELETE")
    routes = request.app.router.routes
    return [
        method
        for method in methods
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
