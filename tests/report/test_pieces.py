"""The small parts: cuts of a text, and redaction."""

from __future__ import annotations

import time

import pytest

from promptlift.report.redaction import redact
from promptlift.schema.inert import shorten_around, shorten_middle, visible


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        ("mail jo@example.org now", "mail [e-mail] now"),
        ("call +49 (0)30 901820", "call [number]"),
        ("card 4111 1111 1111 1111", "card [number]"),
        ("order LK-48213", "order [number]"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [account]"),
        ("see https://example.org/a?b=c.", "see [link]"),
        ("room 12, 4 people, 2026", "room 12, 4 people, 2026"),
    ],
)
def test_redaction(raw, left):
    assert redact(raw) == left


@pytest.mark.parametrize("limit", [24, 29, 79])
def test_a_text_that_is_cut_keeps_its_words_whole(limit):
    text = " ".join(f"word{number}" for number in range(40))
    words = set(text.split())
    assert set(shorten_middle(text, limit).split()) <= words | {"…"}
    for place in (0, 90, 150, len(text) - 6):
        start = text.index("word", place)
        shown = shorten_around(text, start, start + 5, limit)
        assert len(shown) <= limit
        assert text[start : start + 5] in shown
        assert set(shown.split()) <= words | {"…"}


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "1 " * 50_000, "a@" * 50_000, "a." * 50_000, "AB12 " * 20_000, "(" * 100_000]
)
def test_redaction_of_a_hostile_text_costs_little(text):
    start = time.process_time()
    redact(text)
    visible(text)
    # Backtracking would take minutes.
    assert time.process_time() - start < 10
