"""Endpoints of optimizations, personas and versions as the client asks them."""

from __future__ import annotations

import json

import pytest

from promptlift.client import Client, configure
from promptlift.errors import ConnectionFailed, InvalidState, NotFound, ServerError, ValidationError
from support.foreign_optimizations import OptimizationService
from support.foreign_service import KEY

pytestmark = pytest.mark.slow


@pytest.fixture
def service():
    with OptimizationService() as running:
        yield running


@pytest.fixture
def client(service):
    with Client(configure(service.base_url, KEY)) as opened:
        yield opened


def test_a_trigger_sends_what_was_given_and_nothing_else(service, client):
    begun = client.optimizations.create(prompt_id="p1")
    assert service.bodies == [("/optimizations", {"promptId": "p1"})]
    assert (begun.status, begun.prompt_id, begun.variant_count) == ("running", "p1", 3)
    client.optimizations.create(
        prompt_id="p1",
        mode="validation",
        variant_count=2,
        intent={"target_improvements": ["tone"], "hypothesis": "shorter is better"},
        persona_ids=["per_1"],
        seed=3,
    )
    assert service.bodies[1][1] == {
        "promptId": "p1",
        "mode": "validation",
        "variantCount": 2,
        "intent": {"targetImprovements": ["tone"], "hypothesis": "shorter is better"},
        "personaIds": ["per_1"],
        "seed": 3,
    }


def test_the_agent_scheme_triggers_for_an_agent(service):
    with Client(configure(service.base_url, KEY, scheme="agent")) as client:
        assert client.optimizations.create(prompt_id="p1").prompt_id == "p1"
    assert service.bodies == [("/optimizations", {"agentId": "p1"})]


@pytest.mark.parametrize(
    "fields",
    [{"mode": "fast"}, {"variant_count": 6}, {"variants": 3}, {"seed": -1}, {"persona_ids": [""]}],
)
def test_a_trigger_that_cannot_be_right_is_not_sent(service, client, fields):
    with pytest.raises(ValidationError, match="not sent"):
        client.optimizations.create(prompt_id="p1", **fields)
    assert service.seen == []


def hang_up(handler):
    handler.close_connection = True
    handler.connection.close()


@pytest.mark.parametrize(
    "action",
    [
        lambda client: client.optimizations.create(prompt_id="p1"),
        lambda client: client.optimizations.apply("o00001"),
        lambda client: client.optimizations.stop("o00001"),
        lambda client: client.prompts.restore("p1", version_id="ver_1"),
        lambda client: client.personas.create(name="n", description="d"),
        lambda client: client.personas.update("per_1", name="n"),
        lambda client: client.personas.delete("per_1"),
    ],
)
@pytest.mark.parametrize("trouble", ["hangs up", "fails"])
def test_what_changes_something_is_sent_once_whatever_happens(service, client, action, trouble):
    service.add(1)
    client.account.get()
    before = len(service.seen)
    service.fault = lambda *_: (
        hang_up if trouble == "hangs up" else lambda handler: service.error(handler, 503, "DOWN", "down")
    )
    with pytest.raises((ConnectionFailed, ServerError)):
        action(client)
    assert len(service.seen) == before + 1


def test_lists_and_single_ones_are_typed(service, client):
    service.add(2)
    page = client.optimizations.list(prompt_id="p1", status="completed", limit=1)
    assert [one.id for one in page.data] == ["o00002"]
    assert page.pagination is None
    assert client.optimizations.get("o00002").results.lift == 12.5
    variants = client.optimizations.variants("o00002").data
    assert [(one.is_original, one.is_winner, one.lift) for one in variants] == [
        (True, False, None),
        (False, True, 12.5),
        (False, False, -2.8),
    ]


def test_the_winner_or_a_named_variant_is_applied(service, client):
    service.add(1)
    assert client.optimizations.apply("o00001").applied_variant_id == "va"
    assert client.optimizations.apply("o00001", variant_id="vb").applied_variant_id == "vb"
    assert [body for _, body in service.bodies] == [{}, {"variantId": "vb"}]


def test_a_running_one_is_stopped_with_a_reason_and_cannot_be_applied(service, client):
    service.add(1, status="running")
    with pytest.raises(InvalidState):
        client.optimizations.apply("o00001")
    assert client.optimizations.stop("o00001", reason="enough").status == "stopped"
    assert service.bodies[-1] == ("/optimizations/o00001/stop", {"reason": "enough"})


def test_what_only_our_service_offers_is_asked_at_its_path(service, client):
    def answer(_method, path, _count):
        page = {"data": [], "pagination": {"total": 0, "limit": 20, "offset": 0}}
        persona = {"id": "per_1", "name": "n", "description": "d", "builtIn": False}
        bodies = {"/personas": page, "/personas/per_1": persona}
        return lambda handler: service.send(handler, 200, bodies.get(path, page))

    service.fault = answer
    client.personas.list(limit=5)
    client.personas.get("per_1")
    client.personas.update("per_1", description="e")
    assert client.personas.delete("per_1").success
    client.prompts.versions("p/1", limit=2, offset=4)
    client.agents.versions("p1")
    client.optimizations.simulations("o1", variant_id="v", stage="confirm", task_completed=False, limit=7)
    assert [(method, path) for method, path, _ in service.seen] == [
        ("GET", "/personas"),
        ("GET", "/personas/per_1"),
        ("PATCH", "/personas/per_1"),
        ("DELETE", "/personas/per_1"),
        ("GET", "/prompts/p%2F1/versions"),
        ("GET", "/agents/p1/versions"),
        ("GET", "/optimizations/o1/simulations"),
    ]
    assert service.seen[-1][2] == {
        "variantId": "v",
        "stage": "confirm",
        "taskCompleted": "false",
        "limit": "7",
    }


def test_a_service_without_them_says_so(client):
    for ask in (client.personas.list, lambda: client.prompts.versions("p1")):
        with pytest.raises(NotFound):
            ask()


def test_nothing_of_the_key_is_in_the_bodies(service, client):
    client.optimizations.create(prompt_id="p1")
    assert KEY not in json.dumps(service.bodies)
