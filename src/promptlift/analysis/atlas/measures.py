"""What is known of each cluster beside its name: share, outcome, sentiment, cost, latency, first and last seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.reading import NO_TIME, TIMES, count_by_key, started
from promptlift.analysis.segment_rows import judged_outcomes
from promptlift.frames.columns import TIME_DTYPE
from promptlift.stats.intervals import rate_and_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MEANS: Final = ("cost", "latency_ms")
SCORE: Final = "sentiment_score"
READ: Final = ("status", "basis", "analyser", SCORE, *_MEANS, *TIMES)
"""Columns that are read where the table has them."""


def cluster_measures(
    frame: pd.DataFrame, labels: NDArray[np.intp], count: int, *, outcome: str, level: float
) -> dict[str, Any]:
    """Return columns with one value per cluster; only those that the conversations have.

    Sentiment is the mean score relative to the usual one, the median of all: what a word list scores ranks and is no mood.
    """
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    share, low, high = rate_and_interval(sizes, np.full(count, len(frame)), level=level)
    columns: dict[str, Any] = {"n": sizes, "share": share, "share_low": low, "share_high": high}
    if outcome in frame:
        known, done = judged_outcomes(frame, outcome)
        n = count_by_key(labels[known & (labels >= 0)], count, None)
        completed = count_by_key(labels[done & known & (labels >= 0)], count, None)
        rates = rate_and_interval(completed, n, level=level)
        columns |= {"n_known": n, **dict(zip(("rate", "rate_low", "rate_high"), rates, strict=True))}
    for name in (SCORE, *_MEANS):
        if name in frame and frame[name].notna().any():
            values = frame[name].astype("float64")
            mean = values.groupby(labels).mean().reindex(range(count)).to_numpy()
            columns |= {"sentiment": mean - values.median()} if name == SCORE else {name: mean}
    if times := [name for name in TIMES if name in frame]:
        at = pd.Series(started(frame, times))
        dated = at[at != NO_TIME].groupby(labels[at != NO_TIME])
        for name, found in (("first_seen", dated.min()), ("last_seen", dated.max())):
            columns[name] = (
                pd.to_datetime(found.reindex(range(count)), unit="us", utc=True).astype(TIME_DTYPE).array
            )
    return columns
