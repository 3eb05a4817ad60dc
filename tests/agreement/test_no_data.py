"""What is answered where there is nothing yet, where a field is left out, and where a tag looks like several."""

from __future__ import annotations

from agreement.covered import both_schemes, same
from support.shapes import differences
from support.shapes.prompts import STATUS_VIEW
from support.wire import leaves


@both_schemes
def test_counts_of_nothing_are_zero_and_rates_of_nothing_are_null(wire, client):
    prompt_id = wire.add_prompt()
    root = f"/{wire.scheme.segment}/{prompt_id}"
    status = wire.get(f"{root}/status")
    assert differences(status, STATUS_VIEW) == []
    assert status["metrics"] == {"conversationCount": 0, "taskCompletionRate": None, "avgSentiment": None}
    assert same(client.prompts.status(prompt_id), status)
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
        assert view["period"]["from"] <= view["period"]["to"]
        assert client.prompts.insights(prompt_id, days=days).summary.total_conversations == 0
    used = [value for path, value in leaves(wire.get("/usage")) if path.endswith((".used", ".running"))]
    assert used == [1, 0, 0, 0, 0]


def test_a_tag_with_a_comma_or_a_quote_is_found_alone(wire, client):
    odd = wire.add_prompt(tags=["x,y", 'say "hi"', '"'])
    plain = wire.add_prompt(tags=["x", "hi"])

    def found(*tags):
        return [prompt.id for prompt in client.prompts.list(tags=list(tags)).data]

    assert found("x,y") == found('say "hi"') == found('"') == [odd]
    assert found("x") == found("hi") == [plain]
    assert found("y") == found("say") == found(",") == []
    assert found("x,y", "hi") == [plain, odd]
