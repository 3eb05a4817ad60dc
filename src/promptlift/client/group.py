"""How endpoints of one resource are asked: body checked and encoded, answer read as its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from pydantic import ValidationError as PydanticError

from promptlift.client.endpoints import ENDPOINTS, Endpoint
from promptlift.client.transport import Call, Transport
from promptlift.errors import UnexpectedResponse, ValidationError
from promptlift.schema.insights import RegenerateAnswer
from promptlift.schema.model import ApiModel, RequestModel
from promptlift.schema.pages import Done

if TYPE_CHECKING:
    from promptlift.schema.naming import Scheme

Model = TypeVar("Model", bound=ApiModel)
Body = TypeVar("Body", bound=RequestModel)


def _first_problems(error: PydanticError) -> dict[str, str]:
    """Field path to message. Pydantic's own text would repeat the input."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return {".".join(str(part) for part in p["loc"]) or "body": p["msg"] for p in problems[:10]}


def read_answer(endpoint: Endpoint, model: type[Model], data: Any, label: str) -> Model:
    """Read a decoded answer as its type.

    Raises
    ------
    UnexpectedResponse
        When it lacks what the API promises.
    """
    problems: dict[str, str] | None = None
    try:
        return model.from_wire(data)
    except PydanticError as error:
        problems = _first_problems(error)
    raise UnexpectedResponse(
        f"The answer of {endpoint.name} is not what the API promises", details=problems, request=label
    )


class Group:
    """Endpoints of one resource.

    Parameters
    ----------
    transport
        Sends the requests.
    scheme
        Naming scheme on the wire.
    """

    def __init__(self, transport: Transport, scheme: Scheme) -> None:
        self._transport = transport
        self._scheme = scheme

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.config.base_url!r})"

    def _ask(
        self,
        name: str,
        model: type[Model],
        identifier: str | None = None,
        *,
        params: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
    ) -> Model:
        endpoint = ENDPOINTS[name]
        repeatable = endpoint.repeat == "always" or (
            endpoint.repeat == "keyed" and bool(body and body.get("idempotencyKey"))
        )
        encoded = None
        if body is not None:
            encoded = _encode(body, f"{endpoint.method} {endpoint.path}")
        call = Call(
            endpoint.method,
            endpoint.path_for(self._scheme, identifier),
            params,
            encoded,
            repeatable=repeatable,
        )
        answer = self._transport.send(call)
        data = answer.data
        if model is RegenerateAnswer or model is Done:
            # unspecified: the body of these answers. A success status says it all.
            data = {"success": True, **data} if isinstance(data, dict) else {"success": True}
        return read_answer(endpoint, model, data, call.label)

    @staticmethod
    def _body(model: type[Body], values: dict[str, Any]) -> dict[str, Any]:
        """Check the fields of a body before it is sent, and write them with the API's names.

        Raises
        ------
        ValidationError
            With the API's names in ``details``; no request was made.
        """
        unknown = set(values) - set(model.model_fields)
        problems = dict.fromkeys(sorted(unknown), "Unknown field")
        if not problems:
            try:
                return model.model_validate(values).to_wire()
            except PydanticError as error:
                problems = _first_problems(error)
        raise ValidationError("The request was not sent: some fields cannot be right", details=problems)


def _encode(body: Any, label: str) -> bytes:
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ValidationError(f"The body cannot be written as JSON: {reason}", request=label)
