"""How often conversations completed their task."""

from __future__ import annotations

from typing import Any

import pandas as pd

from promptlift.analysis import corrected, verdicts
from promptlift.analysis.engines import ROWS
from promptlift.analysis.outcomes import OUTCOMES, RATE_COLUMNS, outcome_codes, rate_columns
from promptlift.analysis.reading import (
    By,
    count_by_key,
    count_rows,
    group_rows,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.stats.intervals import check_level

__all__ = ["completion"]


def completion(conversations: Any, *, by: By = None, labels: Any = None, level: float = 0.95) -> pd.DataFrame:
    """Compute the completion rate of ended conversations, with Wilson's interval.

    Conversations still ``in_progress`` count neither way. Neither do ended ones without insights: they are no
    failures, and ``n_missing`` says how many there are.

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
        One row, or one a group (then ``by`` comes first): ``n`` ended conversations with insights, ``completed``
        of them, ``rate``, ``rate_low``, ``rate_high`` as fractions (NaN when ``n`` is 0), ``n_missing`` ended
        ones without insights, ``n_in_progress``. With ``labels`` also ``rate_corrected``
        with its ends, ``n_labels``, ``n_effective`` (labels that would say as much without the judge) and
        ``not_corrected``, why a row has no corrected rate; ``attrs["promptlift"]["corrected"]`` says it in words. Where every
        conversation has a label there are no such columns, because nothing is corrected: ``completed`` and ``rate`` are those of
        the labels, and the ``basis`` of the attributes is ``label``.

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
