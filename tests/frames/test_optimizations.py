"""Tables of optimizations, simulations, personas and versions: fixed columns, the specification's fields are enough."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import frames

BARE = {
    "id": "o1",
    "promptId": "p1",
    "status": "completed",
    "mode": "validation",
    "createdAt": "2026-01-31T09:30:00Z",
    "completedAt": "2026-01-31T10:30:00Z",
}


@pytest.mark.parametrize(
    ("row", "known"),
    [
        ({}, None),
        ({"rehearsal": False}, False),
        ({"results": {"rehearsal": True}}, True),
        ({"rehearsal": False, "results": {"rehearsal": True}}, True),
        ({"rehearsal": "yes"}, None),
    ],
)
def test_a_rehearsal_is_known_wherever_it_is_said(row, known):
    value = frames.optimizations_table([BARE | row])[0]["rehearsal"].iloc[0]
    assert pd.isna(value) if known is None else value == known
