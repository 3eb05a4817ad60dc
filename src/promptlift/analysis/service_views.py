"""The numbers behind the service's own views: production metrics and targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.reading import collect, facts_of, require, with_provenance

if TYPE_CHECKING:
    import pandas as pd


_HIGHER_IS_WORSE: Final = ("abandonment", "response_time", "length")
_FORMATS: Final = {
    "task_completion": "{:.1f}%",
    "sentiment": "{:+.2f}",
    "quality": "{:.1f}",
    "abandonment": "{:.1f}%",
    "response_time": "{:,.1f} s",
    "length": "{:,.1f} messages",
}


def production_metrics(table: Any) -> pd.DataFrame:
    """Compare every production metric before and after a text went live, with its test.

    Parameters
    ----------
    table
        As ``lift.optimizations[optimization_id].production_metrics()`` gives it.

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


def metric_name(metric: Any) -> str:
    """Return the name of a metric as people read it; one that is not known keeps its own."""
    name = str(metric)
    return name.replace("_", " ").capitalize() if name in _FORMATS else name


def metric_text(metric: Any, value: float) -> str:
    """Format the value of a metric with its unit and a typographic minus."""
    return _FORMATS.get(str(metric), "{:.4g}").format(value).replace("-", "−")


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
