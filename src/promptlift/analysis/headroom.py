"""What fixing the issues of a prompt could gain, before an optimization spends anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.engines import ROWS, is_remote
from promptlift.analysis.long_mentions import SIGNS_OF_INSIGHTS, TITLE
from promptlift.analysis.mentions import ANY_ISSUE, any_issue, check_top, count_mentioned, issues, weighs
from promptlift.analysis.outcomes import outcome_codes
from promptlift.analysis.reading import blank, collect, count_by_key, names_of, with_provenance
from promptlift.analysis.sentences import issue_sentence
from promptlift.stats.budget import confirm_passes, theta_of
from promptlift.stats.differences import score_interval, stratified_difference
from promptlift.stats.evidence import e_threshold
from promptlift.stats.intervals import check_level
from promptlift.stats.planning import is_worth_a_test, points_to_gain, smallest_findable_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMode

# An optimization with the usual settings: three variants, ten iterations, fifteen pairs a pass.
VARIANTS: Final = 3
ITERATIONS: Final = 10
PAIRS_A_PASS: Final = 15
_RATED: Final = ("n_rated", "completed", "rate", "rate_low", "rate_high")
_KEPT: Final = (
    *("issue", "n", "total", "share", "share_low", "share_high"),
    *_RATED,
    *(f"{name}_without" for name in _RATED),
)


def headroom(
    conversations: Any,
    *,
    mentions: Any = None,
    mode: Mode = "exploratory",
    confidence_mode: ConfidenceMode = "moderate",
    pairs: int | None = None,
    top: int | None = 10,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare conversations with and without each issue, and estimate the most that an optimization can be expected to gain.

    Conversations with an issue may fail more often for another reason: a harder topic, or a weaker model. So the raw difference
    is shown with the one among conversations of the same prompt, model and (first) topic, as far as the table has these columns.
    Neither shows a cause: only a test does. How much more often conversations without an issue complete than all conversations
    is an optimistic estimate of what fixing it may gain. Nothing is compared if the judge of the outcome also found the issues:
    then both are one finding, and outcomes from the logs or labels are needed.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues``, ``task_completed`` and, if there, ``status`` and ``has_insights``.
    mentions
        The issues as a long table, one row per mention, such as ``frames.issues_table(df)`` gives, instead of the lists; needed where an
        engine (DuckDB, Spark) has the conversations, and in the same engine.
    mode, confidence_mode
        Of the planned optimization.
    pairs
        Pairs that its confirmation may use; by default 120 or 240, those of its mode with the usual settings.
    top
        How many issues to return; None returns all.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        First the row ``(any issue)``; then one row per issue, the
        most frequent first. Columns: ``issue``, ``n``, ``total``, ``share`` and of ended conversations with it ``n_rated``, ``completed``,
        ``rate``, of those without it the same ending in ``_without``, with intervals as of ``issues``; ``points``,
        ``points_low``, ``points_high``, how much more often those without it complete than all; ``points_findable``, the smallest gain that the
        pairs find with 80% (NaN where they find none); ``enough``, whether the gain may be that large (its one-sided
        upper bound of 90%, whatever ``level`` is): missing where nothing was counted; ``difference_points`` of those with it to
        those without it, by the score interval, and ``adjusted_points`` the same within strata (Mantel and Haenszel, with Sato's
        variance), of ``n_adjusted`` conversations. ``attrs["promptlift"]`` has what they are ``adjusted_for`` and the
        ``sentences``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``mode``, ``confidence_mode``, ``pairs``, ``top`` or ``level`` cannot be used, ``issues`` does not hold lists,
        or an engine has only lists.
    """
    level = check_level(level)
    check_top(top)
    theta = theta_of(mode, confidence_mode)
    if pairs is None:
        pairs = PAIRS_A_PASS * confirm_passes(VARIANTS, mode, ITERATIONS)
    found = issues(conversations, mentions=mentions, top=top, level=level)[list(_KEPT)]
    table = pd.concat(
        [any_issue(conversations, mentions, level=level)[list(_KEPT)], found], ignore_index=True
    )
    counts = table[["completed", "n_rated", "completed_without", "n_rated_without"]]
    told = weighs(conversations)
    rows = [tuple(map(int, row)) if told else None for row in counts.itertuples(index=False)]
    gained = [points_to_gain(*row, level=level) if row else (np.nan,) * 3 for row in rows]
    for at, name in enumerate(("points", "points_low", "points_high")):
        table[name] = np.array([points[at] for points in gained], dtype=float)
    findable = smallest_findable_points(pairs, e_threshold=e_threshold(confidence_mode), theta=theta)
    table["points_findable"] = np.nan if findable is None else findable
    table["enough"] = pd.array(
        [is_worth_a_test(*row, findable=findable) if row else None for row in rows],
        dtype="boolean",
    )
    contrasts, adjusted_for = issue_contrasts(conversations, mentions, list(table["issue"]), level=level)
    table = pd.concat([table, contrasts], axis=1)
    if not told:
        blank(table, (*CONTRAST, *ADJUSTED))
    facts = {"level": level, "pairs": pairs, "confidence_mode": confidence_mode, "adjusted_for": adjusted_for}
    result = with_provenance(table, conversations, "headroom", **facts)
    about = result.attrs["promptlift"]
    about["sentences"] = [issue_sentence(row, about) for row in result.to_dict("records")]
    return result


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
        One row per title: the difference in percentage points, and the one within conversations that are alike in ``adjusted_for``
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
