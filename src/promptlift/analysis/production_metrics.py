"""The production metrics of a deployed variant, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from promptlift.analysis.reading import collect, require, with_provenance

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["metric_name", "metric_text", "production_metrics"]

_HIGHER_IS_WORSE: Final = ("abandonment", "response_time", "length")
_FORMATS: Final = {
    "task_completion": "{:.1f} %",
    "sentiment": "{:+.2f}",
    "quality": "{:.1f}",
    "abandonment": "{:.1f} %",
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
