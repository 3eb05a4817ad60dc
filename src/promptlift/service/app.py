"""The HTTP application: routes, gate, and an API description that says what really comes back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Match, Route

from promptlift._version import __version__
from promptlift.schema.action_log import UndoRequest
from promptlift.schema.conversations import ConversationCreate, ConversationLookup, ConversationUpdate
from promptlift.schema.optimizations import ApplyRequest, OptimizationCreate, StopRequest
from promptlift.schema.personas import PersonaCreate, PersonaUpdate
from promptlift.schema.prompts import PromptCreate, PromptUpdate
from promptlift.schema.reviews import ReviewUpdate
from promptlift.schema.settings import SettingsChange
from promptlift.schema.versions import RestoreRequest
from promptlift.service.errors import STATUS_OF, ApiException
from promptlift.service.llm.catalogue import CATALOGUE
from promptlift.service.routes import (
    account,
    conversations,
    health,
    optimizations,
    personas,
    prompts,
    reviews,
    versions,
)
from promptlift.service.routes.authentication import Authentication
from promptlift.service.routes.endpoint import Endpoints
from promptlift.service.routes.http import answer, refuse
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.context import AppContext

# Routes are tried in this order: those of conversations, which are logged by the thousand, come first.
_ROOMS = (conversations, prompts, versions, optimizations, reviews, personas, account)
_BODIES = (
    PromptCreate,
    PromptUpdate,
    ConversationCreate,
    ConversationUpdate,
    ConversationLookup,
    OptimizationCreate,
    ApplyRequest,
    StopRequest,
    ReviewUpdate,
    UndoRequest,
    RestoreRequest,
    PersonaCreate,
    PersonaUpdate,
    SettingsChange,
)


def create_app(context: AppContext) -> Starlette:
    """Put the application together."""
    endpoints = Endpoints()
    for room in _ROOMS:
        room.add_to(endpoints, context)
    description = cache(lambda: _describe(endpoints))

    async def openapi(_request: Request) -> Response:
        return answer(description())

    app = Starlette(
        routes=[
            *endpoints.routes,
            *health.routes(context.database),
            Route("/openapi.json", openapi, methods=["GET"]),
        ],
        middleware=[Middleware(Authentication, database=context.database)],
        exception_handlers={HTTPException: _no_route, ApiException: _refused},
    )
    app.router.redirect_slashes = False
    return app


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


def _describe(endpoints: Endpoints) -> dict[str, Any]:
    from fastapi import FastAPI  # noqa: PLC0415 - only for this answer

    described = FastAPI(title="Prompt Optimization Service", version=__version__)
    for description in endpoints.descriptions:
        described.add_api_route(**description)
    document = described.openapi()
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for body in _BODIES:
        schema = body.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas[body.__name__] = schema
    for body in (PromptCreate, PromptUpdate):
        schemas[body.__name__]["properties"]["llmModel"] |= {
            "description": "A name of the catalogue (the examples), one that the configured endpoint lists, or one of "
            "PROMPTLIFT_MODELS",
            "examples": sorted(CATALOGUE),
        }
    components["securitySchemes"] = {"apiKey": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"apiKey": []}]
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = _refused_by_the_server()
    document["paths"] |= health.description()
    return document


def _refused_by_the_server() -> dict[str, Any]:
    """Describe the refusals of a request that never reached its endpoint."""
    codes = (
        "VALIDATION_ERROR",
        "METHOD_NOT_ALLOWED",
        "REQUEST_TIMEOUT",
        "PAYLOAD_TOO_LARGE",
        "URI_TOO_LONG",
        "HEADERS_TOO_LARGE",
    )
    refused = ", ".join(f"{STATUS_OF[code]} {code}" for code in codes)
    return {
        "description": f"The request is not HTTP as it should be: {refused}",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}},
    }
