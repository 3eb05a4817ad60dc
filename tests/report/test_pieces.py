"""The small parts: inert text, redaction and periods."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import pytest

from promptlift.report.period import window_of
from promptlift.report.redaction import redact, repeats
from promptlift.schema.inert import one_line, shorten, shorten_around, shorten_middle, visible
from support.report_page import NOW


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain", "plain"),
        (None, ""),
        ("a\x00b", "a␀b"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b lonely", "␛ lonely"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\ud83d", "\ufffd"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("Z" + "\u0301" * 50, "Z" + "\u0301" * 3),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_visible_text(raw, seen):
    assert visible(raw) == seen


def test_shortening_counts_what_is_gone():
    assert shorten("short", 10) == ("short", 0)
    assert shorten("one two three four five six seven", 30) == ("one two three four five six…", len(" seven"))
    assert one_line("a\n\n b\tc", 80) == "a b c"
    # A text without spaces is cut all the same.
    assert len(shorten("x" * 999, 100)[0]) == 100
    assert len(shorten_middle("x" * 999, 100)) <= 100
    assert len(shorten_around("x" * 999, 500, 510, 100)) <= 100
    assert shorten_around("short", 1, 2, 100) == "short"


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


@pytest.mark.parametrize(
    ("title", "said", "found"),
    [
        ("Refund late", "my refund is late", False),
        ("Customer: my refund is late", "Oh no, MY refund -- is late!", True),
        ("Refund", "refund", True),
        ("A refund that is late", "is late", True),
        ("", "", False),
        ("Late", "", False),
        ("one two three", "one two three four", False),
        ("ÜNÏTED STRASSE", "ünïted straße", True),
    ],
)
def test_a_title_repeats_what_was_said_when_four_words_in_a_row_are_the_same(title, said, found):
    assert repeats(title, said) is found


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "1 " * 50_000, "a@" * 50_000, "a." * 50_000, "AB12 " * 20_000, "(" * 100_000]
)
def test_redaction_of_a_hostile_text_costs_little(text):
    start = time.process_time()
    redact(text)
    visible(text)
    # Backtracking would take minutes.
    assert time.process_time() - start < 10


def test_periods():
    assert window_of(None, NOW).start is None
    assert window_of(7, NOW).start == datetime(2026, 3, 3, 9, 30, tzinfo=UTC)
    both = window_of((date(2026, 1, 1), "2026-01-31"), NOW)
    assert (both.start, both.end) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    assert both.words == "1 Jan 2026 to 31 Jan 2026"
    assert window_of((None, "2026-01-31"), NOW).words == "until 31 Jan 2026"
    assert window_of(("2026-01-31T06:00:00+02:00", None), NOW).start == datetime(2026, 1, 31, 4, tzinfo=UTC)
