"""Columns of metadata: one per key, typed if all values have one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.schema.metadata import column_of_key

if TYPE_CHECKING:
    from collections.abc import Sequence

_INT64: Final = range(-(2**63), 2**63)


class MetadataColumns:
    """The metadata of a table's rows, collected part by part, because types are known only at the end."""

    def __init__(self) -> None:
        self._rows = 0
        # Key to the indices of the rows that have it, and their values.
        self._keys: dict[str, tuple[list[int], list[Any]]] = {}

    def add(self, metadata: Sequence[Any]) -> None:
        """Add the metadata of further rows; non-objects and missing values are left out."""
        keys = self._keys
        for place, one in enumerate(metadata, start=self._rows):
            if isinstance(one, dict):
                for key, value in one.items():
                    if value is not None:
                        if key not in keys:
                            keys[key] = ([], [])
                        places, values = keys[key]
                        places.append(place)
                        values.append(value)
        self._rows += len(metadata)

    def columns(self) -> dict[str, pd.Series[Any]]:
        """Return the columns by name, sorted."""
        return {column_of_key(key): _series(*self._keys[key], self._rows) for key in sorted(self._keys)}


def _series(places: list[int], values: list[Any], size: int) -> pd.Series[Any]:
    kinds = set(map(type, values))
    dtype: Any
    if kinds <= {bool}:
        dtype = "boolean"
    elif kinds <= {int} and all(value in _INT64 for value in values):
        dtype = "Int64"
    elif kinds <= {int, float}:
        dtype = "Float64"
    else:
        dtype = "str"
        values = [_text(value) for value in values]
    if len(places) == size:
        return pd.Series(pd.array(values, dtype=dtype), copy=False)
    cells: Any = np.full(size, None, dtype=object)
    cells[places] = values
    return pd.Series(pd.array(cells, dtype=dtype), copy=False)


def _text(value: Any) -> str:
    """Return a value of a column with several types, as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
