"""Bad requests: each gets exactly its error, and nothing of it is stored."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import func, select

from agreement.wire import Wire, open_account
from promptlift.service.store.database import Database
from promptlift.service.store.tables import (
    accounts,
    conversations,
    events,
    idempotency_keys,
    prompts,
    usage_counters,
)

from .addresses import PARAMETERS, ROUTES
from .bodies import BODIES
from .conversations import CONVERSATIONS
from .headers import HEADERS
from .prompts import PROMPTS
from .settings import SETTINGS
from .sizes import SIZES

TABLE = [*BODIES, *HEADERS, *PROMPTS, *CONVERSATIONS, *SIZES, *PARAMETERS, *ROUTES, *SETTINGS]


@pytest.fixture(scope="module")
def database(service):
    opened = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def wire(service, database) -> Wire:
    return open_account(service.base_url, database)


@pytest.fixture(scope="module")
def prompt_id(wire) -> str:
    return wire.add_prompt(description="as it was")


def stored(database, wire):
    """Everything that an account has."""
    with database.read() as connection:
        counts = [
            connection.scalar(select(func.count()).where(table.c.account_id == wire.account))
            for table in (prompts, conversations, idempotency_keys, events, usage_counters)
        ]
        account = connection.execute(select(accounts).where(accounts.c.id == wire.account)).one()
        mine = connection.execute(select(prompts).where(prompts.c.account_id == wire.account)).all()
    return counts, account, mine


@pytest.mark.parametrize("bad", TABLE, ids=str)
def test_a_bad_request_gets_exactly_its_error_and_leaves_nothing(wire, database, prompt_id, bad):
    before = stored(database, wire)
    method, path = bad.request.replace("{prompt}", prompt_id).split(" ", 1)
    answer = wire.ask(method, path, raw=bad.raw(prompt_id), headers=bad.headers)
    assert (answer.status, answer.error["code"], answer.error["message"]) == (
        bad.status,
        bad.code,
        bad.message,
    )
    assert set(answer.body) == {"error"}
    assert set(answer.error) == {"code", "message"} | ({"details"} if bad.details else set())
    for name, expected in (bad.details or {}).items():
        given = answer.error["details"][name]
        assert expected.fullmatch(given) if isinstance(expected, re.Pattern) else given == expected
    assert set(answer.error.get("details", {})) == set(bad.details or {})
    assert stored(database, wire) == before


def test_the_table_is_large_and_has_no_row_twice():
    assert len(TABLE) >= 80
    rows = [(bad.request, bad.raw("p"), str(bad.headers)) for bad in TABLE]
    allowed = 2  # no body and an empty body are the same request in two words
    assert len(rows) - len(set(rows)) <= allowed


def test_the_service_is_well_after_all_of_it(wire, prompt_id):
    assert wire.get(f"/prompts/{prompt_id}")["description"] == "as it was"
    assert wire.get("/conversations")["data"] == []
