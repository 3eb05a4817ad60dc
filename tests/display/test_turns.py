"""A message as shown: cut, harmless, and counted."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from promptlift.display.turn import Turn


def test_a_long_message_is_cut_and_says_by_how_much():
    turn = Turn.shown("user", "x" * 500, 100)
    assert len(turn.content) == 100
    assert turn.cut == 500 - 99
    assert Turn.shown("user", "short", 100).cut == 0


def test_control_characters_cannot_be_hidden_in_a_message():
    assert Turn.shown("assistant", "a\x00b\u202ec", 100).content == "a␀bc"


def test_what_is_known_about_a_message_goes_with_it():
    turn = Turn.shown("assistant", "Hello", 100, detail="12 tokens")
    assert asdict(turn) == {
        "role": "assistant",
        "content": "Hello",
        "cut": 0,
        "detail": "12 tokens",
        "at": None,
    }


def of(role, content, **about):
    turn = Turn.said(role, content, 400, **about)
    return turn.role, turn.content, turn.detail


def test_a_call_of_a_tool_is_its_name_and_its_arguments():
    call = '[tool call] find_parcel({"id": 7, "places": ["Köln", "Lyon"], "again": null})'
    lines = ["find_parcel", "  id: 7", '  places: ["Köln", "Lyon"]', "  again: null"]
    assert of("assistant", call) == ("tool call", "\n".join(lines), "")
    for text in ("{}", ""):
        assert of("assistant", f"[tool call] now({text})") == ("tool call", "now()", "")
    deep = f'{{"at": {"[" * 900}{"]" * 900}}}'
    assert of("assistant", f"[tool call] find({deep})")[0] == "tool call"
    # Arguments that are no object stay as they are written.
    for text in ("[7]", "id=7", "[" * 100_000):
        assert of("assistant", f"[tool call] find({text})")[:2] == (
            "tool call",
            Turn.shown("", f"find({text})", 400).content,
        )


@pytest.mark.parametrize(
    ("how", "detail"),
    [
        ("replayed", "replayed from a logged conversation · 7 tokens"),
        ("likeness", "imitated from logged calls · 7 tokens"),
        ("unknown", "the agent has no such tool · 7 tokens"),
        (None, "7 tokens"),
        ("<b>evil</b>", "7 tokens"),
        (["replayed"], "7 tokens"),
    ],
)
def test_a_result_of_a_tool_says_how_it_came_about(how, detail):
    found = of("system", '[tool result] {"status": "Lyon"}', how=how, detail="7 tokens")
    assert found == ("tool result", '{"status": "Lyon"}', detail)


@pytest.mark.parametrize(
    ("role", "content"),
    [
        ("user", "[tool call] find({})"),
        ("user", "[tool result] Lyon"),
        ("assistant", "[tool result] Lyon"),
        ("assistant", "I use [tool call] find({})"),
        ("assistant", "[tool call] and nothing more"),
        ("system", "[tool call] find({})"),
    ],
)
def test_what_only_looks_like_a_call_stays_what_it_is(role, content):
    assert of(role, content, how="replayed") == (role, content, "")
