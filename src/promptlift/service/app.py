"""The HTTP application: routes, gate, and an API description that says what really comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import Match

from promptlift import __version__
from promptlift.schema.conversations import ConversationCreate
from promptlift.schema.prompts import PromptCreate, PromptUpdate
from promptlift.schema.settings import SettingsChange
from promptlift.service.failures import Refusal
from promptlift.service.gate import Gate
from promptlift.service.routes import account, conversations, prompts
from promptlift.service.settings import API_PATH
from promptlift.service.web import refuse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.parts import Parts

_ROOMS = (prompts, conversations, account)
_BODIES = (PromptCreate, PromptUpdate, ConversationCreate, SettingsChange)


def create_app(parts: Parts) -> FastAPI:
    """Put the application together."""
    app = FastAPI(
        title="Prompt Optimization Service",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
    )
    router = APIRouter(prefix=API_PATH, redirect_slashes=False)
    for room in _ROOMS:
        room.add_to(router, parts)
    app.include_router(router)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(Refusal, _refused)
    app.add_middleware(Gate, database=parts.database)
    app.openapi = lambda: _describe(app)  # type: ignore[method-assign]
    return app


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)  # noqa: S101 - registered for this class only
    return refuse(error)


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class only
    if error.status_code == 405:
        allowed = ", ".join(_methods_at(request))
        message = f"{request.method} is not possible here; allowed: {allowed}"
        return refuse(Refusal("METHOD_NOT_ALLOWED", message, headers={"Allow": allowed}))
    if error.status_code == 404:
        return refuse(Refusal("NOT_FOUND", f"No such path; the API lies under {API_PATH}"))
    return refuse(Refusal("VALIDATION_ERROR", str(error.detail)))


def _methods_at(request: Request) -> list[str]:
    methods = ("GET", "POST", "PATCH", "DELETE")
    routes = request.app.router.routes
    return [
        method
        for method in methods
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


def _describe(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        components = document.setdefault("components", {})
        schemas = components.setdefault("schemas", {})
        for body in _BODIES:
            described = body.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
            schemas.update(described.pop("$defs", {}))
            schemas[body.__name__] = described
        components["securitySchemes"] = {"apiKey": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"apiKey": []}]
        app.openapi_schema = document
    return app.openapi_schema
