"""Serve an endpoint: read and validate its requests, ask its action, and write the answer or the error as JSON."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import pydantic
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from promptlift.schema import limits
from promptlift.schema.model import ApiModel, LinkedModel
from promptlift.schema.transcript import json_depth
from promptlift.service.call import Call
from promptlift.service.errors import ApiException, invalid, too_large
from promptlift.service.otlp.decode import decompress
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails
    from starlette.requests import Request

    from promptlift.schema.endpoints import Endpoint
    from promptlift.schema.naming import Scheme
    from promptlift.service.call import AnyCall, AppContext, EndpointAction
    from promptlift.service.store.accounts import Caller

Model = TypeVar("Model", bound=pydantic.BaseModel)

# Multiple of the limit up to which an oversized body is read and discarded, so that the sender still receives
# the answer.
_DRAINED = 16
_ID_CHARS = 64
_IS_JSON = re.compile(r"application/.*\+json")
_LINES = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")


def serve(endpoint: Endpoint[Any], scheme: Scheme, action: EndpointAction, context: AppContext) -> Route:
    """Make the route of an endpoint in one naming scheme."""
    # Looked up once, not per request.
    has_id, is_get = endpoint.has_id, endpoint.method == "GET"
    is_async = inspect.iscoroutinefunction(action.answer)
    links = (scheme.link,) if "{segment}" in endpoint.path else action.links

    async def handle(request: Request) -> Response:
        caller: Caller = request.state.caller  # whose key authentication has checked
        # The last value of a repeated parameter counts.
        query = None if endpoint.query is None else validated(endpoint.query, dict(request.query_params), {})
        body = None if endpoint.body is None else await _read_body(request, endpoint, context, caller)
        row_id = str(request.path_params["id"]) if has_id else ""
        if len(row_id) > _ID_CHARS or not (row_id.isascii() and row_id.isprintable()):
            row_id = ""  # which matches nothing
        call: AnyCall = Call(context, caller, scheme, row_id, body, query)
        if action.check is not None:
            await action.check(call)
        if is_async:
            content = await action.answer(call)
        elif action.threads is not None:
            content = await asyncio.get_running_loop().run_in_executor(action.threads, action.answer, call)
        else:
            content = await run_in_threadpool(action.answer, call)
        if isinstance(content, ApiModel):
            content = _wire(content, call.links or links)
        status = call.status or endpoint.status
        return answer_to_get(request, content, status) if is_get else answer(content, status)

    return Route(API_PATH + endpoint.path_in(scheme), handle, methods=[endpoint.method])


def _wire(model: ApiModel, links: tuple[str, ...]) -> dict[str, object]:
    """Encode an answer; a resource of a prompt links to it under these names."""
    document = model.to_wire()
    items = getattr(model, "data", None)
    if items and isinstance(items[0], LinkedModel):
        document["data"] = [item and _linked(item, links) for item in document["data"]]
    return _linked(document, links) if isinstance(model, LinkedModel) else document


def _linked(document: dict[str, object], links: tuple[str, ...]) -> dict[str, object]:
    linked: dict[str, object] = {}
    for key, value in document.items():
        linked |= dict.fromkeys(links if key == "promptId" else (key,), value)
    return linked


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON answer."""
    return Response(
        orjson.dumps(content), status_code=status, headers=dict(headers or {}), media_type="application/json"
    )


def answer_to_get(request: Request, content: Any, status: int = 200) -> Response:
    """Return a JSON answer with an ``ETag``; 304 without a body if the client already has it."""
    # unspecified: conditional requests.
    body = orjson.dumps(content)
    tag = f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    # The answer is private to the account, which the key determines.
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if given := request.headers.get("if-none-match"):
        known = [one.strip().removeprefix("W/") for one in given.split(",")]
        if tag in known or known == ["*"]:
            return Response(status_code=304, headers=headers)
    return Response(body, status_code=status, headers=headers, media_type="application/json")


def refuse(refusal: ApiException) -> Response:
    """Return the answer that refuses a request."""
    return answer(refusal.body(), refusal.status, refusal.headers)


