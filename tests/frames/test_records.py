from __future__ import annotations

import pandas as pd
import pytest

from promptlift.errors import FrameError
from promptlift.frames import records_from


def test_one_row_a_conversation():
    frame = pd.DataFrame(
        {
            "conversation_id": ["a", "b"],
            "content": ["User: x", "User: y"],
            "status": ["completed", None],
            "llm_model": ["m", float("nan")],
            "other": [1, 2],
        }
    )
    assert records_from(frame) == [
        {"content": "User: x", "status": "completed", "llm_model": "m", "source_id": "a"},
        {"content": "User: y", "status": None, "llm_model": None, "source_id": "b"},
    ]


def test_one_row_a_message_is_put_together_in_order_of_turns():
    frame = pd.DataFrame(
        {
            "conversation_id": ["b", "a", "b", "a"],
            "turn": [1, 0, 0, 1],
            "role": pd.Categorical(["assistant", "user", "user", "assistant"]),
            "content": ["b1", "a0", "b0", "a1"],
            "sent_at": pd.to_datetime(["2026-01-01T00:01Z", None, "2026-01-01T02:00+02:00", None], utc=True),
            "tokens": pd.array([4, None, None, 2], dtype="Int64"),
            "status": ["completed"] * 4,
        }
    )
    assert records_from(frame) == [
        {
            "source_id": "b",
            "status": "completed",
            "messages": [
                {"role": "user", "content": "b0", "timestamp": "2026-01-01T00:00:00.000Z"},
                {"role": "assistant", "content": "b1", "tokens": 4, "timestamp": "2026-01-01T00:01:00.000Z"},
            ],
        },
        {
            "source_id": "a",
            "status": "completed",
            "messages": [
                {"role": "user", "content": "a0"},
                {"role": "assistant", "content": "a1", "tokens": 2},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("columns", "missing"),
    [(["text"], ("content",)), (["role", "content"], ("conversation_id",)), ([], ("content",))],
)
def test_missing_columns_are_named(columns, missing):
    with pytest.raises(FrameError, match="one row per message") as failed:
        records_from(pd.DataFrame(columns=columns))
    assert failed.value.missing == missing


def test_an_empty_table_gives_no_records():
    assert records_from(pd.DataFrame({"content": []})) == []
    assert records_from(pd.DataFrame({"content": [], "role": [], "conversation_id": []})) == []


def test_the_source_id_goes_before_the_id_of_the_conversation():
    frame = pd.DataFrame(
        {"conversation_id": ["a", "b"], "source_id": ["s", None], "content": ["User: x", "User: y"]}
    )
    assert [record["source_id"] for record in records_from(frame)] == ["s", "b"]
