"""Requests as bytes on a real socket, and answers that are checked against the service's own description."""

from __future__ import annotations

import http.client
import json
import secrets
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from promptlift.schema.endpoints import ENDPOINTS
from promptlift.schema.naming import SCHEMES, Scheme, SchemeName
from promptlift.service.store import accounts
from support.service_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator

    from promptlift.schema.limits import PlanName
    from promptlift.service.store.database import Database

METHODS = ("GET", "POST", "PATCH", "DELETE")


def _endpoints(*, specified: bool) -> tuple[str, ...]:
    return tuple(
        f"{row.method} {row.path_in(scheme)}"
        for row in ENDPOINTS.values()
        for scheme in row.served_schemes()
        if row.is_specified(scheme) is specified
    )


# The endpoints that the table says are of the specification; agreement/statements.txt has the specification's own rows.
SPECIFIED = _endpoints(specified=True)
# What the embedded service offers beyond it: each scheme has what the other one has.
OFFERED = _endpoints(specified=False)
# These need no key, and lie beside the API.
KEYLESS = ("GET /healthz", "GET /readyz", "GET /openapi.json")
# These lie beside the API too, and need one.
BESIDE = ("GET /metrics", "POST /v1/traces", "POST /v1/logs")


_BODIES: dict[str, dict[str, Any]] = {
    "/restore": {"versionId": "ver_1"},
    "/review": {"variantId": "var_1"},
    "/lookup": {"ids": ["cnv_1"]},
    "/align": {"labels": [{"conversationId": "cnv_1", "value": True}]},
    "/learned-judge": {"labels": [{"conversationId": "cnv_1", "completed": True}]},
    "/experiments": {"weights": {"v1": 0.5}},
    "/topics": {"topic": 1, "name": "stolen"},
}


def body_for(method: str, path: str) -> dict[str, Any] | None:
    """A body that is in order by itself, so that an id of nobody is what is wrong."""
    for ending, body in _BODIES.items():
        if path.endswith(ending) and (method in ("POST", "PATCH") or ending == "/review"):
            return body
    return {"name": "stolen"} if method == "PATCH" else None


def path_for(path: str) -> str:
    """A path with the query that it cannot do without."""
    return f"{path}?unit=u" if path.endswith("/resolve") else path


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> Any:
        return self.body["error"]


@dataclass
class Wire:
    """Sends requests of one account.

    Every answer must be JSON, and valid for what ``/openapi.json`` says of its endpoint and status.
    """

    base_url: str
    key: str
    account: str = ""
    scheme: Scheme = SCHEMES["prompt"]
    headers: dict[str, str] = field(default_factory=dict)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str | None] | None = None,
    ) -> Answer:
        """Send a request; ``raw`` is a body that is sent as it is. A header of ``None`` is left out."""
        parts = urlsplit(self.base_url)
        sent = {"Authorization": f"Bearer {self.key}", **self.headers, **(headers or {})}
        payload = raw if raw is not None or body is None else json.dumps(body).encode()
        if payload is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        try:
            connection.request(
                method,
                parts.path + path,
                payload,
                {name: value for name, value in sent.items() if value is not None},
            )
            response = connection.getresponse()
            answer = Answer(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )
        finally:
            connection.close()
        if method != "HEAD":
            described(self.base_url, method, path, answer)
        return answer

    def get(self, path: str) -> Any:
        """Body of a GET that succeeds."""
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def add_prompt(self, **fields: Any) -> str:
        """Create a prompt and give its id."""
        body = {"name": "Support", "content": "You help.", "llmModel": "gpt-4o", **fields}
        answer = self.ask("POST", f"/{self.scheme.segment}", body)
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def log(self, prompt_id: str, content: str = "User: hi\nAssistant: hello", **fields: Any) -> str:
        """Log a conversation and give its id."""
        answer = self.ask(
            "POST", "/conversations", {self.scheme.link: prompt_id, "content": content, **fields}
        )
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def wait_for_insights(self, prompt_id: str) -> None:
        """Wait until no conversation of a prompt is without insights."""
        path = f"/conversations?promptId={prompt_id}&hasInsights=false&limit=1"
        wait_until(
            lambda: self.get(path)["pagination"]["total"] == 0,
            what="all conversations have insights",
            seconds=110,
        )


def open_account(
    base_url: str, database: Database, *, plan: PlanName = "enterprise", scheme: SchemeName = "prompt"
) -> Wire:
    """Make an account with a key of its own in the database of a service; nobody else's rows are in it."""
    key = f"test_{secrets.token_urlsafe(32)}"
    with database.write() as connection:
        account = accounts.create(connection, name="Agreement", email="a@example.test", plan=plan)
        accounts.add_key(connection, account, key, name="test")
    return Wire(base_url, key, account, SCHEMES[scheme])


@cache
def description(base_url: str) -> dict[str, Any]:
    """``/openapi.json`` of a service."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=60)
    try:
        connection.request("GET", "/openapi.json")
        response = connection.getresponse()
        assert response.status == 200
        document: dict[str, Any] = json.loads(response.read())
        return document
    finally:
        connection.close()


@cache
def validator(base_url: str, path: str, method: str, status: int) -> Draft202012Validator | None:
    """What a described answer must look like; ``None`` when it is not described."""
    from jsonschema import Draft202012Validator  # takes a second

    document = description(base_url)
    answer = document["paths"].get(path, {}).get(method.lower(), {}).get("responses", {}).get(str(status))
    if answer is None:
        return None
    schema = answer["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


def template_of(path: str) -> str:
    """Path of the specification that a request path stands for."""
    bare = path.partition("?")[0]
    segments = bare.strip("/").split("/")
    if len(segments) > 1 and bare not in {row.path for row in ENDPOINTS.values()}:
        segments[1] = "{id}"
    return "/" + "/".join(segments)


def described(base_url: str, method: str, path: str, answer: Answer) -> None:
    """Check an answer against the description of its endpoint, or against the one error shape."""
    if answer.status == 304:
        assert answer.raw == b""
        assert (
            "304"
            in description(base_url)["paths"][f"/api/v1{template_of(path)}"][method.lower()]["responses"]
        )
        return
    assert answer.headers["content-type"] == "application/json", answer
    found = validator(base_url, f"/api/v1{template_of(path)}", method, answer.status)
    if found is None:
        assert answer.status in (404, 405), (
            f"{method} {path} answered {answer.status}, which is not described"
        )
        found = validator(base_url, "/api/v1/account", "GET", 401)
        assert found is not None
    problems = [f"{list(error.absolute_path)}: {error.message}" for error in found.iter_errors(answer.body)]
    assert not problems, (method, path, answer.status, problems)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and value of everything in a decoded answer; lists are ``[]``."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value