async def _read_body(
    request: Request, endpoint: Endpoint[Any], context: AppContext, caller: Caller
) -> pydantic.BaseModel:
    """Read a JSON object and validate it with its model; some omitted fields come from the account's settings.

    Raises
    ------
    ApiException
        ``UNSUPPORTED_MEDIA_TYPE``, ``PAYLOAD_TOO_LARGE``, or ``VALIDATION_ERROR`` by dotted path.
    """
    assert endpoint.body is not None  # noqa: S101 - read only then
    raw = await bounded_body(request, limits.BODY_BYTES if endpoint.lines is None else limits.BULK_BODY_BYTES)
    kind = media_type(request)
    in_lines = endpoint.lines is not None and kind in _LINES
    if endpoint.body_optional and not raw.strip():
        raw = b"{}"
    elif kind not in ("", "application/json") and not in_lines and not _IS_JSON.fullmatch(kind):
        raise ApiException(
            "UNSUPPORTED_MEDIA_TYPE",
            "Send the body as JSON with the header Content-Type: application/json",
            details={"Content-Type": "must be application/json"},
        )
    if endpoint.lines is None:
        document = decode(raw)
    else:
        encoding = request.headers.get("content-encoding", "").strip().lower()
        document = await run_in_threadpool(_decode_many, raw, encoding, endpoint.lines if in_lines else None)
    if endpoint.from_settings and (omitted := dict(endpoint.from_settings).keys() - document.keys()):
        general = await run_in_threadpool(context.general, caller.account_id)
        document |= {
            name: general[setting]
            for name, setting in endpoint.from_settings
            if name in omitted and general[setting].strip()
        }
    # If one of several fields is required, the first is reported with the other problems.
    missing = (
        {} if document.keys() & endpoint.either else dict.fromkeys(endpoint.either[:1], "Required field")
    )
    return validated(endpoint.body, document, missing)


def validated(model: type[Model], document: Any, missing: Mapping[str, str]) -> Model:
    """Validate a decoded body, or a query, with its model; ``missing`` is reported with the other problems.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` by dotted path.
    """
    try:
        # Only the API's names are valid, not the Python names of the fields.
        return model.model_validate(document, by_alias=True, by_name=False)
    except pydantic.ValidationError as error:
        found = {_path(one["loc"]): _message(one) for one in error.errors(include_url=False)}
        raise invalid({**missing, **found}) from None


def _decode_many(raw: bytes, encoding: str, lines: str | None) -> dict[str, object]:
    """Decode a body that may be compressed: a JSON object, or one entry of the field ``lines`` on each line."""
    plain = decompress(raw, encoding, limits.BULK_BODY_BYTES)
    if lines is None:
        return decode(plain)
    return {lines: [_line(line) for line in plain.split(b"\n") if line.strip()]}


def _line(line: bytes) -> Any:
    """Decode a line; an undecodable line stays bytes, which are never a valid object."""
    if json_depth(line) > limits.JSON_DEPTH:
        return line
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return line


def media_type(request: Request) -> str:
    """Return the declared media type of a request's body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def bounded_body(request: Request, most: int) -> bytes:
    """Read a body of a bounded size.

    Raises
    ------
    ApiException
        ``PAYLOAD_TOO_LARGE``.
    """
    header = request.headers.get("content-length", "")
    declared = int(header) if header.isdecimal() else 0
    drained = _DRAINED * most
    parts: list[bytes] = []
    size = 0
    over = declared > most
    if declared <= drained:
        async for part in request.stream():
            size += len(part)
            over = over or size > most
            if size > drained:
                break
            if over:
                parts.clear()
            else:
                parts.append(part)
    if over:
        raise too_large("body", f"The body is over {most} bytes")
    return b"".join(parts)


def decode(raw: bytes) -> dict[str, object]:
    """Decode the JSON object of a body.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``body``.
    """
    if not raw.strip():
        raise invalid({"body": "Required"}, "The request has no body; send a JSON object")
    if json_depth(raw) > limits.JSON_DEPTH:
        raise invalid(
            {"body": f"is nested deeper than {limits.JSON_DEPTH} levels"}, "The body is nested too deeply"
        )
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise invalid({"body": problem}, "The body is not valid JSON") from None
    if not isinstance(document, dict):
        raise invalid({"body": "must be a JSON object"}, "The body must be a JSON object")
    return document


def _path(location: Sequence[int | str]) -> str:
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return parts.lstrip(".") or "body"


_TYPES = {
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "datetime_type": "must be an ISO 8601 time such as 2026-01-31T09:30:00Z",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "missing": "Required field",
    "extra_forbidden": "Unknown field",
}
# By kind: the words, the name of the bound, and its unit.
_BOUNDS = {
    "greater_than": ("must be greater than", "gt", ""),
    "greater_than_equal": ("must be at least", "ge", ""),
    "less_than_equal": ("must be at most", "le", ""),
    "string_too_long": ("must have at most", "max_length", " characters"),
    "string_too_short": ("must have at least", "min_length", " characters"),
    "too_long": ("must have at most", "max_length", " entries"),
    "too_short": ("must have at least", "min_length", " entries"),
}


def _message(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "literal_error":
        return f"must be one of {context['expected'].replace(' or ', ', ')}".replace("'", "")
    if kind in ("string_too_short", "too_short") and context.get("min_length") == 1:
        return "must not be empty"
    if kind == "value_error":
        return str(context["error"])
    if kind in _BOUNDS:
        words, name, unit = _BOUNDS[kind]
        bound = context[name]
        return f"{words} {int(bound) if bound == int(bound) else bound}{unit}"
    return error["msg"]
