"""Accounts see nothing of each other, and revoked keys open nothing."""

from __future__ import annotations

import collections
import json
import re
from typing import get_args

import pytest
from pydantic import BaseModel

from promptlift.errors import ConfigError
from promptlift.schema.endpoints import ENDPOINTS
from promptlift.schema.naming import SCHEMES
from promptlift.service import administration
from promptlift.service.settings import ServiceSettings
from support.command_line import promptlift_command
from support.optimizing import tiny
from support.service_process import wait_until
from support.wire import OFFERED, SPECIFIED, Wire, body_for, path_for


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


def test_the_ids_of_another_account_are_not_found(strangers):
    mine, theirs, targets = strangers
    before = everything(theirs, targets)
    for endpoint in (one for one in SPECIFIED + OFFERED if "{id}" in one):
        method, path = endpoint.split()
        body = body_for(method, path)
        asked = path_for(path)
        answer = mine.ask(method, asked.replace("{id}", targets[path.split("/")[1]]), body)
        missing = mine.ask(method, asked.replace("{id}", "none"), body)
        assert (answer.status, answer.error["code"]) == (404, "NOT_FOUND"), endpoint
        assert answer.raw == missing.raw
    assert before == everything(theirs, targets)


# Fields of bodies whose ids are the sender's own words: they name nothing of the service.
OWN_WORDS = {"sourceId", "sourceIds", "conversations.sourceId", "labels.drawId"}
IDS_IN_QUERIES = {
    "/conversations": ("promptId", "agentId"),
    "/conversations/deleted": ("promptId", "agentId"),
    "/optimizations": ("promptId", "agentId"),
    "/optimizations/{id}/simulations": ("variantId",),
    "/actions": ("promptId", "agentId", "optimizationId"),
    "/judges/{id}/verdicts": ("promptId", "agentId"),
    "/judge-runs": ("judgeId",),
    "/labels": ("promptId", "agentId", "conversationId", "optimizationId", "drawId"),
}


def ids_in_bodies(own, optimization, targets):
    """Method, path, a body that is in order, where the id goes, and the id of the other account."""
    log = {"content": "User: hi"}
    arm = {"promptId": own}
    for link in ("promptId", "agentId"):
        yield "POST", "/conversations", log, link, targets["prompts"]
        many = {"conversations": [log]}
        yield "POST", "/conversations/bulk", many, f"conversations.{link}", targets["prompts"]
        yield "POST", "/optimizations", {}, link, targets["prompts"]
        yield "POST", "/benchmarks", {"arms": [{}]}, f"arms.{link}", targets["prompts"]
        set_of = {"arms": [arm], "scenarioSet": {}}
        yield "POST", "/benchmarks", set_of, f"scenarioSet.{link}", targets["prompts"]
        for action in ("plan", "backfill"):
            yield "POST", f"/judges/{targets['own judge']}/{action}", {}, link, targets["prompts"]
    label = {"question": "task_completed", "value": "yes", "labeller": "ann"}
    yield "POST", "/labels", {"labels": [label]}, "labels.conversationId", targets["conversations"]
    labels = {"labels": [{"value": True}]}
    yield (
        "POST", f"/judges/{targets['own judge']}/align", labels, "labels.conversationId", targets["conversations"],
    )  # fmt: skip
    labels = {"labels": [{"completed": True}]}
    yield "POST", f"/prompts/{own}/learned-judge", labels, "labels.conversationId", targets["conversations"]
    yield "POST", "/optimizations", {"promptId": own}, "personaIds", [targets["personas"]]
    yield "POST", f"/optimizations/{optimization}/apply", {}, "variantId", targets["variants"]
    yield "POST", f"/optimizations/{optimization}/apply", {}, "ifVersionId", targets["versions"]
    review = {"shortlisted": True}
    yield "PATCH", f"/optimizations/{optimization}/review", review, "variantId", targets["variants"]
    yield "POST", f"/prompts/{own}/restore", {}, "versionId", targets["versions"]
    version = {"versionId": targets["own version"]}
    yield "POST", f"/prompts/{own}/restore", version, "ifVersionId", targets["versions"]
    yield "POST", "/benchmarks", {"arms": [arm]}, "arms.versionId", targets["versions"]
    yield "POST", "/benchmarks", {"arms": [{}]}, "arms.variantId", targets["variants"]
    yield (
        "POST",
        "/benchmarks",
        {"arms": [arm], "scenarioSet": {}},
        "scenarioSet.id",
        targets["scenario-sets"],
    )
    named = [targets["conversations"]]
    yield "POST", "/benchmarks", {"arms": [arm], "scenarioSet": {}}, "scenarioSet.conversationIds", named


