"""Bad requests: each gets exactly its error, and nothing of it is stored."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import func, select

from promptlift.schema.endpoints import ENDPOINTS
from promptlift.service.store.database import Database
from promptlift.service.store.tables import accounts, metadata, optimizations, personas, prompts
from support.optimizing import tiny
from support.wire import Wire, open_account

from .addresses import PARAMETERS, ROUTES
from .benchmarks import BENCHMARKS
from .bodies import BODIES
from .conversations import CONVERSATIONS
from .headers import HEADERS
from .labels import LABELS
from .optimizations import OPTIMIZATIONS
from .personas import PERSONAS
from .prompts import PROMPTS
from .settings import SETTINGS
from .sizes import SIZES
from .versions import VERSIONS
from .webhooks import WEBHOOKS

GROUPS = {
    "bodies": BODIES,
    "headers": HEADERS,
    "prompts": PROMPTS,
    "conversations": CONVERSATIONS,
    "sizes": SIZES,
    "parameters": PARAMETERS,
    "routes": ROUTES,
    "settings": SETTINGS,
    "optimizations": OPTIMIZATIONS,
    "personas": PERSONAS,
    "versions": VERSIONS,
    "benchmarks": BENCHMARKS,
    "webhooks": WEBHOOKS,
    "labels": LABELS,
}
TABLE = [bad for group in GROUPS.values() for bad in group]
OWNED = [table for table in metadata.sorted_tables if "account_id" in table.c]


@pytest.fixture(scope="module")
def database(service):
    opened = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wire(service, database) -> Wire:
    return open_account(service.base_url, database)


def ids_of(wire, prefix=""):
    """The ids that rows name, of one account."""
    prompt_id = wire.add_prompt(description="as it was")
    optimization = tiny(wire, prompt_id)["id"]
    persona = wire.ask("POST", "/personas", {"name": "as it was", "description": "d"}).body["id"]
    return {
        f"{{{prefix}{name}}}": one
        for name, one in (
            ("prompt", prompt_id),
            ("optimization", optimization),
            ("variant", wire.get(f"/optimizations/{optimization}/variants")["data"][1]["id"]),
            ("persona", persona),
            ("version", wire.get(f"/prompts/{prompt_id}/versions")["data"][0]["id"]),
        )
    }


@pytest.fixture(scope="module")
def ids(wire, service, database):
    stranger = open_account(service.base_url, database)
    return {**ids_of(wire), **ids_of(stranger, "their-")}


def stored(database, wire):
    """Everything that an account has: how many rows of each kind, and the rows that a request could change."""
    with database.read() as connection:
        counts = {
            table.name: connection.scalar(
                select(func.count()).select_from(table).where(table.c.account_id == wire.account)
            )
            for table in OWNED
        }
        account = connection.execute(select(accounts).where(accounts.c.id == wire.account)).one()
        mine = [
            connection.execute(select(table).where(table.c.account_id == wire.account)).all()
            for table in (prompts, optimizations, personas)
        ]
    return counts, account, mine


@pytest.mark.parametrize("group", GROUPS)
def test_bad_requests_get_exactly_their_errors_and_leave_nothing(wire, database, ids, group):
    before = stored(database, wire)
    for bad in GROUPS[group]:
        method, path = bad.target(ids)
        answer = wire.ask(method, path, raw=bad.raw(ids), headers=bad.headers)
        said = answer.status, answer.error["code"], answer.error["message"]
        assert said == (bad.status, bad.code, bad.message), bad
        assert set(answer.body) == {"error"}, bad
        assert set(answer.error) == {"code", "message"} | ({"details"} if bad.details else set()), bad
        details = answer.error.get("details", {})
        assert set(details) == set(bad.details or {}), bad
        for name, expected in (bad.details or {}).items():
            is_pattern = isinstance(expected, re.Pattern)
            assert expected.fullmatch(details[name]) if is_pattern else details[name] == expected, bad
    assert stored(database, wire) == before


def test_the_table_is_large_and_has_no_row_twice():
    assert len(TABLE) >= 80
    rows = [(bad.request, bad.raw({}), str(bad.headers)) for bad in TABLE]
    allowed = 2  # no body and an empty body are the same request in two words
    assert len(rows) - len(set(rows)) <= allowed


def test_the_table_has_rows_for_every_endpoint_that_takes_a_body():
    # One segment of a path that is an id, filled in by a row or of nobody.
    name = re.compile(r"/(?:\{[\w-]+\}|[a-z]{3}_\w+|none)(?=/|$)")
    asked = {name.sub("/{id}", bad.request.partition("?")[0]) for bad in TABLE}
    needed = {
        f"{row.method} {row.path_in(scheme)}"
        for row in ENDPOINTS.values()
        if row.body is not None
        for scheme in row.served_schemes()
    }
    assert needed - asked == set()


def test_the_service_is_well_after_all_of_it(wire, ids):
    assert wire.get(f"/prompts/{ids['{prompt}']}")["description"] == "as it was"
    assert wire.get(f"/personas/{ids['{persona}']}")["name"] == "as it was"
    assert wire.get(f"/optimizations/{ids['{optimization}']}")["status"] == "completed"
    assert wire.get("/conversations")["data"] == []
