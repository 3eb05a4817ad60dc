"""What became of the targets of an optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.analysis.reading import collect, facts_of, require, with_provenance

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["targets"]


def targets(table: Any) -> pd.DataFrame:
    """Order the targets of an optimization by how much they improved.

    Parameters
    ----------
    table
        As ``lift.optimizations[optimization_id].targets()`` gives it.

    Returns
    -------
    DataFrame
        ``target``, ``change`` (``improved``, ``worse``, ``unchanged``, ``unclear``), ``original_met`` and ``variant_met``
        (percent), ``difference`` in percentage points with ``difference_low`` and ``difference_high``, ``n_pairs``.

        ``attrs["promptlift"]`` has the hypothesis with whether it held, the level of the intervals, and whether it is a rehearsal.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    names = [
        *("target", "change", "original_met", "variant_met", "points", "points_low", "points_high"),
        *("interval_level", "n_pairs"),
    ]
    frame = collect(table, require(table, names, of="targets"))
    levels = frame.pop("interval_level").dropna()
    renamed = {
        "points": "difference",
        "points_low": "difference_low",
        "points_high": "difference_high",
    }
    frame = frame.rename(columns=renamed).sort_values(
        "difference", ascending=False, kind="stable", na_position="last"
    )
    return with_provenance(
        frame.reset_index(drop=True),
        table,
        "targets",
        hypothesis=facts_of(table).get("hypothesis"),
        rehearsal=facts_of(table).get("rehearsal"),
        level=float(levels.iloc[0]) if len(levels) else None,
    )
