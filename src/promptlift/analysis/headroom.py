"""What mending the issues of a prompt could give, before an optimization spends anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from promptlift.analysis.contrasts import ADJUSTED, CONTRAST, issue_contrasts
from promptlift.analysis.mentions import ANY_ISSUE, any_issue, check_top, issues, weighs
from promptlift.analysis.reading import blank, with_provenance
from promptlift.analysis.sentences import issue_sentence
from promptlift.stats.budget import confirm_passes, theta_of
from promptlift.stats.evidence import e_threshold
from promptlift.stats.intervals import check_level
from promptlift.stats.planning import is_worth_a_test, points_to_gain, smallest_findable_points

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMode

__all__ = ["ANY_ISSUE", "headroom"]

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
    """Compare conversations with issues and without, and say what no optimization can be expected to gain more than.

    Conversations that have an issue may fail more often for another reason: a harder topic, or a weaker model. So beside the raw
    difference is the one among conversations of the same prompt, model and (first) topic, which are those that the table has. Neither shows a cause: only a test does. How much
    more often conversations without an issue complete than all is an upper guess of what mending it may give. Nothing is compared
    where the judge of the outcome found the issues too: then both are one finding, and outcomes of the logs or labels are needed.

    Parameters
    ----------
    conversations
        Table with ``conversation_id``, ``issues``, ``task_completed`` and, if there, ``status`` and ``has_insights``.
    mentions
        The issues as a long table, one row a mention, such as ``frames.issues_table(df)`` gives, instead of the lists; needed where an
        engine (DuckDB, Spark) has the conversations, and in the same engine.
    mode, confidence_mode
        Of the optimization that is thought of.
    pairs
        Pairs that its confirmation may use; by default those of its mode with the usual settings, 120 or 240.
    top
        How many issues to return; None returns all.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        First the row ``(any issue)``; then one row an issue, the
        most frequent first. Columns: ``issue``, ``n``, ``total``, ``share`` and of ended conversations with it ``n_rated``, ``completed``,
        ``rate``, of those without it the same ending in ``_without``, with intervals as of ``issues``; ``points``,
        ``points_low``, ``points_high``, how much more often those without it complete than all; ``points_findable``, the smallest gain that the
        pairs find with 80 % (NaN where they find none); ``enough``, whether the gain may be that large (its one-sided
        upper bound of 90 %, whatever ``level`` is): missing where nothing was counted; ``difference_points`` of those with it to
        those without it, by the score interval, and ``adjusted_points`` the same within strata (Mantel and Haenszel, with Sato's
        variance), of ``n_adjusted`` conversations. ``attrs["promptlift"]`` says what they are ``adjusted_for`` and the
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
