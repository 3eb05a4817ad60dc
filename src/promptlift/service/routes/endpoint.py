"""How an endpoint is declared, so that the generated API description says what really comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from promptlift.schema.pages import ErrorBody
from promptlift.service.errors import STATUS_OF
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic import BaseModel
    from starlette.requests import Request
    from starlette.responses import Response

    Handler = Callable[[Request], Awaitable[Response]]

_ALWAYS = ("INVALID_API_KEY", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE")
_WITH_BODY = ("VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE")


def parameter(name: str, kind: dict[str, Any], description: str) -> dict[str, Any]:
    """Describe a query parameter."""
    return {"name": name, "in": "query", "required": False, "schema": kind, "description": description}


class Endpoints:
    """All endpoints: as routes that answer, and as descriptions of them.

    Requests go straight to the handlers. FastAPI, which would work on each of them a second time, only generates
    the API description, and is loaded when somebody asks for that.

    Attributes
    ----------
    routes
        For the application.
    descriptions
        Arguments of FastAPI's ``add_api_route``.
    """

    def __init__(self) -> None:
        self.routes: list[Route] = []
        self.descriptions: list[dict[str, Any]] = []


def add(
    endpoints: Endpoints,
    method: str,
    path: str,
    handler: Handler,
    *,
    answer: type[BaseModel],
    status: int = 200,
    also: Sequence[int] = (),
    body: type[BaseModel] | None = None,
    body_optional: bool = False,
    query: Sequence[dict[str, Any]] = (),
    errors: Sequence[str] = (),
    summary: str,
    operation: str,
) -> None:
    """Add an endpoint with its description.

    Parameters
    ----------
    status, also
        Status of success, and others that come with the same answer.
    body_optional
        Whether a request without a body is the same as one with an empty object.
    errors
        Error codes beside those that every endpoint and every body can have.
    """
    codes = [
        *_ALWAYS,
        *errors,
        *(_WITH_BODY if body is not None else ()),
        *(("VALIDATION_ERROR",) if query else ()),
    ]
    if "{id}" in path:
        codes.append("NOT_FOUND")
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes):
        by_status.setdefault(STATUS_OF[code], []).append(code)
    responses: dict[int | str, dict[str, Any]] = {
        number: {"model": answer, "description": "Success"} for number in (status, *also)
    }
    for number, names in sorted(by_status.items()):
        responses[number] = {"model": ErrorBody, "description": " or ".join(names)}
    extra: dict[str, Any] = {"parameters": [*_path_parameters(path), *query]}
    if body is not None:
        extra["requestBody"] = {
            "required": not body_optional,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{body.__name__}"}}},
        }
    endpoints.routes.append(Route(API_PATH + path, handler, methods=[method]))
    endpoints.descriptions.append(
        {
            "path": API_PATH + path,
            "endpoint": _only_described,
            "methods": [method],
            "status_code": status,
            "response_model": None,
            "responses": responses,
            "summary": summary,
            "description": "",
            "operation_id": operation,
            "openapi_extra": extra,
        }
    )


async def _only_described() -> None:
    """Stand in for the handler in the description."""


def _path_parameters(path: str) -> list[dict[str, Any]]:
    if "{id}" not in path:
        return []
    return [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
