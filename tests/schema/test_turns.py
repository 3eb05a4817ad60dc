"""A message as shown: cut, harmless, and counted."""

from __future__ import annotations

from dataclasses import asdict

from promptlift.schema.turns import Turn


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