def with_id(body, field, value):
    """A copy of a body with a value at a dotted path; lists on the way have one entry."""
    copy = json.loads(json.dumps(body))
    *parents, last = field.split(".")
    place = copy
    for name in parents:
        place = place[name][0] if isinstance(place[name], list) else place[name]
    place[last] = value
    return copy


def test_ids_of_another_account_in_a_body_are_as_if_they_did_not_exist(strangers):
    mine, theirs, targets = strangers
    before = everything(theirs, targets)
    own = mine.add_prompt()
    optimization = tiny(mine, own)["id"]
    own_version = mine.get(f"/prompts/{own}/versions")["data"][0]["id"]
    mine.ask("PATCH", f"/prompts/{own}", {"content": "You help quickly."})
    mine_before = mine.get("/benchmarks")["pagination"]["total"]
    judge = mine.ask("POST", "/judges", {"name": "mine", "question": "Was it kind?"}).body["id"]
    for method, path, body, field, foreign in ids_in_bodies(
        own, optimization, {**targets, "own version": own_version, "own judge": judge}
    ):
        answer = mine.ask(method, path, with_id(body, field, foreign))
        nobody = ["none"] if isinstance(foreign, list) else "none"
        missing = mine.ask(method, path, with_id(body, field, nobody))
        assert (answer.status, answer.raw) == (missing.status, missing.raw), (path, field)
        if path == "/conversations/bulk":  # whose rows are refused one by one
            assert [row["error"]["code"] for row in answer.body["data"]] == ["NOT_FOUND"]
            continue
        assert answer.status in (400, 404, 409), (path, field)
    found = mine.ask("POST", f"/prompts/{own}/conversations/lookup", {"ids": [targets["conversations"]]})
    assert targets["conversations"] not in found.raw.decode()
    bulk = {"action": "delete", "jobIds": [targets["benchmarks"]]}
    deleted = mine.ask("POST", "/benchmarks/bulk", bulk).body
    assert (deleted["deleted"], deleted["notFound"]) == ([], [targets["benchmarks"]])
    assert mine.get("/benchmarks")["pagination"]["total"] == mine_before
    assert before == everything(theirs, targets)


def test_ids_of_another_account_in_a_query_find_nothing(strangers):
    mine, _, targets = strangers
    own = tiny(mine)["id"]
    judge = mine.ask("POST", "/judges", {"name": "mine", "question": "Was it kind?"}).body["id"]
    kind_of = {"promptId": "prompts", "agentId": "prompts"}
    for path, fields in IDS_IN_QUERIES.items():
        for field in fields:
            identifier = targets[kind_of.get(field, f"{field.removesuffix('Id')}s")]
            here = path.replace("{id}", judge if path.startswith("/judges") else own)
            answer, missing = (mine.ask("GET", f"{here}?{field}={one}") for one in (identifier, "none"))
            # unspecified: a variant of another optimization, whoever has it. It is refused.
            assert field == "variantId" or answer.body["data"] == [], (path, field)
            assert (answer.status, answer.raw) == (missing.status, missing.raw), (path, field)
    everywhere = " ".join(
        str(mine.get(endpoint.split()[1]))
        for endpoint in SPECIFIED + OFFERED
        if endpoint.startswith("GET ") and "{id}" not in endpoint
    )
    assert [kind for kind, identifier in targets.items() if identifier in everywhere] == []


def ids_of(model, path=""):
    """Dotted paths of the fields of a model that hold ids."""
    for name, field in model.model_fields.items():
        here = f"{path}.{field.alias or name}".lstrip(".")
        if re.search(r"(?:^i|I)ds?$", field.alias or name):
            yield here
        inner = [field.annotation]
        while inner:
            kind = inner.pop()
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from ids_of(kind, here)
            inner.extend(get_args(kind))


def test_every_id_of_a_body_or_query_is_tried():
    targets = collections.defaultdict(lambda: "x", {"own judge": "own"})
    tried = {(path, field) for _, path, _, field, _ in ids_in_bodies("own", "own", targets)}
    tried |= {("/prompts/own/conversations/lookup", "ids"), ("/benchmarks/bulk", "jobIds")}
    bodies, queries = set(), set()
    for row in ENDPOINTS.values():
        path = row.path_in(SCHEMES["prompt"])
        if row.body is not None:
            bodies |= {(path.replace("{id}", "own"), field) for field in ids_of(row.body)}
        if row.query is not None:
            queries |= {(path, field) for field in ids_of(row.query)}
    assert {(path, field) for path, field in bodies if field not in OWN_WORDS} == tried
    assert queries == {(path, field) for path, fields in IDS_IN_QUERIES.items() for field in fields}


