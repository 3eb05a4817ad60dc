"""The distribution of the sentiment labels, in total and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.period_counts import count_periods, period_table
from promptlift.analysis.periods import check_freq, check_zone
from promptlift.analysis.reading import (
    By,
    basis_of,
    count_by_key,
    count_rows,
    group_rows,
    names_of,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.schema.insights import SENTIMENTS
from promptlift.stats.intervals import check_level, mean_interval, rate, rate_and_interval

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "SCORE",
    "SHARES",
    "score_columns",
    "sentiment_codes",
    "sentiment_distribution",
    "sentiment_trend",
    "share_columns",
]

SHARES = tuple(f"{name}{end}" for name in SENTIMENTS for end in ("", "_share", "_low", "_high"))
SCORE = ("sentiment_mean", "sentiment_low", "sentiment_high")
_COLUMNS = ("sentiment", "n", "total", "share", "share_low", "share_high", "n_missing")


def sentiment_distribution(conversations: Any, *, by: By = None, level: float = 0.95) -> pd.DataFrame:
    """Compute the share of conversations with each sentiment label, with Wilson's interval.

    Parameters
    ----------
    conversations
        Table with ``sentiment``.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together.
    level
        Coverage of each interval. The three shares of a group sum to 1, so their intervals are not independent.

    Returns
    -------
    DataFrame
        Three rows a group, always in the order negative, neutral, positive: ``by`` if given, ``sentiment``,
        ``n`` with this label, ``total`` with any of the three, ``share``, ``share_low``, ``share_high`` as
        fractions (NaN when ``total`` is 0), ``n_missing`` conversations of the group without a known label.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by`` or ``level`` cannot be used.
    """
    level = check_level(level)
    conversations, by = one_group_column(conversations, by)
    columns = require(conversations, ["sentiment"], by=by, taken=_COLUMNS)
    counted = count_rows(conversations, columns)
    groups = group_rows(counted.frame, by)
    key = groups.codes * 4 + sentiment_codes(counted.frame["sentiment"])
    counts = count_by_key(key, groups.count * 4, counted.weight).reshape(-1, 4)
    n = counts[:, :3].ravel()
    total = np.repeat(counts[:, :3].sum(axis=1), 3)
    share, low, high = rate_and_interval(n, total, level=level)
    result = pd.DataFrame(
        {
            "sentiment": pd.Categorical.from_codes(
                np.tile(np.arange(3), groups.count), categories=pd.Index(SENTIMENTS), ordered=True
            ),
            "n": n,
            "total": total,
            "share": share,
            "share_low": low,
            "share_high": high,
            "n_missing": np.repeat(counts[:, 3], 3),
        }
    )
    groups.name_rows(result, each=3)
    return with_provenance(
        result,
        conversations,
        "sentiment_distribution",
        by=by,
        level=level,
        basis=basis_of(conversations, "sentiment"),
    )


def sentiment_trend(
    conversations: Any,
    *,
    freq: str = "auto",
    by: By = None,
    tz: str | tzinfo = "UTC",
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute the shares of the sentiment labels and the mean score by period, with intervals.

    The time of a conversation is ``started_at``, or ``created_at`` where that is not known.

    Parameters
    ----------
    conversations
        Table with ``sentiment``, ``started_at`` or ``created_at`` and, if there, ``sentiment_score``.
    freq
        ``"h"``, ``"D"``, ``"W"`` (from Monday), ``"MS"`` (months), or ``"auto"`` (the default): days, or weeks when
        the median day has fewer than 10 conversations with a label, or months beyond ten years.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together. All groups share one axis of periods.
    tz
        Zone whose clock cuts the periods.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        One row a period (and group), none left out between the first and the last: ``period_start`` in ``tz``,
        ``by`` if given, ``n`` conversations with a label, for each label its count (``negative``),
        ``negative_share``, ``negative_low``, ``negative_high`` (fractions, Wilson's interval), then the mean score,
        -1 to 1, of ``sentiment_n`` conversations with its t interval: ``sentiment_mean``, ``sentiment_low``,
        ``sentiment_high``; ``n_missing`` without a label. NaN where nothing was counted.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``freq``, ``tz``, ``by`` or ``level`` cannot be used, or there would be too many periods.
    """
    level, freq, zone = check_level(level), check_freq(freq), check_zone(tz)
    taken = ("period_start", "n", "sentiment_n", "n_missing", *SCORE, *SHARES)
    conversations, by = one_group_column(conversations, by)
    columns = require(conversations, ["sentiment"], by=by, taken=taken)
    found = count_periods(
        conversations,
        columns,
        lambda frame: sentiment_codes(frame["sentiment"]),
        len(SENTIMENTS) + 1,
        judged=slice(3),
        by=by,
        freq=freq,
        zone=zone,
        score="sentiment_score" if "sentiment_score" in names_of(conversations) else None,
    )
    labels = found.counts[:, :3]
    values = {
        "n": labels.sum(axis=1),
        **share_columns(labels, level),
        **_scores(found.scores, len(labels), level),
        "n_missing": found.counts[:, 3],
    }
    return period_table(
        found,
        conversations,
        "sentiment_trend",
        values,
        by=by,
        level=level,
        basis=basis_of(conversations, "sentiment"),
    )


def share_columns(counts: NDArray[np.int64], level: float) -> dict[str, NDArray[Any]]:
    """Compute count, share and Wilson's interval of each label from rows of counts."""
    total = counts.sum(axis=1)
    columns: dict[str, NDArray[Any]] = {}
    for place, name in enumerate(SENTIMENTS):
        n = counts[:, place]
        share, low, high = rate_and_interval(n, total, level=level)
        columns |= {name: n, f"{name}_share": share, f"{name}_low": low, f"{name}_high": high}
    return columns


def score_columns(n: ArrayLike, mean: ArrayLike, sd: ArrayLike, level: float) -> dict[str, NDArray[Any]]:
    """Compute the columns of the mean score with its t interval, cut to the range of scores."""
    count = np.asarray(n, np.int64)
    low, high = mean_interval(mean, sd, count, level=level)
    values = (np.asarray(mean, np.float64), np.clip(low, -1, 1), np.clip(high, -1, 1))
    return {"sentiment_n": count} | dict(zip(SCORE, values, strict=True))


def _scores(parts: NDArray[np.float64] | None, size: int, level: float) -> dict[str, NDArray[Any]]:
    n, total, squares = np.zeros((3, size)) if parts is None else parts
    mean = rate(total, n)
    deviations = np.clip(squares - n * np.nan_to_num(mean) ** 2, 0, None)
    return score_columns(n, mean, np.sqrt(rate(deviations, n - 1)), level)


def sentiment_codes(column: pd.Series[Any]) -> NDArray[np.intp]:
    """Return the place of each label in ``SENTIMENTS``; 3 where there is none, or one that the API does not know."""
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype("str")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("category")
    place = pd.Index(SENTIMENTS).get_indexer(column.cat.categories)
    lookup = np.append(np.where(place < 0, 3, place), 3).astype(np.intp)
    return lookup[column.cat.codes.to_numpy()]
