"""Insights come soon after the log request, and a slow judge holds nothing up."""

from __future__ import annotations

import threading

from support.service_process import wait_until


def test_insights_are_there_soon_after_the_log_request(wire):
    prompt_id = wire.add_prompt()
    conversation = wire.log(prompt_id)
    wait_until(
        lambda: wire.ask("GET", f"/conversations/{conversation}/insights").status == 200,
        what="insights of one conversation",
        seconds=10,
    )
    row = wire.get(f"/conversations/{conversation}")
    assert (row["hasInsights"], row["insightsError"]) == (True, None)
    assert row["insights"]["conversationId"] == conversation


def test_a_slow_judge_holds_nothing_up_and_its_insights_come_in_the_end(answering):
    go, asked = threading.Event(), threading.Event()

    def hold(request):
        if request.body is not None and request.headers["x-promptlift-purpose"] == "judge":
            asked.set()
            go.wait(timeout=60)

    answering.model.fault = hold
    try:
        wire = answering.account()
        prompt_id = wire.add_prompt()
        wire.log(prompt_id)
        assert asked.wait(timeout=30)
        ids = [wire.log(prompt_id) for _ in range(30)]
        missing = wire.ask("GET", f"/conversations/{ids[0]}/insights")
        assert (missing.status, missing.error["code"]) == (404, "NOT_FOUND")
        assert missing.error["message"] == "Insights not found: they are not ready yet"
        whole = wire.get(f"/conversations/{ids[0]}")
        assert (whole["hasInsights"], whole["insights"]) == (False, None)
        assert wire.get("/conversations?hasInsights=true")["pagination"]["total"] == 0
        assert wire.get(f"/prompts/{prompt_id}/insights")["summary"]["totalConversations"] == 31
        go.set()
        wire.wait_for_insights(prompt_id)
    finally:
        answering.model.fault = None
        go.set()
    assert wire.get(f"/conversations/{ids[0]}/insights")["analyser"] == "llm:stub"
    assert wire.get("/usage")["tokens"]["used"] > 0
