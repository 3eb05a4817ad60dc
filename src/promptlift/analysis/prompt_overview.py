"""The headline numbers of a prompt's conversations."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from promptlift.analysis.corrected import as_labelled, with_rates
from promptlift.analysis.engines import ROWS, count_by, known_number, named, open_table, with_instant
from promptlift.analysis.outcomes import OUTCOMES, RATE_COLUMNS, outcome_codes, rate_columns
from promptlift.analysis.reading import (
    NO_TIME,
    TIMES,
    By,
    blank,
    count_by_key,
    count_rows,
    group_rows,
    names_of,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.analysis.sentiments import (
    SCORE,
    SHARES,
    is_by_score,
    score_columns,
    sentiment_codes,
    share_columns,
)
from promptlift.analysis.verdicts import as_outcome, judge_facts
from promptlift.stats.intervals import check_level

_COLUMNS = (
    "conversations", "ended", "in_progress", "with_insights", *RATE_COLUMNS, "sentiment_n", *SCORE, *SHARES, "first_at",
    "last_at",
)  # fmt: skip


def prompt_overview(
    conversations: Any, *, by: By = None, labels: Any = None, level: float = 0.95
) -> pd.DataFrame:
    """Compute the headline numbers of conversations, each with its interval.

    Parameters
    ----------
    conversations
        Table with ``status``, ``task_completed``, ``sentiment``, ``sentiment_score`` and, if there,
        ``started_at`` or ``created_at``; or verdicts of a judge of your own (``lift.judges.verdicts``), whose outcome is the
        verdict, and which say nothing of sentiment.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together.
    labels
        Labels of people that correct the completion rate, as for ``completion``.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        One row, or one per group: ``conversations`` in total, ``ended``, ``in_progress``, ``with_insights``;
        completion as of ``completion`` (``n``, ``completed``, ``rate``, ``rate_low``, ``rate_high``,
        ``n_missing``); the mean sentiment score, -1 to 1, of ``sentiment_n`` conversations with its t interval,
        cut to that range: ``sentiment_mean``, ``sentiment_low``, ``sentiment_high``; for each label its count
        (``negative``), ``negative_share``, ``negative_low``, ``negative_high``, empty on a word list; ``first_at`` and ``last_at``,
        UTC; with ``labels`` the corrected columns of ``completion``. NaN where nothing was counted. ``attrs["promptlift"]["analyser"]`` says who judged.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by`` or ``level`` cannot be used.
    """
    level = check_level(level)
    conversations, labels = as_labelled(as_outcome(conversations), labels)
    facts = judge_facts(conversations)
    if "judge" in facts:
        conversations = _with_sentiment(conversations)
    conversations, by = one_group_column(conversations, by)
    answers = ["status", "task_completed", "sentiment"]
    columns = require(conversations, [*answers, "sentiment_score"], by=by, taken=_COLUMNS)
    counted = count_rows(conversations, [name for name in columns if name != "sentiment_score"])
    groups = group_rows(counted, by)
    outcome, label = outcome_codes(counted), sentiment_codes(counted)
    known = (outcome >= 2) | (label < 3) | counted["task_completed"].notna().to_numpy()
    shape = (groups.count, len(OUTCOMES), 4, 2)
    key = ((groups.codes * shape[1] + outcome) * shape[2] + label) * 2 + known
    counts = count_by_key(key, int(np.prod(shape)), counted[ROWS]).reshape(shape)
    outcomes = counts.sum(axis=(2, 3))
    total = outcomes.sum(axis=1)
    result = pd.DataFrame(
        {
            "conversations": total,
            "ended": total - outcomes[:, 0],
            "in_progress": outcomes[:, 0],
            "with_insights": counts[..., 1].sum(axis=(1, 2)),
        }
        | {name: values for name, values in rate_columns(outcomes, level).items() if name != "n_in_progress"}
    )
    values = _values(conversations, by, groups.names)
    score = score_columns(values["n"], values["mean"], values["sd"], level)
    result = result.assign(**score, **share_columns(counts.sum(axis=(1, 3))[:, :3], level))
    if is_by_score(conversations):
        blank(result, SHARES)
    result["first_at"], result["last_at"] = values["first_at"], values["last_at"]
    groups.name_rows(result)
    result = with_provenance(result, conversations, "prompt_overview", by=by, level=level, **facts)
    return with_rates(result, conversations, labels, by=by, level=level)


def _with_sentiment(verdicts: Any) -> Any:
    """Return a table of verdicts with empty columns of sentiment, where it has none."""
    empty = {"sentiment": nw.String(), "sentiment_score": nw.Float64()}
    missing = [name for name in empty if name not in names_of(verdicts)]
    columns = {name: nw.lit(None, dtype=empty[name]) for name in missing}
    return nw.from_native(verdicts).with_columns(**columns).to_native()


def _values(table: Any, by: str | None, names: pd.Series[Any] | None) -> pd.DataFrame:
    """Compute count, mean and spread of the score, first and last time; one row per group, in the order of ``names``."""
    times = [name for name in TIMES if name in names_of(table)]
    frame = open_table(table)
    frame = (
        with_instant(frame, times, "_at") if times else frame.with_columns(_at=nw.lit(None, dtype=nw.Int64()))
    )
    frame = frame.with_columns(
        _group=nw.col(named(by)) if by else nw.lit(0), _score=known_number("sentiment_score")
    )
    score, began = nw.col("_score"), nw.col("_at")
    small = count_by(
        frame, ["_group"], n=score.count(), mean=score.mean(), sd=score.std(ddof=1), first_at=began.min(), last_at=began.max()
    )  # fmt: skip
    small = small.drop(columns=ROWS)
    order = group_rows(small, "_group").codes
    wanted = range(1 if names is None else len(names))
    small = small.assign(_place=order).set_index("_place").reindex(wanted).drop(columns="_group")
    small["n"] = small["n"].fillna(0).astype(np.int64)
    small["mean"], small["sd"] = small["mean"].astype(np.float64), small["sd"].astype(np.float64)
    for name in ("first_at", "last_at"):
        at = small[name].to_numpy(np.int64, na_value=NO_TIME)
        small[name] = pd.DatetimeIndex(at.view("datetime64[us]"), tz="UTC")
    return small
