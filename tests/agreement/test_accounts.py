"""Accounts see nothing of each other, and revoked keys open nothing."""

from __future__ import annotations

import pytest

from promptlift.errors import ConfigError
from promptlift.service import keys
from promptlift.service.settings import ServiceSettings
from support.command_line import promptlift_command
from support.optimizing import tiny
from support.service_process import wait_until
from support.wire import OFFERED, SPECIFIED, Wire, body_for


def made_by_the_command_line(service, name):
    """An account and a key for it, as an operator makes them while the service runs."""
    where = ("--data", service.data)
    account = promptlift_command("accounts", "create", name, "--email", f"{name}@isolation.test", *where)
    assert account.returncode == 0, account.stderr
    identifier = account.stdout.strip()
    key = promptlift_command("keys", "create", "--account", identifier, *where)
    assert key.returncode == 0, key.stderr
    return Wire(service.base_url, key.stdout.strip(), identifier)


@pytest.fixture(scope="module")
def strangers(service):
    """Two accounts made on the command line; the second has one of everything, whose ids come with it."""
    mine, theirs = (made_by_the_command_line(service, name) for name in ("mine", "theirs"))
    prompt_id = theirs.add_prompt()
    conversation = theirs.log(prompt_id)
    theirs.wait_for_insights(prompt_id)
    return mine, theirs, theirs_of(theirs, prompt_id, conversation)


@pytest.mark.parametrize("endpoint", [endpoint for endpoint in SPECIFIED + OFFERED if "{id}" in endpoint])
def test_the_ids_of_another_account_are_not_found(strangers, endpoint):
    method, path = endpoint.split()
    mine, theirs, targets = strangers
    before = everything(theirs, targets)
    body = body_for(method, path)
    answer = mine.ask(method, path.replace("{id}", targets[path.split("/")[1]]), body)
    missing = mine.ask(method, path.replace("{id}", "none"), body)
    assert (answer.status, answer.error["code"]) == (404, "NOT_FOUND")
    assert answer.raw == missing.raw
    assert before == everything(theirs, targets)


def test_ids_of_another_account_in_a_body_are_as_if_they_did_not_exist(strangers):
    mine, theirs, targets = strangers
    before = everything(theirs, targets)
    own = mine.add_prompt()
    optimization = tiny(mine, own)["id"]
    variant = theirs.get(f"/optimizations/{targets['optimizations']}/variants")["data"][1]["id"]
    version = theirs.get(f"/prompts/{targets['prompts']}/versions")["data"][0]["id"]
    log = {"content": "User: hi"}
    for method, path, body, field, foreign in (
        ("POST", "/conversations", log, "promptId", targets["prompts"]),
        ("POST", "/conversations", log, "agentId", targets["prompts"]),
        ("POST", "/optimizations", {}, "promptId", targets["prompts"]),
        ("POST", "/optimizations", {}, "agentId", targets["prompts"]),
        ("POST", "/optimizations", {"promptId": own}, "personaIds", [targets["personas"]]),
        ("POST", f"/optimizations/{optimization}/apply", {}, "variantId", variant),
        ("PATCH", f"/optimizations/{optimization}/review", {"shortlisted": True}, "variantId", variant),
        ("POST", f"/prompts/{own}/restore", {}, "versionId", version),
    ):
        answer = mine.ask(method, path, {**body, field: foreign})
        missing = mine.ask(method, path, {**body, field: ["none"] if isinstance(foreign, list) else "none"})
        assert (answer.status, answer.raw) == (missing.status, missing.raw), (path, field)
        assert answer.status in (400, 404), (path, field)
    found = mine.ask("POST", f"/prompts/{own}/conversations/lookup", {"ids": [targets["conversations"]]})
    assert targets["conversations"] not in found.raw.decode()
    assert before == everything(theirs, targets)


def test_ids_of_another_account_in_a_query_find_nothing(strangers):
    mine, _, targets = strangers
    for path, field, identifier in (
        ("/conversations", "promptId", targets["prompts"]),
        ("/conversations", "agentId", targets["prompts"]),
        ("/optimizations", "promptId", targets["prompts"]),
        ("/actions", "promptId", targets["prompts"]),
        ("/actions", "optimizationId", targets["optimizations"]),
    ):
        assert mine.get(f"{path}?{field}={identifier}")["data"] == []
    everywhere = " ".join(
        str(mine.get(endpoint.split()[1]))
        for endpoint in SPECIFIED + OFFERED
        if endpoint.startswith("GET ") and "{id}" not in endpoint
    )
    assert [kind for kind, identifier in targets.items() if identifier in everywhere] == []


