"""The columns of every table, in order, with their dtypes and categories: what notebooks rely on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptlift import frames

if TYPE_CHECKING:
    import pandas as pd

TABLES = {
    "conversations": lambda: frames.conversations_table([], insights=True, content=True)[0],
    "messages": lambda: frames.messages_table([])[0],
    "prompts": lambda: frames.prompts_table([])[0],
    "usage": lambda: frames.usage_table([{}])[0],
    "optimizations": lambda: frames.optimizations_table([])[0],
    "simulations": lambda: frames.simulations_table([], content=True)[0],
    "personas": lambda: frames.personas_table([])[0],
    "versions": lambda: frames.versions_table([])[0],
    "production_metrics": lambda: frames.production_metrics_table([])[0],
    "variants": lambda: frames.variants_table([])[0],
    "edits": lambda: frames.edits_table([])[0],
    "actions": lambda: frames.actions_table([])[0],
    "reviews": lambda: frames.review_table([])[0],
}


PARTS = Path(__file__).with_name("layout.txt").read_text(encoding="utf-8").strip().split("\n\n")
LAYOUT = {part.splitlines()[0].strip("[]"): part.splitlines()[1:] for part in PARTS}


def layout(table: pd.DataFrame) -> list[str]:
    return [
        f"{name}: {'|'.join(column.dtype.categories) if column.dtype == 'category' else column.dtype}"
        for name, column in table.items()
    ]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_columns_in_order_with_their_dtypes(name):
    table = TABLES[name]()
    assert layout(table) == LAYOUT[name]
    assert table.attrs == {}


def test_content_and_insights_are_added_only_when_asked_for():
    plain = frames.conversations_table([])[0]
    assert layout(plain) == LAYOUT["conversations"][:21]
    assert layout(frames.conversations_table([], content=True)[0]) == LAYOUT["conversations"][:22]
    assert layout(frames.simulations_table([])[0]) == LAYOUT["simulations"][:-1]
