"""One endpoint of the API as a value: its input, its answer and whether it may be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar
from urllib.parse import quote

from promptlift.errors import ValidationError
from promptlift.schema.naming import SCHEMES

if TYPE_CHECKING:
    from promptlift.schema.model import ApiModel, RequestModel
    from promptlift.schema.naming import Scheme, SchemeName
    from promptlift.schema.queries import QueryModel

Answer = TypeVar("Answer", bound="ApiModel")
Repeat = Literal["always", "keyed", "never"]


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[Answer]):
    """One row of the API.

    Attributes
    ----------
    name
        Group and action, such as ``prompts.list``.
    route
        Method and path, such as ``GET /{segment}/{id}``: ``{segment}`` is the path segment of the naming scheme, ``{id}``
        an identifier.
    answer
        Type of the answer.
    summary
        One line for the description of the API; ``{noun}`` is ``prompt`` or ``agent``, and ``{a_noun}``
        includes the article.
    query
        Query parameters, if there are any.
    body
        Type of the body, if there is one.
    body_optional
        Whether no body means the same as an empty object.
    either
        Fields of the body of which one is required.
    lines
        The field of the body whose list may also be sent as lines of JSON (``application/x-ndjson``); such a
        body may be large, and compressed with gzip.
    from_settings
        Fields of the body whose defaults are general settings of the account.
    status, also
        Status of success, and other statuses with the same answer.
    errors
        Error codes in addition to those implied by the path, the query and the body.
    repeat
        Whether a client may send a request that is not a ``GET`` again after a failure: ``always`` (repeating
        has no further effect), ``keyed`` (only with an idempotency key) or ``never``.
    schemes
        Naming schemes in which this row describes the endpoint. Only a path with ``{segment}`` differs between them.
    specified
        Naming schemes in which the specification has the endpoint.
    """

    name: str
    route: str
    answer: type[Answer]
    summary: str
    query: type[QueryModel] | None = None
    body: type[RequestModel] | None = None
    body_optional: bool = False
    either: tuple[str, ...] = ()
    lines: str | None = None
    from_settings: tuple[tuple[str, str], ...] = ()
    status: int = 200
    also: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()
    repeat: Repeat = "never"
    schemes: tuple[SchemeName, ...] = ("prompt", "agent")
    specified: tuple[SchemeName, ...] = ("prompt", "agent")

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path, with ``{segment}`` and ``{id}`` left in place."""
        return self.route.partition(" ")[2]

    @property
    def has_id(self) -> bool:
        """Whether the path contains an identifier."""
        return "{id}" in self.path

    def served_schemes(self) -> tuple[Scheme, ...]:
        """Return the schemes under which a service answers it, only one if the path is the same in both."""
        names = self.schemes if "{segment}" in self.path else self.schemes[:1]
        return tuple(SCHEMES[name] for name in names)

    def operation_in(self, scheme: Scheme) -> str:
        """Return the identifier of the operation in the description of the API, such as ``agents_list``."""
        name = self.name.removeprefix("prompts.").removeprefix("agents.")
        if "{segment}" in self.path:
            name = f"{scheme.segment}.{name}"
        return name.replace(".", "_")

    def path_in(self, scheme: Scheme) -> str:
        """Return the path of a scheme, with ``{id}`` left in place."""
        return self.path.replace("{segment}", scheme.segment)

    def path_for(self, scheme: Scheme, identifier: str | None = None) -> str:
        """Fill in the path; an identifier is opaque and becomes one percent-encoded segment.

        Raises
        ------
        ValidationError
            The path needs an identifier, and it is missing, empty or not a string.
        """
        path = self.path_in(scheme)
        if not self.has_id:
            return path
        if not isinstance(identifier, str) or not identifier:
            raise ValidationError(
                "An id is required but was not given",
                details={"id": "must be a non-empty string"},
                request=f"{self.method} {path}",
            )
        return path.replace("{id}", encode_id(identifier))

    def is_repeatable(self, *, keyed: bool) -> bool:
        """Return whether a client may send a request again after a failure; ``keyed`` if it has an idempotency key."""
        return self.method == "GET" or self.repeat == "always" or (self.repeat == "keyed" and keyed)

    def is_specified(self, scheme: Scheme) -> bool:
        """Return whether the specification has the endpoint in this scheme."""
        return scheme.name in self.specified


@dataclass(frozen=True, slots=True)
class OwnEndpoint(Endpoint[Answer]):
    """An endpoint that the specification does not have."""

    specified: tuple[SchemeName, ...] = ()


def encode_id(identifier: str) -> str:
    """Percent-encode an identifier as one path segment; a dot alone would mean another path."""
    if identifier in (".", ".."):
        return identifier.replace(".", "%2E")
    return quote(identifier.encode("utf-8", "surrogatepass"), safe="")
