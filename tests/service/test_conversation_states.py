"""Two contents with one source id: one conversation or two, and which is the newer state."""

from __future__ import annotations

import json

import pytest

from promptlift.service.actions.logging.states import compare, is_news


def said(*texts, at=None, times=None, **metadata):
    """Structured content of alternating turns; ``at`` is the time of the first one."""
    messages = [{"role": ("user", "assistant")[turn % 2], "content": text} for turn, text in enumerate(texts)]
    for message, moment in zip(messages, times or ([at] if at else []), strict=False):
        message["timestamp"] = moment
    return json.dumps({"messages": messages, **({"metadata": metadata} if metadata else {})})


EIGHT, NINE = "2026-03-01T08:00:00Z", "2026-03-01T09:00:00Z"
PLAIN = "User: a\nAssistant: b"
HOT = [EIGHT, NINE]


@pytest.mark.parametrize(
    ("there", "new", "relation"),
    [
        (PLAIN, PLAIN, "same"),
        (said("a", "b"), said("a", "b").replace(": ", ":"), "same"),
        (said("a"), said("a", sourceId="s1"), "same"),
        (said("a", channel="web"), said("a", channel="web", sourceId="s1"), "same"),
        # One continues the other.
        (said("a"), said("a", "b"), "newer"),
        (said("a", "b"), said("a"), "older"),
        (PLAIN, said("a", "b", "c"), "newer"),
        (said("a", "b is cut of"), said("a", "b is cut off no more"), "newer"),
        (said("a", "b is cut off no more"), said("a", "b is cut of"), "older"),
        (said("a", "b is cut of"), said("a", "b is cut off no more", "c"), "newer"),
        (said("a", at=EIGHT), said("a", "b", at=EIGHT), "newer"),
        (said("a", at=EIGHT), said("a", "b"), "newer"),
        # Neither does: by the time of the end, by the number of messages, or nothing is known.
        (said("a", "b", times=HOT), said("a", "x", times=[EIGHT, "2026-03-01T09:30:00Z"]), "newer"),
        (said("a", "b", times=HOT), said("a", "x", "y", times=[EIGHT, "2026-03-01T08:30:00Z"]), "older"),
        (said("a", "b"), said("a", "x", "y"), "newer"),
        (said("a", "b", "c"), said("a", "x"), "older"),
        (said("a", "b"), said("a", "x"), "edited"),
        (said("a", channel="web"), said("a", channel="api"), "edited"),
        (said("Ann here", at=EIGHT), said("[NAME] here", at="2026-03-01T08:00:00.400Z"), "edited"),
        # Two conversations.
        (said("a", "b"), said("x", "b"), "other"),
        (said("hi", at=EIGHT), said("hi", "b", at=NINE), "other"),
        (said("hi", at=EIGHT), said("hi", at=NINE), "other"),
        (said("a"), "{no json", "other"),
    ],
)
def test_what_a_new_content_is_to_the_one_that_is_there(there, new, relation):
    assert compare(there, new) == relation


def test_the_same_system_prompt_does_not_make_two_conversations_one():
    system = {"role": "system", "content": "You help."}
    contents = [
        json.dumps({"messages": [system, {"role": "user", "content": text}]}) for text in ("Where?", "When?")
    ]
    assert compare(*contents) == "other"


@pytest.mark.parametrize(
    ("there", "new", "news"),
    [
        ("in_progress", "completed", True),
        ("abandoned", "completed", True),
        ("completed", "completed", False),
        ("completed", "in_progress", False),
        ("completed", None, False),
        (None, "in_progress", True),
    ],
)
def test_what_has_ended_does_not_go_on(there, new, news):
    assert is_news(there, new) is news
