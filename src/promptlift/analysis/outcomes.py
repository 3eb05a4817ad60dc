"""How often conversations completed their task, and which of them can say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from promptlift.analysis.reading import (
    By,
    count_by_key,
    count_rows,
    group_rows,
    one_group_column,
    require,
    with_provenance,
)
from promptlift.stats.intervals import check_level, rate_and_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OUTCOMES", "completion", "outcome_codes", "rate_columns"]

# The place of an outcome is its code.
OUTCOMES = ("in_progress", "unknown", "failed", "completed")
RATE_COLUMNS = ("n", "completed", "rate", "rate_low", "rate_high", "n_missing", "n_in_progress")


def completion(conversations: Any, *, by: By = None, labels: Any = None, level: float = 0.95) -> pd.DataFrame:
    """Compute the completion rate of ended conversations, with Wilson's interval.

    Conversations still ``in_progress`` count neither way. Neither do ended ones without insights: they are no
    failures, and ``n_missing`` says how many there are.

    Parameters
    ----------
    conversations
        Table with ``status`` and ``task_completed``; or verdicts of a judge of your own (``lift.verdicts``), whose outcome
        is the verdict.
    by
        Column that names groups, such as ``"prompt"`` or ``"llm_model"``, or a list of columns that name them together
        (``["prompt", "metadata.channel"]``). Rows without a value are a group of their own.
    labels
        Labels of people, some of whose conversations were drawn at random with a known ``chance`` (`label_plan`): columns
        ``conversation_id``, ``question``, ``value``, ``labeller``, ``labelled_at``, ``chance``. They correct the rates, which
        are then right whatever the judge is.
    level
        Coverage of the interval.

    Returns
    -------
    DataFrame
        One row, or one a group (then ``by`` comes first): ``n`` ended conversations with insights, ``completed``
        of them, ``rate``, ``rate_low``, ``rate_high`` as fractions (NaN when ``n`` is 0), ``n_missing`` ended
        ones without insights, ``n_in_progress``. With ``labels`` also ``rate_corrected``
        with its ends, ``n_labels``, ``n_effective`` (labels that would say as much without the judge) and
        ``not_corrected``, why a row has no corrected rate; ``attrs["promptlift"]["corrected"]`` says it in words.

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
    from promptlift.analysis import corrected, verdicts  # noqa: PLC0415  (which read outcomes themselves)

    level = check_level(level)
    conversations = verdicts.as_outcome(conversations)
    conversations, by = one_group_column(conversations, by)
    columns = require(conversations, ["status", "task_completed"], by=by, taken=RATE_COLUMNS)
    counted = count_rows(conversations, columns)
    groups = group_rows(counted.frame, by)
    key = groups.codes * len(OUTCOMES) + outcome_codes(counted.frame)
    counts = count_by_key(key, groups.count * len(OUTCOMES), counted.weight)
    result = pd.DataFrame(rate_columns(counts.reshape(-1, len(OUTCOMES)), level))
    groups.name_rows(result)
    facts = verdicts.judge_facts(conversations)
    result = with_provenance(result, conversations, "completion", by=by, level=level, **facts)
    return corrected.with_rates(result, conversations, labels, by=by, level=level)


def outcome_codes(frame: pd.DataFrame) -> NDArray[np.int8]:
    """Return each row's outcome as its place in ``OUTCOMES``. Without a status, a conversation has ended."""
    task = frame["task_completed"]
    if task.dtype != bool:
        try:
            task = task.astype("boolean")
        except (TypeError, ValueError):
            raise ValueError(
                f"Column task_completed holds {task.dtype}, not true and false. Convert it to 'boolean' first."
            ) from None
    codes = task.to_numpy(dtype=bool, na_value=False).astype(np.int8)
    codes += 2
    codes[task.isna().to_numpy()] = 1
    if "status" in frame:
        codes[_equals(frame["status"], "in_progress")] = 0
    return codes


def _equals(column: pd.Series[Any], label: str) -> NDArray[np.bool_]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = list(column.cat.categories)
        if label not in categories:
            return np.zeros(len(column), bool)
        return np.asarray(column.cat.codes.to_numpy() == categories.index(label))
    return (column == label).to_numpy(dtype=bool, na_value=False)


def rate_columns(counts: NDArray[np.int64], level: float) -> dict[str, NDArray[Any]]:
    """Compute the columns of a rate table from counts, one row of outcomes each."""
    n, completed = counts[:, 2] + counts[:, 3], counts[:, 3]
    rates = rate_and_interval(completed, n, level=level)
    values = (n, completed, *rates, counts[:, 1], counts[:, 0])
    return dict(zip(RATE_COLUMNS, values, strict=True))
