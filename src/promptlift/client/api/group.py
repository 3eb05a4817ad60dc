"""Call the endpoints of one resource: validate and encode the body, read the answer as its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import pydantic
from pydantic.alias_generators import to_snake

from promptlift.client.transport import Call, Transport
from promptlift.errors import UnexpectedResponse, ValidationError
from promptlift.schema.insights import RegenerateAnswer
from promptlift.schema.model import ApiModel, Done

if TYPE_CHECKING:
    from promptlift.schema.endpoints import Endpoint
    from promptlift.schema.model import RequestModel
    from promptlift.schema.naming import Scheme

Answer = TypeVar("Answer", bound=ApiModel)


def _first_problems(error: pydantic.ValidationError) -> dict[str, str]:
    """Map the path of each invalid field to a message. Pydantic's own text would repeat the input."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return {".".join(str(part) for part in p["loc"]) or "body": p["msg"] for p in problems[:10]}


def read_answer(endpoint: Endpoint[Answer], data: Any, label: str) -> Answer:
    """Read a decoded answer as its type.

    Raises
    ------
    UnexpectedResponse
        The answer lacks what the API promises.
    """
    problems: dict[str, str] | None = None
    try:
        return endpoint.answer.from_wire(data)
    except pydantic.ValidationError as error:
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

    def _send(self, endpoint: Endpoint[Answer], identifier: str | None = None, /, **fields: Any) -> Answer:
        """Send fields, under their Python names, as the body or the query of an endpoint, and read its answer.

        Raises
        ------
        ValidationError
            The body is invalid; no request was made.
        """
        query, body, keyed = fields, None, False
        if endpoint.body is not None:
            asked = endpoint.query.model_fields if endpoint.query else {}
            query = {name: fields.pop(name) for name in asked if name in fields}
            values = self._body(endpoint, endpoint.body, fields)
            body = _encode(values, endpoint.route)
            keyed = (
                _is_keyed(values) if endpoint.lines is None else all(map(_is_keyed, values[endpoint.lines]))
            )
        call = Call.to(endpoint, self._scheme, identifier, query=query, body=body, keyed=keyed)
        data = self._transport.send(call).data
        if endpoint.answer is RegenerateAnswer or endpoint.answer is Done:
            # unspecified: the body of these answers. A success status is enough.
            data = {"success": True, **data} if isinstance(data, dict) else {"success": True}
        return read_answer(endpoint, data, call.label)

    def _body(
        self, endpoint: Endpoint[Any], model: type[RequestModel], fields: dict[str, Any]
    ) -> dict[str, Any]:
        """Validate the fields of a body before it is sent, and return them with the API's names."""
        problems = dict.fromkeys(sorted(set(fields) - set(model.model_fields)), "Unknown field")
        # The service fills these in: here they need placeholders.
        left_out = [name for name, _ in endpoint.from_settings if to_snake(name) not in fields]
        if not problems:
            try:
                body = model.model_validate(
                    {**fields, **{to_snake(name): "?" for name in left_out}}
                ).to_wire()
            except pydantic.ValidationError as error:
                problems = _first_problems(error)
            else:
                for name in left_out:
                    del body[name]
                if endpoint.either:
                    body[self._scheme.link] = body.pop("promptId")
                return body
        raise ValidationError("The request was not sent: some fields are invalid", details=problems)


def _is_keyed(body: dict[str, Any]) -> bool:
    return bool(body.get("idempotencyKey"))


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not ``None``."""
    return {name: value for name, value in fields.items() if value is not None}


def _encode(body: Any, label: str) -> bytes:
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ValidationError(f"The body cannot be encoded as JSON: {reason}", request=label)
