"""Settings, the account and its usage over HTTP and through the client."""

from __future__ import annotations

import pytest

from agreement.covered import covers, same
from promptlift.schema.limits import PLANS
from promptlift.schema.settings import Settings
from support import shapes
from support.shapes import differences
from support.shapes.account import ACCOUNT, SETTINGS, USAGE


@covers("GET /settings")
def test_get_settings(wire, client):
    body = wire.get("/settings")
    assert differences(body, SETTINGS) == []
    defaults = Settings().model_dump(mode="json", by_alias=True, exclude_none=True)
    defaults["general"]["name"] = "Agreement"
    assert body == defaults
    assert same(client.settings.get(), body)


@covers("PATCH /settings")
def test_update_settings(wire, client):
    before = wire.get("/settings")
    change = {"general": {"kpis": "CSAT ↑", "name": "Neu"}, "optimization": {"simulation": {"maxTurns": 1}}}
    answer = wire.ask("PATCH", "/settings", change)
    assert answer.status == 200
    assert differences(answer.body, {"success": shapes.flag, "settings": SETTINGS}) == []
    before["general"] |= change["general"]
    before["optimization"]["simulation"]["maxTurns"] = 1
    assert answer.body == {"success": True, "settings": before}
    assert wire.get("/settings") == before
    assert wire.get("/account")["name"] == "Neu"
    typed = client.settings.update(optimization={"autoDeploy": {"enabled": True}})
    before["optimization"]["autoDeploy"]["enabled"] = True
    assert typed.to_wire() == before == wire.get("/settings")
    for change in ({}, {"general": {}}, {"optimization": {"simulation": {}, "autoDeploy": {}}}):
        assert wire.ask("PATCH", "/settings", change).body == {"success": True, "settings": before}
    # An account has a name; a blank one leaves it.
    wire.ask("PATCH", "/settings", {"general": {"name": ""}})
    assert (wire.get("/account")["name"], wire.get("/settings")["general"]["name"]) == ("Neu", "")


@covers("GET /account")
@pytest.mark.parametrize("plan", ["free", "pro", "enterprise"])
def test_account(new_account, connect, plan):
    wire = new_account(plan)
    body = wire.get("/account")
    assert differences(body, ACCOUNT) == []
    assert body["id"] == wire.account
    assert body["plan"] == {
        "name": plan,
        "limits": {
            "prompts": PLANS[plan].prompts,
            "optimizationsPerMonth": PLANS[plan].optimizations_per_month,
            "conversationsPerMonth": PLANS[plan].conversations_per_month,
            "requestsPerMinute": PLANS[plan].requests_per_minute,
            "tokensPerMonth": None,
        },
    }
    assert same(connect(wire).account.get(), body)


@covers("GET /usage")
@pytest.mark.parametrize("plan", ["free", "enterprise"])
def test_usage(new_account, connect, plan):
    wire = new_account(plan)
    prompt_id = wire.add_prompt()
    wire.log(prompt_id)
    wire.log(prompt_id)
    body = wire.get("/usage")
    assert differences(body, USAGE) == []
    assert body["period"]["start"][8:] == "01T00:00:00.000Z"
    assert body["period"]["end"][8:] == "01T00:00:00.000Z"
    assert body["period"]["start"] < wire.get(f"/prompts/{prompt_id}")["createdAt"] < body["period"]["end"]
    limits = PLANS[plan]
    assert body["prompts"] == {"used": 1, "limit": limits.prompts}
    assert body["optimizations"] == {"used": 0, "limit": limits.optimizations_per_month, "running": 0}
    assert body["conversations"] == {"used": 2, "limit": limits.conversations_per_month}
    assert body["tokens"] == {"used": 0, "limit": None}
    assert same(connect(wire).usage.get(), body)
