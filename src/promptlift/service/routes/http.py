"""From requests to values and from values to answers: bodies, query parameters, JSON, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson
from pydantic import ValidationError as PydanticError
from starlette.responses import Response

from promptlift.schema import limits
from promptlift.schema.transcript import json_depth
from promptlift.service.errors import ApiException, invalid, too_large

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails
    from starlette.requests import Request

    from promptlift.schema.model import RequestModel
    from promptlift.service.store.accounts import Caller

Body = TypeVar("Body", bound="RequestModel")

# How much of a body that is too large is read and thrown away, so that the sender gets to see the answer.
_DRAIN_BYTES = 16 * limits.BODY_BYTES
_ID_CHARS = 64
_OFFSET_MAX = 2**53


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(
        orjson.dumps(content), status_code=status, headers=dict(headers or {}), media_type="application/json"
    )


def refuse(refusal: ApiException) -> Response:
    """The answer of a refusal."""
    return answer(refusal.body(), refusal.status, refusal.headers)


def caller_of(request: Request) -> Caller:
    """Who sends the request; the gate has seen the key."""
    return cast("Caller", request.state.caller)


def path_id(request: Request) -> str:
    """The id in the path. What cannot be an id of ours becomes one that nothing has."""
    value = str(request.path_params["id"])
    return value if len(value) <= _ID_CHARS and value.isascii() and value.isprintable() else ""


async def read_body(
    request: Request, model: type[Body], *, either: Sequence[str] = (), optional: bool = False
) -> Body:
    """Read a JSON object and check it against its model.

    Parameters
    ----------
    either
        Names of which one is needed; told with the other problems when none is there.
    optional
        Whether no body is the same as an empty object.

    Raises
    ------
    ApiException
        ``UNSUPPORTED_MEDIA_TYPE``, ``PAYLOAD_TOO_LARGE``, or ``VALIDATION_ERROR`` by dotted path.
    """
    raw = await _bounded(request)
    if optional and not raw.strip():
        raw = b"{}"
    else:
        _check_type(request)
    document = decode(raw)
    try:
        # By the API's names only: Python's would be unknown fields to anybody else.
        return model.model_validate(document, by_alias=True, by_name=False)
    except PydanticError as error:
        missing = (
            {} if any(name in document for name in either) else dict.fromkeys(either[:1], "Required field")
        )
        raise invalid({**missing, **details_of(error.errors(include_url=False))}) from None


def _check_type(request: Request) -> None:
    declared = request.headers.get("content-type")
    if declared is None:
        return
    kind = declared.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ApiException(
            "UNSUPPORTED_MEDIA_TYPE",
            "Send the body as JSON with the header Content-Type: application/json",
            details={"Content-Type": "must be application/json"},
        )


async def _bounded(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    parts: list[bytes] = []
    size = 0
    over = declared.isdecimal() and int(declared) > limits.BODY_BYTES
    if not (declared.isdecimal() and int(declared) > _DRAIN_BYTES):
        async for part in request.stream():
            size += len(part)
            over = over or size > limits.BODY_BYTES
            if size > _DRAIN_BYTES:
                break
            if over:
                parts.clear()
            else:
                parts.append(part)
    if over:
        raise too_large("body", f"The body is over {limits.BODY_BYTES} bytes")
    return b"".join(parts)


def decode(raw: bytes) -> dict[str, Any]:
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
            {"body": f"is nested deeper than {limits.JSON_DEPTH} levels"}, "The body is nested too deep"
        )
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise invalid({"body": problem}, "The body is not valid JSON") from None
    if not isinstance(document, dict):
        raise invalid({"body": "must be a JSON object"}, "The body must be a JSON object")
    return document


def details_of(errors: Sequence[ErrorDetails]) -> dict[str, str]:
    """Map every error of a body from its dotted path to a message."""
    return {_path(error["loc"]): _message(error) for error in errors}


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
    bounds = {
        "greater_than_equal": ("must be at least", "ge"),
        "less_than_equal": ("must be at most", "le"),
        "string_too_long": ("must have at most", "max_length"),
        "string_too_short": ("must have at least", "min_length"),
        "too_long": ("must have at most", "max_length"),
        "too_short": ("must have at least", "min_length"),
    }
    if kind in bounds:
        words, name = bounds[kind]
        unit = " characters" if kind.startswith("string") else " entries" if kind.startswith("too") else ""
        bound = context[name]
        return f"{words} {int(bound) if bound == int(bound) else bound}{unit}"
    return error["msg"]


class Query:
    """Query parameters, read one by one; all that is wrong is said at once by `check`."""

    def __init__(self, request: Request) -> None:
        self._values = request.query_params
        self._problems: dict[str, str] = {}

    def text(self, name: str) -> str | None:
        """A text, ``None`` when absent or empty."""
        value = self._values.get(name) or None
        if value is None:
            return None
        if "\x00" in value:
            self._problems[name] = "must not contain a NUL character"
            return None
        if len(value) > limits.DESCRIPTION_CHARS:
            self._problems[name] = f"must have at most {limits.DESCRIPTION_CHARS} characters"
            return None
        return value

    def words(self, name: str, most: int) -> list[str]:
        """Different words between commas, none when absent."""
        given = (word.strip() for word in (self.text(name) or "").split(","))
        words = list(dict.fromkeys(word for word in given if word))
        if len(words) > most:
            self._problems[name] = f"must have at most {most} entries"
        return words

    def choice(self, name: str, allowed: Sequence[str], default: str | None = None) -> str | None:
        """One of some words."""
        value = self._values.get(name)
        if value is None:
            return default
        if value not in allowed:
            self._problems[name] = f"must be one of {', '.join(allowed)}"
        return value

    def flag(self, name: str, *, default: bool | None = None) -> bool | None:
        """``true`` or ``false``."""
        value = self._values.get(name)
        if value is None:
            return default
        if value not in ("true", "false"):
            self._problems[name] = "must be true or false"
        return value == "true"

    def page(self, default_limit: int) -> tuple[int, int]:
        """``limit`` and ``offset``."""
        limit = self._number("limit", default_limit, 1, limits.LIST_LIMIT_MAX)
        return limit, self._number("offset", 0, 0, _OFFSET_MAX)

    def _number(self, name: str, default: int, low: int, high: int) -> int:
        value = self._values.get(name)
        if value is None:
            return default
        if not value.isascii() or not value.isdecimal() or len(value) > 16 or not low <= int(value) <= high:
            self._problems[name] = f"must be a whole number from {low} to {high}"
            return default
        return int(value)

    def check(self) -> None:
        """Refuse the request when a parameter was wrong."""
        if self._problems:
            raise invalid(self._problems)
