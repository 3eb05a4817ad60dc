"""Choose the lift of a variant to show first: that on the logged mix if known, otherwise the tested one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

Row = dict[str, Any]

# Columns of a lift and its rates, and the corresponding ones on the mix of the logged conversations.
_ON_LOGGED_MIX: Final = {
    **{name: f"{name}_logged" for name in ("task_completion", "original_task_completion")},
    **{
        f"lift{end}": f"lift_logged{end}"
        for end in ("", "_low", "_high", "_expected", "_verified", "_verified_low", "_verified_high")
    },
}
TESTED_LIFT: Final = {name: f"{name}_tested" for name in ("lift", "lift_low", "lift_high")}


def headlines_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of variants whose lift and rates are those to show first.

    Parameters
    ----------
    table
        With the columns of a lift; without those of the logged mix nothing changes.

    Returns
    -------
    DataFrame
        With ``lift_tested`` and its ends, the lift on the tested mix, in rows that show the other lift;
        otherwise missing.
    """
    shown = table.copy()
    first = _is_first(table)
    for name, kept in TESTED_LIFT.items():
        shown[kept] = table[name].where(first, np.nan)
    for name, logged in _ON_LOGGED_MIX.items():
        if name in table and logged in table:
            shown[name] = table[name].where(~first, table[logged])
    shown.attrs = dict(table.attrs)
    return shown


def _is_first(table: pd.DataFrame) -> pd.Series[bool]:
    if not {"logged_is_headline", "lift_logged"} <= set(table.columns):
        return pd.Series(data=False, index=table.index)
    said = table["logged_is_headline"].astype("boolean").fillna(value=False).astype(bool)
    return said & table["lift_logged"].notna()


def headline_of(row: Mapping[Any, Any]) -> Row:
    """Return one row of a table of variants like `headlines_of`; missing values stay missing."""
    first = row.get("logged_is_headline")
    if first is None or pd.isna(first) or not first or pd.isna(row["lift_logged"]):
        return {**row, **dict.fromkeys(TESTED_LIFT.values())}
    tested = {kept: row[name] for name, kept in TESTED_LIFT.items()}
    return {
        **row,
        **{name: row[logged] for name, logged in _ON_LOGGED_MIX.items() if logged in row},
        **tested,
    }
