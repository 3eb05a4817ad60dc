"""Every error of optimizations: exactly what is told, and the exception that it becomes."""

from __future__ import annotations

import pytest

from agreement.test_errors import same
from promptlift import errors
from support.optimizing import ended, make_tiny, start


def test_a_variant_of_another_optimization_is_refused(won, connect):
    wire = won.wire
    make_tiny(wire)
    other = ended(wire, start(wire, won.prompt_id, variantCount=2)["id"])
    foreign = wire.get(f"/optimizations/{other['id']}/variants")["data"][1]["id"]
    content = wire.get(f"/prompts/{won.prompt_id}")["content"]
    for variant_id in (foreign, "var_none", "", " ", "' OR 1=1 --", "☃"):
        answer = wire.ask("POST", f"{won.path}/apply", {"variantId": variant_id})
        assert (answer.status, set(answer.error["details"])) == (400, {"variantId"})
    with pytest.raises(errors.ValidationError) as caught:
        connect(wire).optimizations.apply(won.id, variant_id="☃")
    assert same(caught.value, answer)
    query = wire.ask("GET", f"{won.path}/simulations?variantId={foreign}")
    assert (query.status, query.error["details"]) == (
        400,
        {"variantId": "no such variant in this optimization"},
    )
    assert wire.get(f"/prompts/{won.prompt_id}")["content"] == content


def test_the_quota_of_the_month_is_told_with_its_numbers(new_account, connect):
    wire = new_account("free")
    make_tiny(wire)
    prompt_id = wire.add_prompt()
    made = [start(wire, prompt_id, variantCount=1)["id"] for _ in range(10)]
    # What is refused for another reason does not count, and is told as that.
    assert wire.ask("POST", "/optimizations", {"promptId": "none"}).status == 404
    answer = wire.ask("POST", "/optimizations", {"promptId": prompt_id})
    assert (answer.status, answer.error["code"]) == (429, "LIMIT_EXCEEDED")
    period = wire.get("/usage")["period"]
    assert answer.error["details"] == {"limit": 10, "used": 10, "resetAt": period["end"]}
    with pytest.raises(errors.LimitExceeded) as caught:
        connect(wire).optimizations.create(prompt_id=prompt_id)
    assert same(caught.value, answer)
    assert (caught.value.limit, caught.value.used) == (10, 10)
    assert wire.get("/optimizations")["pagination"]["total"] == 10
    assert wire.get("/usage")["optimizations"]["used"] == 10
    for one in made:
        ended(wire, one)
