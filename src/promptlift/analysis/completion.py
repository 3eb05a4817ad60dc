"""How often conversations completed their task."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from promptlift.analysis import corrected, verdicts
from promptlift.analysis.corrected import as_labelled, with_rates
from promptlift.analysis.engines import ROWS
from promptlift.analysis.outcomes import OUTCOMES, RATE_COLUMNS, outcome_codes, rate_columns
from promptlift.analysis.period_counts import PeriodCounts, count_periods, period_table
from promptlift.analysis.periods import check_freq, check_zone
from promptlift.analysis.reading import (
    By,
    basis_of,
    count_by_key,
    count_rows,
    facts_of,
    group_rows,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.analysis.verdicts import as_outcome, version_marks
from promptlift.schema.basis import may_tell
from promptlift.stats import change_point, trend_test
from promptlift.stats.intervals import check_level
from promptlift.stats.trend import DAYS_NEEDED, adjust_trends

if TYPE_CHECKING:
    from datetime import tzinfo

    import numpy as np
    from numpy.typing import NDArray


def completion(conversations: Any, *, by: By = None, labels: Any = None, level: float = 0.95) -> pd.DataFrame:
    """Compute the completion rate of ended conversations, with Wilson's interval.

    Conversations still ``in_progress`` do not count, and neither do ended ones without insights: they are not failures,
    and ``n_missing`` is their number.

    Parameters
    ----------
    conversations
        Table with ``status`` and ``task_completed``; or verdicts of a judge of your own (``lift.judges.verdicts``), whose outcome
        is the verdict.
    by
        Column that names groups, such as ``"prompt"`` or ``"llm_model"``, or a list of columns that name them together
        (``["prompt", "metadata.channel"]``). Rows without a value are a group of their own.
    labels
        Labels of people, some of whose conversations were drawn at random with a known ``chance`` (`label_plan`): columns
        ``conversation_id``, ``question``, ``value``, ``labeller``, ``labelled_at``, ``chance``. They correct the rates, which
        are then right whatever the judge is. Where every conversation has a label, however it was chosen, the labels are the
        outcome.
    level
        Coverage of the interval.

    Returns
    -------
    DataFrame
        One row, or one per group (then ``by`` comes first): ``n`` ended conversations with insights, ``completed``
        of them, ``rate``, ``rate_low``, ``rate_high`` as fractions (NaN when ``n`` is 0), ``n_missing`` ended
        ones without insights, ``n_in_progress``. With ``labels`` also ``rate_corrected``
        with its ends, ``n_labels``, ``n_effective`` (the number of labels that would be as precise without the judge)
        and ``not_corrected``, why a row has no corrected rate. If every conversation has a label there are no such columns:
        ``completed`` and ``rate`` are those of the labels, and the ``basis`` in the attributes is ``label``.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``by`` or ``level`` cannot be used.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "status": ["completed", "completed", "abandoned", "in_progress"],
    ...         "task_completed": pd.array([True, True, False, None], dtype="boolean"),
    ...     }
    ... )
    >>> completion(table)[["n", "completed", "n_in_progress"]].to_dict("records")
    [{'n': 3, 'completed': 2, 'n_in_progress': 1}]
    """
    level = check_level(level)
    conversations, labels = corrected.as_labelled(verdicts.as_outcome(conversations), labels)
    conversations, by = one_group_column(conversations, by)
    columns = require(conversations, ["status", "task_completed"], by=by, taken=RATE_COLUMNS)
    counted = count_rows(conversations, columns)
    groups = group_rows(counted, by)
    key = groups.codes * len(OUTCOMES) + outcome_codes(counted)
    counts = count_by_key(key, groups.count * len(OUTCOMES), counted[ROWS])
    result = pd.DataFrame(rate_columns(counts.reshape(-1, len(OUTCOMES)), level))
    groups.name_rows(result)
    facts = verdicts.judge_facts(conversations)
    result = with_provenance(result, conversations, "completion", by=by, level=level, **facts)
    return corrected.with_rates(result, conversations, labels, by=by, level=level)


_ALPHA = 0.05
_OF_TREND = ("points_per_day", "points_low", "points_high", "p_holm", "n_days", "n", "is_trend")
# Of more groups at once, Holm leaves nothing to find.
_MAX_TESTED = 200
_MAX_TESTED_WEEKS = 1_000


def completion_trend(
    conversations: Any,
    *,
    freq: str = "auto",
    by: By = None,
    tz: str | tzinfo = "UTC",
    labels: Any = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute the completion rate of ended conversations by period, with Wilson's interval.

    The time of a conversation is ``started_at``, or ``created_at`` where that is not known. Conversations in
    progress or without insights are no failures: they are counted apart.

    Parameters
    ----------
    conversations
        Table with ``status``, ``task_completed`` and ``started_at`` or ``created_at``; or verdicts of a judge of your own
        (``lift.judges.verdicts``), whose outcome is the verdict.
    freq
        ``"h"``, ``"D"``, ``"W"`` (from Monday), ``"MS"`` (months; ``"ME"`` and ``"M"`` mean the same), or
        ``"auto"`` (the default): days, or weeks when the median day has fewer than 10 conversations with insights (a day's
        interval would be wider than 50 points), or months beyond ten years.
    by
        Column that names groups, such as ``"prompt"``, or a list of columns that name them together. All groups share one axis of periods.
    tz
        Zone whose clock cuts the periods.
    labels
        Labels of people, some of whose conversations were drawn at random with a known ``chance`` (`label_plan`): columns
        ``conversation_id``, ``question``, ``value``, ``labeller``, ``labelled_at``, ``chance``. They correct the rates, which
        are then right whatever the judge is; where every conversation has one, they are the outcome.
        A period needs as many labels as any other group.
    level
        Coverage of each interval.

    Returns
    -------
    DataFrame
        One row per period (and group), in order of time, none left out between the first and the last:
        ``period_start`` in ``tz``, ``by`` if given, ``n`` ended conversations with insights, ``completed`` of
        them, ``rate``, ``rate_low``, ``rate_high`` as fractions (NaN when ``n`` is 0), ``n_missing``,
        ``n_in_progress``, and with ``labels`` the corrected columns of ``completion``. ``attrs["promptlift"]`` has the
        ``freq`` that was used and ``n_undated``, the rows without any time. Of days and weeks it also has ``trends``, a test
        of the slope over the days for each group with at least 14 days
        and 100 conversations: ``group``, ``points_per_day`` with ``points_low`` and ``points_high`` (percentage
        points, 95%), ``p_holm`` (adjusted over the groups) and ``is_trend``, whether it may be called one; where
        it may, ``jump_at`` is the day on which the rate most likely jumped, if it did (``jump_p`` below 0.05), with
        ``rate_before`` and ``rate_after`` it. A slope and a jump describe the same change in two ways.
        Of verdicts, ``judge_versions`` says which versions of the judge a period has, with the model where a version has
        answers of several, and the attributes have ``judge_changes``; nothing is said of a trend over several versions or
        models, which are several judges.

    Raises
    ------
    FrameError
        When a column is missing.
    ValueError
        When ``freq``, ``tz``, ``by`` or ``level`` cannot be used, or there would be too many periods.
    """
    level, freq, zone = check_level(level), check_freq(freq), check_zone(tz)
    conversations, labels = as_labelled(as_outcome(conversations), labels)
    conversations, by = one_group_column(conversations, by)
    columns = require(
        conversations, ["status", "task_completed"], by=by, taken=("period_start", *RATE_COLUMNS)
    )
    count = partial(
        count_periods, conversations, columns, outcome_codes, len(OUTCOMES), judged=slice(2, 4), by=by, zone=zone
    )  # fmt: skip
    found = count(freq=freq)
    # Weeks are for the eye; the days within them say more about a trend.
    are_few = len(found.starts) <= _MAX_TESTED_WEEKS and found.groups.count <= _MAX_TESTED
    days = count(freq="D") if found.freq == "W" and are_few else found
    told = may_tell(basis_of(conversations))
    trends = {"trends": _trends(days) if told else []} if days.freq == "D" else {}
    rates = rate_columns(found.counts, level)
    result = period_table(found, conversations, "completion_trend", rates, by=by, level=level, **trends)
    _mark_versions(result, conversations, found)
    return with_rates(result, conversations, labels, by=by, level=level)