def theirs_of(wire, prompt_id, conversation):
    """One id of each kind of resource, by the first segment of its path."""
    persona = wire.ask("POST", "/personas", {"name": "p", "description": "d"}).body["id"]
    optimization = tiny(wire, prompt_id)["id"]
    variant = wire.get(f"/optimizations/{optimization}/variants")["data"][1]["id"]
    applied = wire.ask("POST", f"/optimizations/{optimization}/apply", {"variantId": variant})
    benchmark = {"arms": [{"promptId": prompt_id}], "scenarioSet": {"count": 1}, "maxTurns": 1}
    made = wire.ask("POST", "/benchmarks", benchmark).body
    # What it has measured is compared below, so it has to be all there.
    wait_until(lambda: wire.get(f"/benchmarks/{made['id']}")["status"] == "completed", what="it ends")
    webhook = {"url": "https://hooks.invalid/", "events": ["prompt.deleted"]}
    return {
        "prompts": prompt_id,
        "agents": prompt_id,
        "conversations": conversation,
        "personas": persona,
        "optimizations": optimization,
        "benchmarks": made["id"],
        "scenario-sets": made["scenarioSet"]["id"],
        "actions": applied.body["actionId"],
        "webhooks": wire.ask("POST", "/webhooks", webhook).body["id"],
    }


def everything(wire, targets):
    """What an account has behind these ids."""
    return [
        *(wire.get(f"/{kind}/{one}") for kind, one in targets.items() if kind not in ("actions", "webhooks")),
        wire.get(f"/prompts/{targets['prompts']}/versions"),
        wire.get(f"/optimizations/{targets['optimizations']}/review"),
        wire.get("/actions"),
        wire.get("/webhooks"),
        wire.get(f"/webhooks/{targets['webhooks']}/deliveries"),
    ]


def test_nothing_can_be_logged_to_the_prompt_of_another_account(new_account):
    mine, theirs = new_account(), new_account()
    prompt_id = theirs.add_prompt()
    for link in ("promptId", "agentId"):
        answer = mine.ask("POST", "/conversations", {link: prompt_id, "content": "User: hi"})
        assert answer.status == 404
    assert theirs.get("/conversations")["data"] == []


def test_lists_usage_and_settings_are_the_accounts_own(new_account):
    mine, theirs = new_account(), new_account()
    prompt_id = theirs.add_prompt(tags=["t"])
    theirs.log(prompt_id)
    theirs.ask("PATCH", "/settings", {"general": {"name": "Theirs", "kpis": "secret"}})
    assert mine.get("/prompts")["pagination"]["total"] == 0
    assert mine.get("/prompts?tags=t")["data"] == []
    assert mine.get("/conversations")["pagination"]["total"] == 0
    assert mine.get(f"/conversations?promptId={prompt_id}")["pagination"]["total"] == 0
    usage = mine.get("/usage")
    assert (usage["prompts"]["used"], usage["conversations"]["used"]) == (0, 0)
    assert mine.get("/settings")["general"]["kpis"] == ""
    assert mine.get("/account")["name"] == "Agreement"
    assert theirs.get("/account")["name"] == "Theirs"


def test_an_agents_fleet_is_of_its_own_account(new_account):
    mine, theirs = new_account(), new_account()
    for wire in (mine, theirs):
        prompt_id = wire.add_prompt()
        wire.log(prompt_id)
        wire.wait_for_insights(prompt_id)
    assert (
        mine.get(f"/agents/{mine.get('/agents')['data'][0]['id']}/insights")["fleetIntelligence"]["agents"]
        == 1
    )


def test_a_revoked_key_is_refused_at_once(service, new_account, database):
    wire = new_account()
    settings = ServiceSettings(data=service.data)
    made = keys.create_key(settings, name="for a colleague")
    first = new_account()
    first.key = made.key
    assert first.ask("GET", "/account").status == 200
    (shown,) = [key for key in keys.list_keys(settings) if key.prefix == made.prefix]
    assert (shown.name, shown.revoked_at) == ("for a colleague", None)
    assert made.key not in repr(made)
    assert made.key not in str(keys.list_keys(settings))
    assert keys.revoke_key(settings, shown.id) == made.prefix
    assert first.ask("GET", "/account").status == 401
    with pytest.raises(ConfigError, match="No valid key"):
        keys.revoke_key(settings, shown.id)
    assert wire.ask("GET", "/account").status == 200
    (shown,) = [key for key in keys.list_keys(settings) if key.prefix == made.prefix]
    assert shown.revoked_at is not None
    assert shown.last_used_at is not None
