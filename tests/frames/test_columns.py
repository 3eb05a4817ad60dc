"""Tables follow the models: a new field is one line."""

from __future__ import annotations

from typing import Annotated

import pandas as pd

from promptlift.frames.columns import InvalidCounts, read_table, series
from promptlift.frames.layouts import TABLES
from promptlift.schema.columns import Column, TableColumn, table_columns
from promptlift.schema.model import ApiModel, UtcTime


class Harvest(ApiModel):
    id: Annotated[str, Column(name="harvest_id")]
    picked_at: Annotated[UtcTime | None, Column()] = None


class WeighedHarvest(Harvest):
    loss_share: Annotated[float | None, Column(name="loss_pct", unit="percent")] = None
    """What was lost on the way."""


ROWS = [
    {"id": "h1", "pickedAt": "2026-01-02T03:04:05Z", "lossShare": 2.5},
    {"id": "h2", "lossShare": "much"},
]


def test_a_new_field_of_a_model_is_a_column_with_dtype_and_unit():
    before, _ = read_table(table_columns(Harvest, "harvests"), ROWS)
    columns = table_columns(WeighedHarvest, "harvests")
    after, unusable = read_table(columns, ROWS)
    assert [*after.columns] == [*before.columns, "loss_pct"]
    assert after.dtypes.astype(str).to_dict() == {
        "harvest_id": "str",
        "picked_at": "datetime64[us, UTC]",
        "loss_pct": "float64",
    }
    assert after["loss_pct"].tolist()[0] == 2.5
    assert unusable == {"loss_pct": 1}
    assert (columns[-1].unit, columns[-1].meaning) == ("percent", "What was lost on the way.")
    assert read_table(columns, [])[0].dtypes.equals(after.dtypes)


def test_every_column_has_a_meaning():
    columns = [(table, column) for table in TABLES for column in TABLES[table]]
    assert not [(table, column.name) for table, column in columns if not column.meaning.endswith(".")]


def test_whole_numbers_stay_exact_and_others_are_missing_and_counted():
    column = TableColumn("one", "integer")
    for values, kept in (
        ([3, None, 0, -(2**53)], [3, None, 0, -(2**53)]),
        ([2**53, 2**53 + 1], [2**53, None]),
        ([2**70, 1], [None, 1]),
        ([-(2**63), 1], [None, 1]),
        ([2.0, 2.5, None, 7], [2, None, None, 7]),
        ([True, 5, "6"], [None, 5, None]),
    ):
        counts = InvalidCounts()
        made = series(column, values, counts)
        assert [None if value is pd.NA else value for value in made] == kept
        lost = sum(one is None and value is not None for one, value in zip(kept, values, strict=True))
        assert counts.counts["one"] == lost