def _mark_versions(result: pd.DataFrame, conversations: Any, found: PeriodCounts) -> None:
    """Write the versions of a judge into the attributes; several versions or models are several judges and have no trend."""
    facts = facts_of(result)
    facts |= version_marks(result, conversations, found)
    several = max(len(facts.get(name, ())) for name in ("judge_versions", "judge_models")) > 1
    if several and "trends" in facts:
        facts["trends"] = []


def _trends(found: PeriodCounts) -> list[dict[str, Any]]:
    """Test the slope of every group that has enough days and conversations for a trend."""
    groups = found.groups.count
    if len(found.starts) < DAYS_NEEDED or groups > _MAX_TESTED:
        return []
    counts = found.counts.reshape(len(found.starts), groups, len(OUTCOMES))
    completed, n = counts[:, :, 3], counts[:, :, 2] + counts[:, :, 3]
    tests = adjust_trends([trend_test(completed[:, group], n[:, group]) for group in range(groups)])
    trends = []
    for group, test in enumerate(tests):
        if test.enough and test.points_per_day is not None:
            trends.append(
                {
                    "group": None if found.groups.names is None else found.groups.names.iloc[group],
                    **{name: getattr(test, name) for name in _OF_TREND},
                    **(_jump(found, completed[:, group], n[:, group]) if test.is_trend else {}),
                }
            )
    return trends


def _jump(found: PeriodCounts, completed: NDArray[np.int64], n: NDArray[np.int64]) -> dict[str, Any]:
    change = change_point(completed, n)
    if change is None or change.p >= _ALPHA:
        return {}
    return {
        "jump_at": found.starts[change.at].isoformat(),
        "jump_p": change.p,
        "rate_before": change.before_rate,
        "rate_after": change.after_rate,
    }
