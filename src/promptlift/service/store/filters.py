"""Conditions of a list's filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table

__all__ = ["equal"]


def equal(table: Table, **values: Any) -> list[ColumnElement[bool]]:
    """Return the conditions that columns have these values; a column whose value is ``None`` may have any."""
    return [table.c[name] == value for name, value in values.items() if value is not None]
