"""Random requests: whatever comes, the service answers in its own words, and nothing that it accepts makes it stumble later."""

from __future__ import annotations

import json
import random
from urllib.parse import quote

import pytest

from support.optimizing import ended, tiny
from support.wire import METHODS, OFFERED, SPECIFIED

from .wrong import WITH_BODY, WITH_QUERY

pytestmark = pytest.mark.slow

REQUESTS = 200
EXPECTED = (200, 201, 400, 404, 405, 409, 413)
WORDS = "active completed name role messages keep"
CONTROLS = "\x00 \x1f \ufeff \u202e"
HOSTILE = '%s%n ../.. \'\x20OR\x201=1\x20-- <script> true null -1 {} {"messages":[]}'
TEXTS = (
    *("", " ", "x" * 300, "☃", "\U0001f388" * 50, "User: hi", "gpt-4o"),
    *f"{WORDS} {CONTROLS} {HOSTILE}".split(" "),
    '{"messages": [{"role": "user", "content": "hi", "timestamp": "0001-01-01"}]}',
    '{"messages": [{"role": "user", "content": "hi", "timestamp": "9999-12-31T23:59:59.999999", "tokens": 1e308}]}',
)
NUMBERS = (0, 1, -1, 3, 1.5, 2**31, 2**53, 2**63, 2**64, -(2**63) - 1, 10**40, 1e308, -0.0, 5e-324)


def names(rows):
    """Every name in the schemas of bodies or queries."""
    found = set()
    for schema in (one.model_json_schema() for one in rows):
        for part in (schema, *schema.get("$defs", {}).values()):
            found |= set(part.get("properties", ()))
    return sorted(found)


FIELDS = names({row.body for row in WITH_BODY})
PARAMETERS = names({row.query for row in WITH_QUERY})


def value(chance, depth=0):
    kind = chance.randrange(8 if depth < 4 else 5)
    if kind < 2:
        return chance.choice(TEXTS)
    if kind < 4:
        return chance.choice(NUMBERS)
    if kind == 4:
        return chance.choice((None, True, False))
    if kind == 5:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(FIELDS): value(chance, depth + 1) for _ in range(chance.randrange(6))}


def body(chance, prompt_id, variant_id):
    good = chance.choice(
        (
            {"name": "n", "content": "c", "llmModel": "gpt-4o"},
            {"promptId": prompt_id, "content": "User: hi"},
            {"promptId": prompt_id, "variantCount": 1, "intent": {"hypothesis": "h"}, "seed": 3},
            {"variantId": variant_id, "verdict": "keep", "reason": "r", "versionId": "ver_1"},
            {"general": {"name": "n"}, "optimization": {"simulation": {"maxTurns": 3}}},
            {},
        )
    )
    changed = {**good, **{chance.choice(FIELDS): value(chance) for _ in range(chance.randrange(3))}}
    raw = json.dumps(changed).encode()
    if chance.random() < 0.2:
        at = chance.randrange(len(raw) + 1)
        raw = raw[:at] + chance.randbytes(chance.randrange(3)) + raw[at + chance.randrange(3) :]
    return raw


def test_a_random_request_never_makes_the_service_fail(service, wire):
    chance = random.Random(0)
    prompt_id = wire.add_prompt()
    conversation = wire.log(prompt_id)
    optimization = tiny(wire, prompt_id)["id"]
    variant_id = wire.get(f"/optimizations/{optimization}/variants")["data"][1]["id"]
    ids = (prompt_id, prompt_id, optimization, optimization, conversation)
    for number in range(REQUESTS):
        method, path = chance.choice(SPECIFIED + OFFERED).split()
        if chance.random() < 0.05:
            method = chance.choice(METHODS)
        identifier = chance.choice((*ids, chance.choice(TEXTS) or "x"))
        path = path.replace("{id}", quote(identifier, safe="").replace("..", "%2E%2E"))
        if method == "GET" and chance.random() < 0.7:
            asked = [
                f"{chance.choice(PARAMETERS)}={quote(chance.choice((*TEXTS, '5', '30', 'all', 'false')))}"
                for _ in range(chance.randrange(4))
            ]
            path += "?" + "&".join(asked)
        sent = None if method in ("GET", "DELETE") else body(chance, prompt_id, variant_id)
        if method == "DELETE" and prompt_id in path:
            continue
        answer = wire.ask(method, path, raw=sent)
        assert answer.status in EXPECTED, (number, method, path, sent, answer)
    # Nothing that was accepted makes a list, a view or the judge stumble.
    for listing in ("/prompts", "/agents", "/conversations", "/personas", "/actions"):
        wire.get(f"{listing}?limit=100")
    for one in wire.get("/optimizations?limit=100")["data"]:
        wire.ask("POST", f"/optimizations/{one['id']}/stop")
        assert ended(wire, one["id"])["status"] in ("completed", "stopped")
        for view in ("variants", "review", "simulations?limit=100&includeContent=true"):
            wire.get(f"/optimizations/{one['id']}/{view}")
    wire.get("/conversations?limit=100&includeInsights=true&includeContent=true")
    wire.get(f"/agents/{prompt_id}/insights?days=all")
    wire.wait_for_insights(prompt_id)
    assert "Traceback" not in service.log.read_text()
