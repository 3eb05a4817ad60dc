"""The production metrics of a deployed variant, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.reading import collect, require, with_provenance

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["production_metrics"]

_HIGHER_IS_WORSE: Final = ("abandonment", "response_time", "length")


def production_metrics(table: Any) -> pd.DataFrame:
    """Compare every production metric before and after a text went live, with its test.

    Parameters
    ----------
    table
        As ``lift.production_metrics(optimization_id)`` gives it.

    Returns
    -------
    DataFrame
        ``metric``, ``before``, ``after``, ``change`` (after less before), ``got_worse`` (whichever way is worse for the
        metric, however small), ``n_before``, ``n_after``, ``p`` (one-sided, adjusted over the six metrics and the windows),
        ``level`` (a ``p`` below it is harm) and ``regressed``.

    Raises
    ------
    FrameError
        When a column is missing.
    """
    names = ["metric", "before", "after", "conversations_before", "conversations", "p", "level", "regressed"]
    frame = collect(table, require(table, names, of="production_metrics"))
    frame = frame.rename(columns={"conversations_before": "n_before", "conversations": "n_after"})
    change = frame["after"] - frame["before"]
    rising = frame["metric"].astype("str").isin(_HIGHER_IS_WORSE)
    frame.insert(3, "change", change)
    frame.insert(4, "got_worse", change.where(rising, -change) > 0)
    return with_provenance(frame.reset_index(drop=True), table, "production_metrics")
