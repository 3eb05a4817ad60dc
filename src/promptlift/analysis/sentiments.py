"""How the sentiment labels are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.reading import count_rows, group_rows, provenance, require, tally
from promptlift.stats import check_level, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SENTIMENTS", "sentiment_codes", "sentiment_distribution"]

SENTIMENTS = ("negative", "neutral", "positive")
_COLUMNS = ("sentiment", "n", "total", "share", "share_low", "share_high", "n_missing")


def sentiment_distribution(conversations: Any, *, by: str | None = None, level: float = 0.95) -> pd.DataFrame:
    """Share of conversations with each sentiment label, with Wilson's interval.

    Parameters
    ----------
    conversations
        Table with ``sentiment``.
    by
        Column that names groups, such as ``"prompt_id"``.
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
    columns = require(conversations, ["sentiment"], by=by, taken=_COLUMNS)
    counted = count_rows(conversations, columns)
    groups = group_rows(counted.frame, by)
    key = sentiment_codes(counted.frame["sentiment"])
    if groups.names is not None:
        key = groups.codes * 4 + key
    counts = tally(key, groups.count * 4, counted.weight).reshape(-1, 4)
    n = counts[:, :3].ravel()
    total = np.repeat(counts[:, :3].sum(axis=1), 3)
    low, high = wilson(n, total, level=level)
    result = pd.DataFrame(
        {
            "sentiment": pd.Categorical.from_codes(
                np.tile(np.arange(3), groups.count), categories=pd.Index(SENTIMENTS), ordered=True
            ),
            "n": n,
            "total": total,
            "share": np.divide(n, total, out=np.full(len(n), np.nan), where=total > 0),
            "share_low": low,
            "share_high": high,
            "n_missing": np.repeat(counts[:, 3], 3),
        }
    )
    if groups.names is not None:
        result.insert(0, str(by), groups.names.repeat(3).reset_index(drop=True))
    result.attrs.update(provenance(conversations, "sentiment_distribution", by=by, level=level))
    return result


def sentiment_codes(column: pd.Series[Any]) -> NDArray[np.intp]:
    """Place of each label in ``SENTIMENTS``; 3 where there is none, or one that the API does not know."""
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype("str")
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("category")
    place = pd.Index(SENTIMENTS).get_indexer(column.cat.categories)
    lookup = np.append(np.where(place < 0, 3, place), 3).astype(np.intp)
    return lookup[column.cat.codes.to_numpy()]
