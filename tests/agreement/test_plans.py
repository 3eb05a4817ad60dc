"""Plans: quotas of prompts and conversations, and requests a minute."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from promptlift import errors
from promptlift.schema.limits import PLANS
from promptlift.service import clock
from promptlift.service.store import accounts


def period_end():
    return clock.iso(clock.billing_period(clock.now())[1])


def wait_for_a_fresh_minute(seconds):
    """Wait while less than so many seconds of the minute are left: limits count in minutes of the clock."""
    while time.time() % 60 > 60 - seconds:
        time.sleep(0.1)


def spend(database, account, amount):
    with database.write() as connection:
        accounts.add_usage(connection, account, "conversations", amount, now=clock.now())


@pytest.mark.parametrize("scheme", ["prompt", "agent"])
def test_the_sixth_prompt_of_a_free_plan_is_refused(new_account, connect, scheme):
    wire = new_account("free", scheme)
    ids = [wire.add_prompt() for _ in range(5)]
    body = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
    answer = wire.ask("POST", f"/{wire.scheme.segment}", body)
    assert answer.status == 429
    assert answer.error == {
        "code": "LIMIT_EXCEEDED",
        "message": "The plan's limit of prompts is reached",
        "details": {"limit": 5, "used": 5, "resetAt": period_end()},
    }
    client = connect(wire)
    with pytest.raises(errors.LimitExceeded) as caught:
        client.prompts.create(name="n", content="c", llm_model="gpt-4o")
    assert (caught.value.limit, caught.value.used, caught.value.reset_at) == (5, 5, period_end())
    assert wire.get("/usage")["prompts"] == {"used": 5, "limit": 5}
    # A prompt that is archived or deleted makes room, and one that comes back needs room.
    client.prompts.update(ids[0], status="archived")
    client.prompts.delete(ids[1])
    assert wire.get("/usage")["prompts"]["used"] == 3
    wire.add_prompt()
    wire.add_prompt()
    refused = wire.ask("PATCH", f"/{wire.scheme.segment}/{ids[0]}", {"status": "active", "name": "back"})
    assert (refused.status, refused.error["code"]) == (429, "LIMIT_EXCEEDED")
    assert wire.get(f"/prompts/{ids[0]}")["name"] == "Support"
    assert wire.ask("PATCH", f"/{wire.scheme.segment}/{ids[0]}", {"name": "still archived"}).status == 200
    client.prompts.delete(ids[2])
    assert wire.ask("PATCH", f"/{wire.scheme.segment}/{ids[0]}", {"status": "draft"}).status == 200


@pytest.mark.parametrize("plan", ["free", "pro"])
@pytest.mark.parametrize("scheme", ["prompt", "agent"])
def test_conversations_stop_at_the_quota_of_the_month(new_account, connect, database, plan, scheme):
    wire = new_account(plan, scheme)
    limit = PLANS[plan].conversations_per_month
    prompt_id = wire.add_prompt()
    spend(database, wire.account, limit - 2)
    kept = [wire.log(prompt_id, idempotencyKey=f"k{n}") for n in range(2)]
    body = {wire.scheme.link: prompt_id, "content": "User: hi"}
    answer = wire.ask("POST", "/conversations", body)
    assert answer.status == 429
    assert answer.error == {
        "code": "LIMIT_EXCEEDED",
        "message": "The plan's limit of conversations per month is reached",
        "details": {"limit": limit, "used": limit, "resetAt": period_end()},
    }
    with pytest.raises(errors.LimitExceeded) as caught:
        connect(wire).conversations.create(prompt_id=prompt_id, content="User: hi")
    assert (caught.value.limit, caught.value.used, caught.value.reset_at) == (limit, limit, period_end())
    # A repeated request creates nothing, so the quota does not matter to it.
    again = wire.ask("POST", "/conversations", {**body, "idempotencyKey": "k1"})
    assert (again.status, again.body["id"]) == (200, kept[1])
    assert wire.get("/usage")["conversations"] == {"used": limit, "limit": limit}
    assert wire.get("/conversations")["pagination"]["total"] == 2


def test_an_enterprise_plan_has_no_limits(new_account, database):
    wire = new_account("enterprise")
    spend(database, wire.account, 1_000_000)
    ids = [wire.add_prompt() for _ in range(8)]
    wire.log(ids[0])
    answer = wire.ask("GET", "/usage")
    assert answer.body["conversations"] == {"used": 1_000_001, "limit": None}
    assert answer.body["prompts"] == {"used": 8, "limit": None}
    assert not [name for name in answer.headers if name.startswith("x-ratelimit")]


def test_the_sixty_first_request_of_a_minute_is_refused(new_account):
    wire = new_account("free")
    wait_for_a_fresh_minute(10)
    minute_end = int(time.time() // 60 + 1) * 60
    paths = ("/account", "/nothing", "/prompts?limit=0", "/conversations/none")
    for number in range(60):
        answer = wire.ask("GET", paths[number % 4])
        assert answer.status == (200, 404, 400, 404)[number % 4]
        assert answer.headers["x-ratelimit-limit"] == "60"
        assert answer.headers["x-ratelimit-remaining"] == str(59 - number)
        assert answer.headers["x-ratelimit-reset"] == str(minute_end)
        assert "retry-after" not in answer.headers
    answer = wire.ask("GET", "/account")
    assert answer.status == 429
    wait = int(answer.headers["retry-after"])
    assert 0 < wait <= 60
    assert answer.headers["x-ratelimit-limit"] == "60"
    assert answer.headers["x-ratelimit-remaining"] == "0"
    assert answer.headers["x-ratelimit-reset"] == str(minute_end)
    assert answer.error == {
        "code": "RATE_LIMIT_EXCEEDED",
        "message": f"More than 60 requests in this minute; try again in {wait} seconds",
        "details": {"limit": 60, "retryAfter": wait},
    }
    # Another account is not held up, and neither is a request without a key counted.
    assert new_account("free").ask("GET", "/account").headers["x-ratelimit-remaining"] == "59"


def test_a_pro_plan_has_three_hundred_requests_a_minute(new_account):
    answer = new_account("pro").ask("GET", "/account")
    assert (answer.headers["x-ratelimit-limit"], answer.headers["x-ratelimit-remaining"]) == ("300", "299")


def test_prompts_made_at_once_do_not_pass_the_quota(new_account):
    wire = new_account("free")
    body = {"name": "n", "content": "c", "llmModel": "gpt-4o"}
    with ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(lambda _: wire.ask("POST", "/prompts", body).status, range(12)))
    assert sorted(statuses) == [201] * 5 + [429] * 7
    assert wire.get("/usage")["prompts"]["used"] == 5
