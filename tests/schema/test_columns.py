"""A field of a model describes its column: name, kind, unit, meaning and where the value is."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from promptlift.schema.columns import Column, Nested, TableColumn, table_columns
from promptlift.schema.model import ApiModel, LinkedModel, UtcTime


class Part(ApiModel):
    how_many: Annotated[int | None, Column(name="part_count", unit="pieces")] = None
    """How many there are."""


class Thing(LinkedModel):
    id: Annotated[str, Column(name="thing_id")]
    state: Annotated[str | None, Column(categories=("on", "off"))] = None
    noticed_at: Annotated[UtcTime | None, Column()] = None
    labels: Annotated[list[str], Column()] = Field(default_factory=list)
    records: Annotated[list[Any], Column()] = Field(default_factory=list)
    share: Annotated[
        float | None,
        Column(name="share_pct", unit="percent", tables=("things",)),
        Column(tables=("others",), meaning="A share."),
    ] = None
    """Share of all."""
    part: Annotated[Part | None, Nested()] = None
    hidden: str | None = None
    clean: Annotated[bool | None, Column()] = Field(default=None, alias="isClean")


def test_the_kind_comes_from_the_annotation_and_the_path_from_the_wire():
    columns = {column.name: column for column in table_columns(Thing, "things")}
    assert {name: (column.kind, ".".join(column.path)) for name, column in columns.items()} == {
        "prompt_id": ("text", "promptId"),
        "thing_id": ("text", "id"),
        "state": ("category", "state"),
        "noticed_at": ("time", "noticedAt"),
        "labels": ("texts", "labels"),
        "records": ("records", "records"),
        "share_pct": ("float", "share"),
        "part_count": ("integer", "part.howMany"),
        "clean": ("boolean", "isClean"),
    }
    assert columns["state"].categories == ("on", "off")
    assert (columns["part_count"].unit, columns["part_count"].meaning) == ("pieces", "How many there are.")


def test_leading_columns_come_first_and_computed_ones_last_and_each_once():
    computed = [TableColumn("a", "text"), TableColumn("b", "text")]
    columns = table_columns(Part, "parts", computed=computed, first=["b"])
    assert [column.name for column in columns] == ["b", "part_count", "a"]
    with pytest.raises(ValueError, match="parts has no column 'gone'"):
        table_columns(Part, "parts", first=["gone"])
    with pytest.raises(ValueError, match="parts has two columns named 'part_count'"):
        table_columns(Part, "parts", computed=[TableColumn("part_count", "integer")])


def test_an_annotation_that_says_no_kind_is_refused():
    class Odd(ApiModel):
        either: Annotated[int | str | None, Column()] = None

    with pytest.raises(TypeError, match="Give the column 'either' a kind"):
        table_columns(Odd, "odd")
