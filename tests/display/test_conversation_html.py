"""A conversation in a cell: its verdict and what was said; calls of tools are readable, and nothing in it runs."""

from __future__ import annotations

import json

import pytest

from promptlift.display.turn import Turn
from promptlift.schema.conversations import Conversation
from support.hostile import PAYLOADS
from support.report_page import Page


def page_of(content, **fields):
    wire = {"id": "c1", "status": "completed", "content": content, **fields}
    return Page(Conversation.from_wire(wire)._repr_html_())


def test_a_judged_conversation_shows_its_verdict_and_its_messages_in_order():
    issues = [{"title": "User gave up", "evidence": "forget it"}, "any shape", {"impact": "high"}]
    insights = {"taskCompleted": False, "sentiment": "negative", "summary": "Asked for it.", "issues": issues}
    content = "User: A refund?\nAssistant: I cannot.\nUser: forget it"
    text = page_of(content, title="Refund", insights=insights, llmModel="gpt-4o").text
    said = [
        "Refund",
        "gpt-4o",
        "task not completed",
        "negative",
        "Asked for it.",
        "User gave up",
        "any shape",
    ]
    places = [text.rindex(one) for one in (*said, "A refund?", "I cannot.", "forget it")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "The service sent no transcript."),
        ("no roles here", "The transcript cannot be read"),
        (json.dumps({"messages": [{"role": "user", "content": "m"}] * 250}), "50 more messages"),
    ],
)
def test_what_cannot_be_shown_is_said(content, said):
    text = page_of(content, insightsError="The endpoint is down.").text
    assert said in text
    assert "No insights: The endpoint is down." in text


def test_a_hostile_conversation_is_text():
    for payload in PAYLOADS:
        content = json.dumps({"messages": [{"role": "user", "content": payload}]})
        issues = [{"title": payload, "evidence": payload}, payload]
        insights = {"summary": payload, "issues": issues, "sentiment": payload, "taskCompleted": True}
        page = page_of(content, title=payload, llmModel=payload, insights=insights)
        assert page.names <= {"b", "br", "div", "p", "small", "span", "strong"}, payload
        assert page.misnested == page.comments == [], payload


def said(role, content, **about):
    turn = Turn.said(role, content, 400, **about)
    return turn.role, turn.content, turn.detail


def test_a_call_of_a_tool_is_its_name_and_its_arguments():
    call = '[tool call] find_parcel({"id": 7, "places": ["Köln", "Lyon"], "again": null})'
    lines = ["find_parcel", "  id: 7", '  places: ["Köln", "Lyon"]', "  again: null"]
    assert said("assistant", call) == ("tool call", "\n".join(lines), "")
    assert said("assistant", "[tool call] now()") == ("tool call", "now()", "")
    # Arguments that are no object, or too deep to be read, stay as they are written.
    for text in ("[7]", "id=7", "[" * 100_000, f'{{"at": {"[" * 9000}{"]" * 9000}}}'):
        shown = Turn.shown("", f"find({text})", 400).content
        assert said("assistant", f"[tool call] find({text})")[:2] == ("tool call", shown)
    for role, text in (
        ("user", "[tool call] find({})"),
        ("assistant", "[tool result] Lyon"),
        ("assistant", "I use [tool call] find({})"),
        ("assistant", "[tool call] and nothing more"),
    ):
        assert said(role, text, how="replayed") == (role, text, "")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("replayed", "replayed from a logged conversation · "),
        ("likeness", "imitated from logged calls · "),
        ("unknown", "the agent has no such tool · "),
        ("<b>evil</b>", ""),
        (["replayed"], ""),
    ],
)
def test_a_result_of_a_tool_says_how_it_came_about(how, words):
    found = said("system", '[tool result] {"status": "Lyon"}', how=how, detail="7 tokens")
    assert found == ("tool result", '{"status": "Lyon"}', f"{words}7 tokens")
