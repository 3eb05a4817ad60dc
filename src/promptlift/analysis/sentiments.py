"""The distribution of sentiment, in total and over time: by label, or on a word list by score.

The labels of a word list say nothing of how people talk to an agent: nearly all of it is "positive". Where sentiment rests on one,
its scores are set against the usual score, the median of the conversations given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS
from promptlift.analysis.period_counts import count_periods, period_table
from promptlift.analysis.periods import check_freq, check_zone
from promptlift.analysis.reading import (
    By,
    basis_of,
    blank,
    count_by_key,
    count_rows,
    group_rows,
    names_of,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.schema.basis import may_tell
from promptlift.schema.insights import SENTIMENTS
from promptlift.stats.intervals import check_level, mean_interval, rate, rate_and_interval

if TYPE_CHECKING:
    from datetime import tzinfo

    from numpy.typing import ArrayLike, NDArray

SHARES = tuple(f"{name}{end}" for name in SENTIMENTS for end in ("", "_share", "_low", "_high"))
SCORE = ("sentiment_mean", "sentiment_low", "sentiment_high")
BANDS: Final = ("far below usual", "below usual", "usual", "above usual", "far above usual")
# Scores this near are usual, and those farther than the second are far below or above it: of 2,300 conversations of eight sources
# three to seven in ten, and at most two in ten.
NEAR: Final = 0.1
FAR: Final = 0.3
_COLUMNS = ("sentiment", "n", "total", "share", "share_low", "share_high", "n_missing")


def sentiment_distribution(conversations: Any, *, by: By = None, level: float = 0.95) -> pd.DataFrame:
    """Compute the share of conversations with each sentiment, with Wilson's interval.

    The sentiment is the label. Where it is a word list's, it is how the score compares with the usual one, the median score of
    all conversations given: usual within 0.1 of it, far below or far above where it differs by more than 0.3.

    Parameters
    ----------
    conversations
        Table with ``sentiment``; on a word list with ``sentiment_score``.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together.
    level
        Coverage of each interval. The shares of a group sum to 1, so their intervals are not independent.

    Returns
    -------
    DataFrame
        Three rows per group, always in the order negative, neutral, positive; on a word list five: far below usual, below
        usual, usual, above usual, far above usual. The columns are ``by`` if given, ``sentiment``,
        ``n`` with it, ``total`` with any, ``share``, ``share_low``, ``share_high`` as
        fractions (NaN when ``total`` is 0), ``n_missing`` conversations of the group without a known label, or score.
        ``attrs["promptlift"]["usual"]`` is the usual score of a word list, else None.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by`` or ``level`` cannot be used.
    """
    level = check_level(level)
    conversations, by = one_group_column(conversations, by)
    by_score = is_by_score(conversations)
    columns = require(conversations, ["sentiment_score" if by_score else "sentiment"], by=by, taken=_COLUMNS)
    counted = count_rows(conversations, columns)
    usual = _usual(counted) if by_score else None
    groups, kinds = group_rows(counted, by), kinds_of(usual)
    size = len(kinds)
    key = groups.codes * (size + 1) + sentiment_codes(counted, usual)
    counts = count_by_key(key, groups.count * (size + 1), counted[ROWS]).reshape(-1, size + 1)
    n = counts[:, :size].ravel()
    total = np.repeat(counts[:, :size].sum(axis=1), size)
    share, low, high = rate_and_interval(n, total, level=level)
    result = pd.DataFrame(
        {
            "sentiment": pd.Categorical.from_codes(
                np.tile(np.arange(size), groups.count), categories=pd.Index(kinds), ordered=True
            ),
            "n": n,
            "total": total,
            "share": share,
            "share_low": low,
            "share_high": high,
            "n_missing": np.repeat(counts[:, size], size),
        }
    )
    groups.name_rows(result, each=size)
    basis = basis_of(conversations, "sentiment")
    return with_provenance(
        result, conversations, "sentiment_distribution", by=by, level=level, basis=basis, usual=usual
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
        One row per period (and group), none left out between the first and the last: ``period_start`` in ``tz``,
        ``by`` if given, ``n`` conversations with a label, for each label its count (``negative``),
        ``negative_share``, ``negative_low``, ``negative_high`` (fractions, Wilson's interval), then the mean score,
        -1 to 1, of ``sentiment_n`` conversations with its t interval: ``sentiment_mean``, ``sentiment_low``,
        ``sentiment_high``; ``n_missing`` without a label. NaN where nothing was counted. On a word list the columns of
        labels are empty, and those of the mean are its difference from the usual score: the median of all
        conversations given, in ``attrs["promptlift"]["usual"]``.

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
    by_score = is_by_score(conversations)
    columns = require(conversations, ["sentiment"], by=by, taken=taken)
    usual = None
    if by_score:
        usual = _usual(count_rows(conversations, require(conversations, ["sentiment_score"])))
    found = count_periods(
        conversations,
        columns,
        sentiment_codes,
        len(SENTIMENTS) + 1,
        judged=slice(3),
        by=by,
        freq=freq,
        zone=zone,
        score="sentiment_score" if "sentiment_score" in names_of(conversations) else None,
    )
    labels = found.counts[:, :3]
    scores = _scores(found.scores, len(labels), level)
    n = labels.sum(axis=1) if usual is None else scores["sentiment_n"]
    values = {
        "n": n,
        **share_columns(labels, level),
        **scores,
        "n_missing": found.counts.sum(axis=1) - n,
    }
    basis = basis_of(conversations, "sentiment")
    result = period_table(
        found, conversations, "sentiment_trend", values, by=by, level=level, basis=basis, usual=usual
    )
    if usual is not None:
        blank(result, SHARES)
        result[list(SCORE)] -= usual
    return result


def is_by_score(table: Any) -> bool:
    """Return whether the sentiment of a table is a word list's, so that its scores are shown and not its labels."""
    return not may_tell(basis_of(table, "sentiment"))


def kinds_of(usual: float | None) -> tuple[str, ...]:
    """Return the labels, or how scores compare with the usual one where there is one."""
    return SENTIMENTS if usual is None else BANDS


def _usual(counted: pd.DataFrame) -> float:
    """Return the median score; NaN where there is none."""
    score = _numbers(counted["sentiment_score"])
    known = ~np.isnan(score)
    score = score[known]
    if not len(score):
        return float("nan")
    order = np.argsort(score)
    upto = np.cumsum(counted[ROWS].to_numpy()[known][order])
    middle = np.searchsorted(upto, [(upto[-1] - 1) // 2, upto[-1] // 2], side="right")
    return round(float(score[order][middle].mean()), 6)


def _numbers(column: pd.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(np.float64, na_value=np.nan))


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


def sentiment_codes(frame: pd.DataFrame, usual: float | None = None) -> NDArray[np.intp]:
    """Return the place of each row's sentiment in `kinds_of`; their number where there is none, or none that is known."""
    if usual is not None:
        score = _numbers(frame["sentiment_score"])
        above = np.searchsorted(np.round([usual + NEAR, usual + FAR], 6), score)
        below = np.searchsorted(np.round([usual - FAR, usual - NEAR], 6), score, side="right")
        return np.where(np.isnan(score), len(BANDS), above + below)
    column: pd.Series[Any] = frame["sentiment"]
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype("str")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("category")
    place = pd.Index(SENTIMENTS).get_indexer(column.cat.categories)
    lookup = np.append(np.where(place < 0, 3, place), 3).astype(np.intp)
    return lookup[column.cat.codes.to_numpy()]
