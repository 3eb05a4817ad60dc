"""Columns of tables, described next to the values: a field of a model has its name, kind, unit and meaning."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


def docstring(model: type[BaseModel], field: str) -> str:
    """Return the docstring of a field; empty if it has none, or if the source is not there."""
    for owner in model.__mro__:
        if field in inspect.get_annotations(owner):
            return _docstrings(owner.__module__).get((owner.__qualname__, field), "")
    return ""


@cache
def _docstrings(module: str) -> dict[tuple[str, str], str]:
    """Return the docstrings of the fields of all classes of a module."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except OSError:
        return {}
    return {
        (owner.name, field.target.id): inspect.cleandoc(text.value.value)
        for owner in tree.body
        if isinstance(owner, ast.ClassDef)
        for field, text in pairwise(owner.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


Kind = Literal["text", "category", "boolean", "time", "float", "integer", "texts", "records", "record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Mark a field as a column of a table: ``score: Annotated[float | None, Column(unit="percent")] = None``.

    Attributes
    ----------
    name
        Name in the table; by default the field's.
    unit
        Unit of the values in the table; empty for texts, times, flags and counts.
    categories
        Values of a column of labels.
    kind
        Kind of values; by default derived from the field's annotation and the categories.
    meaning
        Meaning of the column, if different from the field's docstring.
    tables
        Names of the tables that have the column; by default all tables of the model.
    """

    name: str = ""
    unit: str = ""
    categories: tuple[str, ...] = ()
    kind: Kind | None = None
    meaning: str = ""
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nested:
    """Mark a field whose model adds its columns to the table."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of one table.

    Attributes
    ----------
    name
        Name in the table.
    kind
        Kind of values.
    unit
        Unit of its values, empty if there is none.
    described
        Its meaning, in a sentence; or the model and the field whose docstring it is.
    categories
        Values of a column of labels.
    path
        Names that lead to the value in decoded JSON of the API; empty for a computed column.
    """

    name: str
    kind: Kind
    unit: str = ""
    described: str | tuple[type[BaseModel], str] = ""
    categories: tuple[str, ...] = ()
    path: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Its meaning, in a sentence."""
        known = self.described
        return known if isinstance(known, str) else " ".join(docstring(*known).split())


def table_columns(
    model: type[BaseModel],
    table: str,
    *,
    computed: Sequence[TableColumn] = (),
    first: Sequence[str] = (),
) -> tuple[TableColumn, ...]:
    """Return the columns of a table that is made from a model.

    Parameters
    ----------
    model
        The model whose marked fields are the columns.
    table
        Name of the table.
    computed
        Columns without a field in the model.
    first
        Names of the leading columns, in order. The others follow: fields as the model declares them, then the
        computed ones.

    Raises
    ------
    ValueError
        Two columns have the same name, or a leading column does not exist.
    TypeError
        The kind of a column cannot be derived from its annotation.
    """
    columns = [*_marked(model, table, ()), *computed]
    names = [column.name for column in columns]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"The table {table} has two columns named {twice[0]!r}.")
    if unknown := [name for name in first if name not in names]:
        raise ValueError(f"The table {table} has no column {unknown[0]!r}.")
    place = {name: number for number, name in enumerate(first)}
    return tuple(sorted(columns, key=lambda column: place.get(column.name, len(place))))


def _marked(model: type[BaseModel], table: str, path: tuple[str, ...]) -> Iterator[TableColumn]:
    for name, field in model.model_fields.items():
        here = (*path, field.alias or name)
        for mark in field.metadata:
            if isinstance(mark, Nested):
                yield from _marked(_bare(field.annotation), table, here)
            elif isinstance(mark, Column) and (not mark.tables or table in mark.tables):
                yield TableColumn(
                    name=mark.name or name,
                    kind=mark.kind or _kind(name, field, mark),
                    unit=mark.unit,
                    described=mark.meaning or (model, name),
                    categories=mark.categories,
                    path=here,
                )


_KINDS: Final[dict[Any, Kind]] = {
    str: "text",
    bool: "boolean",
    datetime: "time",
    float: "float",
    int: "integer",
    list[str]: "texts",
    list[Any]: "records",
}


def _kind(name: str, field: FieldInfo, mark: Column) -> Kind:
    if mark.categories:
        return "category"
    bare = _bare(field.annotation)
    if get_origin(bare) is list:
        bare = list[_bare(get_args(bare)[0])]  # type: ignore[misc]  # a type that is known only now
    if bare not in _KINDS:
        raise TypeError(
            f"Give the column {mark.name or name!r} a kind: its type {bare!r} does not determine one."
        )
    return _KINDS[bare]


def _bare(annotation: Any) -> Any:
    """Return a type without ``None`` and ``Annotated``."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        options = [one for one in get_args(annotation) if one is not type(None)]
        if len(options) == 1:
            return _bare(options[0])
    return annotation
