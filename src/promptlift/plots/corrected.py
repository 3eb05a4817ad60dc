"""Raw and corrected estimates together: the judge's hollow, what labels make of them filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from promptlift.plots import theme

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["corrected_notes", "draw_raw_and_corrected", "has_corrected"]


def has_corrected(table: pd.DataFrame, estimate: str) -> bool:
    """Return whether a table has a corrected column of an estimate."""
    return f"{estimate}_corrected" in table


def draw_raw_and_corrected(
    ax: Axes,
    at: Any,
    table: pd.DataFrame,
    estimate: str,
    n: str,
    *,
    beside: tuple[float, float],
    **style: Any,
) -> None:
    """Draw estimates with their intervals; where the table has corrected ones, both, the raw ones hollow.

    Parameters
    ----------
    ax
        Axes to draw on.
    at
        Position of each row on the other axis.
    table
        Rows with the estimate, its bounds, and perhaps both ``…_corrected``.
    estimate, n
        Columns of the estimate and of its number of conversations.
    beside
        How far the raw and the corrected estimate are from ``at``, where there are both.
    style
        As for `theme.draw_estimates`.
    """
    if not has_corrected(table, estimate):
        theme.draw_estimates(ax, at, table, estimate, n, **style)
        return
    at = np.asarray(at, np.float64)
    # A count of 0 is drawn hollow and pale.
    raw = table.assign(_raw=0)
    theme.draw_estimates(ax, at + beside[0], raw, estimate, "_raw", **style | {"ribbon": False})
    ends = ("", "_low", "_high")
    corrected = {f"{estimate}{end}": table[f"{estimate}_corrected{end}"] for end in ends}
    theme.draw_estimates(
        ax,
        at + beside[1],
        table.assign(_all=theme.FEW, **corrected),
        estimate,
        "_all",
        **style | {"ribbon": False},
    )


def corrected_notes(table: pd.DataFrame, estimate: str) -> list[str]:
    """Return the notes that say which point is which, and what was not corrected."""
    if not has_corrected(table, estimate):
        return []
    labels = table.attrs["promptlift"]["corrected"]["n_labels"]
    missing = table[f"{estimate}_corrected"].isna() & table[estimate].notna()
    notes = [f"Hollow: as the judge says. Filled: corrected by {labels:,} labels."]
    if table[estimate].isna().all():
        return [f"Corrected by {labels:,} labels."]
    if missing.all():
        notes = ["Hollow: as the judge says; nothing could be corrected by labels."]
    if missing.any():
        first = table.loc[missing, "not_corrected"].iloc[0]
        notes.append(f"Not corrected: {int(missing.sum()):,} of {len(table):,}. {first}")
    return notes
