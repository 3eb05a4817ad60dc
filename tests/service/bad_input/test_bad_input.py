"""Bad requests: each gets exactly its error, and nothing of it is stored."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from sqlalchemy import func, select

from promptlift.service.errors import STATUS_OF
from promptlift.service.store.tables import accounts, metadata, prompts

from .rows import TABLE, Bad
from .wrong import WITH_BODY, WITH_QUERY, wrong_bodies, wrong_queries

personas = metadata.tables["personas"]

OWNED = [table for table in metadata.sorted_tables if "account_id" in table.c]


@pytest.fixture(scope="module")
def prompt(wire):
    return wire.add_prompt(description="as it was")


@pytest.fixture(autouse=True)
def _nothing_is_stored(wire, database, prompt):
    """What an account has is the same afterwards: the rows of each kind, and those that a request could change."""

    def stored():
        with database.read() as connection:
            counts = [
                connection.scalar(
                    select(func.count()).select_from(one).where(one.c.account_id == wire.account)
                )
                for one in OWNED
            ]
            account = connection.execute(select(accounts).where(accounts.c.id == wire.account)).one()
            mine = [
                connection.execute(select(table).where(table.c.account_id == wire.account)).all()
                for table in (prompts, personas)
            ]
        return counts, account, mine

    before = stored()
    yield
    assert stored() == before
    assert wire.get(f"/prompts/{prompt}")["description"] == "as it was"


def check(wire, bad, prompt=""):
    raw = bad.raw()
    raw = raw and raw.replace(b"{prompt}", prompt.encode())
    method, path = bad.request.replace("{prompt}", prompt).split(" ", 1)
    answer = wire.ask(method, path, raw=raw, headers=bad.headers)
    message = bad.message or f"Invalid value: {', '.join(bad.details)}"
    said = answer.status, answer.error["code"], answer.error["message"]
    assert said == (STATUS_OF[bad.code], bad.code, message), bad
    assert set(answer.body) == {"error"}, bad
    assert set(answer.error) == {"code", "message"} | ({"details"} if bad.details else set()), bad
    details = answer.error.get("details", {})
    assert set(details) == set(bad.details or {}), bad
    for name, expected in (bad.details or {}).items():
        is_pattern = isinstance(expected, re.Pattern)
        assert expected.fullmatch(details[name]) if is_pattern else details[name] == expected, bad


def requests_of(endpoint):
    """Method and path of an endpoint under every scheme, for an id of nobody."""
    return [
        f"{endpoint.method} {endpoint.path_in(scheme).replace('{id}', 'none')}"
        for scheme in endpoint.served_schemes()
    ]


def test_bad_requests_get_exactly_their_errors_and_leave_nothing(wire, prompt):
    for bad in TABLE:
        check(wire, bad, prompt)


def test_every_field_of_every_body_is_refused_by_its_path_where_it_does_not_fit_its_schema(wire):
    for endpoint in WITH_BODY:
        for request in requests_of(endpoint):
            for path, body, said in wrong_bodies(endpoint):
                check(wire, Bad(request, body, {path: said}))


def test_every_parameter_is_refused_by_its_name_where_it_does_not_fit_its_schema(wire):
    for endpoint in WITH_QUERY:
        for request in requests_of(endpoint):
            for name, value, said in wrong_queries(endpoint):
                check(wire, Bad(f"{request}?{name}={quote(value)}", None, {name: said}))


def test_a_body_is_a_json_object_and_says_so(wire):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    no_json = {"body": re.compile(r"is not valid JSON: .+ at line 1 column \d+")}
    for endpoint in WITH_BODY:
        for request in requests_of(endpoint):
            check(wire, Bad(request, b"url=https://x", no_json, "The body is not valid JSON"))
            for body in ([{}], "hello", b"null"):
                check(
                    wire,
                    Bad(request, body, {"body": "must be a JSON object"}, "The body must be a JSON object"),
                )
            message = "Send the body as JSON with the header Content-Type: application/json"
            details = {"Content-Type": "must be application/json"}
            check(wire, Bad(request, {}, details, message, "UNSUPPORTED_MEDIA_TYPE", form))
            if not endpoint.body_optional:
                message = "The request has no body; send a JSON object"
                check(wire, Bad(request, b"", {"body": "Required"}, message))
