"""What is answered where there is nothing yet, where a field is left out, and where a tag looks like several."""

from __future__ import annotations

import pytest

from support.wire import description, leaves

# Every number of an answer in the specification that may be null here, by the schema of the description.
MAY_BE_NULL = {
    "Prompt": ("temperature", "maxTokens"),
    "StatusMetrics": ("taskCompletionRate", "avgSentiment"),
    "ConversationCounts": ("completionRate",),
    "TaskCompletion": ("rate",),
    "SentimentSummary": ("average",),
    "InsightMetrics": ("avgResponseTime", "avgConversationLength"),
    "OptimizationResults": ("lift", "confidence"),
    "VariantMetrics": ("taskCompletion", "sentiment", "quality"),
    "Variant": ("lift",),
    "PlanLimits": ("prompts", "optimizationsPerMonth", "conversationsPerMonth"),
    "Used": ("limit",),
    "OptimizationsUsed": ("limit",),
}
# Those that may not.
NEVER_NULL = {
    "StatusMetrics": ("conversationCount",),
    "ConversationCounts": ("totalConversations", "completedConversations", "abandonedConversations"),
    "TopIssue": ("frequency",),
    "Used": ("used",),
    "OptimizationsUsed": ("used", "running"),
    "Settings": (),
    "OptimizationSettings": ("variantsPerGeneration", "maxIterations"),
    "SimulationSettings": ("personaCount", "scenariosPerSimulation", "maxTurns"),
}


def fields(service, table):
    """The description of each field of a table."""
    schemas = description(service.base_url)["components"]["schemas"]
    return {(name, field): schemas[name]["properties"][field] for name in table for field in table[name]}


def test_a_number_that_may_be_null_says_so_in_the_description(service):
    for field, schema in fields(service, MAY_BE_NULL).items():
        assert {"type": "null"} in schema["anyOf"], field
        assert "unspecified" in schema["description"], field
    for field, schema in fields(service, NEVER_NULL).items():
        assert schema.get("type") in ("integer", "number"), field


def test_counts_of_nothing_are_zero_and_rates_of_nothing_are_null(wire):
    prompt_id = wire.add_prompt()
    root = f"/{wire.scheme.segment}/{prompt_id}"
    status = wire.get(f"{root}/status")["metrics"]
    assert status == {"conversationCount": 0, "taskCompletionRate": None, "avgSentiment": None}
    for days in ("7", "30", "90", "all"):
        view = wire.get(f"{root}/insights?days={days}")
        assert view["summary"] == {
            "totalConversations": 0,
            "completedConversations": 0,
            "abandonedConversations": 0,
            "completionRate": None,
        }
        distribution = view["metrics"]["sentiment"]["distribution"]
        assert distribution == {"positive": 0, "neutral": 0, "negative": 0}
        assert view["period"]["days"] >= 1
    used = [value for path, value in leaves(wire.get("/usage")) if path.endswith((".used", ".running"))]
    assert used == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("spelled", [{}, {"variantCount": None}])
def test_a_variant_count_that_is_left_out_is_three(wire, spelled):
    body = {wire.scheme.link: wire.add_prompt(), **spelled}
    made = wire.ask("POST", "/optimizations", body).body
    assert made["variantCount"] == 3
    wire.ask("POST", f"/optimizations/{made['id']}/stop")
    wire.ask("PATCH", "/settings", {"optimization": {"variantsPerGeneration": 2}})
    changed = wire.ask("POST", "/optimizations", body).body
    assert changed["variantCount"] == 2
    wire.ask("POST", f"/optimizations/{changed['id']}/stop")


def test_a_tag_with_a_comma_or_a_quote_is_found_alone(wire, client):
    odd = wire.add_prompt(tags=["x,y", 'say "hi"', '"'])
    plain = wire.add_prompt(tags=["x", "hi"])

    def found(*tags):
        return [prompt.id for prompt in client.prompts.list(tags=list(tags)).data]

    assert found("x,y") == found('say "hi"') == found('"') == [odd]
    assert found("x") == found("hi") == [plain]
    assert found("y") == found("say") == found(",") == []
    assert found("x,y", "hi") == [plain, odd]
