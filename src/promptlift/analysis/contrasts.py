"""How much less often conversations with an issue complete than those without it, raw and adjusted for what else differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, count_by, is_remote, open_table
from promptlift.analysis.long_mentions import KEPT, SIGNS_OF_INSIGHTS, TITLE, count_mentions, judged_there
from promptlift.analysis.mentions import found_in
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import collect, names_of
from promptlift.stats.differences import score_interval
from promptlift.stats.stratified import stratified_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ADJUSTED", "ANY_ISSUE", "CONTRAST", "issue_contrasts"]

ANY_ISSUE: Final = "(any issue)"

CONTRAST: Final = ("difference_points", "difference_points_low", "difference_points_high")
ADJUSTED: Final = ("adjusted_points", "adjusted_points_low", "adjusted_points_high", "n_adjusted")
# What else may differ between conversations with an issue and without it: only one name of the prompt.
_STRATA: Final[tuple[str, ...]] = ("prompt_id", "llm_model")
_TOPICS: Final = "topics"
_NEEDED: Final = (
    "conversation_id",
    "issues",
    "task_completed",
    "status",
    "has_insights",
    _TOPICS,
    *SIGNS_OF_INSIGHTS,
)


def issue_contrasts(
    conversations: Any, mentions: Any, titles: Sequence[str], *, any_mentions: Any, level: float
) -> tuple[pd.DataFrame, list[str]]:
    """Compare the completion of conversations with each issue and without it.

    Parameters
    ----------
    conversations, mentions
        As for `promptlift.analysis.mentions.issues`.
    titles
        ``(any issue)``, and the issues.
    any_mentions
        The long table in which all issues have one title; None without one.
    level
        Coverage of each interval.

    Returns
    -------
    table, adjusted_for
        One row a title: the difference in percentage points, and the one within conversations that are alike in ``adjusted_for``
        (Mantel-Haenszel), with the conversations that it rests on, ``n_adjusted``.
    """
    strata = [name for name in _STRATA if name in names_of(conversations)]
    if is_remote(conversations):
        everyone, with_it, strata = _counted_there(conversations, mentions, any_mentions, strata)
    else:
        everyone, with_it, strata = _counted_here(conversations, mentions, strata)
    rows = []
    for title in titles:
        inside = with_it.get(title, np.zeros_like(everyone))
        rows.append(_row(inside, everyone - inside, level))
    table = pd.DataFrame(rows, columns=[*CONTRAST, *ADJUSTED], dtype="float64")
    return table.astype({"n_adjusted": "int64"}), strata


def _counted_here(
    conversations: Any, mentions: Any, strata: list[str]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]], list[str]]:
    """Count failures and successes by stratum: of all, of each title, and of those with any."""
    present = names_of(conversations)
    frame = collect(conversations, [name for name in dict.fromkeys([*_NEEDED, *strata]) if name in present])
    frame, found = found_in(frame, mentions, "issues")
    if _TOPICS in frame:
        # A conversation is of its first topic: sets of topics are too many to have two conversations each.
        first = [
            cell[0] if isinstance(cell, list | np.ndarray) and len(cell) else None for cell in frame[_TOPICS]
        ]
        frame = frame.assign(**{_TOPICS: pd.Series(map(str, first), frame.index, dtype="str")})
        strata = [*strata, _TOPICS]
    codes = outcome_codes(frame).astype(np.intp)
    stratum, strata = _stratum_codes(frame, strata)
    size = 2 * (int(stratum.max(initial=0)) + 1)
    key, rated = 2 * stratum + codes % 2, codes >= 2

    def count(rows: NDArray[np.intp]) -> NDArray[np.int64]:
        return np.bincount(key[rows[rated[rows]]], minlength=size).astype(np.int64).reshape(-1, 2)

    by_title = {title: count(found.row[found.title == at]) for at, title in enumerate(found.titles)}
    return count(np.arange(len(frame))), {**by_title, ANY_ISSUE: count(np.unique(found.row))}, strata


def _counted_there(
    conversations: Any, mentions: Any, any_mentions: Any, strata: Sequence[str]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]], list[str]]:
    """Count the same in an engine, which keeps topics in another table."""
    judged = judged_there(open_table(conversations))
    keys = [*(["status"] if "status" in names_of(conversations) else []), "task_completed", *strata]
    everyone = count_by(judged.filter(nw.col(KEPT)), keys)
    by_title, any_at_all = (count_mentions(judged, one, "issues", keys) for one in (mentions, any_mentions))
    together = pd.concat([everyone, by_title, any_at_all], ignore_index=True)
    codes = outcome_codes(together).astype(np.intp)
    stratum, strata = _stratum_codes(together, strata)
    place = 2 * stratum + codes % 2
    size, rated = 2 * (int(stratum.max(initial=0)) + 1), codes >= 2
    weight = together[ROWS].to_numpy(np.int64)

    def count(rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        kept = rows & rated
        return np.bincount(place[kept], weights=weight[kept], minlength=size).astype(np.int64).reshape(-1, 2)

    titles = together[TITLE].to_numpy(object)
    different = [*by_title[TITLE].unique(), *any_at_all[TITLE].unique()]
    return (
        count(np.arange(len(titles)) < len(everyone)),
        {one: count(titles == one) for one in different},
        strata,
    )


def _stratum_codes(frame: pd.DataFrame, columns: Sequence[str]) -> tuple[NDArray[np.intp], list[str]]:
    """Return the stratum of each row, and the columns that differ at all."""
    differ = [name for name in columns if len(frame[name].unique()) > 1]
    if not differ:
        return np.zeros(len(frame), np.intp), []
    return np.asarray(frame.groupby(differ, dropna=False, sort=False).ngroup().to_numpy(np.intp)), differ


def _row(inside: NDArray[np.int64], outside: NDArray[np.int64], level: float) -> list[float]:
    (n1, n0), (x1, x0) = (inside.sum(), outside.sum()), (inside[:, 1].sum(), outside[:, 1].sum())
    if not n1 or not n0:
        return [np.nan] * 6 + [0]
    ends = score_interval(x1, n1, x0, n0, level=level)
    adjusted = stratified_difference(
        inside[:, 1], inside.sum(axis=1), outside[:, 1], outside.sum(axis=1), level=level
    )
    raw = [x1 / n1 - x0 / n0, *map(float, ends)]
    return [*(100.0 * one for one in (*raw, adjusted.difference, adjusted.low, adjusted.high)), adjusted.n]
