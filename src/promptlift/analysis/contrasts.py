"""How much less often conversations with an issue complete than those without it, raw and adjusted for what else differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, is_remote
from promptlift.analysis.long_mentions import SIGNS_OF_INSIGHTS, TITLE
from promptlift.analysis.mentions import ANY_ISSUE, count_mentioned
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import collect, count_by_key, names_of
from promptlift.stats.differences import score_interval
from promptlift.stats.stratified import stratified_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ADJUSTED", "CONTRAST", "issue_contrasts"]

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
    conversations: Any, mentions: Any, titles: Sequence[str], *, level: float
) -> tuple[pd.DataFrame, list[str]]:
    """Compare the completion of conversations with each issue and without it.

    Parameters
    ----------
    conversations, mentions
        As for `promptlift.analysis.mentions.issues`.
    titles
        ``(any issue)``, and the issues.
    level
        Coverage of each interval.

    Returns
    -------
    table, adjusted_for
        One row a title: the difference in percentage points, and the one within conversations that are alike in ``adjusted_for``
        (Mantel-Haenszel), with the conversations that it rests on, ``n_adjusted``.
    """
    present = names_of(conversations)
    strata = [name for name in _STRATA if name in present]
    if not is_remote(conversations):
        conversations = collect(
            conversations, [name for name in dict.fromkeys([*_NEEDED, *strata]) if name in present]
        )
        if _TOPICS in present:
            conversations = conversations.assign(**{_TOPICS: _first_topics(conversations[_TOPICS])})
            strata.append(_TOPICS)
    keys = [*(["status"] if "status" in present else []), "task_completed", *strata]
    by_title = count_mentioned(conversations, mentions, "issues", keys)
    of_any = count_mentioned(conversations, mentions, "issues", keys, alike=True).found
    of_one = by_title.found[by_title.found[TITLE].astype("str") != ANY_ISSUE]
    rows = pd.concat([by_title.everyone, of_one, of_any], ignore_index=True)
    places = {title: place for place, title in enumerate(titles)}
    place = np.full(len(rows), len(titles))
    named = rows[TITLE].iloc[len(by_title.everyone) :].astype("object")
    place[len(by_title.everyone) :] = named.map(places).fillna(-1)
    codes = outcome_codes(rows).astype(np.intp)
    stratum, strata = _stratum_codes(rows, strata)
    size = int(stratum.max(initial=0)) + 1
    kept = (codes >= 2) & (place >= 0)
    key = 2 * (place * size + stratum) + codes % 2
    counts = count_by_key(key[kept], 2 * (len(titles) + 1) * size, rows[ROWS].to_numpy(np.int64)[kept])
    *inside, everyone = counts.reshape(-1, size, 2)
    found = [_row(with_it, everyone - with_it, level) for with_it in inside]
    table = pd.DataFrame(found, columns=[*CONTRAST, *ADJUSTED], dtype="float64")
    return table.astype({"n_adjusted": "int64"}), strata


def _first_topics(topics: pd.Series[Any]) -> pd.Series[Any]:
    """Return the first topic of each conversation: sets of topics are too many to have two conversations each."""
    first = [cell[0] if isinstance(cell, list | np.ndarray) and len(cell) else None for cell in topics]
    return pd.Series(map(str, first), topics.index, dtype="str")


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
