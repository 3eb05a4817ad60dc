"""Call the endpoints of one resource: check and encode the body, read the answer as its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import pydantic

from promptlift.client.transport import Call, Transport
from promptlift.errors import UnexpectedResponse, ValidationError
from promptlift.schema.insights import RegenerateAnswer
from promptlift.schema.model import ApiModel, RequestModel
from promptlift.schema.pages import Done

if TYPE_CHECKING:
    from promptlift.schema.endpoint import Endpoint
    from promptlift.schema.naming import Scheme

Answer = TypeVar("Answer", bound=ApiModel)
Body = TypeVar("Body", bound=RequestModel)


def _first_problems(error: pydantic.ValidationError) -> dict[str, str]:
    """Map the path of each invalid field to a message. Pydantic's own text would repeat the input."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return {".".join(str(part) for part in p["loc"]) or "body": p["msg"] for p in problems[:10]}


def read_answer(endpoint: Endpoint[Answer], data: Any, label: str) -> Answer:
    """Read a decoded answer as its type.

    Raises
    ------
    UnexpectedResponse
        When it lacks what the API promises.
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

    def _send(
        self,
        endpoint: Endpoint[Answer],
        identifier: str | None = None,
        *,
        params: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
    ) -> Answer:
        encoded = None if body is None else _encode(body, f"{endpoint.method} {endpoint.path}")
        keyed = bool(body and body.get("idempotencyKey"))
        call = Call.to(endpoint, self._scheme, identifier, query=params, body=encoded, keyed=keyed)
        data = self._transport.send(call).data
        if endpoint.answer is RegenerateAnswer or endpoint.answer is Done:
            # unspecified: the body of these answers. A success status says it all.
            data = {"success": True, **data} if isinstance(data, dict) else {"success": True}
        return read_answer(endpoint, data, call.label)

    @staticmethod
    def _body(model: type[Body], values: dict[str, Any]) -> dict[str, Any]:
        """Validate the fields of a body before it is sent, and return them with the API's names.

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
            except pydantic.ValidationError as error:
                problems = _first_problems(error)
        raise ValidationError("The request was not sent: some fields cannot be right", details=problems)


def _encode(body: Any, label: str) -> bytes:
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ValidationError(f"The body cannot be written as JSON: {reason}", request=label)
