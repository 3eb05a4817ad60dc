"""A new endpoint is one row and one action: then it is served, described and can be called."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
import uvicorn

from promptlift.client import Client, configure
from promptlift.client.api.group import Group
from promptlift.errors import NotFound, ValidationError
from promptlift.schema.endpoint import Endpoint
from promptlift.schema.endpoints import ENDPOINTS
from promptlift.schema.model import ApiModel, RequestModel
from promptlift.schema.queries import Flag, QueryModel
from promptlift.service import app
from promptlift.service.call import ACTIONS, AppContext, Call, answers
from promptlift.service.errors import not_found
from promptlift.service.settings import API_PATH, ServiceSettings
from promptlift.service.store import accounts
from support.databases import migrated
from support.service_process import wait_until


class Greeting(ApiModel):
    """What a greeting answers."""

    greeted: str
    greeting_text: str


class GreetingCreate(RequestModel):
    """How to greet."""

    name_of_greeter: str


class GreetingQuery(QueryModel):
    """How loud to greet."""

    loud: Flag = False
    """In capitals"""


# The row.
GREET = Endpoint(
    "greetings.create",
    "POST /{segment}/{id}/greeting",
    Greeting,
    "Greet {a_noun}",
    query=GreetingQuery,
    body=GreetingCreate,
    status=201,
    errors=("INVALID_STATE",),
    specified=(),
)


# The action.
def greet(call: Call[GreetingCreate, GreetingQuery]) -> Greeting:
    if call.id == "nobody":
        raise not_found(call.scheme.noun)
    text = f"{call.body.name_of_greeter} greets {call.scheme.name} {call.id}"
    return Greeting(greeted=call.id, greeting_text=text.upper() if call.query.loud else text)


class Greetings(Group):
    """The method of the client."""

    def create(self, prompt_id, **fields):
        return self._send(GREET, prompt_id, **fields)


def answered(monkeypatch):
    """Make it the action, for this test only."""
    monkeypatch.setitem(ACTIONS, GREET.name, None)
    answers(GREET)(greet)


@pytest.fixture
def context(request, tmp_path):
    nothing = cast("Any", None)
    with migrated("sqlite", request) as database:
        yield AppContext(ServiceSettings(data=tmp_path), database, *[nothing] * 5)


@pytest.fixture
def base_url(context, monkeypatch):
    """A service with the row and its action, on a socket."""
    monkeypatch.setitem(ENDPOINTS, GREET.name, GREET)
    answered(monkeypatch)
    with context.database.write() as connection:
        account = accounts.create(connection, name="A", email="a@example.test", plan="enterprise")
        accounts.add_key(connection, account, "a-key", name="test")
    config = uvicorn.Config(app.create_app(context), port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, what="the server listens")
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{API_PATH}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(params=["prompt", "agent"])
def client(request, base_url):
    with Client(configure(base_url, "a-key", scheme=request.param)) as opened:
        yield opened


def test_it_is_served_and_the_client_calls_it(client):
    scheme = client.config.scheme
    greetings = Greetings(client.transport, scheme)
    greeting = greetings.create("p1", name_of_greeter="Ada")
    assert isinstance(greeting, Greeting)
    assert greeting.to_wire() == {"greeted": "p1", "greetingText": f"Ada greets {scheme.name} p1"}
    assert greetings.create("p1", loud=True, name_of_greeter="A").greeting_text.isupper()
    with pytest.raises(NotFound, match=f"{scheme.noun} not found"):
        greetings.create("nobody", name_of_greeter="Ada")
    with pytest.raises(ValidationError) as refused:
        greetings.create("p1", loud="very", name_of_greeter="Ada")
    assert refused.value.details == {"loud": "must be true or false"}


def test_a_row_without_an_action_and_the_other_way_round_are_noticed_at_the_start(context, monkeypatch):
    with monkeypatch.context() as row:
        row.setitem(ENDPOINTS, GREET.name, GREET)
        with pytest.raises(KeyError, match=r"greetings\.create"):
            app.create_app(context)
    answered(monkeypatch)
    with pytest.raises(KeyError, match=r"greetings\.create"):
        app.create_app(context)
