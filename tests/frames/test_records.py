from __future__ import annotations

import pandas as pd
import pytest

from promptlift.errors import FrameError
from promptlift.frames import records_from


def test_one_row_a_conversation_whose_source_id_goes_before_its_own():
    frame = pd.DataFrame(
        {
            "conversation_id": ["a", "b"],
            "source_id": ["s", None],
            "content": ["User: x", "User: y"],
            "status": ["completed", None],
            "llm_model": ["m", float("nan")],
            "other": [1, 2],
        }
    )
    assert records_from(frame) == [
        {"content": "User: x", "status": "completed", "llm_model": "m", "source_id": "s"},
        {"content": "User: y", "status": None, "llm_model": None, "source_id": "b"},
    ]
    assert records_from(frame.head(0)) == []


def test_one_row_a_message_is_put_together_in_order_of_turns():
    frame = pd.DataFrame(
        {
            "conversation_id": ["b", "a", "b"],
            "turn": [1, 0, 0],
            "role": pd.Categorical(["assistant", "user", "user"]),
            "content": ["b1", "a0", "b0"],
            "sent_at": pd.to_datetime(["2026-01-01T00:01Z", None, "2026-01-01T02:00+02:00"], utc=True),
            "tokens": pd.array([4, None, None], dtype="Int64"),
            "status": ["completed"] * 3,
        }
    )
    first = {"role": "user", "content": "b0", "timestamp": "2026-01-01T00:00:00.000Z"}
    second = {"role": "assistant", "content": "b1", "tokens": 4, "timestamp": "2026-01-01T00:01:00.000Z"}
    assert records_from(frame) == [
        {"source_id": "b", "status": "completed", "messages": [first, second]},
        {"source_id": "a", "status": "completed", "messages": [{"role": "user", "content": "a0"}]},
    ]
    assert records_from(frame.head(0)) == []


@pytest.mark.parametrize(
    ("columns", "missing"),
    [(["text"], ("content",)), (["role", "content"], ("conversation_id",)), ([], ("content",))],
)
def test_missing_columns_are_named(columns, missing):
    with pytest.raises(FrameError, match="one row per message") as failed:
        records_from(pd.DataFrame(columns=columns))
    assert failed.value.missing == missing
