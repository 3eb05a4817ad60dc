"""The columns of every table, in order, with their dtypes and categories: what notebooks rely on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptlift import frames

if TYPE_CHECKING:
    import pandas as pd

OPTIONS = {"conversations": {"insights": True, "content": True}, "simulations": {"content": True}}
PARTS = Path(__file__).with_name("layout.txt").read_text(encoding="utf-8").strip().split("\n\n")
JUDGED = {
    *(
        "sentiment",
        "sentiment_score",
        "task_completed",
        "quality",
        "topics",
        "summary",
        "issues",
        "insights_at",
    ),
    *("analyser", "basis", "completion_chance"),
}
LAYOUT = {part.splitlines()[0].strip("[]"): part.splitlines()[1:] for part in PARTS}


def layout(table: pd.DataFrame) -> list[str]:
    return [
        f"{name}: {'|'.join(column.dtype.categories) if column.dtype == 'category' else column.dtype}"
        for name, column in table.items()
    ]


@pytest.mark.parametrize("name", LAYOUT)
def test_a_table_has_its_columns_in_order_with_their_dtypes(name):
    rows = [{}] if name == "usage" else []
    table = getattr(frames, f"{name}_table")(rows, **OPTIONS.get(name, {}))[0]
    assert layout(table) == LAYOUT[name]
    assert table.attrs == {}


def test_content_and_insights_are_added_only_when_asked_for():
    judged = set(layout(frames.conversations_table([], insights=True)[0]))
    assert judged == set(LAYOUT["conversations"]) - {"content: str"}
    plain = frames.conversations_table([])[0]
    unjudged = [line for line in LAYOUT["conversations"] if line.partition(":")[0] not in JUDGED]
    assert layout(frames.conversations_table([], content=True)[0]) == unjudged
    assert layout(plain) == [line for line in unjudged if line != "content: str"]
    assert layout(frames.simulations_table([])[0]) == LAYOUT["simulations"][:-1]
