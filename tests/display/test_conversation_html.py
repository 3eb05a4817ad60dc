"""A conversation in a cell: its verdict and what was said, and nothing in it runs."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.conversations import Conversation
from support.cases import slow_except
from support.hostile import ONE_OF_EACH, PAYLOADS, name_of
from support.report_page import Page

OWN_TAGS = {"b", "br", "div", "p", "small", "span", "strong"}


def conversation(content, **fields):
    return Conversation.from_wire({"id": "c1", "status": "completed", "content": content, **fields})


def test_a_judged_conversation_shows_its_verdict_and_its_messages_in_order():
    insights = {
        "taskCompleted": False,
        "sentiment": "negative",
        "summary": "Asked for a refund.",
        "issues": [{"title": "User gave up", "evidence": "forget it"}, "any shape", {"impact": "high"}],
    }
    content = "User: A refund?\nAssistant: I cannot.\nUser: forget it"
    page = Page(conversation(content, title="Refund", insights=insights, llmModel="gpt-4o")._repr_html_())
    said = [
        "Refund",
        "gpt-4o",
        "task not completed",
        "negative",
        "Asked for a refund.",
        "User gave up",
        "any shape",
    ]
    said += ["A refund?", "I cannot.", "forget it"]
    places = [page.text.rindex(one) for one in said]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "The service sent no transcript."),
        ("no roles here", "The transcript cannot be read"),
        (
            json.dumps({"messages": [{"role": "user", "content": f"m{n}"} for n in range(250)]}),
            "50 more messages",
        ),
    ],
)
def test_what_cannot_be_shown_is_said(content, said):
    page = Page(conversation(content, insightsError="The endpoint is down.")._repr_html_())
    assert said in page.text
    assert "No insights: The endpoint is down." in page.text


@pytest.mark.parametrize("payload", slow_except(ONE_OF_EACH, PAYLOADS), ids=name_of)
def test_a_hostile_conversation_is_text(payload):
    content = json.dumps({"messages": [{"role": "user", "content": payload}]})
    issues = [{"title": payload, "evidence": payload}, payload]
    insights = {"summary": payload, "issues": issues, "sentiment": payload, "taskCompleted": True}
    page = Page(conversation(content, title=payload, llmModel=payload, insights=insights)._repr_html_())
    assert page.names <= OWN_TAGS
    assert page.misnested == []
    assert page.comments == []