def theirs_of(wire, prompt_id, conversation):
    """One id of each kind of resource, by the first segment of its path."""
    persona = wire.ask("POST", "/personas", {"name": "p", "description": "d"}).body["id"]
    optimization = tiny(wire, prompt_id)["id"]
    variant = wire.get(f"/optimizations/{optimization}/variants")["data"][1]["id"]
    apply = {"variantId": variant, "acceptRehearsal": True}
    applied = wire.ask("POST", f"/optimizations/{optimization}/apply", apply)
    benchmark = {"arms": [{"promptId": prompt_id}], "scenarioSet": {"count": 1}, "maxTurns": 1}
    made = wire.ask("POST", "/benchmarks", benchmark).body
    # What it has measured is compared below, so it has to be all there.
    wait_until(lambda: wire.get(f"/benchmarks/{made['id']}")["status"] == "completed", what="it ends")
    webhook = {"url": "https://hooks.invalid/", "events": ["prompt.deleted"]}
    hook = wire.ask("POST", "/webhooks", webhook).body["id"]
    said = {"conversationId": conversation, "question": "task_completed", "value": "yes", "labeller": "ann"}
    assert wire.ask("POST", "/labels", {"labels": [said | {"chance": 0.5, "drawId": "drw_1"}]}).status == 200
    wire.ask("DELETE", f"/prompts/{wire.add_prompt()}")
    delivery = wire.get(f"/webhooks/{hook}/deliveries")["data"][0]
    return {
        "prompts": prompt_id,
        "agents": prompt_id,
        "conversations": conversation,
        "draws": "drw_1",
        "personas": persona,
        "optimizations": optimization,
        "benchmarks": made["id"],
        "experiments": wire.ask("POST", f"/prompts/{prompt_id}/experiments", {"weights": {"v1": 0.5}}).body[
            "id"
        ],
        "scenario-sets": made["scenarioSet"]["id"],
        "actions": applied.body["actionId"],
        "judges": wire.ask("POST", "/judges", {"name": "theirs", "question": "Was it kind?"}).body["id"],
        # Without a language model the service makes none.
        "judge-runs": "none",
        "webhooks": hook,
        "deliveries": delivery["id"],
        "events": delivery["eventId"],
        "variants": variant,
        "versions": wire.get(f"/prompts/{prompt_id}/versions")["data"][0]["id"],
    }


# What has a path of its own, and whose answer stays as it is while the tests run.
_READ = (
    "prompts",
    "agents",
    "conversations",
    "personas",
    "optimizations",
    "benchmarks",
    "scenario-sets",
    "judges",
)


def everything(wire, targets):
    """What an account has behind these ids."""
    return [
        *(wire.get(f"/{kind}/{targets[kind]}") for kind in _READ),
        wire.get(f"/prompts/{targets['prompts']}/versions"),
        wire.get(f"/optimizations/{targets['optimizations']}/review"),
        wire.get("/actions"),
        wire.get("/webhooks"),
        [one["id"] for one in wire.get(f"/webhooks/{targets['webhooks']}/deliveries")["data"]],
        wire.get("/events"),
    ]


def test_lists_usage_settings_and_fleet_are_the_accounts_own(new_account):
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
    own = mine.add_prompt()
    mine.log(own)
    for wire, agent in ((mine, own), (theirs, prompt_id)):
        wire.wait_for_insights(agent)
    assert mine.get(f"/agents/{own}/insights")["fleetIntelligence"]["agents"] == 1


def test_a_revoked_key_is_refused_at_once(service, new_account, database):
    wire = new_account()
    settings = ServiceSettings(data=service.data)
    made = administration.create_key(settings, name="for a colleague")
    first = new_account()
    first.key = made.key
    assert first.ask("GET", "/account").status == 200
    (shown,) = [key for key in administration.list_keys(settings) if key.prefix == made.prefix]
    assert (shown.name, shown.revoked_at) == ("for a colleague", None)
    assert made.key not in repr(made)
    with database.read() as connection:
        assert made.key not in str(connection.exec_driver_sql("SELECT * FROM api_keys").all())
    assert administration.revoke_key(settings, shown.id) == made.prefix
    assert first.ask("GET", "/account").status == 401
    with pytest.raises(ConfigError, match="No valid key"):
        administration.revoke_key(settings, shown.id)
    assert wire.ask("GET", "/account").status == 200
    (shown,) = [key for key in administration.list_keys(settings) if key.prefix == made.prefix]
    assert shown.revoked_at is not None
    assert shown.last_used_at is not None
