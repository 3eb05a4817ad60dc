"""Pauses between attempts, and the header that asks for one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from promptlift.retry import read_retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("17", 17.0),
        ("-3", 0.0),
        ("nan", None),
        ("soon", None),
        ("Fri, 02 Jan 2026 00:00:09 GMT", 9.0),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0.0),
        ("Fri, 02 Jan 2026 00:00:09 -0000", 9.0),
        ("Fri, 02 Jan 99999 00:00:00 GMT", None),
        ("Fri, 99 Jan 2026 99:00:00 GMT", None),
    ],
)
def test_a_retry_after_header_is_read_or_ignored(value, seconds):
    assert read_retry_after(value, now=datetime(2026, 1, 2, tzinfo=UTC)) == seconds
